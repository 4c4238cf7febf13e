"""Alergia of AALpy on drawn words: a Markov chain whose states are merged prefixes."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
from aalpy import run_Alergia
from job import Arrays, Clock, Drawn

START, MAX_DEPTH = "start", 100_000


def fit(drawn: Drawn, clock: Clock, eps: float | str) -> tuple[Arrays, dict[str, Any]]:
    sys.setrecursionlimit(MAX_DEPTH)  # it folds states recursively
    end = drawn.n_symbols
    chain = run_Alergia([[START, *word, end] for word in drawn.training], "mc", eps=eps)
    states = [state for state in chain.states if state.output != end]
    states.sort(key=lambda state: state is not chain.initial_state)
    place = {id(state): at for at, state in enumerate(states)}
    rows, table = np.zeros((len(states), end + 1)), np.full((len(states), end), -1)
    used: list[Counter[int]] = [Counter() for _ in range(end)]
    for at, state in enumerate(states):
        for target, probability in state.transitions:
            rows[at, target.output] += probability
            if target.output != end:
                table[at, target.output] = place[id(target)]
                used[target.output][place[id(target)]] += 1
    usual = [each.most_common(1)[0][0] if each else 0 for each in used]
    table = np.where(table < 0, usual, table)  # a symbol that never followed: where it often leads
    rows[rows.sum(axis=1) == 0] = 1 / (end + 1)
    return {"table": table, "rows": rows}, {"limited": clock.is_over}
