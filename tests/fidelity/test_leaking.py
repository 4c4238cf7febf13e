"""Boxes that leak: they know symbols outside the alphabet, so that rows sum to less than 1."""

import numpy as np
import pytest

import seqray
from seqray import WeightedAutomaton, clipped, compare, disagreements, extract, repair
from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card
from seqray.blackbox.frameworks.padded import sequence_box
from seqray.blackbox.frameworks.stepped import stepped_box
from seqray.explain.facts import facts
from seqray.explain.naming import name_states
from seqray.extraction.conditional.fill import fill_conditional
from seqray.extraction.conditional.fit import fit
from seqray.extraction.self_check import check
from seqray.fidelity.reference import Reference
from told import known_of, rng

pytestmark = pytest.mark.usefixtures("tiny_copies")

SMALL = {"prefixes": 40, "max_rank": 6, "max_length": 20}
WORDS = ["", "a", "b", "ab", "bba", "aabab"]
CARD = Card(Alphabet("ab"), "next", start=3, end=2, renormalise=False)
CONSTANT = np.array([[0.4, 0.3, 0.1, 0.2]])
"""What comes next: a, b, the end, and what no symbol stands for."""
TWO = np.array([[0.06, 0.15, 0.09, 0.7], [0.45, 0.27, 0.18, 0.1]])
"""After an even number of symbols, and after an odd one."""


class Steps:
    """A network that counts what it has read, and says what comes next by that."""

    def __init__(self, rows):
        self.rows = np.log(rows)

    def begin(self):
        return self.rows[:1], np.zeros(1, int)

    def advance(self, state, parents, ids):
        count = state[parents] + (ids != CARD.start)
        return self.rows[count % len(self.rows)], count


def stepped(rows):
    return stepped_box(Steps(rows), CARD, who="the net")


def asked(rows):
    def forward(ids, lengths):
        return np.log(rows)[(lengths - 1) % len(rows)]

    return sequence_box(forward, CARD, who="the net")


def leaking_automaton():
    a, b = [[0, 0.06], [0.45, 0]], [[0, 0.15], [0.27, 0]]
    return WeightedAutomaton("ab", [1, 0], [a, b], [0.09, 0.18], [0.7, 0.1])


BOXES = pytest.mark.parametrize("make", [asked, stepped])
ROWS = pytest.mark.parametrize("rows", [CONSTANT, TWO])


# Extraction ---------------------------------------------------------------------------------------


@BOXES
@ROWS
def test_an_automaton_keeps_what_the_box_leaks(make, rows):
    box = make(rows)
    found = extract(box, **SMALL)
    np.testing.assert_allclose(found.best().weights(WORDS), box.weights(WORDS), rtol=1e-9)
    np.testing.assert_allclose(found.best().next_symbol(WORDS), box.next_symbol(WORDS), rtol=1e-9)
    fidelity = found.fidelity.at(found.best_rank())
    assert fidelity["kl_per_symbol"] == pytest.approx(0, abs=1e-9)
    assert fidelity["elsewhere"] == pytest.approx(0, abs=1e-9)


def test_the_weights_of_a_constant_leaking_box_are_exact():
    found = extract(asked(CONSTANT), **SMALL)
    np.testing.assert_allclose(found.best().weights(["", "a"]), [0.1, 0.04], rtol=1e-12)
    assert found.best().total == pytest.approx(1 / 3)


@BOXES
@ROWS
def test_a_fitted_automaton_has_an_outcome_elsewhere(make, rows):
    box = make(rows)
    known = known_of(box, 200)
    fitted = fit(fill_conditional(box, known, n_contexts=30), known, 2)
    np.testing.assert_allclose(fitted.next_symbol(WORDS), box.next_symbol(WORDS), atol=5e-3)
    np.testing.assert_allclose(fitted.weights(WORDS), box.weights(WORDS), rtol=0.05)
    assert min(array.min() for array in fitted.arrays.values()) >= 0
    left = fitted.transitions.sum(axis=(0, 2)) + fitted.final + fitted.elsewhere
    np.testing.assert_allclose(left, 1)


def test_fitted_automata_of_an_extraction_keep_the_leak_when_saved(tmp_path):
    after = {"a": [0.05, 0.3, 0.05], "b": [0.5, 0.1, 0.2], "": [0.2, 0.2, 0.1]}
    extra = {n: np.array([0.01, 0.02, 0]) * n for n in range(5)}

    def forward(ids, lengths):
        rows = [
            after["".join("ab"[i] for i in row[max(1, n - 1) : n])] + extra[sum(row[1:n]) % 5]
            for row, n in zip(ids.tolist(), lengths.tolist(), strict=True)
        ]
        return np.log(np.column_stack([rows, 1 - np.sum(rows, axis=1)]))

    box = sequence_box(forward, CARD, who="the net")
    found = extract(box, prefixes=60, max_rank=3, max_length=20)
    assert found.fitted
    seqray.save_run(found, tmp_path / "run")
    loaded = seqray.open_run(tmp_path / "run")
    for rank, automaton in found.fitted.items():
        again = loaded.automaton(rank)
        np.testing.assert_array_equal(again.elsewhere, automaton.elsewhere)
        np.testing.assert_allclose(again.next_symbol(WORDS), box.next_symbol(WORDS), atol=0.1)
    largest = loaded.automata.spectral(3).next_symbol(WORDS)
    np.testing.assert_allclose(largest, box.next_symbol(WORDS), atol=0.1)


