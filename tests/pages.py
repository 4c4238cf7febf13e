"""What the documentation shows, to be tried."""

import contextlib
import io
import json
import re
import runpy
import warnings
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
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in a process of its own
        runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    return printed.getvalue()
