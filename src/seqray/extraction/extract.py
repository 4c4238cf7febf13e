"""The whole job in one function: a black box in, weighted automata of every rank out."""

from __future__ import annotations

import logging
import os
import platform
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import RankedAutomata
from seqray.automata.stepper import predicts
from seqray.automata.words import Alphabet, Word, Words
from seqray.blackbox.protocol import BlackBox, allowed_length
from seqray.blackbox.queries.answer_cache import AnswerStore, opened_store
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import open_oracle
from seqray.extraction.basis import Basis
from seqray.extraction.conditional.method import conditional_method
from seqray.extraction.hankel.method import by_blocks
from seqray.extraction.request import Job
from seqray.extraction.svd import Decomposition
from seqray.fidelity.table import TOLERANCE, FidelityTable
from seqray.util.arrays import FloatArray, whole_number
from seqray.util.errors import ArgumentError, SeqrayError, StopReason
from seqray.util.progress import Progress

logger = logging.getLogger(__name__)

METHODS = {
    "auto": "conditional where the box predicts next symbols, weighted where it does not",
    "paper": "raw blocks over a uniform basis, as in the paper",
    "weighted": "weighted blocks; the basis sampled from the box where it predicts, else grown",
    "conditional": "how contexts go on, and automata fitted to that; the box has to predict",
}
"""The ways to extract, and what they do."""

BASES = ("sampled", "grown", "uniform")
"""Where prefixes and suffixes may come from, besides words of one's own."""

LOW_SCORE = 0.9
"""Fidelity score below which the chosen rank is warned of."""


@dataclass(frozen=True, eq=False, repr=False)
class Extraction:
    """What `extract` found.

    Parameters
    ----------
    decomposition
        Singular values, and the automaton of the largest rank.
    basis
        The prefixes and suffixes that were asked about.
    fidelity
        By rank, on words that were held out.
    fitted
        By rank, probabilistic automata, where one is nearer to the box than that of
        the decomposition.
    settings
        How it was made: method, sizes, seed, questions asked, seconds, versions.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> found = seqray.extract(box, prefixes=30, suffixes=30)
    >>> found
    Extraction(ranks 1 … 1, best 1)
    >>> round(found.best().weight("ab"), 12)
    0.03125
    """

    decomposition: Decomposition
    basis: Basis
    fidelity: FidelityTable
    settings: Mapping[str, Any]
    fitted: Mapping[int, WeightedAutomaton] = field(default_factory=dict)

    @property
    def singular_values(self) -> FloatArray:
        """The singular values of the block, largest first."""
        return self.decomposition.singular_values

    @property
    def max_rank(self) -> int:
        """The largest rank there is an automaton of."""
        return self.decomposition.max_rank

    def automaton(self, rank: int) -> WeightedAutomaton:
        """Return the automaton with ``rank`` states; no second SVD is made."""
        return self.automata.automaton(rank)

    @property
    def automata(self) -> RankedAutomata:
        """The automata of all ranks, as run folders keep them."""
        svd = self.decomposition
        return RankedAutomata(svd.largest, svd.prefix_final, self.fitted)

    def best_rank(self, *, tolerance: float | None = None) -> int:
        """Return the smallest rank that on held-out words is within a tolerance of the best.

        What counts is `Fidelity.score`. Without a tolerance, a rank that was
        chosen by hand when a run was saved comes first.
        """
        if tolerance is None and "rank" in self.settings:
            return int(self.settings["rank"])
        return self.fidelity.best_rank(TOLERANCE if tolerance is None else tolerance)

    def best(self, *, tolerance: float | None = None) -> WeightedAutomaton:
        """Return the automaton of the `best_rank`."""
        return self.automaton(self.best_rank(tolerance=tolerance))

    @property
    def stop_reason(self) -> StopReason | None:
        """Which limit ended the extraction early; None where all was queried."""
        reason = self.settings.get("stop_reason")
        return None if reason is None else StopReason(reason)

    @property
    def predicts(self) -> bool:
        """Whether the box says what comes next."""
        return "ndcg5" in self.fidelity.fidelities[0]

    def __repr__(self) -> str:
        return f"Extraction(ranks 1 … {self.max_rank}, best {self.best_rank()})"


