"""A self-test for black boxes: whether one keeps the promises that extraction builds on."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from seqray.automata.sampling import sample, uniform_words
from seqray.automata.stepper import PredictingStepper, Stepper, collect, predicts, read_each
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Words
from seqray.blackbox.guarded import blamed
from seqray.blackbox.protocol import BlackBox, allowed_length, checked_answers, name_of
from seqray.blackbox.queries.noise import measure_noise
from seqray.blackbox.queries.oracle import query_mode
from seqray.extraction.basis import uniform_basis
from seqray.extraction.hankel.plan import Plan
from seqray.extraction.hankel.sizes import N_PREFIXES, N_SUFFIXES
from seqray.extraction.settings import CONDITIONAL
from seqray.util.arrays import FloatArray
from seqray.util.errors import SeqrayError

CLOSE = 1e-4
"""How far two answers to the same word may be apart, relative to their size."""

N_WORDS, LONGEST, SHORT = 40, 10, 6
"""Words that are drawn, their length, and symbols of which all short words are asked."""

PATIENCE = 1.0
"""Seconds that measuring the speed may take."""


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Parameters
    ----------
    name
        What was checked.
    ok
        Whether the box passed. None: nothing to pass, or good to know.
    found
        What was seen.
    therefore
        What extraction does about it, or what to do.
    """

    name: str
    ok: bool | None
    found: str
    therefore: str = ""


def check(box: BlackBox, *, seed: int = 0) -> list[Finding]:
    """Check a black box: a few thousand questions, and what they say about the others.

    Parameters
    ----------
    box
        Any black box.
    seed
        Of the words that are asked about.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: [len(word) for word in words], "ab")
    >>> [finding.name for finding in check(box) if finding.ok is False]
    []
    """
    rng = np.random.default_rng(seed)
    longest = allowed_length(box, None, LONGEST)
    drawn = uniform_words(box.alphabet, N_WORDS, seed=rng, max_length=max(1, longest)).cut(longest)
    symbols = box.alphabet.symbols[:SHORT]
    short = [word for n in (1, 2)[:longest] for word in itertools.product(symbols, repeat=n)]
    words = box.alphabet.words([*short, *drawn])
    findings = [_abilities(box), _attempt("empty word", _empty_word, box, words)]
    findings.append(_attempt("answers", _answers, box, words))
    if findings[-1].ok is False and findings[-1].therefore == FAILS:
        return findings  # nothing else can be said
    findings.append(_attempt("deterministic", _deterministic, box, words))
    noisy = findings[-1].ok is False
    for name, each in _checks(box).items():
        finding = _attempt(name, each, box, words)
        if noisy and name in AGREEMENTS:
            finding = Finding(name, None, "cannot be told: the box answers differently each time")
        findings.append(finding)
    return findings


FAILS = "extraction would stop with this error"
AGREEMENTS = ("batch = single", "padded = unpadded", "order kept", "states = words")

Check: TypeAlias = Callable[[BlackBox, Words], Finding]


def _checks(box: BlackBox) -> dict[str, Check]:
    """Return what is checked of a box that answers at all, by what it can do."""
    checks: dict[str, Check] = {
        "batch = single": _single,
        "padded = unpadded": _padded,
        "order kept": _order,
    }
    if isinstance(box, Stepper):
        checks["states = words"] = _states
    if predicts(box):
        checks |= {"Σp = 1": _sums, "words end": _ends}
    return checks | {"speed": _speed}


def _attempt(name: str, each: Check, box: BlackBox, words: Words) -> Finding:
    try:
        with blamed(name_of(box)):
            return each(box, words)
    except SeqrayError as error:
        return Finding(name, False, str(error), FAILS)


def _ask(box: BlackBox, words: Words) -> FloatArray:
    return checked_answers(box.weights(words), words, (len(words),), name_of(box))


def _abilities(box: BlackBox) -> Finding:
    therefore = {
        "as an automaton": "its states are multiplied",
        "states": "what prefixes share is read once",
        "next symbols": "each prefix is asked once",
        "whole words": "each word is asked once",
    }[query_mode(box).value]
    basis = "words are drawn from the box"
    if not predicts(box):
        basis = "the basis grows from words that weigh much"
    found = f"{query_mode(box).value}; {len(box.alphabet)} symbols"
    return Finding("can be asked for", None, found, f"{therefore}; {basis}")


def _empty_word(box: BlackBox, words: Words) -> Finding:
    value = _ask(box, box.alphabet.words([()]))[0]
    return Finding("empty word", True, f"has the weight {value:.4g}")


def _answers(box: BlackBox, words: Words) -> Finding:
    values = _ask(box, words)
    if (values < 0).any():
        kind = f"{(values < 0).mean():.0%} of the answers are negative: no distribution"
    else:
        kind = f"from {values.min():.3g} to {values.max():.3g}"
    therefore = "" if values.any() else "all words weigh nothing: is it the right alphabet?"
    return Finding("answers", bool(values.any()), kind, therefore)


def _single(box: BlackBox, words: Words) -> Finding:
    together = _ask(box, words)
    alone = np.concatenate([_ask(box, words[i : i + 1]) for i in range(len(words))])
    return _agreement("batch = single", together, alone, "ask with a batch size of 1")


