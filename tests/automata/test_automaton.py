import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata import FIGURE_1, random_automaton, short_words
from seqray import Alphabet, WeightedAutomaton
from seqray.util.errors import ArgumentError, RankError, SymbolError


def same_numbers(a, b):
    return a.alphabet == b.alphabet and all(
        getattr(a, name).tobytes() == getattr(b, name).tobytes()
        for name in ("initial", "transitions", "final")
    )


def test_an_automaton_keeps_read_only_copies():
    initial = np.ones(1)
    wa = WeightedAutomaton("a", initial, [[[0.5]]], [1])
    initial[0] = 7
    assert wa.weight("") == 1
    for array in (wa.initial, wa.transitions, wa.final, wa.prefix_final):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2
    with pytest.raises(AttributeError):
        wa.final = np.zeros(1)


@pytest.mark.parametrize(
    ("initial", "transitions", "final", "message"),
    [
        ([], np.zeros((1, 0, 0)), [], "at least one state"),
        ([[1]], [[[1]]], [1], r"initial: expected shape \(any\), got \(1, 1\)"),
        ([1], [[1]], [1], r"transitions: expected shape \(1, 1, 1\), got \(1, 1\)"),
        ([1, 0], [[[1]]], [1, 0], r"transitions: expected shape \(1, 2, 2\)"),
        ([1], [[[1]]], [1, 0], r"final: expected shape \(1\), got \(2,\)"),
        ([1], [[[math.nan]]], [1], r"transitions: expected finite numbers, got nan at \(0, 0, 0\)"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(initial, transitions, final, message):
    with pytest.raises(ArgumentError, match=message):
        WeightedAutomaton("a", initial, transitions, final)


def test_automata_are_close_state_by_state():
    wa = FIGURE_1
    nudged = WeightedAutomaton("ab", wa.initial, wa.transitions + 1e-13, wa.final)
    assert wa.allclose(nudged)
    assert not wa.allclose(nudged, rtol=0, atol=1e-14)
    assert not wa.allclose(wa.truncate(1))
    assert not wa.allclose(WeightedAutomaton("ba", wa.initial, wa.transitions, wa.final))
    assert not wa.allclose(WeightedAutomaton("ab", wa.initial, wa.transitions, 2 * wa.final))


def test_an_automaton_can_be_sent_to_another_process():
    wa = FIGURE_1
    assert wa.total == pytest.approx(1)
    assert same_numbers(pickle.loads(pickle.dumps(wa)), wa)


def test_an_automaton_takes_an_alphabet_or_its_symbols():
    alphabet = Alphabet("a")
    assert WeightedAutomaton(alphabet, [1], [[[0.5]]], [2]).alphabet is alphabet
    assert WeightedAutomaton.from_edges(alphabet, 1, {0: 1}, [], {0: 2}).weight("") == 2
    assert repr(FIGURE_1) == "WeightedAutomaton(2 states, 2 symbols)"


def test_an_automaton_is_its_edges():
    wa = random_automaton(1, 4, 3)
    n = range(wa.n_states)
    back = WeightedAutomaton.from_edges(
        wa.alphabet, 4, {i: wa.initial[i] for i in n}, wa.edges(), {i: wa.final[i] for i in n}
    )
    assert same_numbers(wa, back)
    assert len(wa.edges()) == 3 * 4 * 4
    strong = wa.edges(threshold=0.1)
    assert strong == [edge for edge in wa.edges() if abs(edge[3]) > 0.1]
    assert 0 < len(strong) < 48
    assert [*wa.listed().edges()] == [*wa.listed(0.0).edges()]
    assert len([*wa.listed().edges()]) == 48


def test_parallel_edges_add_up_and_zero_edges_are_left_out():
    wa = WeightedAutomaton.from_edges("ab", 2, {0: 1}, [(0, "b", 1, 1), (0, "b", 1, 2)], {1: 1})
    assert wa.edges() == [(0, "b", 1, 3.0)]
    assert wa.weights(["b", "a", "bb"]).tolist() == [3, 0, 0]


def test_edges_outside_the_states_or_the_alphabet_are_refused():
    with pytest.raises(ArgumentError, match="edges: state 2 is outside 2 states"):
        WeightedAutomaton.from_edges("a", 2, {}, [(0, "a", 2, 1)], {})
    with pytest.raises(ArgumentError, match="edges: state -1 is outside 2 states"):
        WeightedAutomaton.from_edges("a", 2, {}, [(-1, "a", 0, 1)], {})
    with pytest.raises(ArgumentError, match="initial: state 5 is outside 2 states"):
        WeightedAutomaton.from_edges("a", 2, {5: 1}, [], {})
    with pytest.raises(ArgumentError, match="final: state 5 is outside 2 states"):
        WeightedAutomaton.from_edges("a", 2, {}, [], {5: 1})
    with pytest.raises(SymbolError, match="symbol 'b'"):
        WeightedAutomaton.from_edges("a", 2, {}, [(0, "b", 0, 1)], {})


def test_truncation_keeps_the_leading_states():
    wa = random_automaton(0, 3)
    two = wa.truncate(2)
    np.testing.assert_array_equal(two.transitions, wa.transitions[:, :2, :2])
    assert same_numbers(wa.truncate(3), wa)
    for n in (0, 4, -1):
        with pytest.raises(RankError, match=f"rank {n} is outside 1 … 3"):
            wa.truncate(n)


def test_the_automaton_of_figure_1_gives_the_weights_of_the_paper():
    wa = FIGURE_1
    assert wa.weight("b") == pytest.approx(1 / 12)
    np.testing.assert_allclose(wa.weights(["", "a", "ab", "ba"]), [0, 1 / 24, 5 / 96, 1 / 48])
    assert wa.total == pytest.approx(1)
    assert wa.spectral_radius == pytest.approx(0.5 + 0.5**0.5 * 0.5)
    np.testing.assert_allclose(wa.prefix_final, 1)


def test_prefix_weights_are_the_summed_weights_of_all_that_follow():
    wa = random_automaton(0, 3, 2, size=0.3)
    follows = short_words(wa, 12)
    for prefix in ((), (0,), (1, 0)):
        brute = wa.weights([(*prefix, *word) for word in follows]).sum()
        assert wa.prefix_weight(prefix) == pytest.approx(brute, rel=1e-6)
        assert wa.prefix_weights([(1, 1), prefix])[1] == pytest.approx(brute, rel=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4), st.floats(0.1, 3))
@settings(max_examples=40)
def test_predictions_sum_to_one(seed, n_states, n_symbols, size):
    wa = random_automaton(seed, n_states, n_symbols, size)
    rows = wa.next_symbol(short_words(wa, 3))
    np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-12 * np.abs(rows).max())


def test_predictions_sum_to_one_where_the_sum_over_words_diverges():
    wa = WeightedAutomaton("a", [0.5, 0.5], [np.diag([1, 0.5])], [1, 0.5])
    np.testing.assert_allclose(wa.next_symbol(["", "a"]).sum(axis=1), 1)


def test_predictions_are_quotients_of_prefix_weights():
    wa = random_automaton(3, 4, 3)
    words = short_words(wa, 3)
    rows = wa.next_symbol(words)
    whole = wa.prefix_weights(words)
    for code in range(3):
        expected = wa.prefix_weights([(*word, code) for word in words]) / whole
        np.testing.assert_allclose(rows[:, code], expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(rows[:, 3], wa.weights(words) / whole, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(rows[5], wa.next_symbol([words[5]])[0], rtol=1e-9)


def test_where_a_prefix_weighs_nothing_the_prediction_is_uniform():
    wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.0]]], [0.5])
    rows = wa.next_symbol(["a", "b", "ba"])
    np.testing.assert_allclose(rows, [[0.5, 0, 0.5], [1 / 3] * 3, [1 / 3] * 3])


