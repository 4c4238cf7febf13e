"""Automata as estimators of scikit-learn: a model of words, a classifier, features of states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import log_softmax

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.probabilities import as_probabilities
from seqray.automata.sampling import Sample
from seqray.automata.stepper import read_each
from seqray.automata.words import Alphabet, Symbol, Words
from seqray.blackbox.protocol import BlackBox, Classifier
from seqray.extraction.data_fit import encoded, fit_automaton
from seqray.extraction.extract import extract
from seqray.formats.automaton_file import HasBest, HasNames, as_automaton
from seqray.formats.events.event_log import EventLog
from seqray.util.arrays import FloatArray
from seqray.util.errors import ArgumentError, MissingExtraError, install_hint

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, DensityMixin, TransformerMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError as error:
    raise MissingExtraError(
        f"seqray.sklearn needs scikit-learn: {install_hint('sklearn')}"
    ) from error

__all__ = ["AutomatonClassifier", "AutomatonModel", "StateFeatures"]


class _WordsOrBox(BaseEstimator):
    """What estimators have that are fitted to words or to a box."""

    def __init__(
        self,
        *,
        alphabet: Any = None,
        max_states: int = 64,
        budget: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.alphabet = alphabet
        self.max_states = max_states
        self.budget = budget
        self.random_state = random_state


class AutomatonModel(DensityMixin, _WordsOrBox):
    """A probabilistic automaton of words, or of a black box that predicts the next symbol.

    Parameters
    ----------
    alphabet
        The symbols; by default those of the words it is fitted to. Any other symbol is an error.
    max_states
        The most states after each symbol, where it is fitted to words.
    budget
        The most queries, where it is fitted to a box; None: as many as `seqray.extract` needs.
    random_state
        Random seed.

    Attributes
    ----------
    automaton_
        The automaton.
    classes_
        What can come next: every symbol, and None for the end of the word.

    Examples
    --------
    >>> model = AutomatonModel().fit(["ab", "abab", "ababab", ""] * 50)
    >>> model.predict(["a", "aba"])
    array(['b', 'b'], dtype=object)
    >>> bool(model.score(["abab"]) > model.score(["abba"]))
    True
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to words, or to a box.

        Parameters
        ----------
        X
            Words (`seqray.fit_automaton`); a box (`seqray.extract`); or an extraction or an
            automaton, which is taken as it is.
        y
            Ignored.
        """
        seed = _seed_of(self.random_state)
        if _has_rows(X) or not isinstance(X, BlackBox | HasBest | HasNames):
            words = _words_of(self, X, alphabet=self.alphabet, reset=True)
            automaton: WeightedAutomaton = fit_automaton(
                words, max_states=self.max_states, seed=seed
            )
        elif isinstance(X, WeightedAutomaton | HasBest | HasNames):
            automaton = as_automaton(X)
        else:
            automaton = extract(X, budget=self.budget, seed=seed).best()
        if isinstance(automaton, ClassifierAutomaton):
            raise ArgumentError(
                "X: expected a box that predicts the next symbol, got one that classifies: use "
                "AutomatonClassifier"
            )
        self.automaton_ = automaton
        self.classes_ = np.array([*self.automaton_.alphabet, None], object)
        return self

    def _words(self, X: Any) -> Words:
        check_is_fitted(self)
        return _words_of(self, X, alphabet=self.automaton_.alphabet, reset=False)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of what comes next, in the order of ``classes_``."""
        words = self._words(X)
        return as_probabilities(self.automaton_.next_symbol(words))

    def predict(self, X: Any) -> Any:
        """Return the most probable next symbol after each word; None: the word ends."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]

    def score_samples(self, X: Any) -> FloatArray:
        """Return the natural logarithm of each word's probability."""
        words = self._words(X)
        sign, logarithms = self.automaton_.log_weights(words)
        return np.where(sign > 0, logarithms, -np.inf)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of `score_samples`."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1) -> Sample:
        """Draw words; see `seqray.sample`."""
        check_is_fitted(self)
        return self.automaton_.sample(n_samples, seed=_seed_of(self.random_state))


class AutomatonClassifier(ClassifierMixin, _WordsOrBox):
    """Classes of words by probabilistic automata, one for each class, and Bayes' rule.

    Fitted to a box that classifies, it is the automaton that `seqray.extract` makes of it.

    Parameters
    ----------
    alphabet
        The symbols; by default those of the words it is fitted to. Any other symbol is an error.
    max_states
        The most states after each symbol, where it is fitted to words.
    budget
        The most queries, where it is fitted to a box.
    random_state
        Random seed.

    Attributes
    ----------
    classes_
        The classes.
    automata_
        One probabilistic automaton for each class; or the one automaton of a box.
    alphabet_
        The symbols.

    Examples
    --------
    >>> X = ["ab", "abab", "ababab", "ba", "baba", "bababa"] * 20
    >>> y = ["first a"] * 3 + ["first b"] * 3
    >>> AutomatonClassifier().fit(X, y * 20).predict(["abababab", "ba"]).tolist()
    ['first a', 'first b']
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to words and their classes, or to a box that classifies, without ``y``.

        An extraction of such a box is taken as it is.
        """
        if isinstance(X, Classifier | HasBest) and not _has_rows(X) and y is None:
            return self._fit_box(X)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "give the class of each word"
            )
        words = _words_of(self, X, alphabet=self.alphabet, reset=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if len(y) != len(words):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {len(words)} "
                f"words, y {len(y)} classes"
            )
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self.alphabet_, seed = words.alphabet, _seed_of(self.random_state)
        self.automata_: list[WeightedAutomaton] = [
            fit_automaton(words[numbers == each], max_states=self.max_states, seed=seed)
            for each in range(len(self.classes_))
        ]
        self.class_log_prior_ = np.log(np.bincount(numbers) / len(numbers))
        return self

    def _fit_box(self, box: Any) -> Self:
        if not isinstance(box, HasBest):
            box = extract(box, budget=self.budget, seed=_seed_of(self.random_state))
        automaton = as_automaton(box)
        if not isinstance(automaton, ClassifierAutomaton):
            raise ArgumentError(
                "X: expected a box that classifies, got one that gives numbers: use AutomatonModel"
            )
        self.classes_, self.alphabet_ = np.array(automaton.classes), automaton.alphabet
        self.automata_ = [automaton]
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, in the order of ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probability of each class."""
        check_is_fitted(self)
        words = _words_of(self, X, alphabet=self.alphabet_, reset=False)
        (first, *_) = self.automata_
        if isinstance(first, ClassifierAutomaton):
            with np.errstate(divide="ignore"):
                return np.log(first.scores(words))
        logarithms = np.stack([each.log_weights(words)[1] for each in self.automata_], axis=1)
        return np.asarray(log_softmax(logarithms + self.class_log_prior_, axis=1))

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each word."""
        most_probable = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[most_probable]


