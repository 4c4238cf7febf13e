import numpy as np
import pytest

import seqray
from classifier_boxes import all_words, doubtful_classes, remainder_automaton, three_classes
from seqray.fidelity.decisions import (
    DecisionFidelity,
    DecisionReference,
    compare_decisions,
    paired_interval,
)
from seqray.fidelity.objective import Objective
from seqray.util.errors import ArgumentError

WORDS = all_words("ab", 5)


def shifted(shift):
    """Return a classifier like `doubtful_classes` whose probabilities are higher by a number."""
    box = doubtful_classes()
    return seqray.classifier(
        lambda words: np.clip(box.scores(words)[:, 1] + shift, 0, 1).tolist(), "ab", box.classes
    )


def test_a_perfect_copy_agrees_on_every_word():
    fidelity = seqray.compare(three_classes(), remainder_automaton(), all_words("abc", 4))
    assert isinstance(fidelity, DecisionFidelity)
    assert fidelity["agreement"] == fidelity["balanced_agreement"] == fidelity.score == 1
    assert fidelity["score_distance"] == fidelity["calibration_difference"] == 0
    assert fidelity.chosen_by is Objective.DECISIONS


def test_metrics_are_those_of_their_definitions():
    box, other = doubtful_classes(), shifted(-0.15)
    fidelity = compare_decisions(box, other, WORDS)
    f, g = box.scores(WORDS), other.scores(WORDS)
    first, second = f.argmax(1), g.argmax(1)
    assert fidelity["agreement"] == np.mean(first == second)
    expected = np.zeros((2, 2), int)
    for a, b in zip(first, second, strict=True):
        expected[a, b] += 1
    assert fidelity.confusion.tolist() == expected.tolist()
    recalls = [np.mean(second[first == c] == c) for c in (0, 1)]
    assert fidelity["balanced_agreement"] == pytest.approx(np.mean(recalls))
    assert fidelity["score_distance"] == pytest.approx(np.abs(f - g).sum(1).mean() / 2)


def test_no_metric_is_about_next_symbols_or_perplexity():
    fidelity = compare_decisions(doubtful_classes(), shifted(0.1), WORDS)
    assert not {name for name in fidelity if "perplexity" in name or "kl" in name or "ndcg" in name}


def test_words_near_the_boundary_are_those_of_the_smallest_margin():
    box, other = doubtful_classes(), shifted(-0.15)
    fidelity = compare_decisions(box, other, WORDS)
    margin = np.abs(np.diff(box.scores(WORDS), axis=1)[:, 0])
    near = np.argsort(margin, kind="stable")[: round(len(WORDS) / 10)]
    alike = box.scores(WORDS).argmax(1) == other.scores(WORDS).argmax(1)
    assert fidelity["boundary_agreement"] == pytest.approx(alike[near].mean())
    assert "boundary_agreement" in fidelity.intervals


def test_groups_by_length_and_margin_cover_every_word_once():
    fidelity = compare_decisions(doubtful_classes(), shifted(-0.15), WORDS)
    for groups in (fidelity.by_length, fidelity.by_margin):
        assert sum(each.n_words for each in groups) == len(WORDS)
        n_agreeing = sum(each.n_agreeing for each in groups)
        assert n_agreeing == round(fidelity["agreement"] * len(WORDS))
        assert all(low <= g.agreement <= high for g in groups for low, high in [g.interval])


def test_words_of_one_length_are_one_group():
    fidelity = compare_decisions(doubtful_classes(), shifted(0.1), ["ab", "ba", "aa"])
    assert [each.name for each in fidelity.by_length] == ["2"]


def test_confidences_that_are_higher_by_a_number_differ_by_it():
    box = seqray.classifier(lambda words: [0.6] * len(words), "ab")
    other = seqray.classifier(lambda words: [0.75] * len(words), "ab")
    assert compare_decisions(box, other, WORDS)["calibration_difference"] == pytest.approx(0.15)


def test_a_class_that_gets_as_many_words_has_an_interval_around_0():
    low, high = paired_interval(4, 4, 100)
    assert low == pytest.approx(-high)
    assert paired_interval(30, 1, 100)[0] > 0


@pytest.mark.parametrize("expected", [0.1, 2.0, 3.0, 8.0])
def test_a_difference_that_few_words_make_is_held(expected):
    """A Wald interval with half a word added held 86 % of differences of two words in all."""
    n_more = np.random.default_rng(0).poisson(expected, 2000)
    ends = [paired_interval(int(n), 0, 1000) for n in n_more]
    assert np.mean([low <= expected / 1000 <= high for low, high in ends]) > 0.93


def test_shares_of_classes_have_their_differences_in_the_interval():
    fidelity = compare_decisions(doubtful_classes(), shifted(-0.15), WORDS)
    for share in fidelity.shares:
        low, high = share.interval
        assert low <= share.automaton - share.box <= high


def test_details_can_be_written_as_json():
    details = compare_decisions(doubtful_classes(), shifted(0.1), WORDS).details()
    assert details["classes"] == ["low", "high"]
    assert sum(map(sum, details["confusion"])) == len(WORDS)


def test_other_classes_are_refused():
    other = seqray.classifier(lambda words: [0.5] * len(words), "ab", ["x", "y"])
    with pytest.raises(ArgumentError, match="the classes low, high, the automaton x, y"):
        compare_decisions(doubtful_classes(), other, WORDS)


def test_a_comparison_needs_a_word():
    with pytest.raises(ArgumentError, match="at least one word"):
        compare_decisions(doubtful_classes(), doubtful_classes(), [])


def test_more_words_can_be_joined():
    box = doubtful_classes()
    known = DecisionReference.query(box, ["a"])
    more = box.alphabet.words(["ab", "b"])
    both = known.joined(more, box.scores(more))
    assert both.agreement_and_distance(box) == (1, 0)
    assert len(both.words) == 3
