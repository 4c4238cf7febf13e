"""What fuzzing calls: a parser, valid inputs of it, and what has to hold of its output."""

import functools
import math
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import seqray
from reliability.campaigns._mutations import Mutate, mutated
from seqray.automata.words import Words
from seqray.util.errors import SeqrayError


@dataclass(frozen=True)
class Target:
    """A parser, ready to be called.

    Parameters
    ----------
    seeds
        Valid inputs.
    read
        Parses an input. It raises `WrongError` where the result is not valid.
    mutate
        Makes inputs of seeds.
    close
        Called at the end.
    """

    seeds: Sequence[bytes]
    read: Callable[[bytes], object]
    mutate: Mutate = mutated
    close: Callable[[], object] = bool


MakeTarget: TypeAlias = Callable[[Path], Target]
"""Makes a target that may use an empty folder."""


class WrongError(Exception):
    """What a parser returned is not valid."""


class UnavailableError(Exception):
    """A package that makes the inputs is not installed."""


def expect(holds: object, what: str) -> None:
    if not holds:
        raise WrongError(what)


def in_file(path: Path, read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
    """Return what writes an input to a file and reads that; a checksum beside it is removed."""
    beside = path.with_name(f"{path.name}.sha256")

    def opened(content: bytes) -> Any:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            os.write(descriptor, content)
        finally:
            os.close(descriptor)
        return read(path)

    beside.unlink(missing_ok=True)
    return opened


def saved(path: Path, save: Callable[[Path], object]) -> bytes:
    """Return what a function writes to a file."""
    save(path)
    content = path.read_bytes()
    for each in (path, path.with_name(f"{path.name}.sha256")):
        each.unlink(missing_ok=True)
    return content


def read_back(
    value: Any, write: Callable[[Any], Any], read: Callable[[Any], Any], facts: Callable[[Any], Any]
) -> None:
    """Expect that what is written is read again as it was; the writer may refuse."""
    try:
        written = write(value)
    except SeqrayError:
        return
    try:
        back = read(written)
    except SeqrayError as error:
        raise WrongError(f"what was written is not read back: {error}") from error
    expect(facts(back) == facts(value), "what was written is read back as something else")


def facts_of_words(words: Words) -> object:
    return words.alphabet.symbols, words.codes.tolist(), words.offsets.tolist()


def check_words(words: Words) -> None:
    """Expect codes of the alphabet, and words one after the other."""
    offsets, codes = words.offsets, words.codes
    expect(offsets[0] == 0 and offsets[-1] == len(codes), "words do not cover their codes")
    expect((np.diff(offsets) >= 0).all(), "a word ends before it begins")
    expect(not len(codes) or 0 <= codes.min() <= codes.max() < len(words.alphabet), "bad codes")


def facts_of_automaton(automaton: seqray.WeightedAutomaton) -> object:
    content = automaton.content
    arrays = {
        name: (np.shape(each), np.asarray(each).tolist())
        for name, each in content.arrays.items()
        if each is not None
    }
    return type(automaton), content.alphabet.symbols, arrays, dict(content.about)


def check_automaton(automaton: seqray.WeightedAutomaton) -> None:
    """Expect finite arrays of fitting shapes, and weights of words."""
    n, alphabet = automaton.n_states, automaton.alphabet
    for array in automaton.content.arrays.values():
        if array is not None and np.asarray(array).dtype.kind in "fc":
            expect(np.isfinite(array).all(), "an array is not finite")
    expect(automaton.initial.shape == (n,), "initial weights do not fit")
    final_shape = np.shape(automaton.final)
    expect(final_shape[-1:] == (n,) or final_shape[:1] == (n,), "output weights do not fit")
    with np.errstate(all="ignore"):
        weights = automaton.weights([(), alphabet.symbols[:1], alphabet.symbols[-1:] * 2])
    expect(weights.shape == (3,), "weights of three words are not three numbers")


def with_checks(
    read: Callable[[Any], Any], *checks: Callable[[Any], object]
) -> Callable[[Any], None]:
    """Return what reads, and then checks."""

    def checked(content: Any) -> None:
        value = read(content)
        for check in checks:
            check(value)

    return checked


def text_target(
    seeds: Sequence[str], read: Callable[[str], object], mutate: Mutate = mutated
) -> Target:
    """Return a target that reads text; bytes that are no UTF-8 become half characters."""
    decoded = functools.partial(_decoded, read)
    return Target([seed.encode() for seed in seeds], decoded, mutate)


def _decoded(read: Callable[[str], object], content: bytes) -> object:
    return read(content.decode("utf-8", "surrogateescape"))


def is_finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def either(first: Mutate, second: Mutate = mutated) -> Mutate:
    """Return what makes inputs in one way, or as often in the other."""

    def made(seed: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
        return (first if rng.random() < 0.5 else second)(seed, seeds, rng)

    return made
