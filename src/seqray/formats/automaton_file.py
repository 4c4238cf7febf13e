"""Weighted automata in files, and in whatever else holds one."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.deterministic import DeterministicAutomaton
from seqray.automata.purpose import Purpose, named_purpose
from seqray.automata.ranks import RankedAutomata
from seqray.formats.fst import LOG_SUFFIX, read_fst
from seqray.formats.graph_file import read_graph_file
from seqray.formats.pautomac import read_machine
from seqray.formats.run_files import COPY_FILES, RunFiles, opened_run
from seqray.util.errors import ArgumentError, MissingFileError


def open_wa(path: str | os.PathLike[str], *, purpose: str = Purpose.COPYING) -> WeightedAutomaton:
    """Open an automaton, whatever kind of file it is in.

    Parameters
    ----------
    path
        A ``.json`` or ``.npz`` file, a run folder, a machine of PAutomaC, OpenFst text (``.fst``,
        ``.logfst``), or a ``.dot`` file: of ``seqray convert``, or of the package AALpy (DFA, Moore
        machine, or stochastic Mealy machine with one input).
    purpose
        Which automaton of a run folder: for ``"copying"`` its largest copy, if it has copies; else,
        and for ``"reading"``, that of the rank chosen there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     WeightedAutomaton("a", [1], [[[0.5]]], [0.5]).save(Path(folder, "coin.json"))
    ...     open_wa(Path(folder, "coin.json"))
    WeightedAutomaton(1 states, 1 symbols)
    """
    file, wanted = Path(path), named_purpose(purpose)
    if not os.path.exists(path):
        raise MissingFileError(f"{path}: there is no such file or folder")
    if file.is_dir():
        with opened_run(file) as run:
            return _of_run(run, wanted)
    if file.suffix in (".fst", LOG_SUFFIX):
        return read_fst(file)
    if file.suffix == ".dot":
        return read_graph_file(file)
    return WeightedAutomaton.load(file) if file.suffix in (".json", ".npz") else read_machine(file)


def _of_run(run: RunFiles, purpose: Purpose) -> WeightedAutomaton:
    """Return the automaton of a run folder that a purpose needs."""
    copies = [name for name in COPY_FILES if name in run.contents]
    if purpose is Purpose.COPYING and copies:
        return WeightedAutomaton.from_npz(run.contents[copies[-1]])
    return RankedAutomata.from_files(run.contents).automaton(run.config["rank"])


def for_purpose(automaton: WeightedAutomaton, purpose: Purpose) -> WeightedAutomaton:
    """Return an automaton as a purpose needs it: to be read, one that decides has classes.

    >>> from seqray import DeterministicAutomaton
    >>> for_purpose(DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0]), Purpose.READING)
    ClassifierAutomaton(2 states, 2 symbols, 2 classes)
    """
    if purpose is Purpose.READING and isinstance(automaton, DeterministicAutomaton):
        return automaton.to_classifier()
    return automaton


@runtime_checkable
class HasBest(Protocol):
    """What `seqray.extract` and `seqray.open_run` return."""

    def best(self, *, purpose: str = Purpose.COPYING) -> WeightedAutomaton:
        """Return the best automaton for a purpose."""


@runtime_checkable
class HasNames(Protocol):
    """What `seqray.name_states` returns."""

    @property
    def automaton(self) -> WeightedAutomaton:
        """The automaton whose states have names."""

    @property
    def names(self) -> Sequence[str]:
        """One name per state."""


AutomatonLike: TypeAlias = WeightedAutomaton | HasBest | HasNames | str | os.PathLike[str]
"""An automaton, or what one is in: an extraction, a named automaton, a run folder or a file."""


def as_automaton(
    given: AutomatonLike, name: str = "automaton", *, purpose: Purpose = Purpose.COPYING
) -> WeightedAutomaton:
    """Return the automaton that an argument is or holds.

    Parameters
    ----------
    given
        An automaton; an extraction; a named automaton; or the path of a
        run folder or of an automaton's file.
    name
        What the argument is called, for the error.
    purpose
        Which automaton of an extraction or a run folder: to draw, name or explain, or to compute
        with its matrices, the one for reading; to score, sample, compare or write, the largest
        copy, if there are copies.

    Examples
    --------
    >>> as_automaton(3)
    Traceback (most recent call last):
    ...
    seqray.ArgumentError: automaton: expected a WeightedAutomaton, an extraction, a named ...
    """
    if isinstance(given, WeightedAutomaton):
        return for_purpose(given, purpose)
    if isinstance(given, str | os.PathLike):
        path = os.fspath(given).removeprefix("wa:")
        if os.path.exists(path):
            return for_purpose(open_wa(path, purpose=purpose), purpose)
        raise MissingFileError(
            f"{name}: there is no file or folder {path!r}: expected the path of a run folder or of "
            "an automaton's file"
        )
    if isinstance(given, HasNames):
        return for_purpose(given.automaton, purpose)
    if isinstance(given, HasBest):
        return for_purpose(given.best(purpose=purpose), purpose)
    raise ArgumentError(
        f"{name}: expected a WeightedAutomaton, an extraction, a named automaton, or the path of a "
        f"run folder or automaton, got {given!r}"
    )
