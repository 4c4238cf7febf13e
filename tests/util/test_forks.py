"""What a forked process drops, and what is locked while a process forks."""

import threading

import pytest

from forks import forked
from seqray.util.forks import reset_in_forks

pytestmark = pytest.mark.skipif("not hasattr(__import__('os'), 'fork')", reason="nothing is forked")


class Connection:
    """A resource that counts how often it was reset."""

    def __init__(self):
        self.n_resets = 0

    def reset_after_fork(self):
        self.n_resets += 1


def test_a_resource_is_reset_in_a_forked_process_alone():
    connection = Connection()
    reset_in_forks(connection)
    assert forked(lambda: connection.n_resets == 1)
    assert connection.n_resets == 0


def test_a_fork_of_a_fork_resets_again():
    connection = Connection()
    reset_in_forks(connection)
    assert forked(lambda: forked(lambda: connection.n_resets == 2))


def test_a_resource_that_is_gone_is_not_kept_alive():
    class Noting(Connection):
        def reset_after_fork(self):
            raise AssertionError("it is gone")

    reset_in_forks(Noting())
    assert forked(lambda: True)


@pytest.mark.parametrize("kind", [threading.Lock, threading.RLock])
def test_a_lock_is_free_on_both_sides_after_a_fork(kind):
    lock, connection = kind(), Connection()
    reset_in_forks(connection, lock)
    assert forked(lambda: lock.acquire(timeout=1))
    assert lock.acquire(timeout=1)
    lock.release()


def test_a_process_is_not_forked_while_a_resource_is_in_use():
    lock, connection, numbers = threading.Lock(), Connection(), []
    reset_in_forks(connection, lock)
    started = threading.Event()

    def use():
        with lock:
            started.set()
            threading.Event().wait(0.1)
            numbers.append(1)

    thread = threading.Thread(target=use)
    thread.start()
    started.wait(5)
    assert forked(lambda: numbers == [1])
    thread.join()
