import json
from dataclasses import replace

import numpy as np
import pytest

from copied import copied
from seqray import Basis, Extraction, WeightedAutomaton
from seqray.automata.ranks import RankedAutomata
from seqray.blackbox.queries.noise import Noise
from seqray.extraction.conditional.parts import ConditionalRound
from seqray.extraction.hankel.rounds import HankelRound
from seqray.extraction.result import ExtractionSettings
from seqray.extraction.structured.copies import Copy
from seqray.fidelity.table import TOLERANCE, Fidelity, FidelityTable
from seqray.util.errors import ArgumentError, RankError, StopReason


def made_up(name, values, rank=None):
    """An extraction with the given metric, one number per rank."""
    n = len(values)
    wa = WeightedAutomaton("a", np.ones(n), np.ones((1, n, n)), np.ones(n))
    words = wa.alphabet.words([""])
    table = FidelityTable(
        tuple(range(1, n + 1)), tuple(Fidelity({name: v}, n_words=1, n_prefixes=1) for v in values)
    )
    automata = RankedAutomata(wa, singular_values=np.ones(n))
    return Extraction(automata, Basis(words, words), table, ExtractionSettings(rank=rank))


RISING = ("ndcg5", [0.5, 0.9, 0.9995, 0.9, 1.0])
FALLING = ("relative_error", [0.3, 0.00005, 0.2, 0.0])


@pytest.mark.parametrize(
    ("column", "tolerance", "rank"),
    [
        (RISING, 0.001, 3),
        (RISING, 0, 5),
        (RISING, 0.2, 2),
        (("ndcg5", [0.7, 0.7, 0.7]), 0.001, 1),
        (FALLING, 0.001, 2),
        (FALLING, 0, 4),
    ],
)
def test_the_best_rank_is_the_smallest_within_the_tolerance(column, tolerance, rank):
    extraction = made_up(*column)
    assert extraction.best_rank(tolerance=tolerance) == rank
    assert extraction.best(tolerance=tolerance).n_states == rank
    assert extraction.predicts == (column[0] == "ndcg5")


@pytest.mark.parametrize("column", [RISING, FALLING])
def test_a_rank_chosen_by_hand_comes_before_the_computed_one(column):
    computed = made_up(*column)
    extraction = made_up(*column, rank=4)
    assert extraction.best_rank() == extraction.best().n_states == 4
    assert computed.best_rank() == computed.best_rank(tolerance=TOLERANCE) != 4
    for tolerance in (TOLERANCE, 0.2):
        assert extraction.best_rank(tolerance=tolerance) == computed.best_rank(tolerance=tolerance)
        assert extraction.best(tolerance=tolerance).n_states == computed.best_rank(
            tolerance=tolerance
        )


def with_copies(*sizes, rank=None):
    """An extraction with ranks up to 5 and copies, dense ones, of so many states."""
    copies = []
    for n in sizes:
        automaton = WeightedAutomaton("a", np.ones(n), np.ones((1, n, n)), np.ones(n))
        copies.append(Copy(automaton, Fidelity({"ndcg5": 1.0}, n_words=1, n_prefixes=1)))
    return replace(made_up(*RISING, rank=rank), copies=tuple(copies))


def test_the_best_automaton_for_copying_is_the_largest_copy():
    extraction = with_copies(10, 20)
    assert extraction.best() is extraction.copies[-1].automaton
    assert extraction.best(purpose="copying") is extraction.best()
    assert with_copies(10, 20, rank=2).best().n_states == 20
    assert repr(extraction) == (
        f"Extraction(ranks 1 … 5, best for reading {extraction.best_rank()}, "
        "2 copies, best for copying 20 states)"
    )


def test_the_best_automaton_for_reading_is_that_of_the_best_rank():
    extraction = with_copies(10, 20)
    assert extraction.best(purpose="reading").n_states == extraction.best_rank()
    assert with_copies(10, rank=2).best(purpose="reading").n_states == 2
    with pytest.raises(ArgumentError, match=r"purpose: expected one of .*, got 'drawing'"):
        extraction.best(purpose="drawing")


def test_without_copies_the_nearest_rank_is_for_copying_and_a_smaller_one_for_reading():
    ndcg = [0.5, 0.99995, 0.9999599, 0.99996]
    for extraction, copying in ((made_up("ndcg5", ndcg), 3), (made_up("ndcg5", ndcg, rank=4), 4)):
        assert extraction.best().n_states == copying
    assert made_up("ndcg5", ndcg).best(purpose="reading").n_states == 2
    of_numbers = made_up("weight_agreement", ndcg)
    assert of_numbers.best().n_states == of_numbers.best_rank() == 2


