"""The whole job in one function: a black box in, weighted automata of every rank out."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
import platform
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from seqray.answers import AnswerStore, opened_store
from seqray.arrays import BoolArray, FloatArray, whole_number
from seqray.asking import NOISE, KeptBlocks, Meter, attended, way_of
from seqray.automaton import WeightedAutomaton
from seqray.basis import Basis, data_basis, sampled_basis, uniform_basis, uniform_words
from seqray.blackbox.asked import AskedBox, AskedModel
from seqray.blackbox.protocol import BlackBox, name_of
from seqray.contexts import N_COLUMNS, N_CONTEXTS, Wanted, by_contexts
from seqray.errors import ArgumentError
from seqray.fidelity import FidelityTable, Reference, compare_ranks
from seqray.filling import Progress, ask_all, fill_within
from seqray.noise import Noise, measure_noise
from seqray.spectral import Decomposition, decompose
from seqray.stepper import PredictingStepper, predicts, sample
from seqray.words import Alphabet, Word, Words

logger = logging.getLogger(__name__)

METHODS = {
    "auto": "conditional where the box predicts next symbols, weighted where it does not",
    "paper": "raw blocks over a uniform basis, as in the paper",
    "weighted": "weighted blocks; the basis sampled from the box where it predicts",
    "conditional": "how contexts go on, and automata fitted to that; the box has to predict",
}
"""The ways to extract, and what they do."""

N_HELD_OUT = 1000
"""Words on which the rank is chosen."""

N_PROBED = 16
"""Words that are asked once more, to see whether a box changes its mind."""

TOLERANCE = 1e-3
"""How much worse than the best rank a smaller one may be, to be chosen instead."""


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
        By rank, automata whose weights are chances, where one is nearer to the box than that of
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
        return self.fitted.get(rank) or self.decomposition.automaton(rank)

    def best_rank(self, *, tolerance: float | None = None) -> int:
        """Return the smallest rank whose loss on held-out words is within a tolerance of the best.

        The loss is 1 − NDCG₅ where the box predicts next symbols, and the relative error of its
        weights where it does not. Without a tolerance, a rank that was chosen by hand when a run
        was saved comes first.
        """
        if tolerance is None:
            if "rank" in self.settings:
                return int(self.settings["rank"])
            tolerance = TOLERANCE
        loss = 1 - self.fidelity["ndcg5"] if self.predicts else self.fidelity["relative_error"]
        return self.fidelity.ranks[int((loss <= loss.min() + tolerance).argmax())]

    def best(self, *, tolerance: float | None = None) -> WeightedAutomaton:
        """Return the automaton of the `best_rank`."""
        return self.automaton(self.best_rank(tolerance=tolerance))

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
        How many of each to ask about. By default 800 of each; of a box that predicts, as many
        contexts and columns as `seqray.contexts` says.
    max_rank
        The largest number of states to look at.
    method
        ``"auto"``, ``"paper"``, ``"weighted"`` or ``"conditional"``: see `METHODS`.
    basis
        Where prefixes and suffixes come from: ``"sampled"`` from the box, ``"uniform"``, a `Basis`
        of your own, or a data set of words to draw from. By default what the method says.
    max_length
        The longest word to draw. A box that never stops is cut there.
    store
        A file where answers are kept: what is in there is not asked again, in this run or any
        other. A box made of a function needs a name for that.
    budget
        The most questions: distinct words, or prefixes, or steps of a box with states. The basis
        is made small enough.
    seconds
        The most time for asking. When it is over, the automaton is made of the largest part of the
        basis that is known by then.
    target
        Enough: asking a box that predicts begins with little, and ends when NDCG₅ on held-out
        words is this high.
    repeat
        How often to ask the same of a box that answers differently each time; the mean counts.
    stop
        Asking ends soon after this event is set, as if time were over.
    seed
        Of all chance in it: the same seed gives the same automaton.
    progress
        Called with the number of questions answered and the number of all.

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
    if max_length is not None:
        max_length = whole_number("max_length", max_length, 1)
    method = _method(method, box, basis, target)
    meter = Meter(budget, seconds, stop)
    spent = dict.fromkeys(("basis", "fill", "svd", "choose"), 0.0)
    with opened_store(store) as kept:
        asked = attended(box, meter, store=kept, repeat=repeat)
        job = _Job(box, asked, method, basis, max_rank, max_length, repeat, seed, meter, kept, spent)
        if method == "conditional":
            found, settings = _by_contexts(job, prefixes, suffixes, target, progress)
        else:
            found, settings = _by_blocks(job, prefixes or 800, suffixes or 800, progress)
    settings = {
        "method": method,
        "asked": way_of(asked),
        "basis": found.basis.source,
        "prefixes": len(found.basis.prefixes),
        "suffixes": len(found.basis.suffixes),
        "words_cut": found.basis.n_cut,
        "max_rank": max_rank,
        "max_length": max_length,
        "seed": seed,
        **settings,
        "held_out_words": found.fidelity.fidelities[0].n_words,
        "repeat": repeat,
        "seconds": {phase: round(taken, 3) for phase, taken in spent.items()},
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    return dataclasses.replace(found, settings=settings)


class _Job(NamedTuple):
    """What both ways to extract need to know."""

    box: BlackBox
    asked: BlackBox
    method: str
    basis: Basis | Words | Iterable[Word] | str | None
    max_rank: int
    max_length: int | None
    repeat: int
    seed: int
    meter: Meter
    kept: AnswerStore | None
    spent: dict[str, float]

    def rngs(self) -> list[np.random.Generator]:
        """Return sources of chance for the words to ask about, and for those held out."""
        return np.random.default_rng(self.seed).spawn(2)


def _method(method: str, box: BlackBox, basis: object, target: float | None) -> str:
    """Return the method to take, or say why it cannot be."""
    if method not in METHODS:
        raise ArgumentError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    fixed = isinstance(basis, Basis) or basis == "uniform"
    if method == "auto":
        method = "conditional" if predicts(box) and not fixed else "weighted"
    if method == "conditional" and (fixed or not predicts(box)):
        why = "basis: 'sampled' or words" if fixed else "a box that predicts next symbols"
        raise ArgumentError(f"method: conditional needs {why}: use 'weighted'")
    if target is not None and (method != "conditional" or not 0 < target <= 1):
        raise ArgumentError(
            f"target: expected an NDCG₅ up to 1, of a box that predicts; got {target!r} for the "
            f"method {method}"
        )
    return method


def _by_contexts(
    job: _Job,
    n_contexts: int | None,
    n_columns: int | None,
    target: float | None,
    progress: Progress | None,
) -> tuple[Extraction, dict[str, Any]]:
    """Extract from what the box says comes next."""
    box, meter = job.asked, job.meter
    assert predicts(box)
    rng, held_out_rng = job.rngs()
    longest = job.max_length or 100
    words = None
    if not (job.basis is None or isinstance(job.basis, str)):
        words = box.alphabet.words(job.basis)
        words = words[rng.permutation(len(words))]
    elif job.basis not in (None, "sampled"):
        raise ArgumentError(f"basis: expected 'sampled', 'uniform' or words, got {job.basis!r}")
    with _timed(job.spent, "choose"):
        held_out = Reference.ask(box, _fresh_words(box, longest, held_out_rng, meter))
        noise = _noise(job, held_out.words[:N_PROBED])
    wanted = Wanted(
        meter,
        n_contexts=n_contexts or N_CONTEXTS,
        n_columns=n_columns or N_COLUMNS,
        max_rank=job.max_rank,
        max_length=longest,
        target=target,
        seed=job.seed,
    )
    with _timed(job.spent, "fill"):
        found = by_contexts(box, held_out, wanted, words=words, rng=rng, progress=progress)
    if found.stopped:
        logger.warning(
            "%s: %d contexts of %d were asked",
            found.stopped,
            len(found.basis.prefixes),
            wanted.n_contexts,
        )
    n_steps = found.rounds[-1].questions
    settings = {
        "questions": n_steps,
        "steps": n_steps,
        "rounds": [each._asdict() for each in found.rounds],
        "stopped": found.stopped,
        "noise": dataclasses.asdict(noise),
    }
    extraction = Extraction(found.decomposition, found.basis, found.table, {}, found.fitted)
    return extraction, settings


def _by_blocks(
    job: _Job, n_prefixes: int, n_suffixes: int, progress: Progress | None
) -> tuple[Extraction, dict[str, Any]]:
    """Extract from blocks of the Hankel matrix."""
    box, meter, spent = job.asked, job.meter, job.spent
    by_states = way_of(box) == "states"
    blocks_kept = KeptBlocks.of(job.box, job.kept) if job.kept is not None and by_states else None
    rng, held_out_rng = job.rngs()
    with _timed(spent, "basis"):
        sizes = _affordable_sizes(box, n_prefixes, n_suffixes, meter)
        wanted = _basis(box, job.basis, job.method, *sizes, job.max_length, rng)
    with _timed(spent, "choose"):
        held_out = _held_out(box, wanted, job.max_length, held_out_rng, meter)
        reference = Reference.ask(box, _in_time(box, held_out, meter))
        noise = _noise(job, _some_words(wanted))
    with _timed(spent, "fill"):
        blocks, cut = fill_within(box, wanted, meter, progress=progress, kept=blocks_kept)
    if cut:
        _tell_cut(cut, blocks.basis, wanted)
    weighting = "none" if job.method == "paper" else "balanced"
    with _timed(spent, "svd"):
        heard = _heard(noise, job.repeat)
        decomposition = decompose(
            blocks, max_rank=job.max_rank, weighting=weighting, noise=heard, seed=job.seed
        )
    with _timed(spent, "choose"):
        ranks = range(1, decomposition.max_rank + 1)
        table = compare_ranks(reference, decomposition.largest, ranks)
    settings = {
        "weighting": weighting,
        "questions": blocks.n_questions,
        "steps": blocks.n_steps,
        "stopped": cut,
        "noise": dataclasses.asdict(noise),
    }
    return Extraction(decomposition, blocks.basis, table, {}), settings


@contextmanager
def _timed(spent: dict[str, float], phase: str) -> Iterator[None]:
    """Add the seconds that a block takes to those of a phase."""
    begin = time.perf_counter()
    yield
    spent[phase] += time.perf_counter() - begin


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


def _basis(
    box: BlackBox,
    basis: Basis | Words | Iterable[Word] | str | None,
    method: str,
    n_prefixes: int,
    n_suffixes: int,
    max_length: int | None,
    rng: np.random.Generator,
) -> Basis:
    """Find the basis that was asked for, or the method's own."""
    if basis is None:
        basis = "sampled" if predicts(box) and method != "paper" else "uniform"
    if isinstance(basis, Basis):
        return basis
    split = "whole" if method == "paper" else "halves"
    if not isinstance(basis, str):
        words = box.alphabet.words(basis)
        return data_basis(words, n_prefixes, n_suffixes, rng=rng, split=split)
    if basis == "uniform":
        return uniform_basis(box.alphabet, n_prefixes, n_suffixes, rng=rng, max_length=max_length)
    if basis != "sampled":
        raise ArgumentError(f"basis: expected 'sampled', 'uniform' or words, got {basis!r}")
    if not predicts(box):
        raise ArgumentError(
            "basis: this box cannot be sampled, it does not predict next symbols: use 'uniform'"
        )
    longest = 100 if max_length is None else max_length
    return sampled_basis(box, n_prefixes, n_suffixes, rng=rng, max_length=longest, split=split)


