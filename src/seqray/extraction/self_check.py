"""A self-test for black boxes: whether one keeps the promises that extraction builds on."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from seqray.automata.decisions import decide
from seqray.automata.sampling import sample, uniform_words
from seqray.automata.stepper import PredictingStepper, Stepper, collect, predicts, read_each
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Words
from seqray.blackbox.arguments import as_box
from seqray.blackbox.guarded import blamed
from seqray.blackbox.guided import guide_of
from seqray.blackbox.protocol import (
    BlackBox,
    Classifier,
    allowed_length,
    checked_answers,
    name_of,
    threshold_of,
    unknown_of,
)
from seqray.blackbox.queries.noise import measure_noise
from seqray.blackbox.queries.oracle import QueryMode, open_oracle, query_mode
from seqray.extraction.blind_spots import BlindSpot, length_blind_spots, symbol_blind_spots
from seqray.extraction.classes.default_cost import default_cost as class_cost
from seqray.extraction.conditional.default_cost import default_cost as conditional_cost
from seqray.extraction.hankel.default_cost import default_cost as hankel_cost
from seqray.util.arrays import FloatArray
from seqray.util.errors import SeqrayError
from seqray.util.random import Seed, random_generator

MAX_RELATIVE_DIFFERENCE = 1e-4
"""Up to this relative difference two answers to the same word count as equal."""

ROUNDING = 0.01
"""Up to this relative difference answers are in the right order, and only rounded differently."""

N_WORDS, MAX_WORD_LENGTH = 40, 10
"""How many words are drawn, and the length of the longest, in symbols."""

N_SHORT_SYMBOLS = 6
"""All words of one or two of the first so many symbols are checked."""

MAX_SPEED_SECONDS = 1.0
"""Seconds that measuring the speed may take."""

MAX_SAMPLED_LENGTH = 100
"""Words that are sampled from the box are cut after so many symbols."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    Parameters
    ----------
    name
        What was checked.
    ok
        Whether the box passed. None: nothing to pass, or good to know.
    observed
        What the box did.
    advice
        What extraction does about it, or what to do.
    """

    name: str
    ok: bool | None
    observed: str
    advice: str = ""


def check(box: BlackBox, *, seed: Seed = 0) -> list[CheckResult]:
    """Check that a black box keeps the promises that extraction builds on: a few thousand queries.

    Parameters
    ----------
    box
        Any black box.
    seed
        Random seed for the words to query, a number or a generator.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: [len(word) for word in words], "ab")
    >>> [result.name for result in check(box) if result.ok is False]
    []
    """
    box, rng = as_box(box), random_generator(seed)
    longest = allowed_length(box, None, MAX_WORD_LENGTH)
    symbols = box.alphabet.symbols[:N_SHORT_SYMBOLS]
    short = [word for n in (1, 2)[:longest] for word in itertools.product(symbols, repeat=n)]
    if guide_of(box) is not None:
        short = []
    words = box.alphabet.words([*short, *_drawn(box, N_WORDS, rng)])
    results = [_abilities(box), _attempt("empty word", _empty_word, box, words)]
    results.append(_attempt("answers", _answers, box, words))
    if results[-1].ok is False and results[-1].advice == FAILS:
        return results  # nothing else can be said
    results.append(_attempt("deterministic", _deterministic, box, words))
    noisy = results[-1].ok is False
    for name, each in _checks(box).items():
        result = _attempt(name, each, box, words)
        if noisy and name in AGREEMENTS:
            result = CheckResult(name, None, "not known: the box answers differently each time")
        results.append(result)
    if unknown := unknown_of(box):
        results.append(CheckResult("unknown", None, unknown, "docs/boxes/openai.md"))
    return results


def _drawn(box: BlackBox, n_words: int, rng: np.random.Generator) -> Words:
    """Return random words; of a guided box such as it gives itself, for most others weigh 0."""
    longest = allowed_length(box, None, MAX_WORD_LENGTH)
    if guide_of(box) is not None and predicts(box):
        return sample(box, n_words, seed=rng, max_length=longest).words
    return uniform_words(box.alphabet, n_words, seed=rng, max_length=max(1, longest)).cut(longest)


FAILS = "extraction would stop with this error"
AGREEMENTS = (
    *("batch = single", "padded = unpadded", "same in any order", "states = words"),
    *("every symbol counts", "long words count"),
)
"""Checks that compare two answers, which a noisy box cannot pass."""

N_SHOWN_SPOTS = 4
"""How many blind spots are shown."""

Check: TypeAlias = Callable[[BlackBox, Words], CheckResult]


def _checks(box: BlackBox) -> dict[str, Check]:
    """Return the checks by name for a box that answers at all, by what it can do."""
    checks: dict[str, Check] = {
        "batch = single": _single,
        "padded = unpadded": _padded,
        "same in any order": _order,
        "every symbol counts": _symbols,
        "long words count": _long_words,
    }
    if isinstance(box, Stepper):
        checks["states = words"] = _states
    if predicts(box):
        checks |= {"Σp = 1": _sums, "words end": _ends}
    return checks | {"speed": _speed}


def _attempt(name: str, each: Check, box: BlackBox, words: Words) -> CheckResult:
    try:
        with blamed(name_of(box)):
            return each(box, words)
    except SeqrayError as error:
        return CheckResult(name, False, str(error), FAILS)


def _weights(box: BlackBox, words: Words) -> FloatArray:
    return checked_answers(box.weights(words), words, (len(words),), name_of(box))


def _abilities(box: BlackBox) -> CheckResult:
    advice = {
        "as an automaton": "its states are multiplied",
        "states": "what prefixes share is read once",
        "next symbols": "each prefix is queried once",
        "whole words": "each word is queried once",
    }[query_mode(box).value]
    basis = "words are drawn from the box"
    if not predicts(box):
        basis = "the basis grows from words that weigh much"
    observed = f"{query_mode(box).value}; {len(box.alphabet)} symbols"
    if isinstance(box, Classifier):
        basis = "the basis grows from words that are decided wrongly"
        observed += f"; {len(box.classes)} classes: {', '.join(box.classes)}"
    return CheckResult("can be queried for", None, observed, f"{advice}; {basis}")


def _empty_word(box: BlackBox, words: Words) -> CheckResult:
    empty = box.alphabet.words([()])
    if isinstance(box, Classifier):
        scores = np.asarray(box.scores(empty))
        number = int(decide(scores, threshold_of(box))[0])
        observed = f"has the class {box.classes[number]}, probability {scores[0, number]:.4g}"
        return CheckResult("empty word", True, observed)
    value = _weights(box, empty)[0]
    return CheckResult("empty word", True, f"has the weight {value:.4g}")


def _answers(box: BlackBox, words: Words) -> CheckResult:
    if isinstance(box, Classifier):
        return _class_answers(box, words)
    values = _weights(box, words)
    if (values < 0).any():
        kind = f"{(values < 0).mean():.0%} of the answers are negative: no distribution"
    else:
        kind = f"from {values.min():.3g} to {values.max():.3g}"
    advice = "" if values.any() else "all words weigh nothing: is it the right alphabet?"
    return CheckResult("answers", bool(values.any()), kind, advice)


def _class_answers(box: Classifier, words: Words) -> CheckResult:
    """Say how many words get each class."""
    decisions = decide(np.asarray(box.scores(words)), threshold_of(box))
    counts = np.bincount(decisions, minlength=len(box.classes))
    shares = (f"{n / len(words):.0%} {name}" for name, n in zip(box.classes, counts, strict=True))
    advice = "all words get one class: is it the right alphabet?" if (counts > 0).sum() < 2 else ""
    return CheckResult("answers", True, f"of random words {', '.join(shares)}", advice)


def _single(box: BlackBox, words: Words) -> CheckResult:
    together = _weights(box, words)
    alone = np.concatenate([_weights(box, words[i : i + 1]) for i in range(len(words))])
    return _agreement("batch = single", together, alone, "query it with a batch size of 1")


def _padded(box: BlackBox, words: Words) -> CheckResult:
    """Compare short words in a batch with long ones and among words of their own length."""
    together = _weights(box, words)
    by_length = np.empty(len(words))
    for length in np.unique(words.lengths):
        alike = np.flatnonzero(words.lengths == length)
        by_length[alike] = _weights(box, words[alike])
    remedy = "padding changes its answers: query words of one length at a time"
    return _agreement("padded = unpadded", together, by_length, remedy)


def _order(box: BlackBox, words: Words) -> CheckResult:
    forwards = _weights(box, words)
    backwards = _weights(box, words[::-1])[::-1]
    remedy = "answers do not come in the order of the words"
    if np.allclose(forwards, backwards, rtol=ROUNDING, atol=0):
        remedy = "answers depend a little on what is queried before or beside them"
    return _agreement("same in any order", forwards, backwards, remedy)


def _symbols(box: BlackBox, words: Words) -> CheckResult:
    spots = symbol_blind_spots(open_oracle(box), None, np.random.default_rng(0))
    return _seen("every symbol counts", spots, "no symbol is ignored, and no two are one")


def _long_words(box: BlackBox, words: Words) -> CheckResult:
    spots = length_blind_spots(open_oracle(box), np.random.default_rng(0))
    return _seen("long words count", spots, "the first and the last symbol count")


def _seen(name: str, spots: Sequence[BlindSpot], otherwise: str) -> CheckResult:
    """Report blind spots. They break no promise, so no box fails because of them."""
    if not spots:
        return CheckResult(name, True, otherwise)
    more = len(spots) - N_SHOWN_SPOTS
    observed = [str(spot) for spot in spots[:N_SHOWN_SPOTS]] + [f"{more} more"] * (more > 0)
    advice = dict.fromkeys(spot.advice for spot in spots)
    return CheckResult(name, None, "; ".join(observed), " ".join(advice))


def _deterministic(box: BlackBox, words: Words) -> CheckResult:
    # Alone, so that what else is in a batch makes no difference.
    few = words[:: max(1, len(words) // 12)]
    first, second = (
        np.concatenate([_weights(box, few[i : i + 1]) for i in range(len(few))]) for _ in range(2)
    )
    noise = measure_noise(first, second)
    if noise.level == 0:
        return CheckResult("deterministic", True, "the same answers twice")
    return CheckResult(
        "deterministic",
        False,
        f"answers differ by {noise}",
        "ranks below the noise are left out; --repeat N queries N times and takes the mean",
    )


def _states(box: BlackBox, words: Words) -> CheckResult:
    assert isinstance(box, Stepper)
    stepped = read_each(box, words, box.state_weights)
    return _agreement(
        "states = words", _weights(box, words), stepped, "its states are not to be used"
    )


def _sums(box: BlackBox, words: Words) -> CheckResult:
    assert isinstance(box, PredictingStepper)
    probabilities = collect(box, PrefixTree.of(words), box.state_next_symbol)
    low, high = probabilities.sum(axis=1).min(), probabilities.sum(axis=1).max()
    negative = probabilities.min() < -1e-9
    ok: bool | None = bool(abs(low - 1) < 1e-3 and abs(high - 1) < 1e-3 and not negative)
    advice = "" if ok else "the rest belongs to symbols outside the alphabet, or is an error"
    promised = not getattr(box, "leaks", getattr(box, "elsewhere", None) is not None)
    if not (ok or promised or negative) and high < 1 + 1e-3:
        ok, advice = None, "the rest belongs to symbols outside the alphabet, and stays there"
    observed = f"next-symbol probabilities sum to {low:.6g} … {high:.6g}"
    if negative:
        observed += f", the least is {probabilities.min():.3g}"
    return CheckResult("Σp = 1", ok, observed, advice)


def _ends(box: BlackBox, words: Words) -> CheckResult:
    assert isinstance(box, PredictingStepper)
    longest = allowed_length(box, None, MAX_SAMPLED_LENGTH)
    drawn, n_cut = sample(box, N_WORDS, seed=np.random.default_rng(0), max_length=longest)
    observed = f"sampled words have {drawn.lengths.mean():.1f} symbols on average"
    if not n_cut:
        return CheckResult("words end", True, observed)
    cut = f"; {n_cut} of {N_WORDS} have not ended after {longest}"
    return CheckResult("words end", None, observed + cut, "longer ones are cut: see --max-length")


def _speed(box: BlackBox, words: Words) -> CheckResult:
    rng = np.random.default_rng(1)
    n, seconds, some = 16, 0.0, words
    while seconds < MAX_SPEED_SECONDS / 4 and n < 1024:
        n *= 4
        some = _drawn(box, n, rng)
        begin = time.perf_counter()
        _weights(box, some)
        seconds = time.perf_counter() - begin
    per_step = seconds / len(PrefixTree.of(some))
    if predicts(box):
        words, _ = sample(
            box, N_WORDS, seed=rng, max_length=allowed_length(box, None, MAX_SAMPLED_LENGTH)
        )
        is_cheap = query_mode(box) in (QueryMode.STATES, QueryMode.AUTOMATON)
        cost = conditional_cost(1 + float(words.lengths.mean()), with_copies=is_cheap)
    elif isinstance(box, Classifier):
        cost = class_cost(len(box.alphabet))
    else:
        cost = hankel_cost(len(box.alphabet))
    by_steps = isinstance(box, Stepper) or predicts(box)
    expected = _duration(cost.n_steps * per_step if by_steps else cost.n_words * seconds / n)
    shares = " or less" if isinstance(box, Stepper) else ""  # what prefixes share is read once
    observed = f"{n / max(seconds, 1e-9):,.0f} words per second"
    advice = f"{cost.description}: about {expected}{shares}, plus seqray's own work"
    return CheckResult("speed", None, observed, advice)


def _agreement(name: str, one: FloatArray, other: FloatArray, remedy: str) -> CheckResult:
    size = np.maximum(np.abs(one), np.abs(other))
    if (one < 0).any():  # answers of both signs come close to 0
        size = np.maximum(size, 1e-3 * size.max())
    difference = float((np.abs(one - other) / np.maximum(size, np.finfo(float).tiny)).max())
    ok = difference <= MAX_RELATIVE_DIFFERENCE
    return CheckResult(
        name, ok, f"largest relative difference {difference:.2g}", "" if ok else remedy
    )


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds > 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
