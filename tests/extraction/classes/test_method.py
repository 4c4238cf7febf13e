import logging
import threading
from dataclasses import replace

import numpy as np
import pytest

import seqray
from classifier_boxes import THREE, all_words, doubtful_classes, remainder, three_classes
from seqray.automata.decisions import Question
from seqray.automata.sampling import uniform_words
from seqray.extraction.classes.candidates import QuestionScore
from seqray.extraction.hankel.default_cost import default_cost
from seqray.util.errors import ArgumentError, Stopped, StopReason

WORDS = all_words("abc", 6)


@pytest.fixture(scope="module")
def extraction():
    return seqray.extract(three_classes())


def test_one_extraction_gives_one_automaton_for_all_classes(extraction):
    automaton = extraction.best()
    assert isinstance(automaton, seqray.ClassifierAutomaton)
    assert automaton.n_states == 3
    assert automaton.classify(WORDS) == [THREE[remainder(word)] for word in WORDS]


def test_a_small_box_needs_a_hundredth_of_what_a_box_of_numbers_may(extraction):
    assert extraction.settings.questions < default_cost(3).n_words / 100


def test_every_word_is_queried_once():
    seen = []

    def scores(words):
        seen.extend(words)
        return [THREE[remainder(word)] for word in words]

    extraction = seqray.extract(seqray.classifier(scores, "abc", THREE))
    assert len(seen) == len(set(seen)) == extraction.settings.queries_sent


def test_remarks_say_which_question_was_taken_and_why(extraction):
    text = extraction.remarks[0]
    assert "computes the probability of each class" in text
    assert "probability 100 % with 3 states, probabilities off by 0.000; logit 100 %" in text
    assert "only between equals the number of states: probability" in text


def test_the_states_that_a_remark_names_are_those_of_the_best_rank():
    extraction = seqray.extract(doubtful_classes())
    (chosen,) = (
        score
        for score in extraction.settings.question_scores
        if score.question == extraction.settings.question
    )
    assert chosen.states == extraction.best_rank()
    best = extraction.fidelity.at(extraction.best_rank())
    largest = extraction.fidelity.at(extraction.max_rank)
    assert best["score_distance"] <= largest["score_distance"] + 0.01


def test_a_remark_of_a_run_without_distances_names_none(extraction):
    scores = [QuestionScore("probability", 3, 1.0), QuestionScore("logit", 2, 0.5)]
    settings = replace(extraction.settings, question_scores=scores)
    text = replace(extraction, settings=settings).remarks[0]
    assert text.endswith("probability 100 % with 3 states; logit 50 % with 2 states.")


def test_fidelity_is_about_decisions(extraction):
    fidelity = extraction.fidelity.at(extraction.best_rank())
    assert fidelity["agreement"] == 1
    assert not any("perplexity" in name or name.startswith("kl") for name in fidelity)


def test_answers_are_cached_for_later_runs(tmp_path):
    store = tmp_path / "answers.sqlite"
    first = seqray.extract(three_classes(name="three"), store=store)
    again = seqray.extract(three_classes(name="three"), store=store)
    assert again.settings.queries_sent < first.settings.queries_sent / 10
    assert again.best().allclose(first.best())


def test_a_budget_is_kept():
    extraction = seqray.extract(three_classes(), budget=600)
    assert extraction.settings.questions <= 600
    assert extraction.best().classify(["ab", "cb"]) == ["zero", "two"]


def test_a_budget_for_nothing_is_refused():
    with pytest.raises(Stopped, match=r"after .* queries, about 104 are enough"):
        seqray.extract(three_classes(), budget=30)
    assert seqray.extract(three_classes(), budget=104).best()


def test_a_box_that_is_stopped_too_early_says_how_many_words_are_enough():
    stop = threading.Event()

    def scores(words):
        stop.set()
        return [w.count("a") > w.count("b") for w in words]

    with pytest.raises(Stopped, match=r"^interrupted after .* queries, about 2,576 are enough$"):
        seqray.extract(seqray.classifier(scores, "abc"), stop=stop)


