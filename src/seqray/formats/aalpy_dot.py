"""Graphviz files of the package AALpy: DFA, Moore machines, stochastic Mealy machines.

They are read line by line; nothing in them is run, and AALpy is not needed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeGuard

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.deterministic import (
    DECISIONS,
    DeterministicAutomaton,
    deterministic_pfa,
    is_deterministic,
)
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.words import Alphabet, Symbol
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.checksums import check_beside
from seqray.util.errors import FileError, SymbolError
from seqray.util.files import MAX_NUMBERS, read_bytes, reading, too_many_numbers, writing

START = "__start0"
"""The node whose edge leads to the start state."""

SUM_TOLERANCE = 1e-5
"""Probabilities of a network may sum to this much more than 1."""

STEP, END = "next", "end"
"""The one input of a stochastic Mealy machine, and its output that ends the word."""

OUTPUT = f"// {START} output: "
"""Begins the comment line of an output, one per output in their order. AALpy skips lines with the
name of that node."""

MAX_LINE_LENGTH = 2**16
"""The most characters in a line."""

# Possessive quantifiers: each pattern takes time in proportion to the line.
EDGE = re.compile(r'"?(\w++)"?\s*+->\s*+"?(\w++)"?\s*+(?:\[(.*)\])?\s*+;?')
NODE = re.compile(r'"?(\w++)"?\s*+\[(.*)\]\s*+;?')
ATTRIBUTE = re.compile(r'(?<!\w)(\w++)\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^,\s\]]++))')
STOCHASTIC = re.compile(r"([^/]++)/(.+):([-+.\deE]++)")
WHOLE_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


def is_pdfa(automaton: WeightedAutomaton) -> TypeGuard[StructuredAutomaton]:
    """Whether an automaton is deterministic, and its numbers are probabilities.

    >>> is_pdfa(deterministic_pfa("a", [[0]], [[0.5, 0.5]]))
    True
    """
    return (
        isinstance(automaton, StructuredAutomaton)
        and not isinstance(automaton, DeterministicAutomaton)
        and is_deterministic(automaton)
        and bool((automaton.initial_vector == 1).all() and (automaton.entry == 1).all())
        and bool(automaton.emission.min() >= 0)
        and bool(automaton.emission.sum(axis=1).max() <= 1 + SUM_TOLERANCE)
    )


def write_model(automaton: StructuredAutomaton, path: Path) -> None:
    """Write a DFA, Moore machine or PDFA as AALpy does; symbols and outputs become text."""
    with writing(path, with_checksum=True) as fresh:
        fresh.write_text(to_model_text(automaton), "utf-8")


def to_model_text(automaton: StructuredAutomaton) -> str:
    """Return a DFA, a Moore machine or a PDFA as a Graphviz file of AALpy.

    A PDFA becomes a stochastic Mealy machine with one input, ``next``: its outputs are the symbols,
    and ``end``.

    Examples
    --------
    >>> even = DeterministicAutomaton("a", [[1], [0]], [1, 0])
    >>> print(to_model_text(even))
    digraph automaton {
    s0 [label="s0", shape=doublecircle];
    s1 [label="s1"];
    s0 -> s1 [label="a"];
    s1 -> s0 [label="a"];
    __start0 [label="", shape=none];
    __start0 -> s0 [label=""];
    }
    """
    if isinstance(automaton, DeterministicAutomaton):
        lines = [*_machine_lines(automaton)]
    else:
        lines = [*_stochastic_lines(automaton)]
    lines.append(f'{START} [label="", shape=none];')
    lines.append(f'{START} -> s{automaton.start_group} [label=""];')
    return "\n".join(["digraph automaton {", *lines, "}"])


def _machine_lines(automaton: DeterministicAutomaton) -> Iterator[str]:
    """Yield outputs, states and transitions of a DFA or Moore machine."""
    symbols = _symbol_texts(automaton.alphabet)
    if all(STOCHASTIC.fullmatch(text) for text in symbols):
        raise SymbolError(
            f"symbols such as {symbols[0]!r} would be read as the outputs of a stochastic Mealy "
            "machine: expected one that is not INPUT/OUTPUT:NUMBER; rename one first"
        )
    names = [] if automaton.is_dfa else [_output_text(name) for name in automaton.output_names]
    yield from (OUTPUT + name for name in names)
    for state, number in enumerate(automaton.outputs.tolist()):
        label, style = f"s{state}", ", shape=doublecircle" if number else ""
        if not automaton.is_dfa:
            label += f"|{names[number]}"
            style = ", shape=record, style=rounded"
        yield f's{state} [label="{label}"{style}];'
    for state, targets in enumerate(automaton.next_state.tolist()):
        for symbol, target in zip(symbols, targets, strict=True):
            yield f's{state} -> s{target} [label="{symbol}"];'


def _stochastic_lines(automaton: StructuredAutomaton) -> Iterator[str]:
    """Yield states and transitions of a PDFA.

    The first state lists impossible symbols, too, so that the alphabet comes back.
    """
    symbols = _symbol_texts(automaton.alphabet)
    if END in symbols:
        raise SymbolError(
            f"{END!r} cannot be written to a Graphviz file of AALpy: there it is the output that "
            "ends a word; rename the symbol first"
        )
    for state in range(automaton.n_states):
        yield f's{state} [label="s{state}"];'
    yield f'{END} [label="{END}"];'
    for state, row in enumerate(automaton.emission.tolist()):
        targets = [f"s{target}" for target in automaton.next_group[state].tolist()]
        moves = zip([*targets, END], [*symbols, END], row, strict=True)
        for target, output, probability in moves:
            if probability or not state:
                yield f's{state} -> {target} [label="{STEP}/{output}:{min(probability, 1.0)!r}"];'
    yield f'{END} -> {END} [label="{STEP}/{END}:1.0"];'


def _symbol_texts(alphabet: Alphabet) -> list[str]:
    """Return the labels of symbols, which have to be different."""
    texts = [_text(symbol) for symbol in alphabet]
    Alphabet(texts)  # refuses symbols that become the same text
    return texts


def _output_text(name: str) -> str:
    if name != name.strip():
        raise SymbolError(
            f"output {name!r} cannot be written to a Graphviz file of AALpy: expected no space at "
            "its begin and end; rename it first"
        )
    return _text(name)


def _text(symbol: Symbol) -> str:
    text = str(symbol)
    if not text or any(sign in text for sign in '"\\|{}\n\r'):
        raise SymbolError(
            f"{text!r} cannot be written to a Graphviz file of AALpy: expected text without "
            "quotes, \\, |, braces or line ends; rename it first"
        )
    if len(text) > MAX_LINE_LENGTH // 2:
        raise SymbolError(
            f"{text[:20]!r}… cannot be written to a Graphviz file of AALpy: expected at most "
            f"{MAX_LINE_LENGTH // 2:,} characters, got {len(text):,}; rename it first"
        )
    return text


class Move(NamedTuple):
    """A transition of a stochastic machine: from a state to a state, with an output."""

    origin: str
    target: str
    output: Symbol
    probability: float


@dataclass
class GraphText:
    """What the lines of a Graphviz file say."""

    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, str]] = field(default_factory=list)  # from, to, label
    start: str = ""
    outputs: list[str] = field(default_factory=list)


def read_model(path: Path) -> StructuredAutomaton:
    """Read a model from a Graphviz file that AALpy wrote.

    A DFA and a Moore machine become a `DeterministicAutomaton`; a stochastic Mealy machine with one
    input and the output ``end`` becomes a PDFA. Labels that are whole numbers become numbers, as in
    AALpy; those that begin with 0 and those of more than 18 digits stay text.

    The outputs of a Moore machine have the order of the comment lines that `to_model_text` writes.
    In files without them, such as AALpy's own, they are sorted by name.
    """
    check_beside(path)
    data = read_bytes(path)
    with reading(path, "a Graphviz file of AALpy"):
        return from_model_text(data.decode())


def from_model_text(text: str) -> StructuredAutomaton:
    """Return the model of a Graphviz file's text; see `read_model`.

    >>> even = DeterministicAutomaton("a", [[1], [0]], [1, 0])
    >>> from_model_text(to_model_text(even)).allclose(even)
    True
    """
    graph = _parsed(text)
    if all(STOCHASTIC.fullmatch(label) for _, _, label in graph.edges):
        return _stochastic(graph)
    return _machine(graph)


def _parsed(text: str) -> GraphText:
    graph = GraphText()
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_LINE_LENGTH:
            raise FileError(
                f"line {number} has {len(line):,} characters: expected at most {MAX_LINE_LENGTH:,}"
            )
        stripped = line.strip()
        if stripped.startswith(OUTPUT):
            graph.outputs.append(stripped.removeprefix(OUTPUT).strip())
        elif match := EDGE.fullmatch(stripped):
            origin, target, attributes = match[1], match[2], _attributes(match[3] or "")
            if origin == START:
                graph.start = target
            else:
                graph.edges.append((origin, target, attributes.get("label", "")))
        elif (match := NODE.fullmatch(stripped)) and match[1] not in (
            START,
            "node",
            "edge",
            "graph",
        ):
            graph.nodes[match[1]] = _attributes(match[2])
    if graph.start not in graph.nodes:
        raise FileError(_without_start(text))
    for origin, target, _ in graph.edges:
        for name in (origin, target):
            if name not in graph.nodes:
                raise FileError(f"state {name!r} has a transition, but no line of its own")
    if not graph.edges:
        raise FileError("there is no transition: expected one for each state and symbol")
    return graph


def _without_start(text: str) -> str:
    """Say that no state is the start state, and how to get a file that has one."""
    drawn = "penwidth=" in text  # as in what `seqray draw` writes
    return (
        f"no start state: expected a line '{START} -> STATE', and that state"
        + ("; the file looks like a drawing, which holds rounded weights" if drawn else "")
        + ". To get a readable file: seqray learn BOX -o model.dot, or seqray convert dfa.json "
        "model.dot"
    )


def _attributes(text: str) -> dict[str, str]:
    return {match[1]: match[2] if match[2] is not None else match[3] for match in _matches(text)}


def _matches(text: str) -> Iterator[re.Match[str]]:
    return ATTRIBUTE.finditer(text)


def _number_or_text(label: str) -> Symbol:
    return int(label) if WHOLE_NUMBER.fullmatch(label) else label


def _check_size(n_states: int, n_symbols: int) -> None:
    """Refuse a table that is much larger than the file that it is in."""
    if n_states * n_symbols > MAX_NUMBERS:
        raise too_many_numbers(
            f"{n_states:,} states and {n_symbols:,} symbols", n_states * n_symbols
        )


def _machine(graph: GraphText) -> DeterministicAutomaton:
    symbols = Alphabet(dict.fromkeys(_number_or_text(label) for _, _, label in graph.edges))
    place = {name: at for at, name in enumerate(graph.nodes)}
    _check_size(len(place), len(symbols))
    table = np.full((len(place), len(symbols)), -1)
    for origin, target, label in graph.edges:
        at = place[origin], symbols.codes[_number_or_text(label)]
        if table[at] >= 0:
            raise FileError(f"state {origin!r} has two transitions for {label!r}: expected one")
        table[at] = place[target]
    _check_complete(table, graph, symbols)
    numbers, names = _outputs(graph)
    return DeterministicAutomaton(symbols, table, numbers, names, place[graph.start])


def _check_complete(table: IntArray, graph: GraphText, symbols: Alphabet) -> None:
    if (table < 0).any():
        state, code = divmod(int((table < 0).argmax()), len(symbols))
        raise FileError(
            f"state {list(graph.nodes)[state]!r} has no transition for {symbols.symbols[code]!r}: "
            "expected one for each symbol; Mealy machines cannot be read"
        )


def _outputs(graph: GraphText) -> tuple[list[int], tuple[str, ...]]:
    """Return the output of each state as a number, and the names of the outputs."""
    labels = [attributes.get("label", "") for attributes in graph.nodes.values()]
    if any("|" in label for label in labels):
        texts = [label.strip("{}").partition("|")[2].strip() for label in labels]
        names = tuple(dict.fromkeys([*graph.outputs, *sorted(set(texts))]))
        numbers = {name: number for number, name in enumerate(names)}
        return [numbers[text] for text in texts], names
    shapes = [attributes.get("shape", "") for attributes in graph.nodes.values()]
    return [int(shape == "doublecircle") for shape in shapes], DECISIONS


def _stochastic(graph: GraphText) -> StructuredAutomaton:
    """Return a stochastic Mealy machine with one input as a PDFA."""
    labels = [(origin, target, *_move(label)) for origin, target, label in graph.edges]
    inputs = {each[2] for each in labels}
    if len(inputs) > 1:
        raise FileError(f"expected a machine with one input, got {len(inputs)}: {sorted(inputs)}")
    moves = [Move(q, r, _number_or_text(output), p) for q, r, _, output, p in labels]
    return pdfa_of_moves(moves, list(graph.nodes), graph.start)


def _move(label: str) -> tuple[str, str, float]:
    match = STOCHASTIC.fullmatch(label)
    assert match is not None
    try:
        probability = float(match[3])
    except ValueError:
        probability = math.nan
    if not 0 <= probability <= 1:
        raise FileError(f"transition {label!r}: expected a probability after the colon")
    return match[1], match[2], probability


def pdfa_of_moves(
    moves: Sequence[Move],
    names: Sequence[str],
    start: str,
    alphabet: Alphabet | None = None,
) -> StructuredAutomaton:
    """Return the PDFA of a stochastic machine with one input.

    Parameters
    ----------
    moves
        The transitions. Those with the output ``end`` lead to states that are left out.
    names
        The states, in their order.
    start
        The first of them that a word is in.
    alphabet
        The symbols; by default those that occur, in their order.

    Examples
    --------
    >>> moves = [Move("q", "q", "a", 0.75), Move("q", "sink", "end", 0.25)]
    >>> pdfa_of_moves(moves, ["q", "sink"], "q").weights(["", "a"])
    array([0.25  , 0.1875])
    """
    sinks = {move.target for move in moves if move.output == END}
    if not sinks:
        raise FileError(f"no transition has the output {END!r}: expected one where words end")
    states = {name: at for at, name in enumerate(n for n in names if n not in sinks)}
    used = [move for move in moves if move.origin in states]
    going_on = [move for move in used if move.output != END]
    for name in (start, *(move.target for move in going_on)):
        if name not in states:
            raise FileError(f"state {name!r} comes after the end: expected no symbol to lead there")
    symbols = alphabet or Alphabet(dict.fromkeys(move.output for move in going_on))
    _check_size(len(states), len(symbols) + 1)
    table = np.tile(np.arange(len(states))[:, None], (1, len(symbols)))
    rows = np.zeros((len(states), len(symbols) + 1))
    for origin, target, output, probability in used:
        at = states[origin], -1 if output == END else symbols.codes[output]
        if rows[at]:
            raise FileError(f"state {origin!r} has two transitions with output {output!r}")
        rows[at] = probability
        if output != END:
            table[at] = states[target]
    _check_sums(rows, list(states))
    return deterministic_pfa(symbols, table, rows, states[start])


def _check_sums(rows: FloatArray, names: list[str]) -> None:
    sums = rows.sum(axis=1)
    if (sums > 1 + SUM_TOLERANCE).any():
        state = int(sums.argmax())
        raise FileError(
            f"the probabilities of state {names[state]!r} sum to {sums[state]:.6g}: expected at "
            "most 1; scale them first"
        )