def extract(
    box: BlackBox,
    *,
    prefixes: int | None = None,
    suffixes: int | None = None,
    max_rank: int = 100,
    method: str = "auto",
    basis: Basis | Words | Iterable[Word] | str | None = None,
    max_length: int | None = None,
    store: AnswerStore | str | os.PathLike[str] | None = None,
    budget: int | None = None,
    seconds: float | None = None,
    target: float | None = None,
    counterexamples: int = 0,
    repeat: int = 1,
    stop: threading.Event | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Extraction:
    """Extract weighted automata from a black box by asking it for its answers.

    Parameters
    ----------
    box
        Any black box: `seqray.black_box`, `seqray.language_model`, `seqray.open_black_box`, a
        `WeightedAutomaton`, or an object of your own that follows the protocol.
    prefixes, suffixes
        How many of each to ask about: by default 800 of each. With the method ``"conditional"``
        how many contexts, and columns of their blocks: by default 1,500 and 250; 40 words are
        drawn for every three contexts.
    max_rank
        The largest number of states to look at.
    method
        ``"auto"``, ``"paper"``, ``"weighted"`` or ``"conditional"``: see `METHODS`.
    basis
        Where prefixes and suffixes come from: ``"sampled"`` from the box, ``"grown"`` from words
        that weigh much in smaller blocks (see `growth`), ``"uniform"``, a `Basis` of your
        own, or a data set of words to draw from. By default what the method says.
    max_length
        The longest word to draw, 100 by default. A box that never stops is cut there. A box that
        says how long its words may be (its attribute ``max_length``) is never asked about longer
        ones, whether they are drawn or put together; more than that cannot be asked for here.
    store
        A file where answers are kept: what is in there is not asked again, in this run or any
        other. A box made of a function needs a name for that.
    budget
        The most questions: distinct words, or prefixes, or steps of a box with states. What is
        asked about is made small enough.
    seconds
        The most time for asking, and for fitting. When it is over, the automaton is made of the
        largest part that is known by then.
    target
        Enough: asking begins with little, and ends when the automaton is as near to the box on
        held-out words, by NDCG₅ where the box predicts, else by its weights: see
        `seqray.fidelity.table.Fidelity.score`. For bases that are not given.
    counterexamples
        How often to search for words on which box and automaton disagree, and to learn from half of
        them; the other half joins the held-out words. For what hardly ever comes up and matters
        all the same. Each time costs as much as the first asking, or more; of a budget or a time a
        sixth is for that first asking then. For the method ``"conditional"``; a basis that is
        grown is always grown with such words.
    repeat
        How often to ask the same of a box that answers differently each time; the mean counts.
    stop
        Asking ends soon after this event is set, as if time were over.
    seed
        Random seed: the same seed gives the same automaton.
    progress
        Called with how much is done, and how much there is: questions answered, steps of fitting.
        Both begin anew with each phase; a progress that has a method ``phase(name, unit)`` is told
        which one it is (`seqray.util.progress.PhasedProgress`).

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: [word.count("a") - 1 for word in words], "ab")
    >>> found = seqray.extract(box, prefixes=20, suffixes=20)
    >>> found.max_rank, found.best().weights(["aab", "bb"]).round(9)
    (2, array([ 1., -1.]))
    """
    _check_box(box)
    seed, max_rank = whole_number("seed", seed, 0), whole_number("max_rank", max_rank, 1)
    prefixes, suffixes, max_length = (
        number if number is None else whole_number(name, number, 1)
        for name, number in (
            ("prefixes", prefixes),
            ("suffixes", suffixes),
            ("max_length", max_length),
        )
    )
    allowed_length(box, max_length, 1)  # an error where the box cannot read such words
    method = _method(method, box, basis, target)
    if whole_number("counterexamples", counterexamples, 0) and method != "conditional":
        raise ArgumentError(
            "counterexamples: expected a box that predicts next symbols and the method "
            f"conditional, this is {method}; a basis that is grown learns from some by itself, and "
            "seqray.disagreements (seqray evaluate --worst) shows what is left"
        )
    meter = Meter(Limits(budget, seconds, stop))
    with opened_store(store) as cache:
        oracle = open_oracle(box, meter, cache=cache, repeat=repeat)
        job = Job(
            *(oracle, method, basis, prefixes, suffixes, max_rank, max_length, target),
            *(counterexamples, seed, progress),
        )
        try:
            found = conditional_method(job) if method == "conditional" else by_blocks(job)
        except MemoryError as error:
            raise SeqrayError(
                f"there is not enough memory for {len(box.alphabet)} symbols and {max_rank} states:"
                " ask about fewer prefixes, or for a smaller max_rank (--prefixes, --max-rank)"
            ) from error
    if target is not None:
        score = found.settings["rounds"][-1]["score"]
        if score < target:
            logger.warning("the target of %g was not reached: %.6g", target, score)
    _warn_of_low_score(found.fidelity)
    settings = {
        "method": method,
        "asked": oracle.mode.value,
        "basis": found.basis.source,
        "prefixes": len(found.basis.prefixes),
        "suffixes": len(found.basis.suffixes),
        "words_cut": found.basis.n_cut,
        "max_rank": max_rank,
        "max_length": max_length,
        "seed": seed,
        **found.settings,
        "held_out_words": found.fidelity.fidelities[0].n_words,
        "repeat": repeat,
        "seconds": {phase: round(taken, 3) for phase, taken in job.spent.items()},
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    return Extraction(found.decomposition, found.basis, found.fidelity, settings, found.fitted)


def _warn_of_low_score(fidelity: FidelityTable) -> None:
    """Warn where even the chosen rank is far from the box on held-out words."""
    rank = fidelity.best_rank()
    score = fidelity.at(rank).score
    if score >= LOW_SCORE:
        return
    by_order = "ndcg5" in fidelity.at(rank)
    logger.warning(
        "the best rank, %d, has a fidelity score of %.3f on held-out words, where 1 is a perfect "
        "copy: %s. Ask about more prefixes and suffixes (--prefixes, --suffixes), allow more "
        "states (--max-rank)%s",
        *(rank, score),
        "its order of next symbols is often not the box's"
        if by_order
        else f"its weights are off by about {100 * (1 - score):.0f} %",
        " or draw longer words (--max-length)"
        if by_order
        else ", draw longer words (--max-length), or let the box answer otherwise, such as with "
        "its logit or with 0 and 1",
    )


def _method(method: str, box: BlackBox, basis: object, target: float | None) -> str:
    """Return the method to take, or say why it cannot be."""
    if method not in METHODS:
        raise ArgumentError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    if isinstance(basis, str) and basis not in BASES:
        raise ArgumentError(f"basis: expected {', '.join(BASES)} or words, got {basis!r}")
    fixed = isinstance(basis, Basis) or (isinstance(basis, str) and basis != "sampled")
    if method == "auto":
        method = "conditional" if predicts(box) and not fixed else "weighted"
    if method == "conditional" and (fixed or not predicts(box)):
        why = "basis 'sampled' or words" if fixed else "a box that predicts next symbols"
        raise ArgumentError(f"method: conditional needs {why}: use 'weighted'")
    if target is None:
        return method
    if isinstance(target, bool) or not isinstance(target, int | float) or not 0 < target <= 1:
        raise ArgumentError(f"target: expected a number above 0 and up to 1, got {target!r}")
    grows = method == "weighted" and (basis == "grown" or (basis is None and not predicts(box)))
    if method != "conditional" and not grows:
        raise ArgumentError(
            "target: only the method conditional, and a basis that is grown, ask until there is "
            f"enough: this is {method}, with another basis"
        )
    return method


def _check_box(box: object) -> None:
    """Refuse what is no black box, with what to write instead."""
    if isinstance(box, str):
        raise ArgumentError(f"box: got the string {box!r}: open it with open_black_box({box!r})")
    if not isinstance(box, BlackBox):
        hint = ": make it one with black_box(function, alphabet)" if callable(box) else ""
        raise ArgumentError(f"box: expected `alphabet` and `weights(words)`, got {box!r}{hint}")
    if not isinstance(box.alphabet, Alphabet):
        raise ArgumentError(
            f"box.alphabet: expected a seqray.Alphabet, got {type(box.alphabet).__name__}: "
            "write Alphabet([...])"
        )
