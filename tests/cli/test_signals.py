"""Ctrl-C and SIGTERM while a command cleans up, and after it."""

import signal
import subprocess
import sys

import pytest

BOX = """
import os, signal, weakref
import seqray

def close(number):
    os.kill(os.getpid(), number)
    for _ in range(1000):  # Python looks for signals here
        pass
    print("closed", flush=True)

def factory(number):
    box = seqray.black_box(lambda words: [0.5 ** len(word) for word in words], "ab", name="mine")
    weakref.finalize(box, close, number)
    return box

def interrupted():
    return factory(signal.SIGINT)

def terminated():
    return factory(signal.SIGTERM)

class Hanging:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            pass
"""

EXTRACT = "'extract', 'python:box:{name}', '-o', 'run', '--prefixes', '9', '--suffixes', '9'"


def python(folder, code):
    """Run Python in a folder with the box."""
    (folder / "box.py").write_text(BOX)
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["interrupted", "terminated"])
def test_what_a_box_closes_is_closed_before_a_signal_ends_the_command(folder, name):
    arguments = EXTRACT.format(name=name)
    code = f"import sys; sys.argv = ['seqray', {arguments}]; from seqray import cli; cli.main()"
    done = python(folder, code)
    assert "closed" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 130)  # it comes again, before or after the command has ended
    assert (folder / "run").is_dir()


HANGS = """
import box, signal, time
from seqray.cli import signals
signals.MAX_FINALIZER_SECONDS = 0.2
with signals.ending_like_ctrl_c(is_program=False):
    one = box.Hanging()
    try:
        del one
        time.sleep(60)
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_a_finalizer_that_hangs_is_interrupted_all_the_same(folder):
    done = python(folder, HANGS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


DROPPED = """
import box, signal, sys, time, weakref
from seqray.cli import signals

def collected(reference):
    raise kind("dropped")

for kind in (KeyboardInterrupt, ValueError):
    try:
        with signals.ending_like_ctrl_c(is_program=False):
            one = box.factory(0)
            reference = weakref.ref(one, collected)
            del one
            time.sleep(0.5)
        print("not interrupted")
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_a_ctrl_c_that_python_drops_comes_again_and_what_else_it_drops_is_shown(folder):
    done = python(folder, DROPPED)
    assert (done.returncode, done.stdout) == (0, "closed\ninterrupted\nclosed\nnot interrupted\n")
    assert "ValueError: dropped" in done.stderr
    assert "KeyboardInterrupt" not in done.stderr


AFTERWARDS = """
import os, signal, sys
sys.argv = ["seqray", "--version"]
from seqray import cli
cli.main()
for number in (signal.{first}, signal.SIGTERM):
    os.kill(os.getpid(), number)
    print("still here", flush=True)
"""


@pytest.mark.parametrize("first", ["SIGINT", "SIGTERM"])
def test_after_all_work_is_done_the_first_signal_is_ignored_and_the_second_one_is_not(
    folder, first
):
    done = python(folder, AFTERWARDS.format(first=first))
    assert done.stdout.count("still here") == 1
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")


LATE = """
import atexit, os, signal

def as_torch_does():
    os.kill(os.getpid(), signal.SIGINT)

atexit.register(as_torch_does)
from seqray import cli
cli.main(["extract", "machine.json", "-o", "run", "--rank", "9", "--max-rank", "2"])
"""


def test_ctrl_c_while_a_failed_command_leaves_is_ignored(folder):
    done = python(folder, LATE)
    assert done.returncode == 2
    assert "9 is more than 2" in done.stderr
    assert "KeyboardInterrupt" not in done.stderr


HANDLERS = """
import signal
from seqray import cli
before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
cli.main(["--version"])
assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
"""


def test_who_calls_a_command_from_python_keeps_the_handlers_of_signals(folder):
    assert python(folder, HANDLERS).returncode == 0
