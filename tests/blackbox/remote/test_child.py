"""What a child process may take, whose it is, and when it ends."""

import functools
import gc
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
from forks import fork, forked
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import open_oracle
from seqray.blackbox.remote import child as child_module
from seqray.blackbox.remote.cmd import cmd_box
from seqray.util.errors import BlackBoxError, Stopped


@pytest.fixture
def child(tmp_path):
    """Make commands of children that differ in what they do at the start and with a line."""
    return functools.partial(child_command, tmp_path)


# What it says -----------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["opened", "queried"])
def test_a_line_without_end_is_not_read_to_it(child, monkeypatch, when):
    monkeypatch.setattr("seqray.blackbox.remote.cmd.MAX_DESCRIPTION_BYTES", 2**20)
    endless = "while True: sys.stdout.write('x' * 65536)"
    command = child(before=endless) if when == "opened" else child(endless)

    def query():
        cmd_box(command, timeout=3).weights(["a"])

    with pytest.raises(BlackBoxError, match=r"'x+… goes on for more than 1,\d{3},\d{3} bytes"):
        query()
    assert not is_there(pid_of(command))


def test_lines_that_nobody_wants_are_not_collected(child):
    command = child(before="say(about); [print('spam') for _ in range(100_000)]")
    box = cmd_box(command)
    deadline = time.monotonic() + 5
    while box.backend.supervisor.child.lives and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.raises(BlackBoxError, match="'spam' is one of many that answer no query; expected"):
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


@pytest.mark.parametrize("when", ["queried", "started again"])
@pytest.mark.parametrize("limit", ["seconds", "stop"])
def test_a_child_is_not_waited_for_beyond_the_limits(child, monkeypatch, when, limit):
    monkeypatch.setattr(child_module, "FINISHING_SECONDS", 0.05)
    command = (
        child("time.sleep(60)")
        if when == "queried"
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
    limited = open_oracle(box, Meter(Limits(time_limit=0.1)))
    assert limited.weights(["aa"]).tolist() == [2]
    assert box.weights(["a"]).tolist() == [1]
    assert log_of(command) == (1, [1, 1])


# Forks ------------------------------------------------------------------------------------------


def test_a_forked_process_starts_a_child_of_its_own(child):
    command = child("time.sleep(0.3); answer(words)")
    box, answered = cmd_box(command), []
    own = pid_of(command)
    querying = threading.Thread(target=lambda: answered.extend(box.weights(["a"])))
    querying.start()
    while not log_of(command)[1]:
        time.sleep(0.01)
    assert forked(lambda: box.weights(["aa"]).tolist() == [2])
    querying.join()
    assert answered == [1]
    assert pid_of(command) != own
    assert log_of(command) == (2, [1, 1])


def test_a_forked_process_holds_up_no_child_that_is_to_end(child):
    box = cmd_box(child())
    if (pid := fork()) == 0:
        time.sleep(60)
        os._exit(0)
    begin = time.monotonic()
    del box
    gc.collect()
    taken = time.monotonic() - begin
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert taken < 30  # it ended by itself, when its input did, and not with the fork


# The end ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_child_that_hangs_ends_with_a_process_that_is_killed(child, number):
    command = child("print(os.getppid(), file=log); time.sleep(60)")
    code = (
        "from seqray.blackbox.remote import child, cmd\n"
        "child.GRACE_SECONDS = 0.1\n"
        f"cmd.cmd_box({command!r}).weights(['a'])"
    )
    querying = subprocess.Popen([sys.executable, "-c", code])
    log = Path(command[-1]).with_name("log")
    while not (log.exists() and str(querying.pid) in log.read_text().split()):
        assert querying.poll() is None
        time.sleep(0.01)
    querying.send_signal(number)
    assert querying.wait() == -number
    deadline = time.monotonic() + 5
    while is_there(pid_of(command)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_there(pid_of(command))
