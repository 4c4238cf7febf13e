"""What the documentation shows, to be tried."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def blocks(page: str, language: str) -> list[str]:
    """Return the blocks of code on a page of docs/."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def json_of(page: str) -> list:
    """Return the JSON on a page."""
    return [json.loads(block) for block in blocks(page, "json")]


def run_example(name: str) -> str:
    """Run a file of examples/ and return what it prints."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