def _affordable_sizes(
    box: BlackBox, n_prefixes: int, n_suffixes: int, meter: Meter
) -> tuple[int, int]:
    """Return how many prefixes and suffixes are worth looking for with a budget.

    Each prefix is asked with about every symbol and suffix; a basis that cannot be asked need not
    be found first, which costs questions itself where the box is sampled.
    """
    if meter.budget is None or isinstance(box, WeightedAutomaton):
        return n_prefixes, n_suffixes
    cells = meter.budget / max(1, len(box.alphabet) - 1)
    share = min(1.0, math.sqrt(cells / (n_prefixes * n_suffixes)))
    return max(1, math.ceil(share * n_prefixes)), max(1, math.ceil(share * n_suffixes))


def _some_words(basis: Basis) -> Words:
    """Return a few words of the blocks of a basis."""
    rng = np.random.default_rng(0)
    n = min(N_PROBED, len(basis.prefixes), len(basis.suffixes))
    fronts, backs = (
        rng.choice(len(words), n, replace=False) for words in (basis.prefixes, basis.suffixes)
    )
    return basis.prefixes.joined(fronts, basis.suffixes, backs)


def _noise(job: _Job, words: Words) -> Noise:
    """Ask a few words once more, to see whether the box says the same."""
    box, asked, store, meter = job.box, job.asked, job.kept, job.meter
    asker = getattr(box, "asker", None)
    if isinstance(box, WeightedAutomaton) or getattr(asker, "deterministic", False):
        return Noise(0.0, relative=False)
    meter.check()
    first = asked.weights(words)  # counted in every run, so that a budget means the same
    kept = None if store is None else KeptBlocks.of(asked, store)
    found = None if kept is None else kept.find(NOISE)
    if found is not None:
        noise = Noise(float(found[0]), relative=bool(found[1]))
    else:
        noise = measure_noise(first, ask_all(box, words), repeat=job.repeat)
        if kept is not None:
            kept.add(NOISE, np.array([noise.level, noise.relative]))
    if noise.level > 0:
        logger.warning(
            "%s answers differently each time, by %s: ask more than once (repeat) for more",
            name_of(box),
            noise,
        )
    return noise


