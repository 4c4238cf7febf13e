"""The cells of a sweep, each measured for itself: one problem at one size of basis, or its box.

Everything here is a plain function of a `Cell`, so that it can run in any process. Within one
process the words of a problem are drawn, and its box is queried on them, only once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from seqray.automata.ranks import RankedAutomata
from seqray.blackbox.protocol import PredictingBox
from seqray.experiments.boxes import BoxRow
from seqray.experiments.problems import Problem, Source, load
from seqray.experiments.table import AUTO, COPY, PAPER, TABLE_METRICS, Result
from seqray.extraction.basis import uniform_basis
from seqray.extraction.extract import extract
from seqray.extraction.hankel.decomposition import decompose
from seqray.extraction.hankel.fill import fill
from seqray.fidelity.compare import compare_ranks
from seqray.fidelity.next_symbol_metrics import word_error_rate
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import Fidelity, FidelityTable, first_near_best
from seqray.fidelity.word_metrics import perplexity

SIZES = (300, 400, 800, 1000, 1400)
"""The paper's sizes of a basis: as many prefixes as suffixes."""

SMALL_BLOCK_NOTE = "the block has no more than rank"
"""The beginning of the note that a block has fewer ranks than wanted; the rank follows."""
TARGET_NOTE = "the target of 1 was not reached"
"""The beginning of the note that no round of seqray's own method reached its target: no gap."""

HELD_OUT_TOLERANCE = 1e-3
"""How much smaller than the best NDCG₅ on held-out words that of a smaller rank may be."""


@dataclass(frozen=True)
class Settings:
    """What all cells of a sweep have in common: with other settings its table is another one.

    Parameters
    ----------
    max_rank
        The largest rank.
    max_length
        The longest word of the basis; None: what `seqray.uniform_basis` takes.
    seed
        Of the basis.
    n_test
        How many test words are taken; None: all.
    n_rnn, n_held_out
        How many words are drawn from the box, to evaluate on and to choose ranks on.
    n_contexts
        How many contexts seqray's own method queries; None: what `seqray.extract` takes.

    Examples
    --------
    >>> Settings(max_rank=20).n_rnn
    2000
    """

    max_rank: int = 100
    max_length: int | None = None
    seed: int = 0
    n_test: int | None = None
    n_rnn: int = 2000
    n_held_out: int = 1000
    n_contexts: int | None = None


@dataclass(frozen=True)
class Cell:
    """One piece of a sweep.

    Parameters
    ----------
    source
        The problem.
    fingerprint
        Of what the problem is read from.
    size
        How many prefixes, and suffixes.
    settings
        What all cells have in common.

    Examples
    --------
    >>> from seqray.experiments.problems import GeneratedSource
    >>> small = Settings(n_test=50, n_rnn=50, n_held_out=50, max_rank=4)
    >>> part = measure(Cell(GeneratedSource(1), "", 40, small))
    >>> [row.rank for row in part.results if row.set == "test" and row.selection == "all"]
    [1, 2, 3, 4]
    """

    source: Source
    fingerprint: str
    size: int
    settings: Settings


class CellResult(NamedTuple):
    """The result of a cell: rows of the table, or of another one, and how they were made."""

    about: dict[str, Any]
    results: Sequence[Result] = ()
    others: Sequence[tuple[Any, ...]] = ()


@dataclass
class Clock:
    """Processor seconds by phase."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time of the block to a phase."""
        begin = time.process_time()
        try:
            yield
        finally:
            spent = time.process_time() - begin
            self.seconds[name] = round(self.seconds.get(name, 0.0) + spent, 4)


class Prepared(NamedTuple):
    """A problem, and the answers of its box on its words."""

    problem: Problem
    test: Reference
    rnn: Reference
    held_out: Reference


class Extracted(NamedTuple):
    """What the paper's method extracts, and how many steps the box takes for it."""

    decomposition: RankedAutomata
    n_steps: int
    basis: str


