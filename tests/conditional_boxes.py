"""Boxes that predict, and a recorder of progress, for tests of the conditional method."""

import time

import seqray
from seqray import language_model
from seqray.automata.generators import random_machine
from told import rng

SMALL = {"prefixes": 40, "suffixes": 30, "max_rank": 3, "max_length": 20}


def machine(seed=1, n_states=4, n_symbols=3):
    return random_machine("pfa", n_states, n_symbols, seed=rng(seed))


def drawn_parameters(n_states, n_symbols, seed=0):
    """Return parameters of a probabilistic automaton, at random."""
    size = (n_states, n_symbols * n_states + 1)
    return rng(seed).normal(size=n_states), rng(seed).normal(size=size)


def model(pause=0.0, box=None):
    """A machine that is queried for next symbols."""
    box = box or machine()

    def answer(prefixes):
        time.sleep(pause * len(prefixes))
        return box.next_symbol(prefixes).round(12)  # the same in every batch

    return language_model(answer, box.alphabet, batch_size=64)


def demo():
    return seqray.open_black_box("demo")


class RecordedProgress:
    """A progress that records all phases and calls, and may react to them."""

    def __init__(self, react=lambda phase, done, total: None):
        self.phases, self.calls, self.react = [], [], react

    def __call__(self, done, total):
        assert 0 < done <= total
        self.calls.append((self.phases[-1][0], done, total))
        self.react(*self.calls[-1])

    def phase(self, name, unit):
        self.phases.append((name, unit))
