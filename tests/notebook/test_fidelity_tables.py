"""Tables of fidelity for notebooks."""

import numpy as np

from seqray.fidelity.decisions import DecisionFidelity
from seqray.fidelity.table import Fidelity, FidelityTable
from seqray.notebook.fidelity_tables import (
    MAX_CLASSES,
    confusion_section,
    fidelity_section,
    ranks_section,
    shown_ranks,
)


def fidelities(n):
    return tuple(Fidelity({"kl_per_symbol": 1 / k**4, "ndcg5": 0.9}, 20, 90) for k in range(1, n))


def test_every_metric_has_a_row_with_its_meaning():
    section = fidelity_section(Fidelity({"wer": 0.25, "zeros": 0.0}, 2, 9))
    assert [row[:2] for row in section.rows] == [("wer", "0.25"), ("zeros", "0")]
    assert section.columns == ("metric", " value", "meaning")


def test_intervals_have_a_column_where_there_are_some():
    section = fidelity_section(Fidelity({"wer": 0.25, "zeros": 0.0}, 2, 9, {"wer": (0.2, 0.3)}))
    assert [row[2] for row in section.rows] == ["0.2 … 0.3", ""]


def test_the_chosen_rank_is_marked():
    table = FidelityTable((1, 2, 3), fidelities(4))
    marked = [row[0] for row in ranks_section(table).rows]
    assert marked == ["1", "2", "→ 3"]
    assert [row[0] for row in ranks_section(table, 2).rows] == ["1", "→ 2", "3"]


def test_of_many_ranks_some_are_shown_and_the_note_says_so():
    section = ranks_section(FidelityTable(tuple(range(1, 101)), fidelities(101)))
    assert len(section.rows) <= 15
    assert section.rows[-1][0].endswith("100")
    assert "left out: to_frame() has all" in section.note


def test_a_table_without_ranks_says_so():
    assert ranks_section(FidelityTable((), ())).note == "There are no ranks."


def test_a_few_ranks_are_all_shown():
    assert shown_ranks((2, 4, 6), 4) == [2, 4, 6]


def test_words_are_counted_by_both_classes():
    confusion = np.array([[5, 1], [0, 1200]])
    section = confusion_section(
        DecisionFidelity({"agreement": 1.0}, 9, 9, classes=("no", "yes"), confusion=confusion)
    )
    assert section.columns == ("box", " no", " yes")
    assert section.rows == (("no", "5", "1"), ("yes", "0", "1,200"))


def test_many_classes_are_only_counted():
    classes = tuple(map(str, range(MAX_CLASSES + 1)))
    section = confusion_section(DecisionFidelity({"agreement": 1.0}, 9, 9, classes=classes))
    assert section.rows == ()
    assert "13 classes" in section.note
