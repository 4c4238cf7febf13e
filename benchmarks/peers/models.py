"""Models as steppers, all read and measured in the same manner."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gru import Gru
from job import Arrays

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.deterministic import deterministic_pfa
from seqray.automata.stepper import collect
from seqray.fidelity import next_symbol_metrics
from seqray.fidelity.reference import Reference
from seqray.formats.automaton_file import open_wa

UNIFORM_SHARES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3)
"""How much of the uniform distribution rows can be mixed with; validation words choose."""


TRACE = 1e-100
"""Weights below this are taken as 0."""


class Model(NamedTuple):
    """A model that predicts: its stepper, and its size."""

    stepper: Any
    n_states: int
    n_numbers: int


class Measured(NamedTuple):
    """Fidelity on test words, and what was chosen on validation words."""

    bits: float
    ndcg5: float
    uniform_share: float
    model: Model


def models_of(arrays: Arrays, alphabet: Any) -> list[Model]:
    """Return the models that a fit left: one, or one for each rank to choose from."""
    if "seqray" in arrays:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "automaton.npz")
            path.write_bytes(arrays["seqray"].tobytes())
            automaton = open_wa(str(path))
            with np.load(path) as saved:
                n_numbers = sum(saved[name].size for name in saved.files)
        return [Model(automaton, automaton.n_states, n_numbers)]
    if "table" in arrays:
        table, rows = arrays["table"], arrays["rows"]
        rows = np.maximum(rows, 0)
        rows = rows / rows.sum(axis=1, keepdims=True)
        pdfa = deterministic_pfa(alphabet, table, rows)
        return [Model(pdfa, len(table), table.size + rows.size)]
    if "head.weight" in arrays:
        network = Gru(arrays)
        return [Model(network, network.n_units, network.n_numbers)]
    ends = sorted({name.removeprefix("initial") for name in arrays if name.startswith("initial")})
    names = ("initial", "transitions", "final")
    parts = [[without_traces(arrays[f"{name}{end}"]) for name in names] for end in ends]
    return [
        Model(WeightedAutomaton(alphabet, *each), len(each[0]), sum(part.size for part in each))
        for each in parts
    ]


def without_traces(values: np.ndarray) -> np.ndarray:
    """Return values with those that are next to nothing as 0: EM leaves some of 1e-200."""
    return np.where(np.abs(values) < TRACE, 0.0, values)


def measured(
    models: list[Model], test: Reference, validation: Reference, *, as_it_is: bool = False
) -> Measured:
    """Measure the model and the smoothing that are best on validation words, on test words."""
    shares = UNIFORM_SHARES[:1] if as_it_is else UNIFORM_SHARES
    choices = []
    for at, model in enumerate(models):
        rows = rows_at(model, validation, as_it_is=as_it_is)
        choices += [(bits_of(validation, mixed(rows, share)), share, at) for share in shares]
    _, share, at = min(choices)
    rows = mixed(rows_at(models[at], test, as_it_is=as_it_is), share)
    counts = test.tree.counts().sum(axis=1)
    ndcg5 = next_symbol_metrics.ndcg(test.next_symbol.T, rows, counts, 5)
    return Measured(bits_of(test, rows), ndcg5, share, models[at])


def rows_at(model: Model, words: Reference, *, as_it_is: bool) -> np.ndarray:
    """Return what a model predicts after each prefix; what is no distribution is made one."""
    rows = collect(model.stepper, words.tree, model.stepper.state_next_symbol)
    if as_it_is:
        return rows
    rows = np.where(np.isfinite(rows), np.maximum(rows, 0), 0)
    totals = rows.sum(axis=1, keepdims=True)
    return np.divide(rows, totals, out=np.full_like(rows, 1 / rows.shape[1]), where=totals > 0)


def mixed(rows: np.ndarray, share: float) -> np.ndarray:
    return (1 - share) * rows + share / rows.shape[1]


def bits_of(words: Reference, rows: np.ndarray) -> float:
    counts = words.tree.counts().sum(axis=1)
    return next_symbol_metrics.kl_per_symbol(words.next_symbol.T, rows, counts)
