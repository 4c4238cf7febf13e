"""Hidden Markov models of the package hmmlearn: probabilistic automata to its objects, and back.

A ``CategoricalHMM`` emits one symbol in each state and then moves, and the move does not depend on
the symbol. It never stops, so the end of a word is one more symbol. The probability of a word and
the end is then the weight of the word.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.words import Alphabet, Symbol
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.formats.pautomac import stochastic_moves
from seqray.util.arrays import FloatArray, real_array, whole_number
from seqray.util.errors import ArgumentError, MissingExtraError, install_hint
from seqray.util.files import MAX_NUMBERS, too_many_numbers

TOLERANCE = 1e-9
"""How far the moves of a state may depend on the symbol, by rounding."""

SUM_TOLERANCE = 1e-6
"""How far probabilities may be from summing to 1."""


def to_hmmlearn(automaton: AutomatonLike) -> Any:
    """Return a probabilistic automaton as a ``CategoricalHMM`` of hmmlearn.

    Symbol ``i`` of the alphabet is ``i`` there, and the end of a word is ``n_symbols``:
    ``exp(model.score(codes of a word and the end))`` is the weight of the word.

    Parameters
    ----------
    automaton
        Every number 0 or more, ``initial`` sums to 1, and for each state what leaves it and its
        ``final`` sum to 1; others are refused. If in each state the next state does not depend on
        the symbol, the model has the same states. If it does, the model has one state for each
        pair of a state and a symbol that it emits, and one for the end.

    Examples
    --------
    >>> coin = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> model = to_hmmlearn(coin)
    >>> round(float(np.exp(model.score([[0], [1], [2]]))), 6)  # a, b, and the end
    0.03125
    """
    wa = as_automaton(automaton)
    _, emission = stochastic_moves(wa, "a hidden Markov model")
    n, k = wa.n_states, len(wa.alphabet)
    if (n * (k + 1)) ** 2 > MAX_NUMBERS:
        raise too_many_numbers(
            f"a hidden Markov model of {n:,} states and {k:,} symbols", (n * (k + 1)) ** 2
        )
    moves = _moves_of_states(wa, emission)
    if moves is not None:
        return _model(wa.initial, moves, np.column_stack([emission, wa.final]))
    return _split_model(wa, emission)


def _moves_of_states(wa: WeightedAutomaton, emission: FloatArray) -> FloatArray | None:
    """Return where each state leads; None where that depends on the symbol."""
    sums = emission.sum(axis=1)
    together = wa.transitions.sum(axis=0)
    moves = np.divide(together, sums[:, None], out=np.eye(wa.n_states), where=sums[:, None] > 0)
    expected = emission.T[:, :, None] * moves
    return moves if np.abs(wa.transitions - expected).max() <= TOLERANCE else None


def _split_model(wa: WeightedAutomaton, emission: FloatArray) -> Any:
    """Return a model with one state for each state and symbol that it emits, the end last."""
    k = len(wa.alphabet)
    states, codes = np.nonzero(emission)
    shares = wa.transitions[codes, states] / emission[states, codes][:, None]
    # What is chosen in a state: a symbol, or the end.
    chosen = np.zeros((wa.n_states, len(states) + 1))
    chosen[states, np.arange(len(states))] = emission[states, codes]
    chosen[:, -1] = wa.final
    moves = np.vstack([shares @ chosen, np.eye(len(states) + 1)[-1:]])
    symbols = np.eye(k + 1)[np.append(codes, k)]
    return _model(wa.initial @ chosen, moves, symbols)


def _model(start: FloatArray, moves: FloatArray, emission: FloatArray) -> Any:
    try:
        hmm = importlib.import_module("hmmlearn.hmm")
    except ImportError as error:
        raise MissingExtraError(
            f"this needs the package hmmlearn, which cannot be imported ({error}): "
            f"{install_hint('hmmlearn')}"
        ) from error
    model = hmm.CategoricalHMM(n_components=len(start), n_features=emission.shape[1])
    model.startprob_ = start / start.sum()  # it takes sums that are 1 to the last digits only
    model.transmat_ = moves / moves.sum(axis=1, keepdims=True)
    model.emissionprob_ = emission / emission.sum(axis=1, keepdims=True)
    return model


def from_hmmlearn(
    model: Any, alphabet: Alphabet | Iterable[Symbol] | None = None, *, end: int | None = None
) -> WeightedAutomaton:
    """Return a ``CategoricalHMM`` of hmmlearn as a weighted automaton with the same states.

    Parameters
    ----------
    model
        Its ``startprob_``, ``transmat_`` and ``emissionprob_`` are read.
    alphabet
        What the model's symbols 0, 1, … are called, without the end; by default these numbers.
    end
        The model's symbol that ends a word: the weight of a word is the probability of the word and
        the end, as for the models of `to_hmmlearn`. None: the model does not end. The weight of a
        word is then ``exp(model.score(word))``, the probability that a sequence begins with it, and
        the automaton is no distribution over words.

    Examples
    --------
    >>> coin = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> from_hmmlearn(to_hmmlearn(coin), "ab", end=2).allclose(coin)
    True
    """
    names = ("startprob_", "transmat_", "emissionprob_")
    missing = [name for name in names if not hasattr(model, name)]
    if missing:
        raise ArgumentError(
            f"model: expected a CategoricalHMM of hmmlearn that was fitted, got {model!r} without "
            f"{missing[0]}; models of continuous values have no symbols"
        )
    start = real_array("startprob_", model.startprob_, (None,))
    moves = real_array("transmat_", model.transmat_, (len(start), len(start)))
    emission = real_array("emissionprob_", model.emissionprob_, (len(start), None))
    for name, rows in zip(names, (start, moves, emission), strict=True):
        sums = rows.sum(axis=-1)
        if rows.min(initial=0) < 0 or not (np.abs(sums - 1) <= SUM_TOLERANCE).all():
            raise ArgumentError(
                f"model: {name} has rows that are no probabilities: expected numbers of 0 or more "
                "that sum to 1; fit the model, or normalise them"
            )
    n_outputs = emission.shape[1]
    if end is not None and whole_number("end", end, 0) >= n_outputs:
        raise ArgumentError(f"end: expected a symbol from 0 to {n_outputs - 1}, got {end}")
    codes = [code for code in range(n_outputs) if code != end]
    symbols = Alphabet(codes) if alphabet is None else Alphabet.of(alphabet)
    if len(symbols) != len(codes):
        raise ArgumentError(
            f"alphabet: expected {len(codes)} symbols, the model's without the end, got "
            f"{len(symbols)}"
        )
    final = np.ones(len(start)) if end is None else emission[:, end]
    return WeightedAutomaton(symbols, start, emission.T[codes][:, :, None] * moves, final)