def _padded(box: BlackBox, words: Words) -> Finding:
    """Ask short words once with long ones and once among their like."""
    together = _ask(box, words)
    apart = np.empty(len(words))
    for length in np.unique(words.lengths):
        alike = np.flatnonzero(words.lengths == length)
        apart[alike] = _ask(box, words[alike])
    remedy = "padding changes its answers: ask words of one length at a time"
    return _agreement("padded = unpadded", together, apart, remedy)


def _order(box: BlackBox, words: Words) -> Finding:
    forwards = _ask(box, words)
    backwards = _ask(box, words[::-1])[::-1]
    remedy = "answers do not come in the order of the words"
    return _agreement("order kept", forwards, backwards, remedy)


def _deterministic(box: BlackBox, words: Words) -> Finding:
    # Alone, so that what else is in a batch makes no difference.
    few = words[:: max(1, len(words) // 12)]
    first, second = (
        np.concatenate([_ask(box, few[i : i + 1]) for i in range(len(few))]) for _ in range(2)
    )
    noise = measure_noise(first, second)
    if noise.level == 0:
        return Finding("deterministic", True, "the same answers twice")
    return Finding(
        "deterministic",
        False,
        f"answers differ by {noise}",
        "ranks below the noise are left out; --repeat N asks N times and takes the mean",
    )


def _states(box: BlackBox, words: Words) -> Finding:
    assert isinstance(box, Stepper)
    stepped = read_each(box, words, box.state_weights)
    return _agreement("states = words", _ask(box, words), stepped, "its states are not to be used")


def _sums(box: BlackBox, words: Words) -> Finding:
    assert isinstance(box, PredictingStepper)
    probabilities = collect(box, PrefixTree.of(words), box.state_next_symbol)
    low, high = probabilities.sum(axis=1).min(), probabilities.sum(axis=1).max()
    negative = probabilities.min() < -1e-9
    ok: bool | None = bool(abs(low - 1) < 1e-3 and abs(high - 1) < 1e-3 and not negative)
    therefore = "" if ok else "the rest belongs to symbols outside the alphabet, or is an error"
    promised = not getattr(box, "leaks", getattr(box, "elsewhere", None) is not None)
    if not (ok or promised or negative) and high < 1 + 1e-3:
        ok, therefore = None, "the rest belongs to symbols outside the alphabet, and is kept"
    found = f"next-symbol probabilities sum to {low:.6g} … {high:.6g}"
    if negative:
        found += f", the least is {probabilities.min():.3g}"
    return Finding("Σp = 1", ok, found, therefore)


def _ends(box: BlackBox, words: Words) -> Finding:
    assert isinstance(box, PredictingStepper)
    longest = allowed_length(box, None, 100)
    drawn, n_cut = sample(box, N_WORDS, seed=np.random.default_rng(0), max_length=longest)
    found = f"sampled words have {drawn.lengths.mean():.1f} symbols on average"
    if not n_cut:
        return Finding("words end", True, found)
    cut = f"; {n_cut} of {N_WORDS} have not ended after {longest}"
    return Finding("words end", None, found + cut, "longer ones are cut: see --max-length")


def _speed(box: BlackBox, words: Words) -> Finding:
    rng = np.random.default_rng(1)
    n, seconds, some = 16, 0.0, words
    while seconds < PATIENCE / 4 and n < 1024:
        n *= 4
        some = uniform_words(box.alphabet, n, seed=rng, max_length=LONGEST)
        some = some.cut(allowed_length(box, None, LONGEST))
        begin = time.perf_counter()
        _ask(box, some)
        seconds = time.perf_counter() - begin
    a_step = seconds / len(PrefixTree.of(some))
    if predicts(box):
        words, _ = sample(box, N_WORDS, seed=rng, max_length=allowed_length(box, None, 100))
        n_words = round(CONDITIONAL.words_per_context * CONDITIONAL.n_contexts)
        n_cells = CONDITIONAL.n_contexts * CONDITIONAL.n_columns
        n_steps = round(n_words * (1 + words.lengths.mean()) + n_cells)
        what, cost = (
            f"contexts of {n_words:,} words ask up to {n_steps:,} prefixes",
            n_steps * a_step,
        )
    else:
        plan = Plan.of(uniform_basis(box.alphabet, N_PREFIXES, N_SUFFIXES, seed=rng))
        n_words = 2 * plan.n_queries  # half of them to find the basis
        what = f"{N_PREFIXES} × {N_SUFFIXES} blocks, and finding them, ask about {n_words:,} words"
        cost = 2 * plan.n_steps * a_step if isinstance(box, Stepper) else n_words * seconds / n
    shares = " or less" if isinstance(box, Stepper) else ""  # what prefixes share is read once
    found = f"{n / max(seconds, 1e-9):,.0f} words a second"
    therefore = f"{what}: about {_duration(cost)}{shares}, besides seqray's own work"
    return Finding("speed", None, found, therefore)


def _agreement(name: str, one: FloatArray, other: FloatArray, remedy: str) -> Finding:
    size = np.maximum(np.abs(one), np.abs(other))
    if (one < 0).any():  # answers of both signs come close to 0
        size = np.maximum(size, 1e-3 * size.max())
    apart = float((np.abs(one - other) / np.maximum(size, np.finfo(float).tiny)).max())
    ok = apart <= CLOSE
    return Finding(name, ok, f"largest difference {apart:.2g} of the answer", "" if ok else remedy)


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds > 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
