"""PRISM models: probabilities of every state sum to 1, and they are those of the automaton."""

import re
from collections import defaultdict

import numpy as np
import pytest

from seqray import ArgumentError, WeightedAutomaton
from seqray.automata.generators import random_machine
from seqray.formats.prism import to_prism, write_prism

UPDATE = re.compile(r"([\d.e-]+):\(state'=(\d+)\)(?:&\(symbol'=(\d+)\))?")


def chain_of(text):
    """Read a model back: where it begins, and for each state its updates."""
    begin = int(re.search(r"state : \[0\.\.\d+\] init (\d+);", text)[1])
    commands = dict(re.findall(r"\[\] state=(\d+) -> (.*);", text))
    updates = {
        int(state): [(float(p), int(t), int(s or 0)) for p, t, s in UPDATE.findall(command)]
        for state, command in commands.items()
    }
    return begin, int(re.search(r'"end" = state=(\d+);', text)[1]), updates


def weight(chain, codes):
    """Return the probability that the chain draws a word and ends."""
    begin, end, updates = chain
    mass = {begin: 1.0}
    if begin > end:
        mass = {t: p for p, t, _ in updates[begin]}
    for wanted in [*(code + 1 for code in codes), 0]:
        after = defaultdict(float)
        for state, share in mass.items():
            for probability, target, symbol in updates[state]:
                if symbol == wanted and (target == end) == (wanted == 0):
                    after[target] += share * probability
        mass = after
    return mass[end]


@pytest.mark.parametrize("kind", ["dpfa", "pfa", "hmm"])
def test_the_chain_draws_words_with_their_probabilities(kind, tmp_path):
    machine = random_machine(kind, 5, 3, seed=np.random.default_rng(2))
    write_prism(machine, tmp_path / "machine.prism")
    text = (tmp_path / "machine.prism").read_text("utf-8")
    assert text == to_prism(machine) + "\n"
    chain = chain_of(text)
    sums = [sum(p for p, _, _ in updates) for state, updates in chain[2].items() if updates]
    assert sums == pytest.approx(np.ones(len(sums)))
    for word in [[], [0], [1, 2], [2, 2, 0]]:
        assert weight(chain, word) == pytest.approx(machine.weights([word])[0])


def test_what_is_not_stochastic_is_refused_and_nothing_written(tmp_path):
    wa = WeightedAutomaton("a", [1], [[[-0.5]]], [1.5])
    with pytest.raises(ArgumentError, match="below 0"):
        write_prism(wa, tmp_path / "wa.prism")
    assert not [*tmp_path.iterdir()]
