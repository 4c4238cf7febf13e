"""DFA and Moore machines from boxes that decide."""

import builtins
import sys
import threading

import numpy as np
import pytest

import seqray
from deterministic_cases import TOMITA, TOMITA_SIZES, all_words, decider
from seqray import Alphabet, ArgumentError, LearningEnd, learn_dfa, separating_word

METHODS = ["kv", "lstar", "tree"]


class Thirds:
    """A classifier: the number of a's modulo 3."""

    alphabet = Alphabet("ab")
    classes = ("x", "y", "z")

    def scores(self, words):
        return np.eye(3)[[word.count("a") % 3 for word in words]]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("number", TOMITA)
def test_tomita_languages_come_back_minimal(number, method):
    accepts = TOMITA[number]
    learned = learn_dfa(decider(accepts), method=method)
    assert learned.end is LearningEnd.COMPLETE
    assert learned.automaton.n_states == TOMITA_SIZES[number]
    words = all_words("01", 10)
    assert learned.automaton.weights(words).tolist() == [float(accepts(word)) for word in words]
    assert learned.largest_distance == 0
    assert 0 < learned.n_search_queries <= learned.n_queries


@pytest.mark.parametrize("method", METHODS)
def test_a_classifier_gives_a_moore_machine_of_its_classes(method):
    learned = learn_dfa(Thirds(), method=method)
    assert learned.automaton.output_names == ("x", "y", "z")
    assert learned.automaton.decide(["b", "ab", "aab"]) == ["x", "y", "z"]
    assert learned.automaton.n_states == 3


@pytest.mark.parametrize("method", METHODS)
def test_there_may_be_more_symbols_than_decisions(method):
    box = decider(lambda word: word.count("a") % 3 == word.count("b") % 2, "abcd")
    learned = learn_dfa(box, method=method)
    assert learned.automaton.n_states == 6
    words = all_words("abcd", 5)
    assert learned.automaton.weights(words).tolist() == box.weights(words).tolist()


@pytest.mark.parametrize("method", METHODS)
def test_all_methods_learn_the_same_automaton(method):
    def accepts(word):
        return int(word or "0", 2) % 7 == 3

    learned = learn_dfa(decider(accepts), method=method)
    own = learn_dfa(decider(accepts), method="tree")
    assert separating_word(learned.automaton, own.automaton) is None
    assert learned.automaton.allclose(own.automaton)  # minimal, in the same order
    assert [len(word) for word in learned.access_words] == sorted(map(len, own.access_words))


def test_the_threshold_decides():
    box = seqray.black_box(lambda words: [word.count("a") / 10 for word in words], "ab")
    assert learn_dfa(box, method="tree").automaton.n_states == 6
    assert learn_dfa(box, method="tree", threshold=0.2).automaton.n_states == 3


@pytest.mark.parametrize("method", METHODS)
def test_a_hint_leads_to_rare_words(method):
    def accepts(word):
        return word == "0110100110"

    n = 10
    transitions = np.zeros((2, n + 1, n + 1))
    for at, sign in enumerate("0110100110"):
        transitions[int(sign), at, at + 1] = 1
    hint = seqray.WeightedAutomaton("01", np.eye(n + 1)[0], transitions, np.eye(n + 1)[n])
    without = learn_dfa(decider(accepts), method=method, n_words=50)
    learned = learn_dfa(decider(accepts), method=method, n_words=50, hint=hint)
    assert without.automaton.n_states == 1
    assert learned.automaton.n_states == n + 2
    given = learn_dfa(decider(accepts), method=method, n_words=50, words=["0110100110"])
    assert given.automaton.n_states == n + 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("budget", [1, 3, 30])
def test_a_budget_leaves_an_automaton(method, budget):
    learned = learn_dfa(decider(TOMITA[3]), method=method, budget=budget)
    assert learned.end is LearningEnd.BUDGET
    assert learned.n_queries <= budget
    assert learned.automaton.decide(["0"]) in (["no"], ["yes"])


