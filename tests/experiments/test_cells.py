"""What is measured in each cell of a sweep."""

import json
from dataclasses import replace

import pytest

import seqray
from seqray.experiments import cells, sweep
from seqray.experiments.cells import Cell
from seqray.experiments.problems import GeneratedSource, load
from seqray.experiments.table import choose, read_results
from seqray.fidelity.compare import compare_ranks
from seqray.fidelity.reference import Reference
from sweeps import FEW_PREFIXES, SMALL, small_sweep

pytestmark = pytest.mark.usefixtures("quick_timing")


def test_the_automata_are_those_of_the_papers_method(swept, problem):
    extraction = seqray.extract(problem.box, prefixes=30, suffixes=30, max_rank=8, method="paper")
    rows = choose(read_results(swept.table), problem="1", prefixes=30, selection="all")
    assert [row.rank for row in choose(rows, set="test")] == list(range(1, 9))
    for words, reference in (
        ("test", Reference.query(problem.box, problem.test, problem.target)),
        ("rnn", Reference.query(problem.box, problem.rnn)),
    ):
        for row in choose(rows, set=words, rank=(1, 5, 8)):
            fidelity = reference.compare(extraction.automaton(row.rank))
            for name in ("ndcg1", "ndcg5", "perplexity_ratio", "kl", "wer", "zeros"):
                assert getattr(row, name) == pytest.approx(fidelity[name], rel=1e-6), name
            assert (row.method, row.suffixes, row.seed) == ("paper", 30, 0)


def test_rows_are_selected_on_the_evaluation_words_and_on_others(swept, problem):
    results = read_results(swept.table)
    extraction = seqray.extract(problem.box, prefixes=30, suffixes=30, max_rank=8, method="paper")
    reference = Reference.query(problem.box, problem.held_out)
    table = compare_ranks(reference, extraction.automaton(8), range(1, 9))
    nearly = table["ndcg5"] >= table["ndcg5"].max() - 1e-3
    for words in ("test", "rnn"):
        rows = choose(results, problem="1", prefixes=30, set=words)
        every = choose(rows, selection="all")
        chosen = {row.selection: row for row in rows if row.selection != "all"}
        assert set(chosen) == {"best-ndcg", "best-ratio", "held-out"}
        assert chosen["best-ndcg"].ndcg5 == max(row.ndcg5 for row in every)
        assert chosen["best-ratio"].perplexity_ratio == max(row.perplexity_ratio for row in every)
        assert chosen["held-out"].rank == 1 + int(nearly.argmax())
        for row in chosen.values():
            assert row._replace(selection="all") in every


def test_a_block_of_lower_rank_has_fewer_rows_and_says_so(tmp_path):
    few = small_sweep(tmp_path, problems=[1], sizes=(40,), settings=replace(SMALL, max_rank=50))
    few.run()
    rows = choose(read_results(few.table), set="rnn", selection="all")
    assert len(rows) == rows[-1].rank <= 12  # the states of the box
    about = json.loads((tmp_path / "tiny.json").read_text())
    assert about["notes"]["1-40"] == [f"the block has no more than rank {len(rows)}"]


def test_a_problem_is_loaded_once_for_all_its_cells(tmp_path, monkeypatch):
    cells.prepared.cache_clear()
    loaded = []
    monkeypatch.setattr(cells, "load", lambda *args, **kw: loaded.append(1) or load(*args, **kw))
    small_sweep(tmp_path, problems=[1]).run()
    assert len(loaded) == 1


def test_our_own_method_is_what_extract_takes_by_itself(frugal, problem):
    part = sweep.work(sweep.SweepJob("auto", Cell(GeneratedSource(1), "", 20, SMALL)))
    extraction = seqray.extract(problem.box, n_prefixes=FEW_PREFIXES, max_rank=8, target=1.0)
    reference = Reference.query(problem.box, problem.test, problem.target)
    copied = choose(part.results, set="test", method="copy", selection="all")
    assert [row.rank for row in copied] == [copy.n_states for copy in extraction.copies]
    rows = choose(part.results, set="test", method="auto")
    assert [row.rank for row in choose(rows, selection="all")] == list(
        range(1, extraction.max_rank + 1)
    )
    for row in rows:
        fidelity = reference.compare(extraction.automaton(row.rank))
        assert row.ndcg5 == pytest.approx(fidelity["ndcg5"])
        assert row.perplexity_ratio == pytest.approx(fidelity["perplexity_ratio"])
        assert row.method == "auto"
        assert row.prefixes == extraction.settings["prefixes"]
        n_learnt = extraction.settings["steps"] - extraction.settings["validation_questions"]
        assert row.steps == n_learnt == part.about["rounds"][-1]["questions"]
    assert {row.rank for row in choose(rows, selection="held-out")} == {extraction.best_rank()}
    drop = {"questions": 0}
    rounds = [
        [{**each, **drop} for each in side["rounds"]] for side in (part.about, extraction.settings)
    ]
    assert rounds[0] == rounds[1]
    assert set(part.about["seconds"]) == {
        f"auto_{phase}" for phase in ("references", "extract", "ranks_test", "ranks_rnn")
    }
    assert any(note.startswith(cells.TARGET_NOTE) for note in part.about["notes"])
    if extraction.max_rank < 8:
        assert part.about["notes"][-1] == f"the block has no more than rank {extraction.max_rank}"


def test_settings_are_passed_on_to_our_own_method(monkeypatch, hasty):
    loaded = {}

    def extract(box, **how):
        loaded.update(how)
        return seqray.extract(box, n_prefixes=FEW_PREFIXES, max_rank=1, target=1.0)

    monkeypatch.setattr(cells, "extract", extract)
    settings = replace(SMALL, n_contexts=70, seed=5)
    cells.measure_auto(Cell(GeneratedSource(1), "", 20, settings))
    assert loaded == {"n_prefixes": 70, "max_rank": 8, "target": 1.0, "seed": 5}
