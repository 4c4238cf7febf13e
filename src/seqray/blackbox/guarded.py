"""Whatever a box raises becomes a `BlackBoxError`.

That includes ``SystemExit``: without it, a box that calls ``sys.exit(0)`` would end seqray as if
all were well. Only Ctrl-C passes, and what seqray raises itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.stepper import PredictingStepper, Stepper
from seqray.automata.tree import States
from seqray.automata.words import Alphabet, Word, Words
from seqray.blackbox.protocol import name_of
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import BlackBoxError, SeqrayError


@contextmanager
def blamed(who: str, what: str = "") -> Iterator[None]:
    """Turn whatever the block raises into a `BlackBoxError` that says who failed on what.

    Examples
    --------
    >>> with blamed("the model", " on the start"):
    ...     raise SystemExit(0)
    Traceback (most recent call last):
    ...
    seqray.BlackBoxError: the model failed on the start: SystemExit: 0 (a box must not ...
    """
    try:
        yield
    except (SeqrayError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise BlackBoxError(f"{who} failed{what}: {described(error)}") from error


def described(error: BaseException) -> str:
    """Say what was raised.

    >>> described(ValueError("no"))
    'ValueError: no'
    """
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    hint = " (a box must not end the program: return an answer or raise an error)"
    return text + hint * isinstance(error, SystemExit)


def guarded(box: Stepper) -> Stepper:
    """Return a box with states whose failures are `BlackBoxError`s.

    Boxes of seqray's own see to that themselves, and are returned as they are.
    """
    if isinstance(box, WeightedAutomaton) or type(box).__module__.startswith("seqray."):
        return box
    return (GuardedModel if isinstance(box, PredictingStepper) else GuardedStepper)(box)


@dataclass(frozen=True, eq=False)
class GuardedStepper:
    """Somebody else's box with states; all its other attributes are available here too."""

    box: Any

    def __getattr__(self, name: str) -> Any:
        if name == "box":  # not there yet, while a copy is made
            raise AttributeError(name)
        return getattr(self.box, name)

    @property
    def who(self) -> str:
        """Who answers."""
        return name_of(self.box)

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        alphabet: Alphabet = self.box.alphabet
        return alphabet

    def weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return one real number per word."""
        with blamed(self.who):
            weights: FloatArray = self.box.weights(words)
        return weights

    def start(self) -> States:
        """Return a batch of one: the state before the first symbol."""
        with blamed(self.who, " on the start"):
            return self.box.start()

    def step(self, states: States, parents: IntArray, symbols: IntArray) -> States:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``."""
        with blamed(self.who, f" on {len(symbols)} states and symbols"):
            return self.box.step(states, parents, symbols)

    def state_weights(self, states: States) -> FloatArray:
        """Return the weight of the word that leads to each state."""
        with blamed(self.who, " on reading states"):
            weights: FloatArray = self.box.state_weights(states)
        return weights


class GuardedModel(GuardedStepper):
    """The same for a box that also predicts the next symbol."""

    def state_next_symbol(self, states: States) -> FloatArray:
        """Return what comes next, the end last, shape ``(n_states, n_symbols + 1)``."""
        with blamed(self.who, " on reading states"):
            rows: FloatArray = self.box.state_next_symbol(states)
        return rows
