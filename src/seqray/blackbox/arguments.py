"""What may stand for a black box where a function takes one."""

import os

from seqray.automata.words import Alphabet
from seqray.blackbox.classifier_box import queried_classifier
from seqray.blackbox.protocol import BlackBox, Classifier
from seqray.formats.automaton_file import HasBest, HasNames, as_automaton
from seqray.util.errors import ArgumentError


def as_box(given: object) -> BlackBox:
    """Return the black box that an argument is, or the automaton that it holds.

    Parameters
    ----------
    given
        A black box or a classifier; or an extraction, a named automaton or a `pathlib.Path` of one,
        whose automaton is the box. A string is refused: it may name a box or a folder.

    Examples
    --------
    >>> as_box("demo")
    Traceback (most recent call last):
    ...
    seqray.ArgumentError: box: got the string 'demo': open it with open_black_box('demo')
    """
    if isinstance(given, str):
        raise ArgumentError(
            f"box: got the string {given!r}: open it with open_black_box({given!r})"
        )
    if not isinstance(given, BlackBox):
        if isinstance(given, HasNames | HasBest | os.PathLike):
            return as_automaton(given, "box")
        if isinstance(given, Classifier):
            return queried_classifier(given)
        hint = ": make it one with black_box(function, alphabet)" if callable(given) else ""
        raise ArgumentError(f"box: expected `alphabet` and `weights(words)`, got {given!r}{hint}")
    if not isinstance(given.alphabet, Alphabet):
        raise ArgumentError(
            f"box.alphabet: expected a seqray.Alphabet, got {type(given.alphabet).__name__}: "
            "write Alphabet([...])"
        )
    return given
