import queue
import threading

import pytest

from seqray.blackbox.remote import waiting
from seqray.blackbox.remote.waiting import awaited


class OverError(Exception):
    """Raised by a check."""


def test_what_comes_is_returned():
    mailbox = queue.SimpleQueue()
    threading.Timer(0.02, mailbox.put, ["late"]).start()
    assert awaited(mailbox, waiting.always) == "late"


def test_the_check_ends_a_wait(monkeypatch):
    monkeypatch.setattr(waiting, "TICK_SECONDS", 0.01)

    def check():
        raise OverError

    with pytest.raises(OverError):
        awaited(queue.SimpleQueue(), check)


def test_the_check_is_called_again_and_again(monkeypatch):
    monkeypatch.setattr(waiting, "TICK_SECONDS", 0.01)
    mailbox, calls = queue.SimpleQueue(), []

    def check():
        calls.append(1)
        if len(calls) == 3:
            mailbox.put("after three")

    assert awaited(mailbox, check) == "after three"
    assert len(calls) == 3
