"""Seqray itself: `extract` with a budget, the paper's method, or `learn_pdfa`."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from boxes import opened
from job import Arrays, Clock, Drawn
from threadpoolctl import threadpool_limits

import seqray


def fit(
    drawn: Drawn, clock: Clock, box: str, budget: int, method: str
) -> tuple[Arrays, dict[str, Any]]:
    logging.disable(logging.WARNING)  # a budget that is used up is no news here
    with threadpool_limits(limits=1):
        if method == "learn_pdfa":
            learned = seqray.learn_pdfa(opened(box), budget=budget, tolerance=0.001)
            automaton, queries = learned.automaton, learned.n_queries
        else:
            extraction = seqray.extract(opened(box), budget=budget, method=method)
            automaton, queries = extraction.best(), extraction.settings.questions
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "automaton.npz")
        automaton.save(path)
        content = np.frombuffer(path.read_bytes(), np.uint8)
    return {"seqray": content}, {"queries": queries, "limited": False}
