"""Probabilistic automata as Markov chains of the model checker PRISM.

The chain draws a word: ``state`` is the automaton's state, ``symbol`` the number of the symbol that
was drawn last (0: none yet). The label ``"end"`` holds when the word has ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.formats.pautomac import stochastic_moves
from seqray.util.files import writing

WANTED = "a PRISM model"


def write_prism(automaton: WeightedAutomaton, path: Path) -> None:
    """Write a stochastic automaton as a PRISM model."""
    stochastic_moves(automaton, WANTED)  # refuses others, before a file is begun
    with writing(path) as fresh, fresh.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in _lines(automaton))


def to_prism(automaton: WeightedAutomaton) -> str:
    """Return a stochastic automaton as a PRISM model.

    Every number has to be 0 or more, ``initial`` sums to 1, and for each state what leaves it and
    its ``final`` sum to 1.

    Examples
    --------
    >>> print(to_prism(WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])))
    dtmc
    // symbol: 1 = a, 2 = b
    module automaton
      state : [0..1] init 0; // 1: the word has ended
      symbol : [0..2] init 0; // 0: none yet
      [] state=0 -> 0.5:(state'=0)&(symbol'=1) + 0.25:(state'=0)&(symbol'=2) + 0.25:(state'=1);
      [] state=1 -> true;
    endmodule
    label "end" = state=1;
    """
    return "\n".join(_lines(automaton))


def _lines(automaton: WeightedAutomaton) -> Iterator[str]:
    n, k = automaton.n_states, len(automaton.alphabet)
    starts = np.flatnonzero(automaton.initial).tolist()
    begin = starts[0] if len(starts) == 1 else n + 1
    names = ", ".join(f"{code} = {symbol}" for code, symbol in enumerate(automaton.alphabet, 1))
    yield "dtmc"
    yield f"// symbol: {' '.join(names.split())}"
    yield "module automaton"
    yield f"  state : [0..{max(n, begin)}] init {begin}; // {n}: the word has ended"
    yield f"  symbol : [0..{k}] init 0; // 0: none yet"
    if begin > n:
        first = (f"{float(automaton.initial[q])!r}:(state'={q})" for q in starts)
        yield f"  [] state={begin} -> {' + '.join(first)};"
    for state, updates in enumerate(_updates(automaton)):
        yield f"  [] state={state} -> {' + '.join(updates)};"
    yield f"  [] state={n} -> true;"
    yield "endmodule"
    yield f'label "end" = state={n};'


def _updates(automaton: WeightedAutomaton) -> Iterator[list[str]]:
    """Yield what can happen in each state, with its probability."""
    moves, _ = stochastic_moves(automaton, WANTED)
    updates: defaultdict[int, list[str]] = defaultdict(list)
    for code, origin, target, weight in moves.edges():
        updates[origin].append(f"{weight!r}:(state'={target})&(symbol'={code + 1})")
    for state, final in enumerate(automaton.final.tolist()):
        ends = [f"{final!r}:(state'={automaton.n_states})"] if final else []
        yield updates[state] + ends
