"""The machines of the PAutomaC competition, and their solution files.

The format is that of Verwer, Eyraud and de la Higuera (2012): four sections of lines ``(key)
probability``. ``I`` holds where a word begins, ``F`` where it stops, ``S`` which symbol a state
emits if it does not stop, and ``T`` where that symbol leads. What is not listed is 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.deterministic import DeterministicAutomaton
from seqray.automata.sparse_graph import automaton_of_graph
from seqray.automata.transitions import Transitions
from seqray.automata.words import Alphabet
from seqray.formats.words_file import PathLike, text_lines
from seqray.util.arrays import FloatArray
from seqray.util.errors import ArgumentError, FileError
from seqray.util.files import MAX_NUMBERS, reading, too_many_numbers, writing

SECTIONS = {
    "I": "(state)",
    "F": "(state)",
    "S": "(state,symbol)",
    "T": "(state,symbol,state)",
}
TOLERANCE = 1e-6
"""How far probabilities may be from summing to 1."""

_TITLE = re.compile(r"([IFST]):")
_ENTRY = re.compile(r"\(([0-9, ]+)\)\s+(\S+)")

Entries = dict[tuple[int, ...], float]


def read_machine(path: PathLike) -> WeightedAutomaton:
    """Read a machine of PAutomaC, a file ``N.pautomac_model.txt``.

    Its transition weights are ``(1 - F(q)) S(q, σ) T(q, σ, q')``, so that the weight of a word is
    its probability.

    Parameters
    ----------
    path
        The file: an HMM, PFA or DPFA.

    Returns
    -------
    automaton
        Over the integers 0 … k-1, where k-1 is the largest symbol of the machine. The header of a
        file of words may promise more: read that file with this alphabet. It is dense; a machine
        with too many states for that is structured, see `seqray.automata.sparse_graph`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> coin = WeightedAutomaton(range(2), [1], [[[0.5]], [[0.25]]], [0.25])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_machine(coin, Path(folder, "coin_model.txt"))
    ...     read_machine(Path(folder, "coin_model.txt")).weights([[], [0], [0, 1]])
    array([0.25   , 0.125  , 0.03125])
    """
    sections, titles = _parsed(path)
    # A key is (state), (state, symbol) or (state, symbol, state).
    n_states = 1 + max(
        state for entries in sections.values() for key in entries for state in key[::2]
    )
    n_symbols = 1 + max(key[1] for name in "ST" for key in sections[name])
    n_numbers = 2 * (n_symbols + 1) * n_states  # of sections I, F and S, and of sums of section T
    if n_numbers > MAX_NUMBERS:
        raise too_many_numbers(f"{path}: {n_states:,} states and {n_symbols:,} symbols", n_numbers)
    shapes = {"I": (n_states,), "F": (n_states,), "S": (n_states, n_symbols)}
    arrays = {name: _filled(shape, sections[name]) for name, shape in shapes.items()}
    keys = np.array(list(sections["T"]))
    targets = np.array(list(sections["T"].values()))
    origins, symbols, ends = keys.T
    sums = np.zeros((n_states, n_symbols))
    np.add.at(sums, (origins, symbols), targets)
    _check_sums(path, titles, arrays, sums)
    leaving = (1 - arrays["F"])[:, None] * arrays["S"]
    moves = Transitions(symbols, origins, ends, leaving[origins, symbols] * targets)
    with reading(path, "a PAutomaC machine"):
        return automaton_of_graph(
            Alphabet(range(n_symbols)), arrays["I"], moves, arrays["F"], prefers_dense=True
        )


def _filled(shape: tuple[int, ...], entries: Entries) -> FloatArray:
    array = np.zeros(shape)
    for key, probability in entries.items():
        array[key] = probability
    return array


def write_machine(automaton: WeightedAutomaton, path: PathLike) -> None:
    """Write a stochastic automaton as a machine of PAutomaC.

    Parameters
    ----------
    automaton
        Every number 0 or more, ``initial`` sums to 1, and for each state what leaves it and its
        ``final`` sum to 1. Its symbols are written as their codes 0 … k-1.
    path
        Where to. An existing file is replaced.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "coin_model.txt")
    ...     write_machine(WeightedAutomaton("a", [1], [[[0.5]]], [0.5]), path)
    ...     print(path.read_text().expandtabs(2))
    I: (state)
      (0) 1.0
    F: (state)
      (0) 0.5
    S: (state,symbol)
      (0,0) 1.0
    T: (state,symbol,state)
      (0,0,0) 1.0
    """
    moves, by_symbol = stochastic_moves(automaton)
    stays = np.clip(1 - automaton.final, 0, None)[:, None]
    symbols = np.divide(by_symbol, stays, out=np.zeros_like(by_symbol), where=stays > 0)
    with (
        writing(path, with_checksum=True) as fresh,
        fresh.open("w", encoding="utf-8", newline="\n") as file,
    ):
        for name, array in (("I", automaton.initial), ("F", automaton.final), ("S", symbols)):
            listed = array != 0
            if name == "S":
                listed[0, -1] = True  # so that a last symbol that is never used is not forgotten
            file.writelines(_section(name, *np.nonzero(listed), array[listed]))
        by_state = moves.chosen(np.lexsort((moves.targets, moves.codes, moves.origins)))
        shares = by_state.weights / by_symbol[by_state.origins, by_state.codes]
        keys = by_state.origins, by_state.codes, by_state.targets
        if not len(shares):  # every word ends at once: a section is never empty
            keys, shares = (np.zeros(1, int),) * 3, np.zeros(1)
        file.writelines(_section("T", *keys, shares))


def stochastic_moves(
    automaton: WeightedAutomaton, wanted: str = "a PAutomaC machine"
) -> tuple[Transitions, FloatArray]:
    """Return the transitions of a stochastic automaton, and what leaves each state by symbol.

    An automaton that is not stochastic is refused; ``wanted`` says what it cannot be written as.
    """
    _refuse_decisions(automaton, wanted)
    moves = automaton.listed()
    by_symbol = _leaving(automaton, moves)
    _check_stochastic(automaton, moves, by_symbol.sum(axis=1), wanted)
    return moves, by_symbol


def _leaving(automaton: WeightedAutomaton, moves: Transitions) -> FloatArray:
    """Return the weight with which each symbol leaves each state, ``(n_states, n_symbols)``."""
    n_states, n_symbols = automaton.n_states, len(automaton.alphabet)
    places = moves.origins * n_symbols + moves.codes
    sums: FloatArray = np.zeros(n_states * n_symbols)
    np.add.at(sums, places, moves.weights)
    return sums.reshape(n_states, n_symbols)


def _section(name: str, *arrays: NDArray[Any]) -> Iterator[str]:
    """Yield the lines of a section: its title, then keys and last a probability."""
    yield f"{name}: {SECTIONS[name]}\n"
    for *key, probability in zip(*(each.tolist() for each in arrays), strict=True):
        yield f"\t({','.join(map(str, key))}) {probability!r}\n"


def read_solution(path: PathLike) -> FloatArray:
    r"""Read the probabilities of the test words, a file ``N.pautomac_solution.txt``.

    Parameters
    ----------
    path
        The file: the number of words, then a probability a line.

    Returns
    -------
    probabilities
        Of each test word, shape ``(n_words,)``. They sum to 1 over the test words.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "1.pautomac_solution.txt")
    ...     _ = path.write_text("2\n0.25\n0.75\n")
    ...     read_solution(path)
    array([0.25, 0.75])
    """
    header, *lines = text_lines(path)
    if not (header.strip().isdecimal() and len(header) < 18):
        raise FileError(f"{path}:1: expected the number of words, got {header[:80]!r}")
    while lines and not lines[-1].strip():
        lines.pop()
    n_words = int(header.strip())  # `int` itself leaves separators such as \x1e
    if len(lines) != n_words:
        at = min(len(lines), n_words + 1) + 1
        raise FileError(f"{path}:{at}: header promises {n_words} words, got {len(lines)}")
    return np.array(
        [_probability(text.strip(), f"{path}:{at}") for at, text in enumerate(lines, 2)], np.float64
    )


def write_solution(probabilities: FloatArray, path: PathLike) -> None:
    r"""Write the probabilities of test words as a file ``N.pautomac_solution.txt``.

    Parameters
    ----------
    probabilities
        Of each test word, shape ``(n_words,)``. They are divided by their sum, as the competition
        did.
    path
        Where to. An existing file is replaced.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "1.pautomac_solution.txt")
    ...     write_solution(np.array([0.125, 0.375]), path)
    ...     path.read_text()
    '2\n0.25\n0.75\n'
    """
    total = probabilities.sum()
    if not (probabilities >= 0).all() or not 0 < total < math.inf:
        raise ArgumentError(
            f"{path}: expected probabilities, not all 0; got from {probabilities.min():.6g} to "
            f"{probabilities.max():.6g}"
        )
    lines = [str(len(probabilities)), *map(repr, (probabilities / total).tolist())]
    with writing(path, with_checksum=True) as fresh:
        fresh.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def _parsed(path: PathLike) -> tuple[dict[str, Entries], dict[str, int]]:
    """Return the entries of each section, and the line where each begins."""
    sections: dict[str, Entries] = {}
    titles: dict[str, int] = {}
    name = ""
    number = 0
    for number, line in enumerate(text_lines(path), 1):
        text, where = line.strip(), f"{path}:{number}"
        if title := _TITLE.match(text):
            name = title[1]
            if name in sections:
                raise FileError(f"{where}: section {name} stands here and at line {titles[name]}")
            sections[name], titles[name] = {}, number
        elif not name:
            raise FileError(f"{where}: expected a section 'I: (state)', got {text[:80]!r}")
        elif text:
            key, probability = _entry(text, name, where)
            if key in sections[name]:
                raise FileError(f"{where}: {name}{_shown(key)} is given twice")
            sections[name][key] = probability
    for name, keys in SECTIONS.items():
        if name not in sections:
            raise FileError(f"{path}:{number}: cut short: there is no section '{name}: {keys}'")
        if name != "F" and not sections[name]:
            raise FileError(f"{path}:{titles[name]}: section {name} is empty")
    return {name: sections[name] for name in SECTIONS}, titles


def _entry(text: str, section: str, where: str) -> tuple[tuple[int, ...], float]:
    expected = f"{where}: expected '{SECTIONS[section]} probability', got {text[:80]!r}"
    entry = _ENTRY.fullmatch(text)
    if not entry:
        raise FileError(expected)
    indices = [index.strip() for index in entry[1].split(",")]
    n_indices = SECTIONS[section].count(",") + 1
    if len(indices) != n_indices or not all(i.isdecimal() and len(i) < 10 for i in indices):
        raise FileError(expected)
    return tuple(map(int, indices)), _probability(entry[2], where)


def _probability(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1 + TOLERANCE:
        raise FileError(f"{where}: expected a probability, got {text[:80]!r}")
    return value


def _shown(key: tuple[int, ...]) -> str:
    return f"({','.join(map(str, key))})"


def _check_sums(
    path: PathLike,
    titles: dict[str, int],
    arrays: Mapping[str, FloatArray],
    target_sums: FloatArray,
) -> None:
    """Refuse a machine that is not stochastic: the usual sign of a file that was cut."""
    goes_on = 1 - arrays["F"]
    # The sum of each distribution, and how often it is used: where it never is, it may be missing.
    checks = {
        "I": (arrays["I"].sum(axis=-1), np.ones(())),
        "S": (arrays["S"].sum(axis=-1), np.abs(goes_on)),
        "T": (target_sums, np.abs(goes_on[:, None] * arrays["S"])),
    }
    for name, (sums, use) in checks.items():
        wrong = use * np.abs(sums - 1) > 10 * TOLERANCE
        if wrong.any():
            key = tuple(np.argwhere(wrong)[0].tolist())
            what = f" of {SECTIONS[name].rpartition(',')[0]}) = {_shown(key)}" if key else ""
            raise FileError(
                f"{path}:{titles[name]}: damaged or cut short: the probabilities{what} in section "
                f"{name} sum to {sums[key]:.9g}, not to 1"
            )


def _refuse_decisions(automaton: WeightedAutomaton, wanted: str) -> None:
    """Refuse an automaton that gives decisions."""
    if isinstance(automaton, DeterministicAutomaton):
        kind = "DFA" if automaton.is_dfa else "Moore machine"
    elif isinstance(automaton, ClassifierAutomaton):
        kind = "classifier"
    else:
        return
    raise ArgumentError(
        f"{wanted} needs a probabilistic automaton: this one is a {kind} with the classes "
        f"{', '.join(automaton.classes)}, and words have no probabilities in it; write it as .json "
        "or .dot instead"
    )


def _check_stochastic(
    automaton: WeightedAutomaton, moves: Transitions, leaving: FloatArray, wanted: str
) -> None:
    """Refuse what is no machine; ``leaving`` is the weight of all that leaves each state."""
    advice = (
        f"{wanted} needs a probabilistic automaton: save it as .json instead, or repair it "
        "(seqray.repair, or seqray convert --repair)"
    )
    if (moves.weights < 0).any():
        first = int((moves.weights < 0).argmax())
        at = tuple(int(each[first]) for each in moves[:3])
        raise ArgumentError(f"transitions is {moves.weights[first]:.6g} at {at}, below 0: {advice}")
    for name in ("initial", "final"):
        array = getattr(automaton, name)
        if (array < 0).any():
            first = int((array < 0).argmax())
            raise ArgumentError(f"{name} is {array[first]:.6g} at {(first,)}, below 0: {advice}")
    start = automaton.initial.sum()
    if abs(start - 1) > TOLERANCE:
        raise ArgumentError(f"initial sums to {start:.9g}, not to 1: {advice}")
    sums = automaton.final + leaving
    wrong = np.abs(sums - 1) > TOLERANCE
    if wrong.any():
        state = int(wrong.argmax())
        raise ArgumentError(
            f"what leaves state {state} and its final weight sum to {sums[state]:.9g}, not to 1: "
            + advice
        )
