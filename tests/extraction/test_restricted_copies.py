from itertools import product

import numpy as np
import pytest

import seqray
from seqray import WeightedAutomaton, extract, guided, open_black_box, open_run, save_run

REGEX = "a (b | a b)* c"
SMALL = {"n_prefixes": 60, "n_suffixes": 60, "max_length": 20}

numbers = np.random.default_rng(1).dirichlet(np.ones(13), 4)  # 3 symbols × 4 states, the end
MACHINE = WeightedAutomaton(
    "abc",
    [1, 0, 0, 0],
    numbers[:, :-1].reshape(4, 3, 4).transpose(1, 0, 2),
    numbers[:, -1],
)
GUIDED = guided(MACHINE, REGEX)
WORDS = ["".join(word) for n in range(7) for word in product("abc", repeat=n)]
ALLOWED = GUIDED.guide.allows(WORDS)


@pytest.fixture(scope="module")
def extraction():
    return extract(MACHINE, guide=REGEX, **SMALL)


def test_the_copy_gives_forbidden_words_exactly_nothing(extraction):
    weights = extraction.best().weights(WORDS)
    assert (weights[~ALLOWED] == 0).all()
    np.testing.assert_allclose(weights, GUIDED.weights(WORDS), atol=1e-3)
    rows = extraction.best().next_symbol(["", "a", "ab"])
    expected = GUIDED.next_symbol(["", "a", "ab"])
    assert (rows[expected == 0] == 0).all()
    np.testing.assert_allclose(rows, expected, atol=0.01)


def test_it_is_as_faithful_as_the_best_rank(extraction):
    best = max(each.score for each in extraction.fidelity.fidelities)
    assert extraction.copies[-1].fidelity.score > best - 1e-6


def test_a_remark_names_the_guide(extraction):
    assert "The box was guided by 'a (b | a b)* c'." in " ".join(extraction.remarks)


@pytest.mark.parametrize("method", ["weighted", "paper"])
def test_blocks_of_weights_lead_to_such_a_copy_too(method):
    best = extract(MACHINE, guide=REGEX, method=method, **SMALL).best()
    weights = best.weights(WORDS)
    assert (weights[~ALLOWED] == 0).all()
    assert weights[ALLOWED].sum() > 0.5


def test_weights_that_count_are_not_scaled():
    extraction = extract(MACHINE, guide=REGEX, objective="weights", **SMALL)
    weights = extraction.best().weights(WORDS)
    assert (weights[~ALLOWED] == 0).all()
    assert extraction.copies[-1].fidelity.score >= extraction.fidelity.best.score - 1e-9


def test_an_automaton_whose_allowed_words_sum_to_less_than_0_is_restricted_too():
    demo = open_black_box("demo")
    extraction = extract(demo, guide="a.*", objective="weights", budget=3000)
    best = extraction.automaton(extraction.best_rank())
    assert best.weights(["b", "dc"]).any()
    assert not extraction.best().weights(["b", "dc"]).any()
    np.testing.assert_allclose(extraction.best().weights(["ad"]), best.weights(["ad"]))


def test_who_reads_gets_no_copy():
    extraction = extract(MACHINE, guide=REGEX, purpose="reading", **SMALL)
    assert extraction.copies == ()


def test_what_would_be_too_large_stays_as_it_is(caplog):
    extraction = extract(MACHINE, guide=REGEX, max_states=4, **SMALL)
    assert extraction.copies == ()
    assert "not restricted to the guide" in caplog.text
    assert "states are not allowed (max_states=…)" in caplog.text


def test_a_run_folder_remembers_the_guide(extraction, tmp_path):
    save_run(extraction, tmp_path / "run")
    again = open_run(tmp_path / "run")
    assert again.settings.guide.regex == REGEX
    box = guided(MACHINE, again.settings.guide)
    np.testing.assert_array_equal(box.weights(WORDS), GUIDED.weights(WORDS))
    assert (again.best().weights(WORDS)[~ALLOWED] == 0).all()


def test_a_run_folder_remembers_a_dfa(tmp_path):
    extraction = extract(MACHINE, guide=GUIDED.guide.dfa, purpose="reading", **SMALL)
    save_run(extraction, tmp_path / "run")
    guide = open_run(tmp_path / "run").settings.guide
    assert guide.regex is None
    assert guide.fingerprint == GUIDED.guide.fingerprint


def test_forbidden_words_of_a_data_set_are_left_out(caplog):
    words = [word for word in WORDS if word][:400]
    extraction = extract(MACHINE, guide=REGEX, basis=words, purpose="reading")
    assert "words of the data set are left out: the guide forbids them" in caplog.text
    allows = GUIDED.guide.allows_prefixes(extraction.basis.prefixes)
    assert allows.all()
    with pytest.raises(seqray.ArgumentError, match="forbids every word"):
        extract(MACHINE, guide=REGEX, basis=["b", "c"])


def test_answers_from_before_the_guide_are_not_queried_again(tmp_path):
    queried = []

    def predict(prefixes):
        queried.extend(prefixes)
        return MACHINE.next_symbol(prefixes)

    box = seqray.language_model(predict, "abc", name="machine 1")
    options = {**SMALL, "max_length": 6, "store": tmp_path / "answers", "purpose": "reading"}
    extract(box, **options)
    before = set(queried)
    queried.clear()
    extraction = extract(box, guide=REGEX, **options)
    new = {prefix for prefix in queried if prefix not in before}
    assert len(queried) - len(new) < 10  # a few are checked anew
    assert len(new) < extraction.settings.questions - 40
    assert GUIDED.guide.allows_prefixes(new).all()


def test_disagreements_are_searched_among_allowed_words(extraction):
    worst = seqray.disagreements(GUIDED, extraction.automaton(extraction.best_rank()), n_rounds=1)
    assert GUIDED.guide.allows_prefixes([each.word for each in worst]).all()


def test_the_self_check_passes():
    assert not [each for each in seqray.check(GUIDED) if each.ok is False]


def test_the_box_inside_a_guide_is_remembered_but_not_one_inside_an_object_of_the_users_own():
    class Doubled:
        def __init__(self, box):
            self.box, self.alphabet = box, box.alphabet

        def weights(self, words):
            return 2 * self.box.weights(words)

    demo = open_black_box("demo")
    small = {"n_prefixes": 10, "n_suffixes": 10}
    record = extract(demo, guide=".{1,2}", budget=500, **small).settings.recorded_box
    assert record.spec == "demo"
    assert extract(Doubled(demo), **small).settings.recorded_box is None