def test_predictions_after_ten_thousand_letters_are_as_good_as_after_one():
    wa = FIGURE_1
    row = wa.next_symbol(["a" * 10_000])[0]
    np.testing.assert_allclose(row.sum(), 1)
    np.testing.assert_allclose(row, wa.next_symbol(["a" * 200])[0])


def test_sampling_is_cut_at_the_longest_length_allowed():
    wa = WeightedAutomaton("a", [1], [[[0.9]]], [0.1])
    words = wa.sample(100, seed=np.random.default_rng(0), max_length=5).words
    assert words.lengths.max() == 5
    assert words == wa.sample(100, seed=np.random.default_rng(0), max_length=5).words


def leaking():
    """An automaton that gives probability to symbols outside its alphabet."""
    transitions = [
        [[0.1, 0.2, 0], [0, 0.1, 0.3], [0.2, 0, 0]],
        [[0.1, 0, 0.1], [0.2, 0, 0], [0, 0.3, 0.1]],
    ]
    parts = [0.5, 0.3, 0.2], transitions, [0.3, 0.2, 0.1]
    return WeightedAutomaton("ab", *parts, elsewhere=[0.2, 0.2, 0.3])


def test_facts_of_an_automaton():
    wa = WeightedAutomaton("ab", [1, 0, 0], [np.diag([-0.5, 0.2, 0]), np.eye(3) * -0.1], [1, 1, 0])
    assert (wa.n_states, wa.cost_per_symbol, wa.n_bytes) == (3, 9, 8 * (3 + 18 + 3))
    assert leaking().n_bytes == 8 * (3 + 18 + 3 + 3)
    assert wa.spectral_radius == pytest.approx(0.6)
    np.testing.assert_allclose(wa.step_sum, np.diag([-0.6, 0.1, -0.1]))
    np.testing.assert_allclose(wa.advance(np.ones(3)), [-0.6, 0.1, -0.1])
    assert wa.reads_backwards
    assert [block[:3] for block in wa.edge_blocks()] == [(0, 0, 0), (1, 0, 0)]