def _heard(noise: Noise, repeat: int) -> Noise:
    """Return the noise of a mean; measured on few words it may be larger: two standard errors."""
    sure = (1 + 2 / math.sqrt(2 * N_PROBED)) / math.sqrt(repeat)
    return Noise(noise.level * sure, noise.relative)


def _tell_cut(why: str, asked: Basis, wanted: Basis) -> None:
    sizes = (len(asked.prefixes), len(asked.suffixes), len(wanted.prefixes), len(wanted.suffixes))
    logger.warning("%s: %d × %d of %d × %d prefixes and suffixes were asked", why, *sizes)


def _held_out(
    box: BlackBox,
    basis: Basis,
    max_length: int | None,
    rng: np.random.Generator,
    meter: Meter,
) -> Words:
    """Draw words to choose the rank on: from the box where it predicts, else uniform.

    Words that the blocks hold are left out, unless there are hardly any others.
    """
    n_drawn = 4 * N_HELD_OUT
    if meter.budget is not None:  # a quarter of it, at most
        length = 1 + basis.prefixes.lengths.mean() + basis.suffixes.lengths.mean()
        n_drawn = min(n_drawn, max(20, int(meter.budget / 4 / length)))
    if predicts(box):
        words = _sampled_in_time(box, n_drawn, max_length or 100, rng, meter)
    else:
        longest = max_length or int(basis.prefixes.lengths.max() + basis.suffixes.lengths.max())
        words = uniform_words(box.alphabet, n_drawn, rng=rng, max_length=max(1, longest))
    new = words[np.flatnonzero(~_asked_before(words, basis))]
    return new[:N_HELD_OUT] if len(new) >= min(100, len(words) // 10) > 0 else words[:N_HELD_OUT]


def _fresh_words(
    box: PredictingStepper, max_length: int, rng: np.random.Generator, meter: Meter
) -> Words:
    """Draw words to compare automata on, with an eighth of the budget and of the time at most."""
    words = _sampled_in_time(box, N_HELD_OUT, max_length, rng, meter)
    if meter.budget is None:
        return words
    affordable = meter.budget / 8 / (1 + words.lengths.mean())
    return words[: max(20, int(affordable))]


def _sampled_in_time(
    box: PredictingStepper, n_words: int, max_length: int, rng: np.random.Generator, meter: Meter
) -> Words:
    """Draw words, or as many as can be drawn in an eighth of the time."""
    if meter.seconds is None:
        return sample(box, n_words, rng=rng, max_length=max_length)[0]
    begin, words = meter.elapsed, sample(box, 20, rng=rng, max_length=max_length)[0]
    while len(words) < n_words and meter.elapsed - begin < meter.seconds / 8:
        more = sample(box, len(words), rng=rng, max_length=max_length)[0]
        words = box.alphabet.words([*words, *more])
    return words


def _in_time(box: BlackBox, words: Words, meter: Meter) -> Words:
    """Return the words that can be asked in a quarter of the time; their answers are kept."""
    if meter.seconds is None or not isinstance(box, AskedBox | AskedModel):
        return words
    for end in range(25, len(words), 25):
        box.weights(words[end - 25 : end])
        if meter.elapsed > meter.seconds / 4:
            return words[:end]
    return words


def _asked_before(words: Words, basis: Basis) -> BoolArray:
    """Which words are a prefix, or a prefix and a symbol, followed by a suffix."""
    suffixes = set(basis.suffixes)
    rows = set(basis.prefixes)
    rows |= {(*prefix, symbol) for prefix in basis.prefixes for symbol in basis.alphabet}
    return np.array(
        [any(w[:n] in rows and w[n:] in suffixes for n in range(len(w) + 1)) for w in words]
    )
