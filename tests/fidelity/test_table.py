"""Fidelities and tables of them, as mappings and as text."""

import numpy as np
import pytest

from seqray.fidelity.compare import compare, compare_ranks
from seqray.fidelity.metrics import MEANINGS
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import Fidelity, FidelityTable
from seqray.util.errors import ArgumentError, RankError


def test_a_table_of_no_ranks_is_empty_and_knows_no_rank(box, words):
    table = compare_ranks(Reference.query(box, words), box, [])
    assert repr(table) == "FidelityTable(no ranks, 0 metrics)"
    with pytest.raises(RankError, match="rank 3 was not compared"):
        table.at(3)


def test_an_unknown_metric_lists_near_ones():
    fidelity = Fidelity({"ndcg1": 0.5, "ndcg5": 0.25, "wer": 1.0}, 1, 2)
    with pytest.raises(ArgumentError, match="no metric 'ndgc5'; there are: ndcg5, ndcg1"):
        fidelity["ndgc5"]
    with pytest.raises(ArgumentError, match="there are: ndcg1, ndcg5, wer"):
        fidelity["?"]
    assert "wer" in fidelity
    assert "kl" not in fidelity


def test_a_fidelity_prints_as_an_aligned_table(box, words):
    lines = str(compare(box, box, words)).splitlines()
    others = {"total_variation", "elsewhere", "score_distance", "calibration_difference"}
    others |= {"agreement", "balanced_agreement", "boundary_agreement"}
    measured = [name for name in MEANINGS if name not in others]
    assert len(lines) == len(measured) + 1
    at = {line.index(MEANINGS[name]) for name, line in zip(measured, lines, strict=False)}
    assert len(at) == 1
    assert lines[-1].startswith("300 words, ")
    assert str(Fidelity({}, 0, 0)) == "0 words, 0 prefixes"


def test_a_fidelity_is_a_mapping_from_metrics():
    fidelity = Fidelity({"ndcg5": 0.5, "wer": 0.25}, 2, 9)
    assert dict(fidelity) == {**fidelity} == fidelity.as_dict() == {"ndcg5": 0.5, "wer": 0.25}
    assert list(fidelity) == list(fidelity.keys()) == ["ndcg5", "wer"]
    assert list(fidelity.values()) == [0.5, 0.25]
    assert list(fidelity.items()) == [("ndcg5", 0.5), ("wer", 0.25)]
    assert (len(fidelity), fidelity.get("wer"), fidelity.get("zeros", 7)) == (2, 0.25, 7)
    assert "wer" in fidelity
    assert "zeros" not in fidelity
    assert fidelity == {"ndcg5": 0.5, "wer": 0.25}


def test_a_table_is_a_mapping_from_ranks():
    rows = [Fidelity({"wer": value}, 2, 9) for value in (0.5, 0.25)]
    table = FidelityTable((3, 5), tuple(rows))
    assert table[5] is table.at(5) is rows[1]
    assert table[np.int64(3)] is rows[0]
    assert list(table) == [3, 5]
    assert dict(table) == {3: rows[0], 5: rows[1]}
    assert [fidelity["wer"] for fidelity in table.values()] == table["wer"].tolist() == [0.5, 0.25]
    assert 3 in table
    assert 4 not in table
    assert table.get(4) is None


@pytest.mark.parametrize("key", [4, 0, -1, "wrr", 2.5, None])
def test_a_rank_or_metric_that_is_not_there_is_an_error_of_both_kinds(key):
    table = FidelityTable((3, 5), (Fidelity({"wer": 0.5}, 2, 9),) * 2)
    for kind in (KeyError, ArgumentError):
        with pytest.raises(
            kind, match=r"^(rank .* was not compared: expected|no metric 'wrr'; there)"
        ):
            table[key]
    with pytest.raises(KeyError, match=r"^no metric"):
        table[3][key]


def test_metrics_of_earlier_versions_are_read_by_their_names_of_today():
    fidelity = Fidelity.from_saved({"ndcg5": 0.9, "apart": 0.5}, 2, 9)
    assert fidelity == {"ndcg5": 0.9, "total_variation": 0.5}
    assert fidelity.score == pytest.approx(0.85)
    assert (fidelity.n_words, fidelity.n_prefixes) == (2, 9)


