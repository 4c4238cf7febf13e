"""The problems of the experiments: a network, its evaluation words, and the target it has learnt.

A *source* says where a problem comes from: it is small, can be sent to another process, and knows
what is missing before any work is done. `load` makes a `Problem` of it.

============  =====================================================================================
pautomac      problems 1 … 48: the test words of the competition, its machine as the target
spice         problems 0 (synthetic) and 4 (English verbs): the last 2,000 words of the training
              file, which are left out of training
trucks        PAutomaC's natural problem 2; words as in spice
logs          sessions of the Hadoop file system (HDFS); the last fifth of them
generated     small machines like PAutomaC's, and boxes that are nearly the same: no file is needed
============  =====================================================================================

All but the last read ``NAME.safetensors`` from a folder of trained networks: ``3.safetensors``,
``spice4.safetensors``, ``trucks.safetensors``, ``hdfs.safetensors``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.generators import KINDS
from seqray.automata.sampling import sample
from seqray.automata.stepper import predicts
from seqray.automata.words import Alphabet, Words
from seqray.blackbox.protocol import PredictingBox
from seqray.blackbox.registry import open_black_box
from seqray.experiments.catalogue import find
from seqray.experiments.competition import draw_parameters, generate_problem, problem_paths
from seqray.experiments.natural import NATURAL
from seqray.formats.pautomac import read_machine
from seqray.formats.words_file import read_words
from seqray.util.errors import ArgumentError, BlackBoxError, FileError
from seqray.util.files import fingerprint
from seqray.util.random import Seed, random_generator

SUITES: dict[str, Sequence[int]] = {
    "pautomac": range(1, 49),
    **{suite: tuple(known) for suite, known in NATURAL.items()},
    "generated": range(1, 4),
}
"""The problems of each suite."""

RNN_SEED, HELD_OUT_SEED = 1, 2
"""Of the words that are drawn from a network: the same whatever the seed of a sweep."""

MAX_WORD_LENGTH = 1000
"""Where a word that a network does not end is cut."""

GENERATED_STATES, GENERATED_SYMBOLS = (5, 20), (4, 8)
"""The sizes of generated machines: small, so that they are swept in seconds."""


Material: TypeAlias = tuple[PredictingBox, Words, WeightedAutomaton | None]


@dataclass(frozen=True, eq=False)
class Problem:
    """A network and its evaluation words.

    Parameters
    ----------
    name
        Such as ``"3"`` or ``"spice4"``.
    box
        What automata are extracted from.
    test
        The evaluation words of the data, S_test in the paper.
    rnn
        Evaluation words drawn from the box, S_RNN in the paper.
    held_out
        Other words drawn from the box, to choose ranks on.
    target
        The machine that made the data, or None where nobody knows it.
    notes
        What a reader of the results should know.

    Examples
    --------
    >>> load(GeneratedSource(1), n_test=50, n_rnn=20, n_held_out=20)
    Problem(1: 6 symbols, 50 test words, 20 of the box, target with 12 states)
    """

    name: str
    box: PredictingBox
    test: Words
    rnn: Words
    held_out: Words
    target: WeightedAutomaton | None
    notes: tuple[str, ...] = ()

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        return self.box.alphabet

    def __repr__(self) -> str:
        aim = f"target with {self.target.n_states} states" if self.target else "no target"
        return (
            f"Problem({self.name}: {len(self.alphabet)} symbols, {len(self.test)} test words, "
            f"{len(self.rnn)} of the box, {aim})"
        )


@dataclass(frozen=True)
class FileSource:
    """A problem in files.

    Parameters
    ----------
    name
        The problem's name.
    network
        The trained network.
    words
        The file of words.
    machine
        The target machine, or None.
    n_last
        How many words at the end of the file are the test words; 0: all of them.
    layout
        That of the file of words, see `seqray.formats.words_file`.

    Examples
    --------
    >>> FileSource("9", Path("9.safetensors"), Path("9.test"), None).hole
    'there is no file 9.test'
    """

    name: str
    network: Path
    words: Path
    machine: Path | None
    n_last: int = 0
    layout: str = "pautomac"

    @property
    def hole(self) -> str:
        """Why there is no such problem here; empty where there is."""
        for path in (self.words, *([self.machine] if self.machine else [])):
            if not path.is_file():
                return f"there is no file {path}"
        if not self.network.is_file():
            return f"there is no network {self.network}: train one with `seqray train`"
        return ""

    def fingerprint(self) -> str:
        """Return a digest of all files."""
        return fingerprint(self.network, self.words, *([self.machine] if self.machine else []))

    def read(self) -> Material:
        """Return the box, the test words, and the target if it is known."""
        opened = open_black_box(f"rnn:{self.network}")
        if not predicts(opened):
            raise BlackBoxError(f"{self.network}: expected a network that predicts the next symbol")
        box = cast(PredictingBox, opened)
        words = read_words(self.words, alphabet=box.alphabet, layout=self.layout)
        if self.n_last:
            if len(words) <= self.n_last:
                raise FileError(
                    f"{self.words}: expected more than the {self.n_last} words that are reserved "
                    f"for the test, got {len(words)}"
                )
            words = words[-self.n_last :]
        target = None
        if self.machine is not None:
            target = widened(read_machine(self.machine), box.alphabet)
        return box, words, target


@dataclass(frozen=True)
class GeneratedSource:
    """A problem that is generated: a machine, words of it, and a box that is nearly the machine.

    Parameters
    ----------
    number
        Which one; the same number is always the same problem.

    Examples
    --------
    >>> box, words, target = GeneratedSource(2).read()
    >>> target, len(words)
    (WeightedAutomaton(18 states, 5 symbols), 1000)
    """

    number: int

    @property
    def name(self) -> str:
        """The problem's number."""
        return str(self.number)

    @property
    def hole(self) -> str:
        """Nothing is ever missing."""
        return ""

    def fingerprint(self) -> str:
        """Return a digest of what is generated."""
        return f"generated {self.number}"

    def read(self) -> Material:
        """Return the box, the test words, and the target."""
        rng = np.random.default_rng(self.number)
        chosen = draw_parameters(
            seed=rng,
            kind=KINDS[(self.number - 1) % len(KINDS)],
            n_states=int(rng.integers(*GENERATED_STATES, endpoint=True)),
            n_symbols=int(rng.integers(*GENERATED_SYMBOLS, endpoint=True)),
        )
        problem = generate_problem(chosen, 1, 1000, seed=rng)
        return nearly(problem.machine, seed=rng), problem.test, problem.machine


