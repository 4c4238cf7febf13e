"""Time and memory of boxes and automata."""

import csv

import pytest

from seqray.experiments import distillation
from seqray.experiments.distillation import Distilled
from seqray.experiments.table import choose, read_results


def test_time_and_memory_of_boxes_and_automata_stand_side_by_side(swept):
    with (swept.folder / "tiny-distilled.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(Distilled._fields)
    assert [(row["problem"], row["rank"]) for row in rows] == [("1", "5"), ("2", "5")]
    first = rows[0]
    assert int(first["automaton_bytes"]) == 8 * (6 * 25 + 10)
    assert int(first["box_bytes"]) == 8 * (6 * 144 + 24)
    for name in ("together", "alone", "peak"):
        for model in ("box", "automaton"):
            assert float(first[f"{model}_{name}"]) > 0
    results = choose(read_results(swept.table), problem="1", prefixes=20, rank=5, set="test")
    assert float(first["ndcg5"]) == pytest.approx(results[0].ndcg5)


def test_the_least_time_counts(monkeypatch):
    clock = iter([0, 9, 10, 13, 20, 22, 30, 34])
    monkeypatch.setattr(distillation.time, "process_time", lambda: next(clock))
    monkeypatch.setattr(distillation, "N_TIMINGS", 3)
    assert distillation.best_of_each([lambda: None]) == [2]
