"""Child processes that answer lines of JSON, and keep a log of it."""

import os
import sys
from pathlib import Path

CHILD = """
import json, os, signal, sys, time

def say(document):
    print(json.dumps(document), flush=True)

def answer(words):
    say({{"answers": [len(word) for word in words]}})

log = open({log!r}, "a", buffering=1)
log.write("start %d\\n" % os.getpid())
started = sum(line.startswith("start") for line in open({log!r}))
about = {{"seqray": 1, "alphabet": ["a", "b"], "answers": "value"}}
{before}
say(about)
for line in sys.stdin:
    words = json.loads(line)["words"]
    log.write("ask %d\\n" % len(words))
    bad = ["a"] * 6 in words
    {each}
"""


def child_command(folder, each="answer(words)", before=""):
    """Make the command of a child; what it does at the start and with a line is said."""
    script = folder / "child.py"
    script.write_text(CHILD.format(log=str(folder / "log"), each=each, before=before))
    return [sys.executable, "-S", str(script)]


def log_of(command):
    """Return how often a child was started, and how many words each line had that it read."""
    lines = Path(command[-1]).with_name("log").read_text().splitlines()
    sizes = [int(line.split()[1]) for line in lines if line.startswith("ask")]
    return sum(line.startswith("start") for line in lines), sizes


def pid_of(command):
    """Return the process of the child that was started last."""
    lines = Path(command[-1]).with_name("log").read_text().splitlines()
    return int([line.split()[1] for line in lines if line.startswith("start")][-1])


def is_there(pid):
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
