"""Automata of the package AALpy: deterministic automata to its objects, and back."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from seqray.automata.deterministic import (
    DECISIONS,
    DeterministicAutomaton,
    is_deterministic,
)
from seqray.automata.probabilities import MIN_LEAK
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.words import Alphabet, Symbol
from seqray.formats.aalpy_dot import END, STEP, Move, pdfa_of_moves
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.errors import (
    ArgumentError,
    FileError,
    MissingExtraError,
    SymbolError,
    install_hint,
)


def load_aalpy(module: str) -> Any:
    """Import a module of AALpy, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs the package aalpy, which cannot be imported ({error}): "
            f"{install_hint('aalpy')}"
        ) from error


def to_aalpy(automaton: AutomatonLike) -> Any:
    """Return a deterministic automaton as an object of AALpy.

    Parameters
    ----------
    automaton
        A DFA becomes a ``Dfa``, a Moore machine a ``MooreMachine``. A PDFA becomes a
        ``StochasticMealyMachine`` with one input, ``next``: its outputs are the symbols, and
        ``end``. One with a symbol ``end``, or one that leaks, is refused.

    Examples
    --------
    >>> even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    >>> model = to_aalpy(even)
    >>> model.execute_sequence(model.initial_state, "ab")
    [False, False]
    """
    automaton = as_automaton(automaton)
    if isinstance(automaton, DeterministicAutomaton):
        return _machine(automaton)
    if isinstance(automaton, StructuredAutomaton) and is_deterministic(automaton):
        return _stochastic(automaton)
    raise ArgumentError(
        f"automaton: expected a deterministic one, got {automaton!r}: make it one with "
        "seqray.determinise"
    )


def _machine(automaton: DeterministicAutomaton) -> Any:
    aalpy = load_aalpy("aalpy.automata")
    names, symbols = automaton.output_names, automaton.alphabet.symbols
    numbers = automaton.outputs.tolist()
    if automaton.is_dfa:
        kind, states = aalpy.Dfa, [aalpy.DfaState(f"s{q}", bool(n)) for q, n in enumerate(numbers)]
    else:
        kind = aalpy.MooreMachine
        states = [aalpy.MooreState(f"s{q}", names[n]) for q, n in enumerate(numbers)]
    for state, targets in zip(states, automaton.next_state.tolist(), strict=True):
        for symbol, target in zip(symbols, targets, strict=True):
            state.transitions[symbol] = states[target]
    model = kind(states[automaton.start_state], states)
    _add_prefixes(model)
    return model


def _add_prefixes(model: Any) -> None:
    """Give each state the shortest word that leads to it, as learners of AALpy do."""
    for state in model.states:
        state.prefix = model.get_shortest_path(model.initial_state, state)


def _check_pdfa(automaton: StructuredAutomaton) -> None:
    """Refuse a PDFA that AALpy would hold as another one."""
    if END in automaton.alphabet.codes:
        raise SymbolError(
            f"automaton: the symbol {END!r} stands for the end of a word in AALpy: expected other "
            "symbols; rename it first"
        )
    sums = automaton.emission.sum(axis=1)
    state = int(np.abs(sums - 1).argmax())
    if abs(sums[state] - 1) > MIN_LEAK:
        raise ArgumentError(
            f"automaton: the probabilities of state {state} sum to {sums[state]:.6g}: expected 1, "
            "AALpy has no place for what leaks; use a box that does not leak "
            "(renormalise=True for models), or save it as .json"
        )


def _stochastic(automaton: StructuredAutomaton) -> Any:
    _check_pdfa(automaton)
    aalpy = load_aalpy("aalpy.automata")
    states = [aalpy.StochasticMealyState(f"s{q}") for q in range(automaton.n_states)]
    sink = aalpy.StochasticMealyState("end")
    sink.transitions[STEP].append((sink, END, 1.0))
    for q, state in enumerate(states):
        *moves, ends = automaton.emission[q].tolist()
        for code, probability in enumerate(moves):
            if probability > 0:
                target = states[int(automaton.next_group[q, code])]
                symbol = automaton.alphabet.symbols[code]
                state.transitions[STEP].append((target, symbol, probability))
        if ends > 0:
            state.transitions[STEP].append((sink, END, ends))
    return aalpy.StochasticMealyMachine(states[automaton.start_group], [*states, sink])


