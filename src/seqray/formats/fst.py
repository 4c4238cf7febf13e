r"""Automata as text in the AT&T format, the one that OpenFst's ``fstcompile`` reads.

A line ``from to symbol symbol weight`` is a transition, a line ``state weight`` an output weight;
the first line's origin is the start state. This format has one start state, and a weighted
automaton has an input weight on every state. So state 0 is a fresh start, state ``q`` of the
automaton is ``q + 1``, and transitions from 0 that read nothing, ``<eps>``, carry the input
weights.

A ``.fst`` file holds plain real numbers: they multiply along a path and add up over paths. The
tools of OpenFst compute in its log semiring, which has −log(weight) instead; a ``.logfst`` file
holds these, with all that follows from it: a weight of 0 is ``Infinity``, and there are no negative
ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.deterministic import DeterministicAutomaton
from seqray.automata.sparse_graph import automaton_of_graph
from seqray.automata.transitions import Transitions, listed
from seqray.automata.words import Alphabet, Symbol
from seqray.util.checksums import check_beside
from seqray.util.errors import ArgumentError, FileError, MissingFileError, SymbolError
from seqray.util.files import check_writable, read_text, reading, writing

EPSILON = "<eps>"
ESCAPED = re.compile(r"\s|%(?=[0-9A-Fa-f]{2})")
"""What is written as in addresses: white space, which ends a field, and what looks like that."""


LOG_SUFFIX = ".logfst"
"""The ending of files for the log semiring."""


def write_fst(automaton: WeightedAutomaton, path: Path) -> None:
    """Write an automaton in the AT&T format, and its symbols to a ``.syms`` file beside it."""
    _write(automaton, path, repr)


def write_log_fst(automaton: WeightedAutomaton, path: Path) -> None:
    """Write an automaton for the log semiring of OpenFst, and its symbols beside it."""
    _check_gives_weights(automaton)
    if not automaton.is_nonnegative:
        raise ArgumentError(
            f"{path}: OpenFst's log semiring has no negative weights: expected an automaton "
            "without any; write .fst, which holds plain numbers, or repair it (seqray.repair, or "
            "seqray convert --repair)"
        )
    _write(automaton, path, _log_text)


def _log_text(weight: float) -> str:
    return repr(-math.log(weight)) if weight else "Infinity"


def _check_gives_weights(automaton: WeightedAutomaton) -> None:
    """Refuse what decides between classes; a DFA is fine: it gives 1 to what it accepts."""
    is_dfa = isinstance(automaton, DeterministicAutomaton) and automaton.is_dfa
    if isinstance(automaton, ClassifierAutomaton | DeterministicAutomaton) and not is_dfa:
        raise ArgumentError(
            f"OpenFst text holds one weight per word: this automaton decides between the classes "
            f"{', '.join(automaton.classes)}; write it as .json, .dot, .onnx, .c or .js instead"
        )


def _write(automaton: WeightedAutomaton, path: Path, text_of: Callable[[float], str]) -> None:
    _check_gives_weights(automaton)
    names = _names(automaton.alphabet)
    check_writable(path)  # its symbols are moved to their place first
    symbols = path.with_suffix(".syms")
    with (  # both or none
        writing(path, with_checksum=True) as fresh,
        writing(symbols, with_checksum=True) as table,
    ):
        with fresh.open("w", encoding="utf-8") as file:
            file.writelines(_lines(automaton, names, text_of))
        table.write_text(_table(names), "utf-8")


def to_fst_text(automaton: WeightedAutomaton) -> tuple[str, str]:
    """Return an automaton in the AT&T format, and its symbol table.

    Parameters
    ----------
    automaton
        What to write; a Moore machine or another classifier is refused. Its symbols become text;
        white space in it is written as in addresses: ``%20`` for a space.

    Returns
    -------
    tuple[str, str]
        The transitions and output weights, then the table: ``<eps> 0``, and the symbols from 1.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [1], [[[0.5]], [[-0.25]]], [2])
    >>> text, symbols = to_fst_text(wa)
    >>> print(text, symbols, sep="")
    0 1 <eps> <eps> 1.0
    1 1 a a 0.5
    1 1 b b -0.25
    1 2.0
    <eps> 0
    a 1
    b 2
    """
    _check_gives_weights(automaton)
    names = _names(automaton.alphabet)
    return "".join(_lines(automaton, names, repr)), _table(names)


def _lines(
    automaton: WeightedAutomaton, names: list[str], text_of: Callable[[float], str]
) -> Iterator[str]:
    """Yield the lines of the AT&T format one by one: there may be millions."""
    # One line at least, even where all input weights are 0: it names the start state.
    for q in np.flatnonzero(automaton.initial).tolist() or [0]:
        yield f"0 {q + 1} {EPSILON} {EPSILON} {text_of(float(automaton.initial[q]))}\n"
    for block in automaton.edge_blocks():
        name = names[block.code]
        for _, origin, target, weight in listed([block]).edges():
            yield f"{origin + 1} {target + 1} {name} {name} {text_of(weight)}\n"
    # Output weights of 0 are written too, so that no state is lost.
    for q, weight in enumerate(automaton.final.tolist()):
        yield f"{q + 1} {text_of(weight)}\n"


def _table(names: list[str]) -> str:
    return "".join(f"{name} {code}\n" for code, name in enumerate([EPSILON, *names]))


def read_fst(path: Path) -> WeightedAutomaton:
    """Read an automaton from a ``.fst`` or ``.logfst`` file and the ``.syms`` file beside it."""
    text, table = read_text(path), path.with_suffix(".syms")
    if not table.exists():
        raise MissingFileError(
            f"{table}: there is no such file: expected the symbols of {path.name}, lines "
            "'symbol code', as --isymbols of fstcompile reads them"
        )
    symbols = read_text(table)
    check_beside(path)
    check_beside(table)
    with reading(path, "OpenFst text"):
        return from_fst_text(text, symbols, is_log=path.suffix == LOG_SUFFIX)


def from_fst_text(text: str, symbols: str, *, is_log: bool = False) -> WeightedAutomaton:
    """Read an automaton from the AT&T format and its symbol table.

    It is structured where the graph is, see `seqray.automata.sparse_graph`.

    Parameters
    ----------
    text
        Lines ``from to symbol symbol weight`` and ``state weight``; a weight left out is 1.
        ``<eps>`` may stand only on transitions out of a start state that nothing leads back to.
    symbols
        Lines ``symbol code``. Codes give the alphabet its order; the symbols are strings, in
        which ``%20`` stands for a space.
    is_log
        Whether weights are those of the log semiring, −log(weight).

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [1], [[[0.5]], [[-0.25]]], [2])
    >>> from_fst_text(*to_fst_text(wa)).allclose(wa)
    True
    """
    written = _read_symbols(symbols)
    alphabet = Alphabet(map(unquote, written))
    arcs, finals = _read_lines(text, {*written, EPSILON}, is_log)
    if not arcs and not finals:
        raise FileError("the FST text is empty: it needs at least one state")
    start = arcs[0][0] if arcs else next(iter(finals))
    entered = any(target == start for _, target, _, _ in arcs)
    initial, edges = {start: 1.0}, []
    for origin, target, symbol, weight in arcs:
        if symbol != EPSILON:
            edges.append((origin, unquote(symbol), target, weight))
        elif origin == start and not entered:
            initial[target] = initial.get(target, 0.0) + weight
        else:
            raise FileError(
                f"the FST text has {EPSILON} from state {origin} to {target}: only a start state "
                "that nothing leads back to may have it; remove the others with fstrmepsilon"
            )
    states = sorted({q for arc in arcs for q in arc[:2]} | set(finals))
    if len(initial) > 1 and start not in finals and all(edge[0] != start for edge in edges):
        states.remove(start)  # it did nothing but hand out the input weights
        del initial[start]
    at = {state: index for index, state in enumerate(states)}
    start_weights, final = np.zeros(len(states)), np.zeros(len(states))
    for vector, weights in ((start_weights, initial), (final, finals)):
        for state, weight in weights.items():
            vector[at[state]] = weight
    listed_edges = [(alphabet.codes[symbol], at[q], at[r]) for q, symbol, r, _ in edges]
    codes, origins, targets = np.array(listed_edges, np.int64).reshape(-1, 3).T
    moves = Transitions(codes, origins, targets, np.array([edge[3] for edge in edges], np.float64))
    return automaton_of_graph(alphabet, start_weights, moves, final)


def _names(alphabet: Alphabet) -> list[str]:
    names = [ESCAPED.sub(lambda sign: quote(sign[0], safe=""), str(each)) for each in alphabet]
    for name in names:
        if not name or name == EPSILON:
            raise SymbolError(
                f"symbol {name!r} cannot be written as FST text: {EPSILON} stands for no symbol "
                "there; rename the symbol first"
            )
    Alphabet(names)  # refuses symbols that become the same text, as 1 and "1" do
    return names


def _fields(text: str) -> Iterator[tuple[int, list[str]]]:
    for at, line in enumerate(text.split("\n"), start=1):
        if fields := line.split():
            yield at, fields


def _read_symbols(text: str) -> list[str]:
    codes: dict[int, str] = {}
    for at, fields in _fields(text):
        if len(fields) != 2 or not _is_count(fields[1]) or int(fields[1]) in codes:
            raise FileError(
                f"line {at} of the symbol table: expected a symbol and a code of its own, "
                f"got {' '.join(fields)!r}"
            )
        codes[int(fields[1])] = fields[0]
    return [codes[code] for code in sorted(codes) if codes[code] != EPSILON]


def _read_lines(
    text: str, known: Set[Symbol], is_log: bool
) -> tuple[list[tuple[int, int, str, float]], dict[int, float]]:
    arcs: list[tuple[int, int, str, float]] = []
    finals: dict[int, float] = {}
    for at, fields in _fields(text):
        match fields:
            case [origin, target, symbol, out, *weight] if symbol == out and len(weight) < 2:
                if symbol not in known:
                    raise FileError(
                        f"line {at} of the FST text: symbol {symbol!r} is not in the symbol table"
                    )
                number = _weight(weight, at, is_log)
                arcs.append((_state(origin, at), _state(target, at), symbol, number))
            case [state, *weight] if len(weight) < 2:
                finals[_state(state, at)] = _weight(weight, at, is_log)
            case _:
                raise FileError(
                    f"line {at} of the FST text: expected 'from to symbol symbol weight', both "
                    f"symbols the same, or 'state weight', got {' '.join(fields)!r}"
                )
    return arcs, finals


def _is_count(field: str) -> bool:
    return field.isdecimal() and len(field) < 19  # OpenFst's numbers have 64 bits


def _state(field: str, at: int) -> int:
    if not _is_count(field):
        raise FileError(f"line {at} of the FST text: expected a state number, got {field!r}")
    return int(field)


def _weight(fields: list[str], at: int, is_log: bool) -> float:
    if not fields:
        return 1.0
    try:
        weight = float(fields[0])
        weight = math.exp(-weight) if is_log else weight
    except (ValueError, OverflowError):
        weight = math.nan
    if not math.isfinite(weight):
        raise FileError(f"line {at} of the FST text: expected a real weight, got {fields[0]!r}")
    return weight