def test_rounds_before_a_limit_are_kept():
    box = seqray.classifier(lambda words: [w.count("a") > w.count("b") for w in words], "abc")
    extraction = seqray.extract(box, budget=5000)
    assert extraction.settings.questions <= 5000
    assert extraction.stop_reason in (None, StopReason.BUDGET)
    assert len(extraction.settings.rounds) > 1


def test_a_box_that_stops_later_leaves_what_was_learnt(caplog):
    calls = []

    def scores(words):
        calls.extend(words)
        if len(calls) > 3500:
            raise Stopped(StopReason.TIME, "the time is over")
        return [w.count("a") > w.count("b") for w in words]

    extraction = seqray.extract(seqray.classifier(scores, "abc"))
    assert extraction.stop_reason is StopReason.TIME
    assert "the automaton is that of the rounds before" in caplog.text


def test_ctrl_c_leaves_what_was_learnt():
    stop, n_words = threading.Event(), []

    def scores(words):
        n_words.extend(words)
        if len(n_words) > 4000:
            stop.set()
        return [w.count("a") > w.count("b") for w in words]

    extraction = seqray.extract(seqray.classifier(scores, "abc"), stop=stop)
    assert extraction.stop_reason is StopReason.INTERRUPTED
    assert len(extraction.settings.rounds) >= 1


def test_a_target_ends_the_rounds():
    box = seqray.classifier(lambda words: [w.count("a") > w.count("b") for w in words], "abc")
    extraction = seqray.extract(box, target=0.9)
    assert extraction.settings.rounds[-1].score >= 0.9
    assert len(extraction.settings.rounds) < 5


def test_words_of_the_users_are_drawn_from():
    box = seqray.classifier(lambda words: [w[:1] == "c" for w in words], "abc")
    data = [w for w in WORDS if 3 <= len(w) <= 5]
    extraction = seqray.extract(box, basis=data)
    assert extraction.best().classify(["cab", "abc"]) == ["yes", "no"]


def test_a_rare_class_is_found():
    box = seqray.classifier(lambda words: ["abba" in w for w in words], "abcd")
    extraction = seqray.extract(box)
    assert extraction.best().classify(["cabbad", "cabcad"]) == ["yes", "no"]
    assert extraction.fidelity.best["balanced_agreement"] == 1


def test_a_threshold_is_learnt():
    box = seqray.classifier(
        lambda words: doubtful_classes().scores(words), "ab", ["low", "high"], threshold=0.15
    )
    automaton = seqray.extract(box).best()
    words = all_words("ab", 6)
    assert automaton.classify(words) == box.classify(words)


def test_a_box_with_a_limit_never_gets_longer_words():
    seen = []
    box = seqray.classifier(
        lambda words: [seen.append(len(w)) or "aa" in w for w in words], "ab", max_length=7
    )
    extraction = seqray.extract(box)
    assert max(seen) <= 7
    assert extraction.best().classify(["baab", "abab"]) == ["yes", "no"]


def test_an_automaton_that_classifies_is_a_box():
    box = seqray.extract(three_classes()).best()
    extraction = seqray.extract(box)
    assert extraction.best().classify(WORDS) == box.classify(WORDS)


def test_progress_is_reported_and_an_estimate_logged(caplog):
    seen = []
    with caplog.at_level(logging.INFO):
        seqray.extract(three_classes(), progress=lambda done, total: seen.append((done, total)))
    assert seen
    assert all(done <= total for done, total in seen)
    assert "the first round queries about 1,576 words (3 symbols), which takes about" in caplog.text
    assert "rounds end where nothing is left to learn, after at most" in caplog.text


def test_a_run_folder_keeps_classes_and_question(tmp_path, extraction):
    seqray.save_run(extraction, tmp_path / "run")
    again = seqray.open_run(tmp_path / "run")
    assert again.classifies
    assert again.settings.question is Question.PROBABILITY
    assert again.settings.question_scores == extraction.settings.question_scores
    assert again.best().classify(WORDS) == extraction.best().classify(WORDS)
    assert again.fidelity.best["agreement"] == extraction.fidelity.best["agreement"]
    np.testing.assert_allclose(again.singular_values, extraction.singular_values)