Source: TypeAlias = FileSource | GeneratedSource
"""Where a problem comes from."""


def sources(
    suite: str,
    *,
    data: Path | None = None,
    boxes: Path = Path("benchmarks", "blackboxes"),
    problems: Iterable[int] | None = None,
) -> list[Source]:
    """Return where the problems of a suite come from, whether or not their files are there.

    Parameters
    ----------
    suite
        One of `SUITES`.
    data
        The folder of public data sets, see `seqray.experiments.catalogue`; `generated` needs none.
    boxes
        The folder of trained networks.
    problems
        Which ones, by number; None: all.

    Examples
    --------
    >>> [source.name for source in sources("generated", problems=[2, 3])]
    ['2', '3']
    """
    if suite not in SUITES:
        raise ArgumentError(f"suite: expected one of {', '.join(SUITES)}, got {suite!r}")
    known = SUITES[suite]
    numbers = known if problems is None else tuple(dict.fromkeys(problems))
    unknown = [n for n in numbers if n not in known and (suite != "generated" or n < 1)]
    if unknown:
        raise ArgumentError(f"{suite} has no problem {unknown[0]}: it has {_range(known)}")
    if suite == "generated":
        return [GeneratedSource(number) for number in numbers]
    if data is None:
        raise ArgumentError(f"{suite} needs its data: name the data folder (or set SEQRAY_DATA)")
    if suite in NATURAL:
        return [_natural_source(suite, number, data, boxes) for number in numbers]
    listed: list[Source] = []
    for n in numbers:
        _, test, machine, _ = problem_paths(data / find(suite).folder, n)
        listed.append(FileSource(str(n), boxes / f"{n}.safetensors", test, machine))
    return listed


def _natural_source(suite: str, number: int, data: Path, boxes: Path) -> FileSource:
    """Return where a problem without a target machine comes from."""
    known, data_set = NATURAL[suite][number], find(suite)
    return FileSource(
        known.name,
        boxes / f"{known.name}.safetensors",
        data / data_set.folder / known.file,
        None,
        known.n_reserved,
        data_set.layout,
    )


def load(
    source: Source, *, n_test: int | None = None, n_rnn: int = 2000, n_held_out: int = 1000
) -> Problem:
    """Read a problem, and draw words from its box.

    Parameters
    ----------
    source
        Where it comes from.
    n_test
        How many test words to take, the first; None: all.
    n_rnn, n_held_out
        How many words to draw from the box, to evaluate on and to choose ranks on.
    """
    box, test, target = source.read()
    (rnn, n_cut), (held_out, n_more) = (
        sample(box, n_words, seed=np.random.default_rng(seed), max_length=MAX_WORD_LENGTH)
        for n_words, seed in ((n_rnn, RNN_SEED), (n_held_out, HELD_OUT_SEED))
    )
    notes: tuple[str, ...] = ()
    if n_cut + n_more:
        notes = (
            f"{n_cut + n_more} of {n_rnn + n_held_out} words drawn from the box had no end after "
            f"{MAX_WORD_LENGTH} symbols and were cut",
        )
    return Problem(source.name, box, test[:n_test], rnn, held_out, target, notes)


def widened(machine: WeightedAutomaton, alphabet: Alphabet) -> WeightedAutomaton:
    """Return a machine over a larger alphabet, whose other symbols it never emits.

    The words of a problem may promise symbols that its machine does not have.

    Examples
    --------
    >>> widened(WeightedAutomaton("a", [1], [[[0.5]]], [0.5]), Alphabet("ab")).weights(["a", "b"])
    array([0.25, 0.  ])
    """
    if machine.alphabet == alphabet:
        return machine
    codes = alphabet.encode(machine.alphabet.symbols)
    transitions = np.zeros((len(alphabet), machine.n_states, machine.n_states))
    transitions[codes] = machine.transitions
    return WeightedAutomaton(alphabet, machine.initial, transitions, machine.final)


def nearly(machine: WeightedAutomaton, *, seed: Seed) -> WeightedAutomaton:
    """Return a stochastic machine with other probabilities, as a network that has learnt it well.

    Examples
    --------
    >>> coin = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> box = nearly(coin, seed=np.random.default_rng(0))
    >>> box.next_symbol([""]).round(2), round(box.total, 9)
    (array([[0.55, 0.24, 0.21]]), 1.0)
    """
    rng = random_generator(seed)
    moves = machine.transitions * rng.uniform(0.8, 1.2, machine.transitions.shape)
    final = machine.final * rng.uniform(0.8, 1.2, machine.final.shape)
    sums = moves.sum(axis=(0, 2)) + final
    return WeightedAutomaton(machine.alphabet, machine.initial, moves / sums[:, None], final / sums)


def _range(numbers: Sequence[int]) -> str:
    """Write the numbers of a suite's problems."""
    if len(numbers) < 3:
        return " and ".join(map(str, numbers))
    return f"{numbers[0]} … {numbers[-1]}"
