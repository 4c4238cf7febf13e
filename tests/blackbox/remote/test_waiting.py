"""Waiting for an answer, with a check that can end the wait."""

import queue
import threading
import time

import pytest

from seqray.blackbox.remote.waiting import always, awaited
from seqray.util.errors import Stopped, StopReason


class Ending:
    """A check that ends the wait."""

    def __init__(self):
        self.n_calls = 0

    def __call__(self):
        self.n_calls += 1
        raise Stopped(StopReason.INTERRUPTED, "stopped")


@pytest.fixture
def mailbox():
    return queue.SimpleQueue()


def test_an_item_that_is_there_is_returned_at_once(mailbox):
    mailbox.put("answer")
    check = Ending()
    assert awaited(mailbox, check) == "answer"
    assert check.n_calls == 0


def test_an_item_that_comes_later_is_waited_for(mailbox):
    threading.Timer(0.15, mailbox.put, ["late"]).start()
    assert awaited(mailbox, always) == "late"


def test_an_item_may_come_shortly_after_the_check_has_ended_the_wait(mailbox):
    threading.Timer(0.25, mailbox.put, ["late"]).start()
    assert awaited(mailbox, Ending()) == "late"


def test_the_wait_ends_when_the_check_says_so(mailbox, monkeypatch):
    monkeypatch.setattr("seqray.blackbox.remote.waiting.FINISHING_SECONDS", 0.05)
    since = time.monotonic()
    with pytest.raises(Stopped, match="stopped"):
        awaited(mailbox, Ending())
    assert time.monotonic() - since < 2


def test_the_check_is_called_again_and_again(mailbox, monkeypatch):
    monkeypatch.setattr("seqray.blackbox.remote.waiting.TICK_SECONDS", 0.01)
    calls = []

    def check():
        calls.append(1)
        if len(calls) == 3:
            mailbox.put("after three")

    assert awaited(mailbox, check) == "after three"
    assert len(calls) == 3
