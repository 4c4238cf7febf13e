import pytest

import seqray
from classifier_boxes import three_classes
from seqray.extraction.classes.default_cost import default_cost


@pytest.mark.parametrize("n_symbols", [2, 4, 20])
def test_a_default_extraction_costs_no_more(n_symbols):
    cost = default_cost(n_symbols)
    assert f"{cost.n_words:,} words" in cost.description
    assert cost.n_steps > cost.n_words


def test_extraction_stays_below_it():
    box = seqray.classifier(lambda words: [w.count("a") > w.count("b") for w in words], "abc")
    assert seqray.extract(box).settings.questions <= default_cost(3).n_words


def test_a_check_says_what_a_classifier_costs():
    results = {each.name: each for each in seqray.check(three_classes())}
    assert "3 classes: zero, one, two" in results["can be queried for"].observed
    assert default_cost(3).description in results["speed"].advice
