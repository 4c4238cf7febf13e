"""Slow boxes, which workers open by ``python:scale_out_boxes:NAME``."""

import os
import time

import seqray

SLEEP_SECONDS = 0.05
BATCH_SIZE = 64
ALPHABET = "abcd"

SLOW_SECONDS = 0.1
SLOW_BATCH_SIZE = 8
"""Of a box that is so slow that a hundred workers mostly wait for it."""


def weights(words: list[str]) -> list[float]:
    return [1.0 / (1 + len(word)) + word.count("ab") - 0.5 * word.count("c") for word in words]


def sleeping_weights(words: list[str]) -> list[float]:
    time.sleep(SLEEP_SECONDS)
    return weights(words)


def slow_weights(words: list[str]) -> list[float]:
    time.sleep(SLOW_SECONDS)
    return weights(words)


def logged_weights(words: list[str]) -> list[float]:
    """Sleep, and write every word and the process to a file: one write, so that none is mixed."""
    lines = "".join(f"{os.getpid()} {word}\n" for word in words)
    log = os.open(os.environ["SCALE_OUT_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, lines.encode())
    os.close(log)
    return sleeping_weights(words)


sleeping = seqray.black_box(
    sleeping_weights, ALPHABET, name="scale_out sleeping", batch_size=BATCH_SIZE
)
logged = seqray.black_box(logged_weights, ALPHABET, name="scale_out logged", batch_size=BATCH_SIZE)
slow = seqray.black_box(slow_weights, ALPHABET, name="scale_out slow", batch_size=SLOW_BATCH_SIZE)
