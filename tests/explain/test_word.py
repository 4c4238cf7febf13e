import doctest
import json
import re
from pathlib import Path

import numpy as np
import pytest

import seqray
from automata import FIGURE_1
from classifier_boxes import remainder_automaton
from seqray import Background, WeightedAutomaton, explain_word, name_states
from seqray.automata.algebra import change_basis
from seqray.automata.generators import random_automaton, random_machine
from seqray.explain.edits import one_edit
from seqray.util.errors import ArgumentError, SymbolError


@pytest.fixture(scope="module")
def machine():
    every = {"symbol_sparsity": 1, "stopping": 1}
    return random_machine("pfa", 4, 3, seed=np.random.default_rng(2), **every)


@pytest.fixture(scope="module")
def copy(machine):
    """An automaton that is not quite the machine, in coordinates that mean nothing."""
    rng = np.random.default_rng(0)
    moved = machine.transitions * rng.uniform(0.97, 1.03, machine.transitions.shape)
    final = machine.prefix_final - moved.sum(axis=0) @ machine.prefix_final
    near = WeightedAutomaton(machine.alphabet, machine.initial, moved, final)
    return change_basis(near, rng.normal(size=(4, 4)))


WORD = (0, 2, 1, 1)


def test_factors_multiply_to_the_weight(machine):
    explained = explain_word(machine, WORD)
    assert explained.factors.prod() == pytest.approx(machine.weight(WORD))
    assert explained.weight == machine.weight(WORD)
    assert explained.shapley.weight == pytest.approx(machine.weight(WORD))


def test_the_path_is_the_state_after_each_prefix(copy):
    explained = explain_word(copy, WORD)
    named = explained.named.automaton
    for n, shares in enumerate(explained.path):
        state = named.state_after(WORD[:n])
        np.testing.assert_allclose(shares, state / state.sum(), atol=1e-9)
    np.testing.assert_allclose(explained.path.sum(axis=1), 1)


def test_next_symbols_are_those_of_automaton_and_box(machine, copy):
    explained = explain_word(copy, WORD, box=machine)
    prefixes = [WORD[:n] for n in range(len(WORD) + 1)]
    np.testing.assert_allclose(explained.next_symbol, copy.next_symbol(prefixes), atol=1e-12)
    np.testing.assert_allclose(explained.box_next_symbol, machine.next_symbol(prefixes))
    assert explained.box_weight == pytest.approx(machine.weight(WORD))


def test_neighbours_are_those_that_change_most(copy):
    explained = explain_word(copy, WORD, n_neighbours=4)
    _, words = one_edit(WORD, copy.alphabet)
    ratio = np.log(copy.weights(words) / copy.weight(WORD))
    shown = {each.word: each for each in explained.neighbours}
    assert words[int(ratio.argmax())] in shown
    assert words[int(ratio.argmin())] in shown
    probabilities, own = copy.next_symbol(words), copy.next_symbol([WORD])[0]
    other = probabilities.argmax(axis=1) != own.argmax()
    distances = np.abs(probabilities - own).sum(axis=1) / 2
    most = words[int(np.where(other, distances, 0).argmax())]
    assert shown[most].why == "next"
    assert shown[most].distance == pytest.approx(distances[[*words].index(most)])
    for each in explained.neighbours:
        assert each.weight == pytest.approx(copy.weight(each.word))
        assert np.isnan(each.box_weight)
        assert each.box_next_symbol == ""
        heavier = each.weight > explained.weight
        assert each.why == "next" or heavier == (each.why == "heavier")


def test_the_box_is_asked_about_neighbours_too(machine, copy):
    explained = explain_word(copy, WORD, box=machine)
    for each in explained.neighbours:
        assert each.box_weight == pytest.approx(machine.weight(each.word))
        following = machine.next_symbol([each.word])[0].argmax()
        assert each.box_next_symbol == str([*machine.alphabet, "end"][following])
    fidelity = explained.fidelity
    assert 0 < fidelity["relative_error"] < 0.5
    assert "disagreement" in fidelity
    assert explain_word(machine, WORD, box=machine).fidelity["relative_error"] < 1e-9
    assert explain_word(copy, WORD).fidelity is None


def test_a_box_that_only_gives_numbers_is_enough():
    box = seqray.black_box(lambda words: [w.count("a") - 0.5 * w.count("b") for w in words], "ab")
    automaton = seqray.extract(box, prefixes=40, suffixes=40).best()
    explained = explain_word(automaton, "aab", box=box)
    assert explained.next_symbol is None
    assert explained.box_next_symbol is None
    assert np.isnan(explained.factors).all()
    assert explained.box_weight == 1.5
    np.testing.assert_allclose(explained.shapley.values, [0.75, 0.75, -0.75])
    named = explained.named
    assert named.names == ("start", "after a")
    np.testing.assert_allclose(explained.path @ named.automaton.final, [0, 1, 2, 1.5], atol=1e-9)
    assert {each.why for each in explained.neighbours} == {"heavier", "lighter"}
    assert "probability" not in repr(explained)
    assert "What comes next" not in repr(explained)


