"""DFA of a network that decides, by seqray's own discrimination tree."""

from __future__ import annotations

import logging
from typing import Any

from gru import Decider
from job import Arrays, Clock, Drawn

import seqray


def fit(drawn: Drawn, clock: Clock, network: str, budget: int) -> tuple[Arrays, dict[str, Any]]:
    logging.disable(logging.WARNING)  # a budget that is used up is no news here
    decider = Decider.load(network)
    box = seqray.black_box(
        lambda words: [decider.probability(tuple(word)) for word in words], range(drawn.n_symbols)
    )
    learned = seqray.learn_dfa(box, method="tree", budget=budget)
    automaton = learned.automaton
    return {
        "next_state": automaton.next_state,
        "outputs": automaton.outputs,
        "start": automaton.start_state,
    }, {"queries": learned.n_queries, "limited": False}
