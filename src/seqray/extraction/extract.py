"""The whole extraction in one function: a black box in, weighted automata of every rank out."""

from __future__ import annotations

import logging
import os
import platform
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypedDict, Unpack

import numpy as np

from seqray.automata.purpose import Purpose, named_purpose
from seqray.blackbox.arguments import as_box
from seqray.blackbox.box_record import BoxRecord, record_of
from seqray.blackbox.guided import GuideLike, guided, unguided
from seqray.blackbox.protocol import BlackBox
from seqray.blackbox.queries.answer_cache import AnswerStore, opened_store
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import Oracle, fingerprint_of, open_oracle
from seqray.extraction.classes.method import class_method
from seqray.extraction.conditional.method import conditional_method
from seqray.extraction.hankel.method import hankel_method
from seqray.extraction.job import Job
from seqray.extraction.request import BasisChoice, Method, Request, named_method
from seqray.extraction.result import Extraction
from seqray.fidelity.objective import Objective, named_objective
from seqray.parallel.choice import ExecutorLike, opened_executor
from seqray.parallel.executor import one_blas_thread
from seqray.util.errors import ArgumentError, SeqrayError, StopReason
from seqray.util.formatting import counted
from seqray.util.memory import byte_count, limited_memory, shown_bytes
from seqray.util.parameter_names import parameters
from seqray.util.progress import Progress, shown_progress
from seqray.util.random import Seed, seed_number

logger = logging.getLogger(__name__)

LOW_SCORE = 0.9
"""Below this fidelity score of the best automaton a warning is logged."""


class OldNames(TypedDict, total=False):
    """The old names of ``n_prefixes``, ``n_suffixes`` and ``time_limit``."""

    prefixes: int | None
    suffixes: int | None
    seconds: float | None