@pytest.mark.parametrize("method", METHODS)
def test_an_interrupt_before_the_first_answer_leaves_nothing(method):
    stop = threading.Event()
    stop.set()
    with pytest.raises(seqray.Stopped):
        learn_dfa(decider(TOMITA[3]), method=method, stop=stop)


@pytest.mark.parametrize("method", METHODS)
def test_the_most_states_end_learning(method):
    learned = learn_dfa(decider(lambda word: len(word) % 20 == 0), method=method, max_states=5)
    assert learned.end is LearningEnd.MAX_STATES
    assert learned.automaton.n_states <= 5


def test_a_box_with_short_words_is_not_queried_about_longer_ones():
    def short(words):
        assert max(map(len, words)) <= 6
        return [word.count("a") % 2 for word in words]

    box = seqray.black_box(short, "ab", max_length=6)
    assert learn_dfa(box, method="tree").automaton.n_states == 2


LIMITED = {
    "a's modulo 7": (8, lambda word: word.count("a") % 7 == 3),
    "a's modulo 5": (5, lambda word: word.count("a") % 5 == 4),
    "a pattern and a count": (6, lambda word: ("aab" in word) != (word.count("b") % 3 == 1)),
    "the empty word alone": (0, lambda word: True),
}


@pytest.mark.parametrize("name", LIMITED)
def test_the_tree_learns_all_that_a_box_with_short_words_decides(name):
    max_length, accepts = LIMITED[name]
    box = seqray.black_box(lambda some: [accepts(w) for w in some], "ab", max_length=max_length)
    learned = learn_dfa(box, method="tree")
    assert learned.end is LearningEnd.COMPLETE
    words = all_words("ab", max_length)
    assert learned.automaton.weights(words).tolist() == [float(accepts(word)) for word in words]


@pytest.mark.parametrize("method", ["kv", "lstar"])
@pytest.mark.parametrize("name", LIMITED)
def test_learners_of_aalpy_end_where_a_box_reads_no_longer_words(name, method):
    max_length, accepts = LIMITED[name]
    box = seqray.black_box(lambda some: [accepts(w) for w in some], "ab", max_length=max_length)
    learned = learn_dfa(box, method=method)
    assert learned.automaton.n_states >= 1
    assert learned.end is LearningEnd.MAX_LENGTH or learned.largest_distance == 0


def test_what_short_words_cannot_explain_is_reported():
    rng = np.random.default_rng(0)
    answers = {word: float(rng.integers(2)) for word in all_words("ab", 8)}
    box = seqray.black_box(lambda words: [answers[word] for word in words], "ab", max_length=8)
    learned = learn_dfa(box, method="tree", n_words=1000)
    assert learned.end is LearningEnd.MAX_LENGTH
    assert 0 < learned.largest_distance < 0.05


@pytest.mark.parametrize("method", METHODS)
def test_answered_counterexamples_count_at_a_budget(method):
    learned = learn_dfa(
        decider(lambda word: word.count("a") % 7 == 3, "ab"), method=method, budget=100
    )
    assert learned.end is LearningEnd.BUDGET
    assert learned.automaton.n_states > 3
    assert learned.largest_distance < 0.15