def measure(cell: Cell) -> CellResult:
    """Extract automata of every rank at one size of basis, and measure them on all words."""
    clock, settings = Clock(), cell.settings
    with collected_notes() as notes:
        with clock.phase("references"):
            problem, test, rnn, held_out = prepared(cell.source, cell.fingerprint, settings)
        extracted = extract_as_paper(problem.box, cell.size, settings, clock)
        decomposition = extracted.decomposition
        seconds = round(sum(clock.seconds[name] for name in ("basis", "fill", "svd")), 3)
        ranks = range(1, decomposition.max_rank + 1)
        tables = {}
        for name, reference in (("test", test), ("rnn", rnn), ("held_out", held_out)):
            with clock.phase(f"ranks_{name}"):
                tables[name] = compare_ranks(reference, decomposition.largest, ranks)
    if decomposition.max_rank < settings.max_rank:
        notes.append(f"{SMALL_BLOCK_NOTE} {decomposition.max_rank}")
    chosen = choice(tables.pop("held_out"))
    place = (problem.name, PAPER, cell.size, cell.size)
    about = {
        "basis": extracted.basis,
        "seconds": clock.seconds,
        "held_out_rank": chosen,
        "notes": [*problem.notes, *notes],
    }
    cost = (extracted.n_steps, seconds, settings.seed)
    return CellResult(about, results=_results(place, tables, chosen, cost))


def measure_auto(cell: Cell) -> CellResult:
    """Extract as `seqray.extract` does by itself, and measure automata of every rank.

    The rank is its own choice, on words that it held out, and so is the automaton that stands in
    for the box: its largest copy, or where no copy is nearer the rank that is nearest. It queries
    the box in rounds, which show how fidelity grows with the number of queries. There is no size of
    basis to sweep: that of the cell is ignored.
    """
    clock, settings = Clock(), cell.settings
    with collected_notes() as notes:
        with clock.phase("references"):
            problem, test, rnn, _ = prepared(cell.source, cell.fingerprint, settings)
        with clock.phase("extract"):
            extraction = extract(
                problem.box,
                n_prefixes=settings.n_contexts,
                max_rank=settings.max_rank,
                target=1.0,
                seed=settings.seed,
            )
        ranks = tuple(range(1, extraction.max_rank + 1))
        tables, copies = {}, {}
        automata = [copy.automaton for copy in extraction.copies] or [extraction.best()]
        for name, reference in (("test", test), ("rnn", rnn)):
            with clock.phase(f"ranks_{name}"):
                compared = tuple(reference.compare(extraction.automaton(rank)) for rank in ranks)
                tables[name] = FidelityTable(ranks, compared)
                sizes = tuple(automaton.n_states for automaton in automata)
                compared = tuple(reference.compare(automaton) for automaton in automata)
                copies[name] = FidelityTable(sizes, compared)
    if extraction.max_rank < settings.max_rank:
        notes.append(f"{SMALL_BLOCK_NOTE} {extraction.max_rank}")
    made = extraction.settings
    place = (problem.name, AUTO, made["prefixes"], made["suffixes"])
    n_validation = made["validation_questions"]  # the same for every round: nothing is learnt there
    cost = (made["steps"] - n_validation, round(clock.seconds["extract"], 3), settings.seed)
    rounds = [{**each, "questions": each["questions"] - n_validation} for each in made["rounds"]]
    about = {
        "basis": repr(extraction.basis),
        "seconds": {f"{AUTO}_{phase}": taken for phase, taken in clock.seconds.items()},
        "held_out_rank": extraction.best_rank(),
        "fitted": sorted(extraction.fitted),
        "rounds": rounds,
        "copies": [
            {"states": each.n_states, "cost": each.cost_per_symbol, "bytes": each.n_bytes}
            for each in automata
        ],
        "notes": [*problem.notes, *notes],
    }
    results = _results(place, tables, extraction.best_rank(), cost)
    results += _results((problem.name, COPY, *place[2:]), copies, automata[-1].n_states, cost)
    return CellResult(about, results=results)


def _results(
    place: tuple[str, str, int, int],
    tables: Mapping[str, FidelityTable],
    chosen: int,
    cost: tuple[int, float, int],
) -> list[Result]:
    """Return the rows of every rank on every set of words."""
    return [
        Result._make((*place, rank, name, selection, *_metrics(table.at(rank)), *cost))
        for name, table in tables.items()
        for rank, selection in _selected(table, chosen)
    ]


def _metrics(fidelity: Fidelity) -> list[float]:
    return [fidelity.get(name, np.nan) for name in TABLE_METRICS]


def choice(table: FidelityTable) -> int:
    """Return the smallest rank that is nearly the best."""
    return table.ranks[first_near_best(-table["ndcg5"], HELD_OUT_TOLERANCE)]


