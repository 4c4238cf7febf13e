"""DFA of a network that decides, by KV or L* of AALpy with one of its equivalence oracles."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from aalpy import run_KV, run_Lstar
from aalpy.base import SUL
from aalpy.oracles import RandomWMethodEqOracle, RandomWordEqOracle
from gru import Decider
from job import Arrays, Clock, Drawn

MAX_LENGTH = 30


class System(SUL):
    """A network as AALpy sees one; a word that is read from the start is one query."""

    def __init__(self, decider: Decider) -> None:
        super().__init__()
        self.decider, self.word = decider, ()
        self.words: set[tuple[int, ...]] = set()

    def pre(self) -> None:
        """Begin a word."""
        self.word = ()

    def post(self) -> None:
        """Count the word that was read."""
        self.words.add(self.word)

    def step(self, letter: int | None) -> bool:
        """Read a symbol; return whether the word so far is accepted."""
        if letter is not None:
            self.word = (*self.word, letter)
        return self.decider.probability(self.word) >= 0.5


def fit(
    drawn: Drawn, clock: Clock, network: str, learner: str, search: str
) -> tuple[Arrays, dict[str, Any]]:
    random.seed(0)
    system, alphabet = System(Decider.load(network)), list(range(drawn.n_symbols))
    if search == "random W":
        oracle = RandomWMethodEqOracle(alphabet, system, walks_per_state=25, walk_len=12)
    else:
        oracle = RandomWordEqOracle(
            alphabet, system, num_walks=1000, min_walk_len=1, max_walk_len=MAX_LENGTH
        )
    run = {"KV": run_KV, "L*": run_Lstar}[learner]
    automaton = run(alphabet, system, oracle, "dfa", print_level=0)
    states = sorted(automaton.states, key=lambda state: state is not automaton.initial_state)
    place = {id(state): at for at, state in enumerate(states)}
    return {
        "next_state": np.array(
            [[place[id(state.transitions[code])] for code in alphabet] for state in states]
        ),
        "outputs": np.array([int(state.is_accepting) for state in states]),
    }, {"queries": len(system.words), "limited": clock.is_over}