@pytest.mark.parametrize("name", ["initial", "transitions", "final"])
def test_an_automaton_is_nonnegative_unless_an_entry_is_below_0(name):
    arrays = {"initial": np.zeros(2), "transitions": np.zeros((1, 2, 2)), "final": np.zeros(2)}
    assert WeightedAutomaton("a", **arrays).is_nonnegative
    arrays[name].flat[1] = -1e-300
    assert not WeightedAutomaton("a", **arrays).is_nonnegative


def test_the_mirror_reads_words_backwards():
    wa = random_automaton(2, 3, 2)
    words = short_words(wa, 4)
    backwards = [word[::-1] for word in words]
    np.testing.assert_allclose(wa.mirror.weights(backwards), wa.weights(words), rtol=1e-12)


def test_what_goes_elsewhere_is_predicted_but_no_part_of_any_weight():
    wa = leaking()
    words = short_words(wa, 3)
    np.testing.assert_array_equal(wa.within.weights(words), wa.weights(words))
    assert wa.within.elsewhere is None
    follows = np.linalg.solve(np.eye(3) - wa.step_sum, wa.final)
    assert wa.total == pytest.approx(wa.initial @ follows)
    assert wa.total < 0.9
    assert wa.is_distribution
    assert not wa.within.is_distribution
    rows = wa.next_symbol(words)
    for word, row in zip(words, rows, strict=True):
        state = wa.state_after(word)
        whole = state.sum()  # each state's probabilities sum to one
        expected = [*(state @ wa.transitions).sum(axis=1) / whole, state @ wa.final / whole]
        np.testing.assert_allclose(row, expected, rtol=1e-9)
    gone = [wa.state_after(word) @ wa.elsewhere / wa.state_after(word).sum() for word in words]
    np.testing.assert_allclose(1 - rows.sum(axis=1), gone)