def extract(
    box: BlackBox,
    *,
    guide: GuideLike | None = None,
    n_prefixes: int | None = None,
    n_suffixes: int | None = None,
    max_rank: int = 100,
    method: str = "auto",
    basis: BasisChoice = None,
    max_length: int | None = None,
    store: AnswerStore | str | os.PathLike[str] | None = None,
    budget: int | None = None,
    time_limit: float | None = None,
    target: float | None = None,
    objective: str | None = None,
    purpose: str = Purpose.COPYING,
    max_cost: int | None = None,
    max_states: int | None = None,
    counterexamples: int = 0,
    repeat: int = 1,
    memory: int | str | None = None,
    stop: threading.Event | None = None,
    executor: ExecutorLike = None,
    seed: Seed = 0,
    progress: Progress | bool | None = None,
    **old_names: Unpack[OldNames],
) -> Extraction:
    """Extract weighted automata from a black box by querying it.

    Parameters
    ----------
    box
        Any black box: `seqray.black_box`, `seqray.language_model`, `seqray.classifier`,
        `seqray.open_black_box`, a `WeightedAutomaton`, or an object of your own that follows one of
        the protocols. Automata of a classifier are of the class `ClassifierAutomaton`.
    guide
        What a box that predicts may say: a regular expression over its symbols or an automaton, see
        `seqray.guided`. Copies then give exactly 0 to all other words.
    n_prefixes, n_suffixes
        How many of each to query: by default up to 800 of each, in rounds that end where nothing is
        left to learn. With the method ``"conditional"`` how many contexts, and columns of their
        blocks: by default up to 1,500 and 250; 40 words are drawn for every three contexts.
        ``prefixes`` and ``suffixes`` are their old names.
    max_rank
        The largest number of states.
    method
        ``"auto"``, ``"paper"``, ``"weighted"`` or ``"conditional"``: see
        `seqray.extraction.request.METHODS`.
    basis
        Where prefixes and suffixes come from: ``"sampled"`` from the box, ``"grown"`` from words
        that weigh much in smaller blocks (see `growth`), ``"uniform"``, a `Basis` of your
        own, or a data set of words to draw from. By default what the method says.
    max_length
        The longest word to draw, 100 by default. A box that never stops is cut there. A box that
        says how long its words may be (its attribute ``max_length``) is never queried on longer
        ones, whether they are drawn or put together; ``max_length`` may not be more than that.
    store
        A file that caches answers: a cached answer is not queried again, in this run or any
        other. A box made of a function needs a name for that.
    budget
        The most queries: distinct words, or prefixes, or steps of a box with states. The basis is
        made small enough.
    time_limit
        The most seconds for queries and for fitting. When they are over, the automaton is made of
        the largest part that is complete. ``seconds`` is its old name.
    target
        Stop early once the fidelity score on held-out words reaches this value
        (`seqray.fidelity.table.Fidelity.score`). For a box that predicts, 0.99 means that the
        automaton loses 0.0145 bits per symbol, −log₂ 0.99. Queries begin with a small part. Not
        for a basis that is given.
    objective
        What ranks, weightings and fitted automata are chosen by on held-out words. ``"next"``: the
        divergence of next symbols; the default for a box that predicts. ``"weights"``: the mean
        squared error of the weights of words, which a few heavy words decide; then ``"auto"``
        takes raw blocks. ``"log"``: the ratio of the two weights of a word, which is the difference
        of their logarithms; the default for a box that only gives numbers.
    purpose
        ``"copying"``: where no rank is near to a box that predicts, copies are fitted, too:
        automata of thousands of states (`Extraction.copies`). ``"reading"``: none are.
    max_cost
        The most multiplications that an automaton takes to read one symbol. An automaton of n
        states takes n², a copy the square of the states that one context has: by default at most
        64². More than that allows larger copies.
    max_states
        The most states of any automaton, copies included.
    counterexamples
        How many times to search for words on which box and automaton disagree, and to learn from
        half of them; the other half joins the held-out words. For rare behaviour that matters.
        Each search costs as much as the first queries, or more; with a budget or a time limit, a
        sixth of it is for those first queries. For the method ``"conditional"``; a basis that is
        grown is always grown with such words.
    repeat
        How many times to query a box that answers differently each time; the mean counts.
    memory
        The most memory that blocks and their SVD take, in bytes or as a text such as ``"2GB"``;
        Python and libraries take 0.1 to 0.2 GB more. Hankel blocks that would take more are
        filled on disk (in ``TMPDIR``, or ``/var/tmp``). Conditional blocks have fewer contexts. By
        default all blocks are in memory: half of what is free, up to 4 GB. Not for classifiers.
    stop
        Queries end soon after this event is set, as if the time limit were over.
    executor
        Where the box is queried: a number of processes, ``"dask"``, ``"dask://HOST:PORT"`` or a
        ``distributed.Client``; None: in this process. The result is the same (docs/scaling.md). The
        box has to be one that workers can open: from `seqray.open_black_box`, or a network of
        seqray's own.
    seed
        Random seed, a number or a generator: the same seed gives the same automaton.
    progress
        True: show a bar, on a terminal or below the cell of a notebook. Or what is
        called with how much is done, and how much there is: answers, steps of fitting. Both begin
        anew with each phase; a progress with a method ``phase(name, unit)`` gets the name of each
        (`seqray.util.progress.PhasedProgress`).

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: [word.count("a") - 1 for word in words], "ab")
    >>> extraction = seqray.extract(box, n_prefixes=20, n_suffixes=20)
    >>> extraction.max_rank, extraction.best().weights(["aab", "bb"]).round(9)
    (2, array([ 1., -1.]))
    """
    box = as_box(box) if guide is None else guided(box, guide)
    new_names = {"n_prefixes": n_prefixes, "n_suffixes": n_suffixes, "time_limit": time_limit}
    renamed = _renamed(new_names, old_names)
    request = Request(
        n_prefixes=renamed["n_prefixes"],
        n_suffixes=renamed["n_suffixes"],
        max_rank=max_rank,
        method=named_method(method),
        basis=basis,
        max_length=max_length,
        target=target,
        objective=named_objective(objective),
        purpose=named_purpose(purpose),
        max_cost=max_cost,
        max_states=max_states,
        counterexamples=counterexamples,
        repeat=repeat,
        memory=None if memory is None else byte_count("memory", memory),
        seed=seed_number(seed),
    ).for_box(box)
    meter = Meter(Limits(budget, renamed["time_limit"], stop))
    with (
        opened_store(store) as cache,
        opened_executor(executor) as workers,
        shown_progress(progress) as shown,
        limited_memory(request.memory),
        one_blas_thread(),
    ):
        oracle = open_oracle(box, meter, cache=cache, repeat=request.repeat, executor=workers)
        job = Job(oracle, request, shown)
        try:
            extraction = _method(request)(job)
        except MemoryError as error:
            raise SeqrayError(
                f"there is not enough memory for {len(box.alphabet)} symbols and "
                f"{request.max_rank} states: choose fewer prefixes or a smaller max_rank "
                f"({parameters('n_prefixes', 'max_rank')}), or let blocks be filled on disk "
                f"({parameters('memory')})"
            ) from error
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(_cached_answers(oracle))
            raise
    _warn_of_missed_target(extraction, request.target)
    if not extraction.copies or extraction.copies[-1].fidelity.score < LOW_SCORE:
        _warn_of_low_score(extraction, request.memory)
    return _with_settings(extraction, job, record_of(unguided(box)))


def _method(request: Request) -> Callable[[Job], Extraction]:
    """Return the function that extracts as a request says."""
    if request.objective is Objective.DECISIONS:
        return class_method
    return conditional_method if request.method is Method.CONDITIONAL else hankel_method


def _cached_answers(oracle: Oracle) -> str:
    """Say where the answers so far are cached, or what to do so that they are."""
    if oracle.store is not None:
        where = oracle.store.path or "the temporary store"
        return (
            f"seqray: the answers so far are cached in {where}: run the same again, and only the "
            "missing queries are sent."
        )
    if oracle.is_free:
        return "seqray: no answer is lost: the box is an automaton, its answers are computed."
    advice = "pass a file, store='answers.sqlite'"
    try:
        fingerprint_of(oracle.box)
    except ArgumentError:
        advice = f"give the box a name, name='my model 1', and {advice}"
    return f"seqray: no answer is cached. Next time {advice}."