def _selected(table: FidelityTable, chosen: int) -> Iterator[tuple[int, str]]:
    """Yield every rank, and once more those that are selected."""
    for rank in table.ranks:
        yield rank, "all"
    for metric, selection in (("ndcg5", "best-ndcg"), ("perplexity_ratio", "best-ratio")):
        if metric in table.fidelities[0]:
            yield table.ranks[int(np.nanargmax(table[metric]))], selection
    yield chosen, "held-out"


# What a cell needs --------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def prepared(source: Source, fingerprint: str, settings: Settings) -> Prepared:
    """Read a problem and query its box on all words; the last one is cached."""
    problem = load(
        source,
        n_test=settings.n_test,
        n_rnn=settings.n_rnn,
        n_held_out=settings.n_held_out,
    )
    return Prepared(
        problem,
        Reference.query(problem.box, problem.test, problem.target),
        Reference.query(problem.box, problem.rnn),
        Reference.query(problem.box, problem.held_out),
    )


def extract_as_paper(box: PredictingBox, size: int, settings: Settings, clock: Clock) -> Extracted:
    """Extract as ``seqray.extract(method="paper")`` does: a uniform basis, raw blocks."""
    rng, _ = np.random.default_rng(settings.seed).spawn(2)
    with clock.phase("basis"):
        basis = uniform_basis(box.alphabet, size, size, seed=rng, max_length=settings.max_length)
    with clock.phase("fill"):
        blocks = fill(box, basis)
    with clock.phase("svd"):
        decomposition = decompose(
            blocks, max_rank=settings.max_rank, weighting="none", seed=settings.seed
        )
    return Extracted(decomposition, blocks.n_steps, repr(basis))


# The boxes themselves -----------------------------------------------------------------------------


def measure_box(cell: Cell) -> CellResult:
    """Measure a box against the target, where there is one, and on both sets of words."""
    clock = Clock()
    nan = float("nan")
    with collected_notes() as notes:
        with clock.phase("references"):
            problem, test, rnn, _ = prepared(cell.source, cell.fingerprint, cell.settings)
        against: dict[str, float] = {}
        with clock.phase("target"):
            if problem.target is not None:
                against = (
                    Reference.query(problem.target, problem.test).compare(problem.box).as_dict()
                )
    row = BoxRow(
        problem=problem.name,
        symbols=len(problem.alphabet),
        states=0 if problem.target is None else problem.target.n_states,
        box=repr(problem.box),
        parameters=n_bytes(problem.box)[1],
        perplexity_target=against.get("perplexity_box", nan),  # here it has the place of the box
        perplexity_box=against.get("perplexity", nan),
        quality=against.get("perplexity_ratio", nan),
        kl=against.get("kl", nan),
        ndcg1=against.get("ndcg1", nan),
        ndcg5=against.get("ndcg5", nan),
        wer_target=against.get("wer_box", nan),
        wer_box_test=_wer(test),
        wer_box_rnn=_wer(rnn),
        perplexity_test=perplexity(test.weights, test.weights),
        perplexity_rnn=perplexity(rnn.weights, rnn.weights),
        test_words=len(problem.test),
        test_length=float(problem.test.lengths.mean()),
        rnn_words=len(problem.rnn),
        rnn_length=float(problem.rnn.lengths.mean()),
    )
    about = {"seconds": clock.seconds, "notes": [*problem.notes, *notes]}
    return CellResult(about, others=[row])


def _wer(reference: Reference) -> float:
    """Return the word error rate of the box itself."""
    assert reference.next_symbol is not None
    return word_error_rate(reference.next_symbol.T, reference.tree.counts())


def n_bytes(model: Any) -> tuple[int, int]:
    """Return how many bytes, and how many numbers, the arrays of a model are.

    >>> import seqray
    >>> n_bytes(seqray.WeightedAutomaton("a", [1, 0], [[[0.5, 0], [0, 0]]], [0.5, 1]))
    (64, 8)
    """
    if isinstance(model, np.ndarray):
        return model.nbytes, model.size
    if isinstance(model, tuple | list):
        parts = [n_bytes(part) for part in model]
    elif hasattr(model, "__dataclass_fields__"):
        parts = [n_bytes(getattr(model, name)) for name in model.__dataclass_fields__]
    else:
        parts = []
    return sum(size for size, _ in parts), sum(number for _, number in parts)


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Collect what the library logs as warnings while the block runs."""
    notes: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            notes.append(record.getMessage())

    logger, handler = logging.getLogger("seqray"), Keep(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield notes
    finally:
        logger.removeHandler(handler)
