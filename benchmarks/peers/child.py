"""Runs one fit in the environment of its peer; `run.py` starts it.

    python child.py FOLDER

The folder has the drawn words and `job.json`: the module of `fits/` and its settings. The model and
what it took are written there, too. A fit that takes more processor time than its limit is ended.
"""

from __future__ import annotations

import importlib
import json
import resource
import signal
import sys
import time
from pathlib import Path

from job import Clock, Drawn, LimitReachedError, peak_megabytes, save_outcome

GRACE_SECONDS = 6, 20
"""Fits that look at the clock themselves may overrun by the first; what does not end by the second
is killed."""


def over(*_: object) -> None:
    raise LimitReachedError


def main() -> None:
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    module = importlib.import_module(f"fits.{job['module']}")
    drawn = Drawn.load(folder)
    limit = job["limit"]
    used = time.process_time()
    signal.signal(signal.SIGXCPU, over)
    soft, hard = (int(used + limit + grace) for grace in GRACE_SECONDS)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
    clock = Clock(limit)
    model, outcome = module.fit(drawn, clock, **job["settings"])
    outcome |= {"seconds": clock.seconds, "megabytes": peak_megabytes()}
    save_outcome(folder, model, outcome)


if __name__ == "__main__":
    main()
