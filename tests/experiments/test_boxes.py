"""The table of boxes."""

import numpy as np
import pytest

import seqray
from seqray.experiments import sweep
from seqray.experiments.boxes import read_boxes
from seqray.experiments.cells import Cell, measure
from seqray.experiments.problems import GeneratedSource
from seqray.experiments.table import choose
from sweeps import SMALL

pytestmark = pytest.mark.usefixtures("quick_timing")


def test_the_boxes_are_measured_against_their_targets(swept, problem):
    row = read_boxes(swept.folder / "tiny-boxes.csv")["1"]
    fidelity = seqray.compare(problem.target, problem.box, problem.test)
    assert row.quality == pytest.approx(fidelity["perplexity_ratio"])
    assert row.perplexity_target == pytest.approx(fidelity["perplexity_box"])
    assert row.perplexity_box == pytest.approx(fidelity["perplexity"])
    assert row.ndcg5 == pytest.approx(fidelity["ndcg5"])
    assert row.wer_target == pytest.approx(fidelity["wer_box"])
    assert row.wer_box_test == pytest.approx(fidelity["wer"])
    own = seqray.compare(problem.box, problem.box, problem.rnn)
    assert row.wer_box_rnn == pytest.approx(own["wer"])
    assert row.perplexity_rnn == pytest.approx(own["perplexity"])
    assert (row.symbols, row.states, row.test_words, row.rnn_words) == (6, 12, 60, 50)


def test_without_a_target_the_box_is_its_own_reference(tmp_path, problem):
    class Targetless(GeneratedSource):
        def read(self):
            return (*super().read()[:2], None)

    part = sweep.work(sweep.SweepJob("boxes", Cell(Targetless(1), "", 20, SMALL)))
    row = part.others[0]
    assert row.states == 0
    assert np.isnan([row.quality, row.ndcg5, row.kl, row.wer_target]).all()
    assert np.isfinite([row.wer_box_test, row.wer_box_rnn, row.perplexity_test]).all()
    results = measure(Cell(Targetless(1), "", 20, SMALL)).results
    box = problem.box
    extraction = seqray.extract(box, prefixes=20, suffixes=20, max_rank=8, method="paper")
    fidelity = seqray.compare(box, extraction.automaton(5), problem.test)
    row = choose(results, set="test", rank=5, selection="all")[0]
    assert row.perplexity_ratio == pytest.approx(fidelity["perplexity_ratio"])
