"""The small GRU behind HTTP, in a child process and by its name in Python."""

import shlex
import sys

import seqray
from same_gru import ALPHABET, native
from same_gru.server import EXAMPLE, served

CHILD = EXAMPLE.with_name("cmd_child.py")


def http_next(_):
    """Return the network behind a live server, which says what comes next."""
    return seqray.open_black_box(served(native(), deterministic=True))


def http_values(_):
    """Return the network behind a live server, which gives a number to a word.

    A function gets more words per call as it turns out to be fast, and float32 rounds otherwise in
    a batch of another size. So the function reads its words one by one.
    """
    network = native()

    def weights(words):
        return [network.weights([word])[0] for word in words]

    return seqray.open_black_box(served(seqray.black_box(weights, ALPHABET)))


def cmd_next(folder):
    """Return the network in a child process, which is that of the examples."""
    native().save(folder / "gru.safetensors")
    command = [sys.executable, str(CHILD), f"rnn:{folder / 'gru.safetensors'}"]
    return seqray.open_black_box(f"cmd:{shlex.join(command)}")


def python_object(_):
    """Return the network by its name."""
    return seqray.open_black_box("python:same_gru:native")