def test_a_tolerance_chooses_among_the_ranks():
    assert with_copies(10, 20).best(tolerance=0.2).n_states == 2


@pytest.mark.parametrize(
    ("limits", "n_states"),
    [
        ({"max_states": 20}, 20),
        ({"max_states": 19}, 10),
        ({"max_states": 9}, 5),
        ({"max_states": 4}, 3),
        ({"max_states": 1}, 1),
        ({"max_cost": 400}, 20),
        ({"max_cost": 399}, 10),
        ({"max_cost": 99}, 5),
        ({"max_cost": 15}, 3),
        ({"max_cost": 1}, 1),
        ({"max_cost": 399, "max_states": 9}, 5),
        ({"max_cost": 8, "max_states": 19}, 2),
        ({"max_states": 20, "purpose": "reading"}, 5),
        ({"max_states": 2, "purpose": "reading"}, 2),
    ],
)
def test_the_best_automaton_within_limits_is_the_nearest_one_that_they_allow(limits, n_states):
    assert with_copies(10, 20).best(**limits).n_states == n_states


def test_limits_come_before_a_rank_chosen_by_hand():
    assert with_copies(rank=4).best(max_states=4).n_states == 4
    assert with_copies(rank=4).best(max_states=3).n_states == 3


@pytest.mark.parametrize("name", ["max_states", "max_cost"])
@pytest.mark.parametrize("limit", [0, -3])
def test_limits_that_nothing_is_within_are_refused(name, limit):
    with pytest.raises(RankError, match=r"no automaton has at most .* states: expected 1 or more"):
        with_copies(10).best(**{name: limit})


@pytest.mark.parametrize(("method", "drawn"), [("conditional", True), ("paper", False)])
def test_an_extraction_says_whether_ranks_were_compared_on_words_of_the_box(method, drawn):
    extraction = replace(made_up(*RISING), settings=ExtractionSettings(method=method))
    assert extraction.compared_on == "held-out words" + " drawn from the box" * drawn


def test_settings_are_a_mapping_without_what_is_not_known():
    settings = ExtractionSettings(questions=12, noise=Noise(0.5, relative=True))
    assert settings["questions"] == settings.questions == 12
    assert settings["noise"] == {"level": 0.5, "relative": True}
    assert settings.get("rank") is None
    assert "rank" not in settings
    assert len(settings) == len(list(settings))
    with pytest.raises(KeyError):
        settings["rounds"]


def test_settings_come_back_from_what_a_run_folder_holds():
    settings = ExtractionSettings(
        method="weighted", noise=Noise(0.5, relative=True), about={"box": "demo", "name": "mine"}
    )
    again = ExtractionSettings.from_json(dict(settings))
    assert again == settings
    assert again.noise == settings.noise
    assert again.about == settings.about


def test_what_an_old_run_folder_lacks_is_filled_in():
    settings = ExtractionSettings.from_json({"method": "paper"})
    assert settings.method == "paper"
    assert settings.repeat == 1
    assert settings.stopped == ""
    assert settings.questions is settings.noise is None


def test_records_come_back_typed_from_old_and_new_run_folders():
    rounds = [
        {"questions": 5, "prefixes": 2, "suffixes": 3, "closeness": 0.5},
        {"questions": 9, "words": 4, "contexts": 7, "ndcg5": 0.25},
    ]
    search = {"questions": 9, "states": 2, "apart": 0.5, "after": "ab", "words": 3, "then": "stays"}
    settings = ExtractionSettings.from_json(
        {"rounds": rounds, "counterexamples": [search], "stop_reason": "budget"}
    )
    assert settings.rounds == (HankelRound(5, 2, 3, 0.5), ConditionalRound(9, 4, 7, 0.25))
    assert settings.counterexamples[0].distance == 0.5
    assert settings.stop_reason is StopReason.BUDGET
    again = ExtractionSettings.from_json(json.loads(json.dumps(dict(settings))))
    assert again == settings
    assert again.rounds == settings.rounds
    today = ExtractionSettings(rounds=(ConditionalRound(9, 4, 7, 0.25, 0.5),))
    assert ExtractionSettings.from_json(dict(today)).rounds == today.rounds
    assert again.counterexamples == settings.counterexamples
    assert settings["rounds"][0]["score"] == 0.5
    assert settings["counterexamples"][0]["then"] == "stays"


def test_a_frame_has_one_row_per_rank_and_copy():
    pytest.importorskip("pandas")
    frame = copied().to_frame()
    assert frame["kind"].tolist() == ["rank", "rank", "copy", "copy"]
    assert frame["states"].tolist() == [1, 2, 6, 7]
    assert frame["cost"].tolist() == [1, 4, 36, 49]
    assert frame["score"].iloc[-1] == copied().copies[-1].fidelity.score