def test_the_same_seed_gives_the_same_automaton(extraction):
    assert seqray.extract(three_classes()).best().allclose(extraction.best())


def test_a_box_that_cannot_be_learnt_is_warned_of(caplog):
    rng = np.random.default_rng(0)
    box = seqray.classifier(lambda words: rng.random(len(words)).round().tolist(), "abc")
    seqray.extract(box, n_prefixes=8, n_suffixes=8)
    assert "agrees with the box on" in caplog.text


def test_a_class_that_no_word_got_is_warned_of(caplog):
    box = seqray.classifier(lambda words: [0.1] * len(words), "ab")
    extraction = seqray.extract(box)
    assert "words got the class yes" in caplog.text
    assert extraction.best().classify(["ab"]) == ["no"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "weights"}, "expected decisions, got weights"),
        ({"method": "paper"}, "expected weighted or auto for a classifier, got paper"),
        ({"memory": "2GB"}, "memory: expected none for a classifier, got 2,000,000,000 bytes"),
        ({"counterexamples": 2}, "no counterexamples"),
        ({"basis": "uniform"}, "expected grown, or words to draw from"),
    ],
)
def test_what_makes_no_sense_for_a_classifier_is_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        seqray.extract(three_classes(), **options)


def test_decisions_are_no_objective_of_other_boxes():
    box = seqray.black_box(len, "ab")
    with pytest.raises(ArgumentError, match="the box is no classifier"):
        seqray.extract(box, objective="decisions")


def three_of(codes):
    """Return the word of codes without d, which changes nothing."""
    return ["abc"[code] for code in codes if code < 3]


@pytest.fixture(scope="module")
def network():
    """Return an LSTM with three classes over four symbols, trained for a moment."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    rng = np.random.default_rng(0)

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(5, 8)
            self.recurrent = torch.nn.LSTM(8, 16, batch_first=True)
            self.dense = torch.nn.Linear(16, 3)

        def forward(self, ids):
            return self.dense(self.recurrent(self.embedding(ids))[0])

    network = Network()
    optimiser = torch.optim.Adam(network.parameters(), 0.02)
    for _ in range(120):
        codes = rng.integers(0, 4, (48, 24))
        labels = [[remainder(three_of(row[:n])) for n in range(25)] for row in codes]
        ids = torch.tensor(np.pad(codes, ((0, 0), (1, 0)), constant_values=4))
        loss = torch.nn.functional.cross_entropy(
            network(ids).flatten(0, 1), torch.tensor(labels).flatten()
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return network


@pytest.mark.slow(reason="trains an LSTM")
def test_an_lstm_with_three_classes_is_copied_and_its_flips_are_right(network):
    card = seqray.Card("abcd", "classes", start=4, classes=THREE)
    box = seqray.torch_box(network, card)
    extraction = seqray.extract(box)
    assert extraction.fidelity.at(extraction.best_rank())["agreement"] >= 0.995
    automaton = extraction.best()
    rng = np.random.default_rng(1)
    words = uniform_words(box.alphabet, 2000, seed=rng, max_length=24)
    assert seqray.compare(box, automaton, words)["agreement"] >= 0.99
    for word in words[:5]:
        flips = seqray.find_flips(automaton, word, box=box).flips
        assert flips
        for flip in flips:
            assert THREE[box.scores([flip.word])[0].argmax()] == flip.name


@pytest.mark.parametrize(("basis", "number"), [([], "none"), (["ab"], "1")])
def test_too_few_words_to_draw_from_are_refused(basis, number):
    with pytest.raises(ArgumentError, match=f"basis: expected at least 2 words .* got {number}"):
        seqray.extract(three_classes(), basis=basis)


def test_given_words_that_are_too_long_for_the_box_are_left_out():
    box = seqray.classifier(
        lambda words: ["a" in w for w in words], "ab", max_length=6, name="short"
    )
    words = ["a" * 20, *("ab"[: n % 3] + "b" * (n % 4) for n in range(40))]
    assert seqray.extract(box, basis=words).fidelity.best["agreement"] == 1