class StateFeatures(TransformerMixin, BaseEstimator):
    """Turn each word into the state that it leads to, for a model of vectors behind it.

    A state is scaled so that its absolute values sum to 1: for a probabilistic automaton it is the
    probability of each state, given the word.

    Parameters
    ----------
    automaton
        The automaton, or what holds one: an extraction, a run folder, a file; None: one is fitted
        to the words (`seqray.fit_automaton`).
    alphabet
        The symbols, where an automaton is fitted; by default those of the words. Any other symbol
        is an error.
    max_states
        The most states after each symbol, where it is fitted.
    random_state
        Random seed.

    Attributes
    ----------
    automaton_
        The automaton.

    Examples
    --------
    >>> features = StateFeatures(max_states=1).fit(["ab", "aab"] * 100)
    >>> features.transform(["a", "ab"]).round(3)
    array([[0., 1., 0.],
           [0., 0., 1.]])
    >>> features.get_feature_names_out()
    array(['state0', 'state1', 'state2'], dtype=object)
    """

    def __init__(
        self,
        automaton: Any = None,
        *,
        alphabet: Any = None,
        max_states: int = 4,
        random_state: Any = 0,
    ) -> None:
        self.automaton = automaton
        self.alphabet = alphabet
        self.max_states = max_states
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the automaton to words, or take the one that was given."""
        given = None if self.automaton is None else as_automaton(self.automaton)
        alphabet = given.alphabet if given else self.alphabet
        words = _words_of(self, X, alphabet=alphabet, reset=True)
        seed = _seed_of(self.random_state)
        self.automaton_ = given or fit_automaton(words, max_states=self.max_states, seed=seed)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the state after each word, shape ``(n_words, n_states)``."""
        check_is_fitted(self)
        automaton = self.automaton_
        words = _words_of(self, X, alphabet=automaton.alphabet, reset=False)
        states = read_each(automaton, words, lambda states: automaton.split_states(states)[0])
        sizes = np.abs(states).sum(axis=1, keepdims=True)
        return np.asarray(states / np.where(sizes > 0, sizes, 1))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return one name for each state."""
        check_is_fitted(self)
        return np.array([f"state{i}" for i in range(self.automaton_.n_states)], object)


def _words_of(
    estimator: Any, X: Any, *, alphabet: Alphabet | Iterable[Symbol] | None, reset: bool
) -> Words:
    """Return the words that an argument ``X`` holds.

    An array or a frame of two dimensions has one word in each row, all of the same length; anything
    else is a series of words. ``reset`` says whether the estimator is being fitted.
    """
    if hasattr(X, "__array__") and not hasattr(X, "ndim"):
        X = np.asarray(X)
    if _has_rows(X):
        X = validate_data(estimator, X, reset=reset, dtype=None).tolist()
    elif getattr(X, "ndim", 1) != 1:
        raise ArgumentError(
            "X: expected a list of words or an array with one word in each row, got an array of "
            f"shape {X.shape}: reshape it, X.reshape(len(X), -1)"
        )
    elif isinstance(X, np.ndarray) and X.dtype.kind not in "OUST":
        raise ArgumentError(
            f"X: expected words, got the numbers {X[:3].tolist()} …. Reshape your data: "
            "X.reshape(1, -1) if it is one word, X.reshape(-1, 1) if each number is a word"
        )
    elif not isinstance(X, Iterable | EventLog):
        raise ArgumentError(f"X: expected a list of words, got {X!r}: write [[symbol, …], …]")
    try:
        words = encoded(X, alphabet)
    except TypeError as error:  # not hashable
        raise TypeError(
            f"X: each symbol as an argument must be a string or a number: {error}"
        ) from error
    if not len(words):
        raise ArgumentError("X: expected at least one word, got 0 samples")
    return words


def _has_rows(X: Any) -> bool:
    """Whether an argument is an array, a sparse matrix or a frame with rows and columns."""
    return sparse.issparse(X) or getattr(X, "ndim", 0) == 2 or hasattr(X, "columns")


def _seed_of(random_state: Any) -> int:
    """Return the seed of a ``random_state`` of scikit-learn.

    >>> _seed_of(7)
    7
    """
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
