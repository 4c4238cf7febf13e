"""Estimators of scikit-learn, and its own checks, which give estimators rows of numbers."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import seqray
from seqray.extraction import data_fit
from seqray.sklearn import AutomatonClassifier, AutomatonModel, StateFeatures

UNKNOWN = "predicts for numbers that were in no word it was fitted to: unknown symbols are errors"
NO_NUMBERS = "subtracts predictions, but the end of a word is no number: None"

FAILS = {
    "AutomatonModel": {
        "check_estimators_pickle": NO_NUMBERS,
        "check_fit_idempotent": UNKNOWN,
        "check_methods_sample_order_invariance": NO_NUMBERS,
        "check_methods_subset_invariance": NO_NUMBERS,
    },
    "AutomatonClassifier": {
        "check_classifiers_one_label": UNKNOWN,
        "check_fit_idempotent": UNKNOWN,
    },
    "StateFeatures": {"check_fit_idempotent": UNKNOWN},
}
"""docs/sklearn.md lists these, too."""


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [AutomatonModel(max_states=1), AutomatonClassifier(max_states=1), StateFeatures(max_states=1)],
    expected_failed_checks=lambda estimator: FAILS[type(estimator).__name__],
    xfail_strict=True,
)
def test_an_estimator_passes_the_checks_of_scikit_learn(
    estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasty = replace(data_fit.SETTINGS, n_epochs=1, min_epochs=1, min_steps=10)
    monkeypatch.setattr(data_fit, "SETTINGS", hasty)
    check(estimator)


TRUTH = seqray.WeightedAutomaton("ab", [1, 0], [[[0, 0.9], [0, 0]], [[0, 0], [0.8, 0]]], [0.1, 0.2])
WORDS = TRUTH.sample(500, seed=0).words


def test_a_model_of_words_is_near_to_the_truth_that_they_are_drawn_from() -> None:
    model = AutomatonModel(max_states=4).fit(WORDS)
    assert np.allclose(model.predict_proba(["", "a"]), TRUTH.next_symbol(["", "a"]), atol=0.05)
    assert model.predict(["", "a"]).tolist() == ["a", "b"]


def test_the_score_is_the_mean_logarithm_of_the_probabilities_of_words() -> None:
    model = AutomatonModel().fit(TRUTH)
    words = ["ab", "", "aba"]
    assert np.allclose(model.score_samples(words), np.log(TRUTH.weights(words)))
    assert model.score(words) == pytest.approx(np.log(TRUTH.weights(words)).mean())


def test_a_word_without_any_weight_has_the_score_minus_infinity() -> None:
    assert AutomatonModel().fit(TRUTH).score(["ba"]) == -np.inf


def test_the_end_of_a_word_is_none() -> None:
    ends = seqray.WeightedAutomaton("a", [1], [[[0.2]]], [0.8])
    assert AutomatonModel().fit(ends).predict(["a"]).tolist() == [None]


@pytest.mark.usefixtures("hasty")
def test_a_box_is_extracted_within_a_budget() -> None:
    box = seqray.language_model(TRUTH.next_symbol, "ab", name="t")
    model = AutomatonModel(budget=300).fit(box)
    assert np.allclose(model.predict_proba(["a"]), TRUTH.next_symbol(["a"]), atol=0.02)


def test_a_box_that_classifies_is_no_model_of_words() -> None:
    box = seqray.classifier(lambda words: [len(word) % 2 for word in words], "ab", ["no", "yes"])
    for given in (box, seqray.extract(box, budget=500)):
        with pytest.raises(seqray.ArgumentError, match="use AutomatonClassifier"):
            AutomatonModel(budget=500).fit(given)


def test_the_names_of_columns_make_no_box_of_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"best": ["a", "b"] * 20, "alphabet": ["b", "a"] * 20})
    frame["weights"] = "a"
    model = AutomatonModel(max_states=1).fit(frame)
    assert model.automaton_.alphabet.symbols == ("a", "b")


def test_an_extraction_is_taken_as_it_is() -> None:
    extraction = seqray.extract(TRUTH, budget=500, purpose="reading")
    model = AutomatonModel().fit(extraction)
    assert np.array_equal(model.automaton_.weights(WORDS), extraction.best().weights(WORDS))


def test_a_fitted_model_can_be_pickled_and_cloned() -> None:
    model = AutomatonModel(max_states=2).fit(WORDS)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(["ab"]), model.predict_proba(["ab"]))
    with pytest.raises(NotFittedError):
        clone(model).predict(["a"])


def test_the_same_seed_gives_the_same_words() -> None:
    model = AutomatonModel(max_states=2).fit(WORDS)
    assert model.sample(20).words == model.sample(20).words


def test_numbers_of_states_are_compared_by_cross_validation() -> None:
    scores = cross_val_score(AutomatonModel(alphabet="ab", max_states=2), WORDS, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    search = GridSearchCV(AutomatonModel(alphabet="ab"), {"max_states": [1, 2]}, cv=2).fit(WORDS)
    assert search.best_params_["max_states"] in (1, 2)


def test_unknown_symbols_are_named() -> None:
    with pytest.raises(seqray.SymbolError, match="'c'"):
        AutomatonModel(max_states=2).fit(WORDS).predict(["c"])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.arange(3.0), "Reshape your data"),
        (np.zeros((2, 2, 2)), "one word in each row"),
        ([], "got 0 empty words"),
        ([""], "got 1 empty words"),
        ("ab", "a list of words"),
    ],
)
def test_what_holds_no_words_is_refused(X: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AutomatonModel().fit(X)


X = ["ab", "abab", "ababab", "ba", "baba", "bababa"] * 30
Y = ["a first"] * 3 + ["b first"] * 3


def test_the_class_of_a_word_follows_from_the_automata_of_the_classes() -> None:
    classifier = AutomatonClassifier().fit(X, Y * 30)
    assert classifier.score(X, Y * 30) == 1
    logs = [each.log_weights(["ab"])[1][0] for each in classifier.automata_]
    odds = np.exp(logs[0] - logs[1])
    assert classifier.predict_proba(["ab"])[0, 0] == pytest.approx(odds / (1 + odds))


def test_the_frequency_of_classes_counts() -> None:
    words, classes = ["ab"] * 30 + ["ab"] * 10, [0] * 30 + [1] * 10
    classifier = AutomatonClassifier(alphabet="ab").fit(words, classes)
    assert classifier.predict_proba(["ab"])[0] == pytest.approx([0.75, 0.25], abs=0.01)


def test_a_box_that_classifies_is_extracted() -> None:
    def starts_with_b(words: list[str]) -> list[float]:
        return [0.9 if word[:1] == ("b",) or word[:1] == "b" else 0.2 for word in words]

    box = seqray.classifier(starts_with_b, "ab", ["no", "yes"])
    classifier = AutomatonClassifier(budget=2000).fit(box)
    assert classifier.predict(["ba", "ab", "bbb"]).tolist() == ["yes", "no", "yes"]
    again = pickle.loads(pickle.dumps(classifier))
    assert again.predict(["ba"]).tolist() == ["yes"]


def test_a_box_that_gives_numbers_is_refused() -> None:
    extraction = seqray.extract(seqray.black_box(lambda words: [1.0] * len(words), "ab"))
    with pytest.raises(seqray.ArgumentError, match="AutomatonModel"):
        AutomatonClassifier().fit(extraction)


def test_as_many_classes_as_words_are_needed() -> None:
    with pytest.raises(ValueError, match="6 words, y 5 classes"):
        AutomatonClassifier().fit(X[:6], Y[:5])


COUNTER = seqray.WeightedAutomaton(
    "ab", [1, 0], [[[0, 0.4], [0.4, 0]], [[0.4, 0], [0, 0.4]]], [0.2, 0.2]
)


def test_a_word_becomes_the_probability_of_each_state() -> None:
    features = StateFeatures(COUNTER).fit([""])
    assert np.allclose(features.transform(["", "a", "ab", "aba"]), [[1, 0], [0, 1], [0, 1], [1, 0]])


def test_states_of_long_words_neither_underflow_nor_overflow() -> None:
    assert np.allclose(StateFeatures(COUNTER).fit_transform(["a" * 5001]), [[0, 1]])


def test_a_model_behind_the_features_learns_what_the_states_know() -> None:
    words = seqray.sample(COUNTER, 200, seed=0).words
    parity = [word.count("a") % 2 for word in words]
    pipeline = make_pipeline(StateFeatures(COUNTER), LogisticRegression()).fit(words, parity)
    assert pipeline.score(words, parity) == 1


def test_features_are_a_frame_where_that_is_wanted() -> None:
    features = StateFeatures(max_states=2).set_output(transform="pandas")
    frame = features.fit_transform(["ab", "ba", "abba"] * 20)
    assert list(frame.columns) == [f"state{i}" for i in range(features.automaton_.n_states)]


def test_an_event_log_is_taken_as_its_words():
    log = seqray.read_events({"case": [1, 1, 2], "activity": ["go in", "go out", "go in"]})
    model = AutomatonModel().fit(log)
    assert model.score(log) == model.score(log.words)


@pytest.mark.parametrize("wrong", [None, 3])
def test_what_is_no_list_of_words_is_refused(wrong):
    with pytest.raises(seqray.ArgumentError, match=f"X: expected a list of words, got {wrong}"):
        AutomatonModel().fit(wrong)