def from_aalpy(
    model: Any,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    output_names: Iterable[str] | None = None,
) -> StructuredAutomaton:
    """Return an object of AALpy as a deterministic automaton.

    Parameters
    ----------
    model
        A ``Dfa`` or ``MooreMachine``, whose states need a transition for each symbol. Or a
        ``StochasticMealyMachine`` with one input and an output ``end``: it becomes a PDFA.
    alphabet
        The order of the symbols; by default that in which the model lists them. Where it is given,
        the letters of a DFA or Moore machine may also be its codes, and a PDFA may have symbols
        that no state emits.
    output_names
        The order of the outputs, where the model's outputs are their numbers. Other outputs are
        sorted by name.

    Examples
    --------
    >>> even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    >>> from_aalpy(to_aalpy(even)).allclose(even)
    True
    """
    symbols = None if alphabet is None else Alphabet.of(alphabet)
    if isinstance(model, load_aalpy("aalpy.automata").StochasticMealyMachine):
        return _pdfa(model, symbols)
    return machine_of(model, symbols, output_names)


def _pdfa(model: Any, alphabet: Alphabet | None) -> StructuredAutomaton:
    lists = [(state, *each) for state in model.states for each in state.transitions.items()]
    inputs = {letter for _, letter, _ in lists}
    if len(inputs) != 1:
        raise ArgumentError(
            f"model: expected a stochastic machine with one input, got {len(inputs)}: seqray has "
            "no automata that read and emit; learn one model for each input"
        )
    ids = {id(state): f"{at} ({state.state_id})" for at, state in enumerate(model.states)}
    moves = [
        Move(ids[id(state)], ids[id(target)], output, float(probability))
        for state, _, some in lists
        for target, output, probability in some
    ]
    unknown = {each.output for each in moves} - {END, *(alphabet or ())}
    if alphabet is not None and unknown:
        raise SymbolError(
            f"alphabet: it has no {min(map(str, unknown))!r}, which the model emits: expected all "
            "its outputs but the end"
        )
    try:
        return pdfa_of_moves(moves, list(ids.values()), ids[id(model.initial_state)], alphabet)
    except FileError as error:
        raise ArgumentError(f"model: {error}") from error


def machine_of(
    model: Any, alphabet: Alphabet | None, output_names: Iterable[str] | None = None
) -> DeterministicAutomaton:
    """Return a ``Dfa`` or ``MooreMachine`` of AALpy; see `from_aalpy`."""
    letters = list(model.get_input_alphabet())
    symbols = alphabet or Alphabet(letters)
    if alphabet is None or set(letters) <= set(symbols):
        letters = list(symbols)
    else:
        letters = list(range(len(symbols)))
    place = {id(state): at for at, state in enumerate(model.states)}
    table = np.zeros((len(model.states), len(symbols)), np.int64)
    for at, state in enumerate(model.states):
        for code, letter in enumerate(letters):
            if letter not in state.transitions:
                raise ArgumentError(
                    f"model: state {state.state_id!r} has no transition for {letter!r}: expected "
                    "one for each symbol; complete the model first (make_input_complete)"
                )
            table[at, code] = place[id(state.transitions[letter])]
    outputs = [state.output for state in model.states]
    numbers, names = _numbered(outputs, output_names)
    return DeterministicAutomaton(symbols, table, numbers, names, place[id(model.initial_state)])


def _numbered(outputs: list[Any], names: Iterable[str] | None) -> tuple[list[int], tuple[str, ...]]:
    """Return outputs as numbers, and the names that the numbers stand for."""
    if all(isinstance(each, bool | np.bool_) for each in outputs):
        return [int(each) for each in outputs], DECISIONS
    if names is not None:
        return [int(each) for each in outputs], tuple(names)
    texts = [str(each) for each in outputs]
    distinct = tuple(sorted(set(texts)))
    return [distinct.index(each) for each in texts], distinct
