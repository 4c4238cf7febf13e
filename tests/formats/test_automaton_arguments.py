"""Every public function on automata takes whatever holds one."""

import numpy as np
import pytest

import seqray
from copied import copied, machine
from seqray import Background, WeightedAutomaton
from seqray.automata import balanced
from seqray.formats.automaton_file import as_automaton
from seqray.util.errors import ArgumentError

WA = WeightedAutomaton("ab", [1, 0], [[[0, 0.5], [0.25, 0]], [[0.25, 0], [0, 0.5]]], [0.25, 0.25])
BOX = WA
WORDS = ["", "a", "ab"]

FOR_READING = {
    "explain_word": lambda given: seqray.explain_word(given, [0, 1]),
    "facts": seqray.facts,
    "name_states": seqray.name_states,
    "shapley_values": lambda given: seqray.shapley_values(given, [0, 1]),
    "frequencies": Background.frequencies,
    "bigrams": Background.bigrams,
    "to_svg": seqray.to_svg,
    "to_dot": seqray.to_dot,
    "to_html": seqray.to_html,
    "repair": lambda given: seqray.repair(given, n_words=20),
    "minimise": seqray.minimise,
    "reverse": seqray.reverse,
    "distance": lambda given: seqray.distance(given, machine()),
}

FUNCTIONS = {
    "explain_word": lambda wa: seqray.explain_word(wa, "ab"),
    "facts": seqray.facts,
    "name_states": seqray.name_states,
    "shapley_values": lambda wa: seqray.shapley_values(wa, "ab"),
    "frequencies": Background.frequencies,
    "bigrams": Background.bigrams,
    "to_svg": seqray.to_svg,
    "to_dot": seqray.to_dot,
    "save_drawing": lambda wa: seqray.save_drawing(wa, "wa.svg"),
    "compare": lambda wa: seqray.compare(BOX, wa, WORDS),
    "disagreements": lambda wa: seqray.disagreements(BOX, wa, n_drawn=5, n_rounds=1),
    "clipped": seqray.clipped,
    "repair": lambda wa: seqray.repair(wa, n_words=20),
    "to_html": seqray.to_html,
    "sample": lambda wa: seqray.sample(wa, 3, seed=0),
    "add": lambda wa: seqray.add(wa, WA),
    "add to": lambda wa: seqray.add(a=WA, b=wa),
    "approximate": lambda wa: seqray.approximate(wa, 1),
    "change_basis": lambda wa: seqray.change_basis(wa, [[2.0, 0], [1, 1]]),
    "distance": lambda wa: seqray.distance(WA, wa),
    "equivalent": lambda wa: seqray.equivalent(wa, WA, tolerance=1e-6),
    "gramians": seqray.gramians,
    "inner_product": lambda wa: seqray.inner_product(WA, wa),
    "minimise": seqray.minimise,
    "multiply": lambda wa: seqray.multiply(wa, wa),
    "reverse": seqray.reverse,
    "scale": lambda wa: seqray.scale(wa, 2),
    "singular_values": seqray.singular_values,
}


OPENING = {name: function for name, function in FUNCTIONS.items() if name != "sample"}


@pytest.fixture(scope="module")
def holders(tmp_path_factory):
    """An automaton, and all that can hold one."""
    folder = tmp_path_factory.mktemp("holders")
    extraction = seqray.extract(WA, prefixes=10, suffixes=10, max_rank=2)
    seqray.save_run(extraction, folder / "run")
    WA.save(folder / "wa.json")
    return {
        "automaton": WA,
        "extraction": extraction,
        "named": seqray.name_states(WA),
        "run": folder / "run",
        "run as text": f"wa:{folder / 'run'}",
        "file": folder / "wa.json",
    }


@pytest.mark.parametrize("holder", ["extraction", "named", "run"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_on_automata_take_what_holds_one(
    holders, function, holder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    function(holders[holder])


@pytest.mark.parametrize("given", [3, None, [WA], "no such run", b"run"], ids=repr)
@pytest.mark.parametrize("function", OPENING.values(), ids=OPENING)
def test_anything_else_is_refused_with_what_was_expected(function, given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match=r"expected (a WeightedAutomaton, an ext|the path of)"):
        function(given)


def test_a_named_automaton_is_drawn_with_its_names(holders):
    named = holders["named"]
    for draw in (seqray.to_svg, seqray.to_dot):
        expected = draw(named.automaton, names=named.names, mass=named.mass)
        assert draw(named) == expected
        assert draw(named, names=["one", "two"]) != expected
    assert seqray.name_states(named) is named


def test_ranks_are_compared_of_an_extraction_or_a_run(holders):
    same = [seqray.what_changes(holders[name]).as_dict() for name in ("extraction", "run")]
    assert same[0] == same[1]
    for other in (WA, 3):
        with pytest.raises(ArgumentError, match="extraction: expected an extraction, a run"):
            seqray.what_changes(other)


def test_the_same_words_are_drawn_from_an_automaton_and_what_holds_it(holders):
    for name in ("named", "run", "file", "extraction"):
        wa = as_automaton(holders[name])
        drawn = seqray.sample(holders[name], 20, seed=3)
        assert isinstance(drawn, seqray.Sample)
        assert drawn == seqray.sample(wa, 20, seed=3) == wa.sample(20, seed=3)
        words, n_cut = drawn
        assert (len(words), n_cut) == (20, 0)


def test_words_are_not_longer_than_the_box_reads():
    box = seqray.language_model(lambda words: [[0.99, 0.01]] * len(words), "a", max_length=10)
    words, n_cut = seqray.sample(box, 50)
    assert words.lengths.max() == 10
    assert n_cut > 0


def test_only_what_predicts_can_be_sampled():
    with pytest.raises(ArgumentError, match="stepper: expected something that predicts"):
        seqray.sample(3, 3, seed=0)
    with pytest.raises(ArgumentError, match="stepper: there is no file or folder 'no such run'"):
        seqray.sample("no such run", 3, seed=0)


def test_algebra_on_what_holds_automata_is_algebra_on_automata(holders):
    assert seqray.distance(holders["run"], WA) < 1e-6
    assert seqray.equivalent(holders["named"], holders["file"])
    assert seqray.singular_values(holders["file"]) == pytest.approx(balanced.singular_values(WA))
    with pytest.raises(ArgumentError, match="b: expected a WeightedAutomaton"):
        seqray.add(WA, 3)


@pytest.fixture
def never_dense(monkeypatch):
    """Let a structured automaton refuse to be written out as a dense one."""
    message = "the matrices of a copy were read"
    refused = property(lambda self: pytest.fail(message))
    monkeypatch.setattr(seqray.StructuredAutomaton, "transitions", refused)


@pytest.mark.parametrize("function", FOR_READING)
@pytest.mark.usefixtures("never_dense")
def test_what_a_person_reads_is_never_a_copy(function):
    FOR_READING[function](copied())


@pytest.mark.usefixtures("never_dense")
def test_what_is_measured_or_drawn_from_is_the_copy():
    box = machine()
    words = box.sample(20, seed=0).words
    assert seqray.compare(box, copied(), words)["kl_per_symbol"] < 1e-12
    assert list(seqray.sample(copied(), 5, seed=0).words) == list(box.sample(5, seed=0).words)
    np.testing.assert_allclose(seqray.clipped(copied()).weights(words), box.weights(words))