@pytest.fixture
def without_aalpy(monkeypatch):
    """Make imports of AALpy fail."""
    real = builtins.__import__

    def refuse(name, *arguments, **options):
        if name.partition(".")[0] == "aalpy":
            raise ImportError("no aalpy here")
        return real(name, *arguments, **options)

    for name in [each for each in sys.modules if each.partition(".")[0] == "aalpy"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(builtins, "__import__", refuse)


@pytest.mark.usefixtures("without_aalpy")
@pytest.mark.parametrize("options", [{"method": "kv"}, {"equivalence": lambda *given: None}])
def test_without_aalpy_its_methods_say_how_to_install_it(options):
    with pytest.raises(seqray.MissingExtraError, match=r"needs the package aalpy.*\[aalpy\]"):
        learn_dfa(decider(TOMITA[1]), **options)


@pytest.mark.usefixtures("without_aalpy")
def test_without_aalpy_the_tree_is_the_default_and_a_note_says_so(caplog):
    assert learn_dfa(decider(TOMITA[1])).automaton.n_states == 2
    (record,) = caplog.records
    assert "aalpy is not installed" in record.getMessage()
    assert "--method tree" in record.getMessage()


def test_with_aalpy_the_default_is_kv(caplog):
    learned, kv = (learn_dfa(decider(TOMITA[4]), **named) for named in ({}, {"method": "kv"}))
    assert (learned.n_queries, learned.n_searches) == (kv.n_queries, kv.n_searches)
    assert not caplog.records


def test_senseless_arguments_are_refused():
    with pytest.raises(ArgumentError, match="method: expected one of kv, lstar, tree, got 'x'"):
        learn_dfa(decider(TOMITA[1]), method="x")
    hint = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    with pytest.raises(ArgumentError, match="hint: expected an automaton over"):
        learn_dfa(decider(TOMITA[1]), method="tree", hint=hint)


def test_trained_networks_come_back_as_the_minimal_dfa_of_their_language():
    pytest.importorskip("torch")
    from deciding_networks import LANGUAGES, box_of, exact_dfa, trained  # noqa: PLC0415 - torch

    dfa = exact_dfa("tomita 5")
    box = box_of(trained(dfa), LANGUAGES["tomita 5"][0])
    words = dfa.alphabet.words(all_words("01", 10))
    assert ((box.weights(words) >= 0.5) == dfa.weights(words)).all(), "the network is not exact"
    learned = learn_dfa(box)
    assert separating_word(learned.automaton, dfa) is None
    assert learned.automaton.allclose(dfa)


class Rare:
    """A classifier with a threshold that counts the words it gets: one word is a little likely."""

    alphabet = Alphabet("ab")
    classes = ("no", "yes")
    fingerprint = "rare"
    deterministic = True

    def __init__(self, threshold):
        self.threshold, self.n_words = threshold, 0

    def scores(self, words):
        self.n_words += len(words)
        second = np.array([0.3 if word == ("a", "a") else 0.1 for word in words])
        return np.stack([1 - second, second], axis=1)


def test_cached_answers_serve_classifiers_with_any_threshold(tmp_path):
    store = tmp_path / "answers.sqlite"
    assert learn_dfa(Rare(0.5), method="tree", store=store).automaton.decide(["aa"]) == ["no"]
    learned = learn_dfa(Rare(0.2), method="tree", store=store)
    assert learned.automaton.decide(["aa", "b"]) == ["yes", "no"]


def test_answers_cached_by_an_extraction_are_not_queried_again(tmp_path):
    store = tmp_path / "answers.sqlite"
    plain, cached = Rare(0.2), Rare(0.2)
    seqray.extract(Rare(None), store=store, seed=0)
    learned = learn_dfa(plain, method="tree", n_words=200)
    again = learn_dfa(cached, method="tree", n_words=200, store=store)
    assert again.automaton.allclose(learned.automaton)
    assert cached.n_words < 0.8 * plain.n_words


def test_a_hint_with_classes_leads_to_rare_words():
    box = seqray.classifier(
        lambda words: ["y" if len(word) == 23 else "x" for word in words], "a", ["x", "y", "z"]
    )
    table, outputs = np.minimum(np.arange(25) + 1, 24)[:, None], np.eye(25, dtype=int)[23]
    hint = seqray.DeterministicAutomaton("a", table, outputs, "xyz")
    assert learn_dfa(box, method="tree", n_words=2).automaton.decide(["a" * 23]) == ["x"]
    for one in (hint, hint.to_classifier()):
        learned = learn_dfa(box, method="tree", n_words=2, hint=one)
        assert learned.automaton.decide(["a" * 22, "a" * 23]) == ["x", "y"]
    with pytest.raises(ArgumentError, match="hint: expected an automaton with the classes x, y"):
        learn_dfa(box, method="tree", hint=seqray.DeterministicAutomaton("a", table, outputs))
