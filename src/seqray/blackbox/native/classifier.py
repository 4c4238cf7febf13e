"""Python functions as classifiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seqray.automata.decisions import check_classes
from seqray.automata.words import Alphabet, Symbol
from seqray.blackbox.classifier_box import QueriedClassifier
from seqray.blackbox.native.function import MAX_WORDS_PER_CALL, Function, FunctionBackend

TWO_CLASSES = ("no", "yes")
"""The names of two classes that nobody named."""


def classifier(
    function: Function,
    alphabet: Alphabet | Iterable[Symbol],
    classes: Sequence[str] = TWO_CLASSES,
    *,
    threshold: float | None = None,
    name: str | None = None,
    batch_size: int = MAX_WORDS_PER_CALL,
    timeout: float | None = None,
    max_length: int | None = None,
) -> QueriedClassifier:
    """Turn a function that classifies words into a black box.

    Parameters
    ----------
    function
        Takes a list of words and returns, for each, the probability of every class in the order of
        ``classes``; of two classes the probability of the second is enough; or the name of a class.
    alphabet
        The symbols of the words.
    classes
        The names of the classes.
    threshold
        The probability at which the second of two classes is decided for. By default the class of
        the largest probability is.
    name, batch_size, timeout, max_length
        As for `seqray.black_box`.

    Examples
    --------
    >>> box = classifier(lambda words: [word.count("a") % 2 for word in words], "ab")
    >>> box.classify(["", "a", "aba"])
    ['no', 'yes', 'no']
    >>> box.scores(["a"])
    array([[0., 1.]])
    """
    backend = FunctionBackend(function, name, batch_size, timeout, max_length)
    names = check_classes(classes)
    return QueriedClassifier(backend, Alphabet.of(alphabet), names, threshold)
