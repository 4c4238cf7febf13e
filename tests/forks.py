"""Processes that are forked from a test."""

import os
import signal
import warnings


def fork(seconds=5):
    """Fork this process, as `os.fork`; the other one ends by itself after a while."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # there are threads: as users have them
        pid = os.fork()
    if pid == 0:
        signal.alarm(seconds)
    return pid


def forked(function):
    """Call a function in a fork of this process; return whether it returned something true."""
    pid = fork()
    if pid == 0:
        try:
            os._exit(0 if function() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
