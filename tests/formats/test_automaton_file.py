"""Whatever holds an automaton can be given where one is expected."""

import pytest

import seqray
from seqray import Background, WeightedAutomaton
from seqray.explore import to_html
from seqray.formats.automaton_file import as_automaton
from seqray.util.errors import ArgumentError

WA = WeightedAutomaton("ab", [1, 0], [[[0, 0.5], [0.25, 0]], [[0.25, 0], [0, 0.5]]], [0.25, 0.25])
BOX = WA
WORDS = ["", "a", "ab"]

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
    "compare with": lambda wa: seqray.compare(wa, BOX, WORDS),
    "disagreements": lambda wa: seqray.disagreements(BOX, wa, n_drawn=5, n_rounds=1),
    "clipped": seqray.clipped,
    "repair": lambda wa: seqray.repair(wa, n_words=20),
    "to_html": to_html,
}


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
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_anything_else_is_refused_with_what_was_expected(function, given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match=r"expected a WeightedAutomaton, an extraction, a name"):
        function(given)


def test_what_holds_an_automaton_stands_for_it(holders):
    for holder in holders.values():
        assert as_automaton(holder).weights(WORDS) == pytest.approx(WA.weights(WORDS), abs=1e-6)
    assert as_automaton(holders["extraction"]).n_states == holders["extraction"].best_rank()


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
        with pytest.raises(ArgumentError, match="found: expected an extraction, a run folder or"):
            seqray.what_changes(other)


def test_only_what_predicts_can_be_sampled(holders):
    for given, hint in ((holders["extraction"], r": write \.best\(\)"), (3, "$")):
        with pytest.raises(ArgumentError, match=f"expected something that predicts.*{hint}"):
            seqray.sample(given, 3, seed=0)
