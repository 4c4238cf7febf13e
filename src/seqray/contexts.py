"""Extraction from a box that predicts: words are drawn from it, and their contexts compared.

Two kinds of automata come of that, and of each rank the one that is nearer to the box on held-out
words is kept: that of the SVD of the conditional blocks, of every rank, and at some ranks one whose
weights are chances, fitted along whole words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from seqray.asking import Meter
from seqray.automaton import WeightedAutomaton
from seqray.basis import Basis
from seqray.conditional import ConditionalBlocks, decompose_conditional, fill_conditional
from seqray.errors import Stopped
from seqray.fidelity import Fidelity, FidelityTable, Reference
from seqray.filling import Progress
from seqray.fitting import fit
from seqray.spectral import Decomposition
from seqray.stepper import PredictingStepper, sample
from seqray.words import Words

N_CONTEXTS, N_COLUMNS, N_WORDS = 1500, 250, 20_000
"""How many contexts, columns of their blocks, and words to fit to."""

FITTED = (2, 3, 5, 10, 20, 30, 50, 100)
"""The ranks at which an automaton is fitted too, and the largest that is asked for."""

WORDS_A_STATE = 200
"""How many words an automaton is fitted to, at least 1,000 and at most all."""

SMALLEST = 1 / 64
"""Where questions or time may run out, or enough be reached: how large a part is asked first, and
then four times as much each time."""

EXACT = 1e-7
"""Below this divergence, in bits a symbol, nothing is left to fit."""


class Wanted(NamedTuple):
    """What to extract, and how far to go for it."""

    meter: Meter
    n_contexts: int = N_CONTEXTS
    n_columns: int = N_COLUMNS
    n_words: int = N_WORDS
    max_rank: int = 100
    max_length: int = 100
    target: float | None = None
    seed: int = 0


class Round(NamedTuple):
    """One stage: what was asked until then, and how near the automaton of largest rank came."""

    questions: int
    words: int
    contexts: int
    ndcg5: float


class Found(NamedTuple):
    """What came of it."""

    decomposition: Decomposition
    fitted: Mapping[int, WeightedAutomaton]
    basis: Basis
    table: FidelityTable
    rounds: Sequence[Round]
    stopped: str


class _Asked(NamedTuple):
    """What is known after a stage, and the automata of the largest rank that come of it."""

    known: Reference
    blocks: ConditionalBlocks
    decomposition: Decomposition
    largest: dict[WeightedAutomaton, Fidelity]


def by_contexts(
    box: PredictingStepper,
    held_out: Reference,
    wanted: Wanted,
    *,
    words: Words | None = None,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Found:
    """Extract automata of every rank from a box that predicts.

    Parameters
    ----------
    box
        What to ask, as `seqray.asking.attended` returned it.
    held_out
        What it said of words on which automata are compared.
    wanted
        What to extract, and how far to go.
    words
        Words to learn from instead of the box's own.
    rng
        For the drawing of words.
    progress
        Called with how much is done, and how much there is.
    """
    ladder = [rank for rank in FITTED if rank < wanted.max_rank]
    shares = _shares(wanted, len(box.alphabet), held_out)
    n_tasks, n_done = len(shares) + len(ladder), 0

    def done() -> None:
        nonlocal n_done
        n_done += 1
        if progress is not None:
            progress(n_done, n_tasks)

    drawn = box.alphabet.words([])
    asked, rounds, n_steps, stopped = None, list[Round](), 0, ""
    for share in shares:
        try:
            n_words = max(1, math.ceil(share * (wanted.n_words if words is None else len(words))))
            if words is None:
                n_missing = max(0, n_words - len(drawn))
                more, _ = sample(box, n_missing, rng=rng, max_length=wanted.max_length)
                drawn = Words.concatenate([drawn, more])
            else:
                drawn = words[:n_words]
            asked = _ask(box, drawn, share, wanted, held_out)
        except Stopped as reason:
            stopped = str(reason)
            break
        n_steps += asked.blocks.n_steps + len(asked.known.tree) - 1
        best = max(each["ndcg5"] for each in asked.largest.values())
        rounds.append(Round(n_steps, n_words, len(asked.blocks.contexts), best))
        done()
        if wanted.target is not None and best >= wanted.target:
            break
    if asked is None:
        raise Stopped(stopped)
    fitted, table = _compared(asked, ladder, held_out, wanted.seed, done)
    source = "drawn from the box" if words is None else "of a data set"
    contexts = asked.blocks.rows.words(asked.blocks.contexts)
    basis = Basis(contexts, asked.blocks.futures, f"contexts of {len(drawn)} words {source}")
    return Found(asked.decomposition, fitted, basis, table, rounds, stopped)


def _shares(wanted: Wanted, n_symbols: int, held_out: Reference) -> list[float]:
    """Return how large a part of all is asked in each stage: all at once where nothing hurries."""
    if not wanted.meter.limits and wanted.target is None:
        return [1.0]
    # Roughly what all of it costs: words are drawn and read, and every context goes on.
    length = held_out.n_prefixes / len(held_out.weights)
    cost = 2 * wanted.n_words * length + wanted.n_contexts * (wanted.n_columns + n_symbols)
    affordable = min(1.0, wanted.meter.left / (4 / 3 * cost))
    n_stages = 1 + math.ceil(math.log(max(1.0, affordable / SMALLEST), 4))
    return [affordable / 4**stage for stage in reversed(range(n_stages))]


def _ask(
    box: PredictingStepper, words: Words, share: float, wanted: Wanted, held_out: Reference
) -> _Asked:
    """Ask about words and their contexts, and extract what has the largest rank."""
    known = Reference.ask(box, words)
    n_contexts = max(1, math.ceil(share * wanted.n_contexts))
    blocks = fill_conditional(box, known, n_contexts=n_contexts, n_columns=wanted.n_columns)
    found = decompose_conditional(blocks, max_rank=wanted.max_rank)
    automata = [found.automaton(found.max_rank)]
    if not _is_exact(held_out.compare(automata[0])):
        automata.append(fit(blocks, known, found.max_rank, seed=wanted.seed))
    return _Asked(known, blocks, found, {each: held_out.compare(each) for each in automata})


def _is_exact(fidelity: Fidelity) -> bool:
    return fidelity["kl_per_symbol"] < EXACT


def _compared(
    asked: _Asked,
    ladder: Sequence[int],
    held_out: Reference,
    seed: int,
    done: Callable[[], None],
) -> tuple[dict[int, WeightedAutomaton], FidelityTable]:
    """Fit automata of smaller ranks too, and keep of each rank what is nearer to the box."""
    svd, known = asked.decomposition, asked.known
    table = {r: held_out.compare(svd.automaton(r)) for r in range(1, svd.max_rank + 1)}
    fitted: dict[int, WeightedAutomaton] = {}

    def offer(automaton: WeightedAutomaton, fidelity: Fidelity) -> None:
        if fidelity["ndcg5"] > table[automaton.n_states]["ndcg5"]:
            fitted[automaton.n_states], table[automaton.n_states] = automaton, fidelity

    for automaton, fidelity in asked.largest.items():
        offer(automaton, fidelity)
    for rank in ladder:
        if rank < svd.max_rank and not _is_exact(table[rank]):
            n_words = max(1000, WORDS_A_STATE * rank)
            automaton = fit(asked.blocks, known, rank, n_words=n_words, seed=seed)
            offer(automaton, held_out.compare(automaton))
        done()
    return fitted, FidelityTable(tuple(table), tuple(table.values()))
