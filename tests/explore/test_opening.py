import numpy as np
import pytest

from seqray import WeightedAutomaton
from seqray.explore.opening import (
    MAX_ARROWS,
    MOST_EVER,
    STEPS,
    ArrowUse,
    readable_arrows,
    slider_threshold,
)


def counter(n=9, noise=0.03):
    """Return a counter whose weights are nearly the same: every symbol moves on by one."""
    rng = np.random.default_rng(0)
    moved = np.eye(n)[np.roll(np.arange(n), -1)] + rng.random((n, n))
    return WeightedAutomaton("a", np.eye(n)[0], [1 + noise * moved], np.eye(n)[0])


def test_a_slider_hides_nothing_at_its_begin_and_all_but_the_largest_at_its_end():
    assert slider_threshold(0.8, 0) == 0
    assert slider_threshold(0.8, STEPS) == 0.8


def test_a_counter_of_81_nearly_equal_arrows_opens_with_all_of_them():
    use = ArrowUse(counter(), None)
    threshold = slider_threshold(use.largest, use.opening)
    assert use.n_arrows(threshold) == 81
    assert use.hidden(threshold) == 0


def test_the_use_of_arrows_is_how_often_they_are_expected():
    rng = np.random.default_rng(0)
    n = 8
    transitions = rng.dirichlet(np.full(n, 0.3), size=n) * 0.9
    wa = WeightedAutomaton("a", np.eye(n)[0], [transitions], np.full(n, 0.1))
    visits = np.linalg.solve(np.eye(n) - transitions.T, np.eye(n)[0])
    use = ArrowUse(wa, (visits / visits.sum()).tolist())
    flows = visits[:, None] * transitions
    for threshold in (0.01, 0.1, 0.3):
        below = flows[transitions < threshold].sum() / flows.sum()
        assert use.hidden(threshold) == pytest.approx(below)
    assert use.hidden(slider_threshold(use.largest, use.opening)) <= 0.1


def test_where_the_readable_arrows_have_too_little_of_the_use_as_many_as_have_half_are_drawn():
    rng = np.random.default_rng(0)
    n = 30
    transitions = rng.dirichlet(np.full(n, 0.25), size=n) * 0.9
    wa = WeightedAutomaton("a", np.eye(n)[0], [transitions], np.full(n, 0.1))
    use = ArrowUse(wa, [1 / n] * n)
    at = [slider_threshold(use.largest, position) for position in range(STEPS + 1)]
    assert use.hidden(next(t for t in at if use.n_arrows(t) <= readable_arrows(n))) > 0.5
    assert use.hidden(at[use.opening]) <= 0.5 < use.hidden(at[use.opening + 1])
    assert use.n_arrows(at[use.opening]) <= MAX_ARROWS


@pytest.mark.parametrize("n_states", [3, 12, 30])
def test_no_more_arrows_are_drawn_than_a_page_has_room_for(n_states):
    rng = np.random.default_rng(n_states)
    ones = [1] * n_states
    wa = WeightedAutomaton("ab", ones, rng.random((2, n_states, n_states)), ones)
    use = ArrowUse(wa, None)
    n_arrows = use.n_arrows(slider_threshold(use.largest, use.opening))
    assert min(n_states**2, 10) - 1 <= n_arrows <= MOST_EVER


def test_sentences_about_one_arrow_and_none():
    one = ArrowUse(WeightedAutomaton("ab", [1], [[[0.5]], [[1e-5]]], [1]), None)
    assert one.drawn_sentence(0.0) == "The only arrow is drawn."
    assert one.drawn_sentence(0.1) == (
        "The only arrow is drawn, without its lightest symbols: < 0.01 % of all weight."
    )
    none = ArrowUse(WeightedAutomaton("a", [1], [[[0.0]]], [1]), [1.0])
    assert (none.opening, none.drawn_sentence(0.0)) == (0, "There are no arrows.")
    two = ArrowUse(WeightedAutomaton("a", [1, 0], [[[0.9, 0.1], [0, 0]]], [1, 1]), None)
    said = "1 of 2 arrows drawn, 10 % of all weight hidden."
    assert two.drawn_sentence(0.5) == said