def _renamed(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by their new names, whichever name they were given by."""
    names = {"prefixes": "n_prefixes", "suffixes": "n_suffixes", "seconds": "time_limit"}
    values = dict(new)
    for old_name, value in old.items():
        if old_name not in names:
            raise TypeError(f"extract() got an unexpected keyword argument {old_name!r}")
        name = names[old_name]
        if value is not None and values[name] is not None:
            raise ArgumentError(
                f"{old_name} is the old name of {name}, and both are given: leave out {old_name}"
            )
        values[name] = values[name] if value is None else value
    return values


def _with_settings(extraction: Extraction, job: Job, record: BoxRecord | None) -> Extraction:
    """Add to what a method recorded what holds for every method."""
    basis = extraction.basis
    settings = replace(
        extraction.settings,
        method=str(job.request.method),
        query_mode=job.oracle.mode,
        guide=job.oracle.guide,
        basis=basis.source,
        prefixes=len(basis.prefixes),
        suffixes=len(basis.suffixes),
        words_cut=basis.n_cut,
        max_rank=job.request.max_rank,
        max_length=job.request.max_length,
        max_cost=job.request.max_cost,
        max_states=job.request.max_states,
        objective=job.request.objective,
        seed=job.request.seed,
        held_out_words=extraction.fidelity.fidelities[0].n_words,
        repeat=job.repeat,
        seconds={phase: round(taken, 3) for phase, taken in job.spent.items()},
        python=platform.python_version(),
        numpy=np.__version__,
        recorded_box=record,
    )
    return replace(extraction, settings=settings)


def _warn_of_missed_target(extraction: Extraction, target: float | None) -> None:
    if target is None or not extraction.settings.rounds:
        return
    score = max(each.score for each in extraction.settings.rounds)
    if score < target:
        logger.warning("the target of %g was not reached: %.6g", target, score)


def _warn_of_low_score(extraction: Extraction, memory: int | None) -> None:
    """Log a warning if even the best automaton has a low fidelity score on held-out words.

    ``memory`` is the limit that was given, if any.
    """
    rank = extraction.best_rank()
    copies = ((copy.n_states, copy.fidelity) for copy in extraction.copies)
    compared = [(rank, extraction.fidelity.at(rank)), *copies]
    n_states, best = max(compared, key=lambda each: each[1].score)
    if best.score >= LOW_SCORE:
        return
    more = _advice_for_more(extraction, memory, is_copy=n_states != rank)
    if best.chosen_by is Objective.DECISIONS:
        logger.warning(
            "the best automaton, of %d states, agrees with the box on %.1f %% of the validation "
            "words. %s, or give words like those that matter (%s)",
            *(n_states, 100 * best.score, more, parameters("basis")),
        )
        return
    predicts = best.chosen_by is Objective.NEXT and "kl_per_symbol" in best
    logger.warning(
        "the best automaton, of %s, has a fidelity score of %.3f on held-out words, where 1 is a "
        "perfect copy: %s. %s%s (%s)%s",
        *(counted(n_states, "state"), best.score),
        f"it loses {best['kl_per_symbol']:.2g} bits per symbol of {best['entropy_per_symbol']:.3g}"
        if predicts
        else f"its weights are off by about {100 * (1 - best.score):.0f} %",
        *(more, " or draw longer words" if predicts else ", draw longer words"),
        *(parameters("max_length"), "" if predicts else _advice_for_answers(extraction)),
    )


def _advice_for_answers(extraction: Extraction) -> str:
    """Say what else a box could answer that only gives numbers."""
    otherwise = ", or let the box answer otherwise, such as with its logit or with 0 and 1"
    if extraction.predicts:
        return otherwise
    return (
        f"{otherwise}. If it can give the probabilities of next symbols, make it with "
        "seqray.language_model: these are learnt better than weights"
    )


def _advice_for_more(extraction: Extraction, memory: int | None, *, is_copy: bool) -> str:
    """Say which limits to raise, first the one that ended the queries."""
    first = {
        StopReason.BUDGET: f"Allow more queries ({parameters('budget')}). ",
        StopReason.TIME: f"Give it more time ({parameters('time_limit')}). ",
        StopReason.INTERRUPTED: "Let it run to its end. ",
        None: "",
    }[extraction.settings.stop_reason]
    if not first and memory is not None:
        first = f"Allow more memory than {shown_bytes(memory)} ({parameters('memory')}). "
    size = "larger copies ({})" if is_copy else "more states ({})"
    return (
        f"{first}Query more prefixes and suffixes ({parameters('n_prefixes', 'n_suffixes')}), "
        f"allow {size.format(parameters('max_cost' if is_copy else 'max_rank'))}"
    )
