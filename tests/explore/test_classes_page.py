import json
import re

import numpy as np
import pytest

import seqray
from classifier_boxes import doubtful_classes, remainder_automaton, three_classes
from seqray.explore import classes_page
from seqray.explore.classes_page import classes_html, is_classifier
from seqray.explore.terms import terms
from seqray.fidelity.metrics import MEANINGS
from seqray.util.errors import ArgumentError, RankError


@pytest.fixture(scope="module")
def extraction():
    return seqray.extract(three_classes())


@pytest.fixture(scope="module")
def page(extraction):
    return seqray.to_html(extraction, box=three_classes(), name="rests")


def text_of(page):
    """Return what a reader sees, titles of shapes included."""
    body = page.split("<body")[1].split("<script")[0]
    return re.sub(r"<[^>]+>", " ", body)


def test_a_page_has_sections_for_classes(page):
    for key in ("graph", "states", "word", "examples", "agreement", "sizes", "made"):
        assert f'<section id="{key}">' in page
    assert "rests, decided by three states" in page
    assert "100.00 %" in page


def test_tiles_say_what_the_automaton_computes_and_keep_percents_whole(page):
    tiles = re.search(r'<div class="tiles">(.*?)</header>', page)[1]
    assert "<b>the probability of each class</b>" in tiles
    assert '<span class="experts">the automaton computes</span>' in tiles
    assert "100\u00a0%" in tiles
    assert "0 %" not in tiles


def test_mixtures_are_explained_where_there_are_some(page):
    assert "mixture of states" not in page
    doubtful = remainder_automaton()
    steps = 0.8 * doubtful.transitions + 0.2 / 3
    mixed = doubtful.with_arrays(doubtful.initial, steps, doubtful.outputs)
    assert "Where a symbol leads to a mixture of states" in classes_html(mixed)


def test_no_word_is_about_perplexity_language_or_ends(page):
    words = re.findall(r"[a-z]+", text_of(page).lower())
    assert not {"perplexity", "language", "end", "ends", "ended", "kl", "ndcg"} & set(words)


def test_a_page_of_a_run_without_a_box_shows_its_fidelity(extraction):
    page = classes_html(extraction)
    assert "held-out words" in page
    assert '<section id="sizes">' in page


def test_an_automaton_alone_has_a_page():
    page = classes_html(remainder_automaton(), name="a & b")
    assert "a &amp; b, decided by three states" in page
    assert '<section id="sizes">' not in page
    content = json.loads(re.search(r'id="content">(.*?)</script>', page)[1])
    assert content["classes"] == ["zero", "one", "two"]


def test_words_to_compare_on_may_be_given():
    box = doubtful_classes()
    page = classes_html(
        seqray.extract(box, n_prefixes=20, n_suffixes=20), box=box, words=["a", "b", "ab"], rank=1
    )
    assert "Measured on 3 words." in page
    assert "Words on which box and automaton decide differently" in page


def test_random_words_are_no_longer_than_asked(extraction):
    page = seqray.to_html(extraction, box=three_classes(), max_length=5)
    assert "Measured on 2,000 random words of up to 5 symbols." in page


def test_the_headline_says_how_long_the_compared_words_are(page, extraction):
    lede = re.search(r'<p class="lede">(.*?)</p>', page)[1]
    assert "that the box gives them, on words of up to 12 symbols. Longer ones were not" in lede
    longest = extraction.settings.held_out_length
    assert f"on words of up to {longest} symbols." in classes_html(extraction)


def test_metrics_have_plain_words_and_the_experts_their_meanings():
    metrics = {n: both for n, both in terms().items() if n.startswith("classes.metric.")}
    assert len(metrics) == 5
    for name, (everyone, experts) in metrics.items():
        assert experts == MEANINGS[name.removeprefix("classes.metric.")]
        assert not {"total", "variation", "mean"} & set(everyone.split())


def test_for_everyone_there_is_no_prefix_and_no_weight_below_a_bound(page):
    body = page.split("<body")[1].split("<script")[0]
    plain = re.sub(r'<(span|div|g|p) class="[^"]*experts">.*?</\1>', "", body, flags=re.DOTALL)
    plain = text_of(f"<body{re.sub('<desc>.*?</desc>', '', plain, flags=re.DOTALL)}<script")
    assert "prefixes" not in plain.split("How it was made")[0]
    assert "all transitions are drawn" not in plain
    assert "All arrows are drawn." in plain


def test_differences_of_shares_have_a_value_beside_their_interval(page):
    counts = text_of(page).split("columns the automaton")[1]
    assert re.search(r"zero\s+[\d,]+\s+0\s+0\s+0.00 %\s+−0.\d\d … \+0.\d\d %", counts)


def test_a_box_without_a_name_is_called_by_what_it_is(extraction):
    assert "black box, decided" not in classes_html(extraction, box=three_classes())


def test_a_rank_that_is_not_there_is_refused():
    with pytest.raises(RankError, match="expected 3"):
        classes_html(remainder_automaton(), rank=2)


def test_a_live_page_is_refused(extraction):
    with pytest.raises(ArgumentError, match="write it to a file"):
        seqray.to_html(extraction, is_live=True)


def test_only_what_classifies_has_such_a_page(extraction):
    assert is_classifier(extraction)
    assert not is_classifier(seqray.WeightedAutomaton("a", [1], [[[0.5]]], [0.5]))


def test_a_large_automaton_is_shown_without_words_to_try(monkeypatch):
    rng, n = np.random.default_rng(0), 6
    matrices = rng.dirichlet(np.ones(n), (2, n))
    automaton = seqray.ClassifierAutomaton(
        "ab", np.eye(n)[0], matrices, rng.dirichlet([1, 1], n), classes=["no", "yes"]
    )
    assert '<section id="word">' in classes_html(automaton)
    monkeypatch.setattr(classes_page, "MAX_NUMBERS", automaton.transitions.size - 1)
    assert '<section id="word">' not in classes_html(automaton)


def test_what_learning_a_dfa_returned_has_the_page_of_a_classifier():
    even = seqray.DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    learned = seqray.learn_dfa(even, method="tree")
    assert "decided by two states" in seqray.to_html(learned, name="even")