def test_an_automaton_that_does_not_predict_stands_beside_a_box_that_does(machine):
    wa = random_automaton(2, 3, seed=np.random.default_rng(0))
    explained = explain_word(wa, WORD, box=machine)
    assert explained.next_symbol is None
    assert "How far to trust this" in repr(explained)


def test_the_empty_word_is_a_word(machine, copy):
    explained = explain_word(copy, (), box=machine)
    assert explained.path.shape == (1, 4)
    assert explained.factors.shape == (1,)
    assert len(explained.shapley.values) == 0
    assert "The word λ" in repr(explained)


def test_no_neighbours_are_shown_if_none_are_wanted(machine, copy):
    explained = explain_word(copy, WORD, box=machine, n_neighbours=0)
    assert explained.neighbours == ()
    assert "One edit away" not in repr(explained)
    assert explained.fidelity.n_words == 1 + len(one_edit(WORD, copy.alphabet)[1])


def test_a_named_automaton_is_taken_as_it_is(copy):
    named = name_states(copy)
    assert explain_word(named, WORD).named is named


def test_what_was_lost_by_naming_is_said(copy):
    named = name_states(copy, candidates=[[0]])
    assert "Readable coordinates change weights by up to" in repr(explain_word(named, WORD))
    assert "Readable coordinates" not in repr(explain_word(copy, WORD))


def test_chances_below_0_count_as_impossible():
    # After a, b has a probability of −0.2.
    wa = WeightedAutomaton("ab", [1, 0], [[[0, 0.5], [0, 0.3]], [[0.2, 0], [0, -0.2]]], [0.3, 0.9])
    explained = explain_word(wa, "ab")
    assert explained.factors[1] < 0
    assert explained.next_symbol.min() == 0
    np.testing.assert_allclose(explained.next_symbol.sum(axis=1), 1)
    assert "∞" in repr(explained)


def test_the_background_is_passed_on(machine):
    uniform = Background.uniform(machine.alphabet)
    one, other = (explain_word(machine, WORD, background=b) for b in (uniform, None))
    assert one.shapley.expected != other.shapley.expected
    one_hand = seqray.shapley_values(machine, WORD, background=uniform)
    assert one.shapley.values.tolist() == one_hand.values.tolist()


def test_the_text_is_at_most_80_columns_wide(machine, copy):
    text = repr(explain_word(copy, WORD * 3, box=machine))
    assert max(map(len, text.splitlines())) <= 90
    for title in ("The word 0 2 1 1", "Symbol by symbol", "What comes next", "One edit away"):
        assert title in text


def test_all_numbers_can_be_written_as_json(machine, copy):
    explained = explain_word(copy, WORD, box=machine)
    found = json.loads(json.dumps(explained.as_dict()))
    assert found["word"] == [*WORD]
    assert found["path"] == explained.path.tolist()
    assert found["neighbours"][0]["edit"].keys() == {"position", "before", "after"}
    assert found["fidelity"] == explained.fidelity.as_dict()
    assert json.loads(json.dumps(explain_word(FIGURE_1, "a").as_dict()))["fidelity"] is None


def test_mistakes_are_explained(machine):
    with pytest.raises(SymbolError, match=r"the box reads .* expected the same symbols"):
        explain_word(machine, WORD, box=FIGURE_1)
    with pytest.raises(ArgumentError, match="n_neighbours: expected a whole number from 0"):
        explain_word(machine, WORD, n_neighbours=-1)
    with pytest.raises(SymbolError, match="symbol 7 at position 2"):
        explain_word(machine, [0, 7])


def test_of_many_neighbours_the_box_is_asked_about_some(machine, copy):
    explained = explain_word(copy, WORD * 5, box=machine)
    assert explained.fidelity.n_words == 41


def test_weights_beyond_float64_are_inf_and_no_trouble():
    steep = WeightedAutomaton("ab", [1e100], [[[1e150]], [[-1e150]]], [1e100])
    explained = explain_word(steep, "abb")
    assert explained.weight == np.inf
    assert explained.shapley.weight == np.inf
    assert np.isfinite(explained.shapley.relative).all()
    assert "inf" in repr(explained)


PAGE = Path(__file__).parents[2] / "docs" / "explaining.md"


def test_the_python_of_the_page_runs_and_prints_what_it_says():
    text = PAGE.read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    assert test.examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test).failed == 0


def test_words_of_a_classifier_are_explained_elsewhere():
    with pytest.raises(ArgumentError, match=r"explain them with seqray\.explain_decision"):
        explain_word(remainder_automaton(), "ab")


def test_a_frame_has_one_row_per_symbol_and_one_for_the_end():
    pytest.importorskip("pandas")
    frame = explain_word(FIGURE_1, "ab").to_frame()
    assert frame["symbol"].tolist() == ["a", "b", "end"]
    np.testing.assert_allclose(frame["probability"], [2 / 3, 3 / 8, 5 / 24])
    np.testing.assert_allclose(frame["bits"], -np.log2(frame["probability"]))
    assert frame["adds"].isna().tolist() == [False, False, True]


def test_a_word_too_long_to_explain_is_refused_before_memory_ends(machine):
    with pytest.raises(ArgumentError, match="expected at most 5,000: explain a part"):
        seqray.explain_word(machine, [machine.alphabet.symbols[0]] * 20_000)