def test_symbols_of_a_box_that_hardly_stays_within_its_alphabet_are_not_rare():
    rows = np.array([[3e-5, 1e-5, 1e-5, 1 - 5e-5], [1e-6, 4e-6, 5e-6, 1 - 1e-5]])
    box = asked(rows)
    found = extract(box, **SMALL)
    np.testing.assert_allclose(found.best().weights(WORDS), box.weights(WORDS), rtol=1e-6)


@BOXES
def test_by_blocks_a_leaking_box_is_judged_by_weights(make):
    box = make(TWO)
    found = extract(box, method="weighted", prefixes=10, suffixes=10, max_rank=4)
    np.testing.assert_allclose(found.best().weights(WORDS), box.weights(WORDS), rtol=1e-6)
    assert "kl_per_symbol" not in found.fidelity.fidelities[0]


def test_counterexamples_are_learnt_from_a_leaking_box():
    found = extract(stepped(TWO), **SMALL, counterexamples=1)
    assert found.settings["counterexamples"][0]["distance"] == pytest.approx(0, abs=1e-6)


# What is measured ---------------------------------------------------------------------------------


def renormalised():
    """What ends where the constant box leaks: next symbols 0.4, 0.3 and the end 0.3."""
    return WeightedAutomaton("ab", [1], [[[0.4]], [[0.3]]], [0.3])


@BOXES
def test_metrics_see_a_leak_that_was_added_to_the_end(make):
    fidelity = compare(make(CONSTANT), renormalised(), WORDS)
    assert fidelity["kl_per_symbol"] > 1
    assert fidelity["elsewhere"] == pytest.approx(0.2)
    assert fidelity.score == pytest.approx(fidelity["ratio_per_symbol"] - 0.02)


def test_the_divergence_counts_elsewhere_as_an_outcome():
    other = WeightedAutomaton("ab", [1], [[[0.4]], [[0.2]]], [0.1], [0.3])
    found = compare(asked(CONSTANT), other, WORDS)["kl_per_symbol"]
    assert found == pytest.approx(0.3 * np.log2(0.3 / 0.2) + 0.2 * np.log2(0.2 / 0.3))


def test_the_entropy_counts_elsewhere_as_an_outcome():
    found = compare(asked(CONSTANT), leaking_automaton(), WORDS)["entropy_per_symbol"]
    assert found == pytest.approx(-sum(p * np.log2(p) for p in (0.4, 0.3, 0.1, 0.2)))


def test_weights_without_what_goes_elsewhere_are_compared_as_weights():
    fidelity = compare(stepped(TWO), leaking_automaton().within, WORDS)
    assert fidelity["relative_error"] == pytest.approx(0, abs=1e-9)
    assert "kl_per_symbol" not in fidelity


def test_a_box_that_does_not_leak_has_no_metric_of_that():
    assert "elsewhere" not in compare(renormalised(), renormalised(), WORDS)


def test_disagreements_name_elsewhere():
    worst = disagreements(asked(CONSTANT), renormalised(), n_drawn=20, max_length=4)[0]
    assert worst.distance == pytest.approx(0.2)
    assert (worst.next, worst.box, worst.automaton) in [
        ("elsewhere", pytest.approx(0.2), pytest.approx(0)),
        ("end", pytest.approx(0.1), pytest.approx(0.3)),
    ]


# Drawing words, checking, reading -----------------------------------------------------------------


@BOXES
def test_words_are_drawn_as_if_they_stayed_within_the_alphabet(make):
    known = Reference.draw(make(CONSTANT), 4000, seed=rng(), max_length=50)
    assert known.words.lengths.mean() == pytest.approx(7, rel=0.05)  # the end has 1 / 8


def test_check_gives_one_verdict_on_a_leaking_box_however_it_is_asked():
    verdicts = [
        next((each.ok, each.advice) for each in check(box) if each.name == "Σp = 1")
        for box in (asked(CONSTANT), stepped(CONSTANT), leaking_automaton())
    ]
    rest = "the rest belongs to symbols outside the alphabet, and stays there"
    assert verdicts == 3 * [(None, rest)]


def test_a_leaking_automaton_is_clipped_and_repaired_with_its_leak():
    odd = WeightedAutomaton("ab", [1], [[[0.5]], [[-0.1]]], [0.3], [0.3])
    np.testing.assert_allclose(clipped(odd).next_symbol([""]), [[0.4375, 0, 0.2625]])
    found = repair(odd, n_words=300).automaton
    np.testing.assert_allclose(found.next_symbol([""]), [[0.4375, 0, 0.2625]], atol=1e-3)


def test_named_states_and_facts_of_a_leaking_automaton():
    wa = leaking_automaton()
    named = name_states(wa).automaton
    np.testing.assert_allclose(named.next_symbol(WORDS), wa.next_symbol(WORDS), rtol=1e-9)
    found = facts(wa)
    assert found.total == pytest.approx(wa.total)
    step = wa.transitions.sum(axis=0)
    lengths = [float(wa.initial @ np.linalg.matrix_power(step, n) @ wa.final) for n in range(60)]
    assert found.mean_length == pytest.approx(np.arange(60) @ lengths / wa.total)


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_a_leaking_automaton_is_saved_and_loaded(tmp_path, ending):
    wa = leaking_automaton()
    wa.save(tmp_path / f"wa.{ending}")
    loaded = WeightedAutomaton.load(tmp_path / f"wa.{ending}")
    assert loaded.allclose(wa, rtol=0, atol=0)
    assert not loaded.allclose(wa.within)
    np.testing.assert_allclose(loaded.next_symbol([""]), [[0.06, 0.15, 0.09]])