def test_what_follows_from_the_divergence_is_added_to_a_run_of_an_earlier_version():
    fidelity = Fidelity.from_saved({"kl_per_symbol": 0.5, "ndcg5": 0.9}, 2, 9)
    assert fidelity["kl_per_word"] == pytest.approx(0.5 * 9 / 2)
    assert fidelity["ratio_per_symbol"] == fidelity.score == pytest.approx(0.5**0.5)
    rounded = Fidelity.from_saved({"kl_per_symbol": -1e-17}, 2, 9)
    assert (rounded["kl_per_symbol"], rounded.score) == (0, 1)


def test_a_saved_loss_that_rounding_made_of_nothing_is_nothing():
    saved = {"kl_per_symbol": 2.7e-15, "kl_per_word": 3e-14, "kl": 1e-16, "log_error": 2e-16}
    fidelity = Fidelity.from_saved(saved, 2, 9)
    assert {name: fidelity[name] for name in saved} == dict.fromkeys(saved, 0)
    assert Fidelity.from_saved({"kl": 1e-9}, 2, 9)["kl"] == 1e-9


def test_the_score_is_the_ratio_per_symbol_less_what_rare_words_and_leaks_cost():
    metrics = {"kl_per_symbol": 1.0, "ndcg5": 0.9, "total_variation": 0.5, "elsewhere": 0.2}
    assert Fidelity(metrics, 2, 9).score == pytest.approx(0.5 - 0.05 - 0.02)
    assert Fidelity({"ndcg5": 0.9, "weight_agreement": 0.7}, 2, 9).score == 0.9


def by_bits(*rows, entropy=2.0):
    """Return a table of ranks 1, 2 and so on, by bits lost per symbol."""
    metrics = [{"kl_per_symbol": bits, "entropy_per_symbol": entropy} for bits in rows]
    return FidelityTable(
        tuple(range(1, len(rows) + 1)), tuple(Fidelity(each, 2, 9) for each in metrics)
    )


def test_the_best_rank_is_the_smallest_that_is_exact_or_loses_hardly_more_than_the_best():
    assert by_bits(0.5, 0.0012, 1e-4, 2e-4).best_rank() == 2
    assert by_bits(0.5, 0.0012, 1e-7, 1e-12).best_rank() == 3  # the box is an automaton
    assert by_bits(0.5, 0.0012, 2e-5, 1e-5).best_rank() == 3  # or nearly one: 120 times as much
    assert by_bits(0.5, 0.0012, 1e-4, entropy=0.1).best_rank() == 3  # that much is a lot here
    assert by_bits(0.5, 0.0012, 1e-5).best_rank(0) == 3
    assert by_bits(0.5, 0.0012, 1e-7, 1e-12).best_rank(0.001) == 2


def test_a_saved_metric_that_this_version_does_not_have_is_left_out():
    assert list(Fidelity.from_saved({"ndcg5": 0.9, "new": 0.5}, 2, 9)) == ["ndcg5"]


def decision_table(rows):
    names = ("agreement", "score_distance")
    fidelities = [Fidelity(dict(zip(names, row, strict=True)), 1000, 9000) for row in rows]
    return FidelityTable(tuple(range(1, len(rows) + 1)), tuple(fidelities))


def test_the_best_rank_of_a_classifier_has_probabilities_near_the_best():
    table = decision_table([(0.6, 0.3), (1.0, 0.065), (1.0, 0.0017), (1.0, 0.0008)])
    assert table.best_rank() == 3
    assert table.best_rank(tolerance=0.001) == 2  # decisions alone


def test_probabilities_of_a_rank_that_agrees_less_do_not_count():
    assert decision_table([(0.6, 0.0), (1.0, 0.2), (0.999, 0.195)]).best_rank() == 2


def test_a_fidelity_is_a_frame_with_one_row_per_metric():
    pytest.importorskip("pandas")
    frame = Fidelity({"wer": 0.25, "zeros": 0.0}, 2, 9, {"wer": (0.2, 0.3)}).to_frame()
    assert frame.index.tolist() == ["wer", "zeros"]
    assert frame.loc["wer", ["value", "low", "high"]].tolist() == [0.25, 0.2, 0.3]
    assert frame["low"].isna().tolist() == [False, True]


def test_a_table_is_a_frame_with_one_row_per_rank():
    pytest.importorskip("pandas")
    table = FidelityTable((2, 5), (Fidelity({"wer": 0.5}, 2, 9), Fidelity({"wer": 0.25}, 2, 9)))
    assert table.to_frame()["wer"].to_dict() == {2: 0.5, 5: 0.25}
