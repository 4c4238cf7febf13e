"""What a child process may take, whose it is, and when it ends."""

import functools
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

import seqray
from children import child_command, is_there, log_of, pid_of
from forks import forked
from seqray.blackbox import child as child_module
from seqray.blackbox.cmd import cmd_box
from seqray.errors import BlackBoxError, Stopped


@pytest.fixture
def child(tmp_path):
    """Make commands of children that differ in what they do at the start and with a line."""
    return functools.partial(child_command, tmp_path)


# What it says -----------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["opened", "asked"])
def test_a_line_without_end_is_not_read_to_it(child, monkeypatch, when):
    monkeypatch.setattr("seqray.blackbox.cmd.DESCRIPTION_SIZE", 2**20)
    endless = "while True: sys.stdout.write('x' * 65536)"
    command = child(before=endless) if when == "opened" else child(endless)

    def ask():
        cmd_box(command, timeout=3).weights(["a"])

    with pytest.raises(BlackBoxError, match=r"'x+… goes on for more than 1,\d{3},\d{3} bytes"):
        ask()
    assert not is_there(pid_of(command))


def test_lines_that_nobody_wants_are_not_collected(child):
    command = child(before="say(about); [print('spam') for _ in range(100_000)]")
    box = cmd_box(command)
    deadline = time.monotonic() + 5
    while box.asker.seat.child.lives and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.raises(BlackBoxError, match="'spam' is one of many that answer nothing; expected"):
        box.weights(["a"])


def test_standard_error_takes_no_memory(child):
    flood = "[sys.stderr.write('x' * 65536) for _ in range(200)]"
    box = cmd_box(child(f"{flood}; answer(words)"))
    tracemalloc.start()
    try:
        assert box.weights(["aa"]).tolist() == [2]
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 3e6


# Limits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["asked", "started again"])
@pytest.mark.parametrize("limit", ["seconds", "stop"])
def test_a_child_is_not_waited_for_beyond_the_limits(child, monkeypatch, when, limit):
    monkeypatch.setattr(child_module, "FINISHING_SECONDS", 0.05)
    command = (
        child("time.sleep(60)")
        if when == "asked"
        else child("sys.exit(1)", "time.sleep(60 * (started > 1))")
    )
    box, stop = cmd_box(command), threading.Event()
    threading.Timer(0.2, stop.set).start()
    limits = {"seconds": 0.2} if limit == "seconds" else {"stop": stop}
    begin = time.monotonic()
    with pytest.raises(Stopped, match=r"the time of 0.2 s is over|interrupted"):
        seqray.extract(box, **limits)
    assert time.monotonic() - begin < 3
    assert not is_there(pid_of(command))


def test_a_child_that_is_nearly_done_when_time_is_over_is_not_ended(child):
    command = child("time.sleep(0.3); answer(words)")
    box = cmd_box(command)
    limited = seqray.asking.heeding(box, seqray.asking.Meter(seconds=0.1))
    assert limited.weights(["aa"]).tolist() == [2]
    assert box.weights(["a"]).tolist() == [1]
    assert log_of(command) == (1, [1, 1])


# Forks ------------------------------------------------------------------------------------------


def test_a_forked_process_starts_a_child_of_its_own(child):
    command = child()
    box = cmd_box(command, timeout=3)
    own = pid_of(command)
    assert forked(lambda: box.weights(["aa"]).tolist() == [2])
    assert pid_of(command) != own
    assert box.weights(["aaa"]).tolist() == [3]
    assert log_of(command)[0] == 2
    assert is_there(own)


def test_a_child_ends_with_its_box_while_a_forked_process_lives(child, monkeypatch):
    monkeypatch.setattr("seqray.blackbox.cmd.GRACE", 60.0)  # it has to end by itself
    command = child()
    box = cmd_box(command)
    reading, writing = os.pipe()

    def ends():
        nonlocal box
        own, box = pid_of(command), None
        deadline = time.monotonic() + 5
        while is_there(own) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.write(writing, b"x")
        return not is_there(own)

    fork = threading.Thread(target=lambda: forked(lambda: os.read(reading, 1)))
    fork.start()
    try:
        assert ends()
    finally:
        fork.join()
        os.close(reading)
        os.close(writing)


# The end ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_child_that_hangs_ends_with_a_process_that_is_killed(child, number):
    command = child("print(os.getppid(), file=log); time.sleep(60)")
    code = (
        "from seqray.blackbox import child, cmd\n"
        "child.GRACE = 0.1\n"
        f"cmd.cmd_box({command!r}).weights(['a'])"
    )
    asking = subprocess.Popen([sys.executable, "-c", code])
    log = Path(command[-1]).with_name("log")
    while not (log.exists() and str(asking.pid) in log.read_text().split()):
        time.sleep(0.01)
    asking.send_signal(number)
    assert asking.wait() == -number
    deadline = time.monotonic() + 5
    while is_there(pid_of(command)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_there(pid_of(command))