def test_what_goes_elsewhere_is_kept_and_compared():
    wa = leaking()
    np.testing.assert_array_equal(wa.truncate(2).elsewhere, [0.2, 0.2])
    assert wa.allclose(WeightedAutomaton.from_npz(wa.to_npz()))
    assert wa.allclose(wa.within) is False
    assert wa.within.allclose(wa) is False
    parts = wa.initial, wa.transitions, wa.final
    assert not wa.allclose(WeightedAutomaton("ab", *parts, elsewhere=[0.2, 0.2, 0.2]))
    assert [*wa.arrays] == ["initial", "transitions", "final", "elsewhere"]
    assert [*wa.within.arrays] == ["initial", "transitions", "final"]
    with pytest.raises(ArgumentError, match=r"elsewhere: expected shape \(3\)"):
        WeightedAutomaton("ab", *parts, elsewhere=[0.2])


@pytest.mark.parametrize(("change", "is_close"), [(0.6, True), (1.5, False)])
def test_close_is_a_billionth_or_a_trillionth(change, is_close):
    one, zero = (WeightedAutomaton("a", [1], [[[n]]], [1]) for n in (1000, 0))
    larger = WeightedAutomaton("a", [1], [[[1000 * (1 + change * 1e-9)]]], [1])
    assert one.allclose(larger) is is_close
    assert zero.allclose(WeightedAutomaton("a", [1], [[[change * 1e-12]]], [1])) is is_close
    assert one.allclose(zero) is False
    assert zero.allclose(WeightedAutomaton("b", [1], [[[0]]], [1])) is False
    assert zero.allclose(WeightedAutomaton("a", [1, 0], np.zeros((1, 2, 2)), [1, 0])) is False


@pytest.mark.parametrize(
    ("transition", "final", "expected"),
    [
        *((0.5, 0.5, True), (0.5, 0.49, True), (0.5, 0.4, False), (0.5, 0.6, False)),
        *((3, -2, False), (-0.5, 1.5, False), (-0.05, 1.05, True)),
    ],
)
def test_a_distribution_sums_to_about_1_and_so_do_its_short_words(transition, final, expected):
    assert WeightedAutomaton("a", [1], [[[transition]]], [final]).is_distribution is expected


@pytest.mark.parametrize("size", [1e-3, 1, 1e3])
def test_states_are_those_that_words_lead_to(size):
    wa = random_automaton(4, 3, 2, size=size)
    letters = np.random.default_rng(0).integers(0, 2, 60).tolist()
    states = wa.step(wa.start(), np.array([0, 0]), np.array([0, 1]))
    for letter in letters:
        states = wa.step(states, np.arange(2), np.array([letter] * 2))
    words = [(0, *letters), (1, *letters)]
    expected = [wa.state_after(word) for word in words]
    np.testing.assert_allclose(wa.state_vectors(states), expected, rtol=1e-9)
    np.testing.assert_allclose(wa.state_weights(states), wa.weights(words), rtol=1e-9)
    weights, follows = wa.read_states(states)
    np.testing.assert_allclose(weights, wa.weights(words), rtol=1e-9)
    np.testing.assert_allclose(follows.T, wa.next_symbol(words), rtol=1e-9)
    vectors, log_scales = wa.split_states(states)
    np.testing.assert_allclose(vectors * np.exp(log_scales)[:, None], expected, rtol=1e-9)


def test_words_are_drawn_with_seed_0_and_cut_after_a_thousand_letters_by_default():
    wa = WeightedAutomaton("a", [1], [[[0.9999]]], [0.0001])
    drawn = wa.sample(20)
    assert drawn.words == wa.sample(20, seed=0).words
    assert drawn.words.lengths.max() == 1000


def test_logarithms_of_states_too_wide_for_floats_are_exact_word_by_word():
    diagonals = np.diag([1e90, 1e-90]), np.diag([1e-90, 1e90])
    wa = WeightedAutomaton("ab", [1, 1], diagonals, [0, -1])
    words = ["a" * 4, "ab" * 3, "b" * 5, "", "aab"]
    sign, log = wa.log_weights(words)
    assert sign.tolist() == [-1] * 5
    steps = [word.count("b") - word.count("a") for word in words]
    np.testing.assert_allclose(log, 90 * np.log(10) * np.array(steps), atol=1e-9)
    sign, log = WeightedAutomaton("a", [1], [[[0]]], [1]).log_weights(["", "a"])
    assert (sign.tolist(), log.tolist()) == ([1, 0], [0, -math.inf])
