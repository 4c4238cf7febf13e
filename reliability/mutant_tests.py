"""Run tests against mutants of a module: one process that has imported much, one fork for each.

Takes a request in JSON, writes one line of JSON for each run. No file is changed: the import of the
module is what gets the mutated code.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import json
import math
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import NamedTuple

import pytest

from reliability.mutator import mutants

WARM = ("hypothesis.extra.numpy", "numpy", "scipy.linalg", "scipy.sparse.linalg", "scipy.special")
"""What takes long to import, and holds nothing of seqray."""

MAX_BYTES = 6 * 2**30
"""A mutant that takes more memory fails."""

POLL_SECONDS = 0.005

ARGUMENTS = ("-x", "-q", "--assert=plain", "-p", "no:cacheprovider")


class Limits(NamedTuple):
    """How long the tests of one mutant may take."""

    processor_seconds: float
    seconds: float


def main() -> None:
    """Run the tests without a change, then with each change, and print what came of it."""
    request = json.loads(sys.argv[1])
    for name in WARM:
        importlib.import_module(name)
    path = Path(request["path"])
    every = mutants(path.read_text("utf-8"))
    without = " and ".join(f"not {each}" for each in request["without"])
    arguments = [*request["tests"], "-k", without]
    outcome, seconds = _run(path, None, arguments, Limits(300, 1800))
    print(json.dumps(["unchanged", outcome]), flush=True)
    limits = Limits(5 + 5 * seconds, 120 + 50 * seconds)
    for number in request["numbers"]:
        outcome, _ = _run(path, every[number].code(str(path)), arguments, limits)
        print(json.dumps([number, outcome]), flush=True)


def _run(
    path: Path, code: CodeType | None, arguments: Sequence[str], limits: Limits
) -> tuple[str, float]:
    """Return ``passed``, ``failed`` or ``timed out``, and the processor time that it took."""
    child = os.fork()
    if child == 0:
        os._exit(_run_tests(path, code, arguments, limits.processor_seconds))
    end = time.perf_counter() + limits.seconds
    is_late = False
    while True:
        done, status, used = os.wait4(child, os.WNOHANG)
        if done:
            break
        if time.perf_counter() > end and not is_late:
            is_late = True
            os.killpg(child, signal.SIGKILL)
        time.sleep(POLL_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what its tests started and left
    seconds = used.ru_utime + used.ru_stime
    code_of_exit = os.waitstatus_to_exitcode(status)
    if is_late or code_of_exit == -signal.SIGXCPU:
        return "timed out", seconds
    return "passed" if code_of_exit == 0 else "failed", seconds


def _run_tests(
    path: Path, code: CodeType | None, arguments: Sequence[str], max_seconds: float
) -> int:
    """Run pytest here, with the code of one module exchanged; return its exit status."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(max_seconds), math.ceil(max_seconds) + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    devnull = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(devnull, stream)
    own = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
        is_mutated = code is not None and loader.path == str(path)
        return code if is_mutated else own(loader, name)

    importlib.machinery.SourceFileLoader.get_code = get_code
    return int(pytest.main([*ARGUMENTS, *arguments]))


if __name__ == "__main__":
    main()
