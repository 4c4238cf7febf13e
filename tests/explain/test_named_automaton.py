import numpy as np
import pytest

from seqray import Alphabet, WeightedAutomaton
from seqray.explain.named_automaton import NamedAutomaton, rescaled

WA = WeightedAutomaton(
    "ab", [0.5, 0.25], [[[0.1, 0.2], [0.3, 0.1]], [[0.2, 0.1], [0.1, 0.1]]], [0.4, 0.3]
)


def named(*shares):
    words = Alphabet("ab").words([(), *[("a",) * n for n in range(1, len(shares))]])
    n = len(shares)
    wa = WeightedAutomaton("ab", np.ones(n), np.zeros((2, n, n)), np.ones(n))
    return NamedAutomaton(wa, words, np.array(shares), np.full(n, 1 / n), 0.0)


def test_names_say_how_much_of_a_state_its_prefix_is():
    assert named(1, 0.99, 0.6, 0.2).names == (
        "start",
        "after a",
        "mostly after aa",
        "partly after aaa",
    )


def test_only_the_first_names_are_printed():
    assert repr(named(1, 1)) == "NamedAutomaton(2 states: start, after a)"
    assert repr(named(1, 1, 1, 1, 1)).endswith("after aaa, …)")


def test_a_table_has_every_arrow_whose_weight_is_not_small():
    pytest.importorskip("pandas")
    automaton = NamedAutomaton(WA, WA.alphabet.words(["", "b"]), np.ones(2), np.ones(2) / 2, 0.0)
    table = automaton.to_frame(threshold=0)
    assert len(table) == 2 + 2 * (2 * 2 + 1)
    numbers = {"start": 0, "after b": 1}
    for row in table.itertuples(index=False):
        if row.state == "begin":
            expected = WA.initial[numbers[row.next_state]]
        elif row.next_state == "end":
            expected = WA.final[numbers[row.state]]
        else:
            code = WA.alphabet.codes[row.symbol]
            expected = WA.transitions[code, numbers[row.state], numbers[row.next_state]]
        assert row.weight == expected
        assert (row.symbol == "") == (row.state == "begin" or row.next_state == "end")
    sizes = table[table.symbol != ""].groupby("state").weight
    assert sizes.apply(lambda weights: weights.is_monotonic_decreasing).all()
    assert (automaton.to_frame(threshold=0.2).weight >= 0.2).all()
    assert len(automaton.to_frame(threshold=0.2)) == (table.weight >= 0.2).sum()


def test_rescaled_states_compute_the_same_function():
    words = WA.alphabet.words(["", "a", "ab", "bba"])
    other = rescaled(WA, np.array([2.0, 0.25]))
    np.testing.assert_allclose(other.weights(words), WA.weights(words), rtol=1e-12)
    assert other.initial.tolist() == [1, 0.0625]
