"""Run tests against mutants of a module: one process that has imported much, one fork for each.

Reads a request in JSON, writes one line of JSON for each run. No file is changed: the import of the
module is what gets the mutated code.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import CodeType

import pytest

from reliability.campaigns._mutator import mutants

WARM = ("hypothesis.extra.numpy", "numpy", "scipy.linalg", "scipy.sparse.linalg", "scipy.special")
"""What takes long to import, and holds nothing of seqray."""

MAX_BYTES = 6 * 2**30
"""A mutant that takes more memory fails."""

POLL_SECONDS = 0.005

ARGUMENTS = ("-x", "-q", "--assert=plain", "-p", "no:cacheprovider")


def main() -> None:
    """Run the tests without a change, then with each change, and print what came of it."""
    request = json.loads(sys.stdin.readline())
    for name in WARM:
        importlib.import_module(name)
    path, tests = Path(request["path"]), request["tests"]
    every = mutants(path.read_text("utf-8"))
    begin = time.perf_counter()
    _say("unchanged", _run(path, None, tests, request["max_seconds"]))
    limit = 5 + 5 * (time.perf_counter() - begin)
    for number in request["numbers"]:
        _say(number, _run(path, every[number].code(str(path)), tests, limit))


def _say(number: int | str, outcome: str) -> None:
    print(json.dumps([number, outcome]), flush=True)


def _run(path: Path, code: CodeType | None, tests: Sequence[str], max_seconds: float) -> str:
    """Return ``passed``, ``failed`` or ``timed out``."""
    child = os.fork()
    if child == 0:
        os._exit(_run_tests(path, code, tests))
    end = time.perf_counter() + max_seconds
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.perf_counter() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "timed out"
        time.sleep(POLL_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what its tests started and left
    return "passed" if os.waitstatus_to_exitcode(status) == 0 else "failed"


def _run_tests(path: Path, code: CodeType | None, tests: Sequence[str]) -> int:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    devnull = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(devnull, stream)
    own = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
        is_mutated = code is not None and loader.path == str(path)
        return code if is_mutated else own(loader, name)

    importlib.machinery.SourceFileLoader.get_code = get_code
    return int(pytest.main([*ARGUMENTS, *tests]))


if __name__ == "__main__":
    main()
