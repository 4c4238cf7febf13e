"""Probabilistic automata of words alone: maximum likelihood, without a box."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from seqray.automata.probabilities import normalised
from seqray.automata.sampling import Sample
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Alphabet, Symbol, Word, Words
from seqray.extraction.settings import STRUCTURED
from seqray.extraction.structured.build import to_automaton
from seqray.extraction.structured.family import NO_POSITIONS, Structure, layout_for
from seqray.extraction.structured.fit import FitWords, StructuredFit, fit_structured
from seqray.fidelity.reference import Reference
from seqray.formats.events.event_log import EventLog, plain_words
from seqray.util.arrays import whole_number
from seqray.util.errors import ArgumentError
from seqray.util.progress import Progress, shown_progress
from seqray.util.random import Seed, random_generator, seed_number

SETTINGS = replace(
    STRUCTURED, n_epochs=10, min_epochs=3, visits_per_state=200, min_flow=200, max_contexts=(1,)
)
"""Words are noisier than what a box predicts: a state has to be visited more often."""

VALIDATION_SHARE = 0.1
"""The share of the words that is held out to choose the number of states."""

MIN_VALIDATION_WORDS = 5
"""Where fewer would be held out, all words are both fitted to and compared on."""


def fit_automaton(
    words: Words | Sample | EventLog | Iterable[Word],
    *,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    max_states: int = 64,
    seed: Seed = 0,
    progress: Progress | bool | None = None,
) -> StructuredAutomaton:
    """Fit a probabilistic automaton to words, without any box.

    It maximises the likelihood of the words. Every state knows the last symbol; how many states a
    symbol has grows (2, 4, 8, …) as long as words that are held out become more probable. Use it
    where there are words but no model, or beside a model, to see what the model learnt beyond it.

    Parameters
    ----------
    words
        What to fit to. Equal words count as often as they are there.
    alphabet
        The symbols; by default those of the words, sorted where they can be.
    max_states
        The most states after each symbol.
    seed
        Random seed, a number or a generator.
    progress
        Called with the number of steps done, and of all; begins anew with each number of states.
        True shows a bar, on a terminal or in a notebook.

    Examples
    --------
    >>> wa = fit_automaton(["ab", "abab", "ababab", ""] * 50, max_states=4)
    >>> wa.next_symbol(["a"]).round(2)
    array([[0., 1., 0.]])
    """
    words = encoded(words, alphabet)
    if not len(words):
        raise ArgumentError("expected at least one word to fit to, got none")
    max_states = whole_number("max_states", max_states, 1)
    rng = random_generator(seed)
    learnt, held_out = _split(words, rng)
    with shown_progress(progress, "fitting", "steps") as shown:
        best = _best_fit(learnt, held_out, max_states, seed_number(rng), shown)
    return to_automaton(words.alphabet, best.layout, best.logarithms)


def _best_fit(
    learnt: FitWords, held_out: FitWords, max_states: int, seed: int, progress: Progress | None
) -> StructuredFit:
    """Return the fit after which more states make words that are held out no more probable."""
    best: StructuredFit | None = None
    for size in _sizes(max_states):
        layout = layout_for(Structure(1, NO_POSITIONS), learnt, size, SETTINGS)
        if best is not None and (layout.sizes == best.layout.sizes).all():
            break  # no symbol is frequent enough for more
        fitted = fit_structured(
            layout, learnt, held_out, seed=seed, progress=progress, settings=SETTINGS
        )
        if best is not None and fitted.divergence >= best.divergence:
            break
        best = fitted
    assert best is not None
    return best


def encoded(
    words: Words | Sample | EventLog | Iterable[Word],
    alphabet: Alphabet | Iterable[Symbol] | None = None,
) -> Words:
    """Encode words over an alphabet, or over their own symbols.

    Strings with white space in one of them are split there, others into characters.

    >>> encoded(["go on", "on"])
    Words(2 words over 2 symbols: go on, on)
    """
    words = plain_words(words)
    if alphabet is not None:
        return Alphabet.of(alphabet).words(words)
    if isinstance(words, Words):
        return words
    if isinstance(words, str):
        return Alphabet(["a"]).words(words)  # raises: expected a list
    given = list(words)
    if any(isinstance(word, str) and len(word.split()) > 1 for word in given):
        given = [word.split() if isinstance(word, str) else word for word in given]
    symbols: list[Any] = list(dict.fromkeys(symbol for word in given for symbol in word))
    if not symbols:
        raise ArgumentError(
            f"expected at least one word with a symbol, got {len(given)} empty words: give the "
            "symbols that words may have (alphabet=)"
        )
    with suppress(TypeError):  # symbols of several types stay in the order of the words
        symbols.sort()
    return Alphabet(symbols).words(given)


def _sizes(max_states: int) -> list[int]:
    """Return how many states are tried: powers of two, and the largest number allowed.

    >>> _sizes(12)
    [2, 4, 8, 12]
    """
    powers = [2**i for i in range(1, max_states.bit_length()) if 2**i < max_states]
    return [*powers, max_states]


def _split(words: Words, rng: np.random.Generator) -> tuple[FitWords, FitWords]:
    """Return the words to fit to, and those held out."""
    n_held_out = int(VALIDATION_SHARE * len(words))
    if n_held_out < MIN_VALIDATION_WORDS:
        return _as_seen(words), _as_seen(words)
    order = rng.permutation(len(words))
    held_out, learnt = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    return _as_seen(words[learnt]), _as_seen(words[held_out])


def _as_seen(words: Words) -> FitWords:
    """Return words with how often each symbol, or the end, follows each of their prefixes."""
    tree = PrefixTree.of(words)
    shares = normalised(tree.counts().astype(np.float64))
    return FitWords(Reference(tree, np.ones(len(words)), None, shares.T), leaks=False)
