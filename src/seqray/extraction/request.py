"""What to extract: the parameters of `seqray.extract`, checked in one place."""

from __future__ import annotations

import enum
import logging
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from seqray.automata.purpose import Purpose, named_purpose
from seqray.automata.stepper import predicts
from seqray.automata.words import Word, Words
from seqray.blackbox.protocol import BlackBox, Classifier, allowed_length
from seqray.extraction.basis import Basis
from seqray.fidelity.objective import Objective
from seqray.util.arrays import whole_number
from seqray.util.errors import ArgumentError
from seqray.util.memory import byte_count

__all__ = ["BASES", "METHODS", "Method", "Purpose", "Request", "named_method", "named_purpose"]

logger = logging.getLogger(__name__)

MAX_MATRIX_NUMBERS = 2**25
"""The most numbers in the matrices of one automaton: 0.27 GB, and some copies are made of it."""


class Method(enum.StrEnum):
    """The methods to extract automata."""

    AUTO = "auto"
    PAPER = "paper"
    WEIGHTED = "weighted"
    CONDITIONAL = "conditional"


METHODS = {
    Method.AUTO.value: "conditional where the box predicts next symbols, weighted where not, or "
    "where the objective is weights",
    Method.PAPER.value: "raw blocks over a uniform basis, as in the paper",
    Method.WEIGHTED.value: "weighted blocks; the basis sampled from the box where it predicts, "
    "else grown; grown and raw blocks, too, where the objective is weights",
    Method.CONDITIONAL.value: "how contexts go on, and automata fitted to that; the box has to "
    "predict",
}
"""The methods by name, and what they do."""

BASES = ("sampled", "grown", "uniform")
"""Where prefixes and suffixes may come from, if no words are given."""

BasisChoice: TypeAlias = Basis | Words | Iterable[Word] | str | None
"""A basis, words to draw it from, one of `BASES`, or None: what the method says."""


@dataclass(frozen=True, eq=False)
class Request:
    """What to extract; the fields are the arguments of `seqray.extract`.

    Examples
    --------
    >>> Request(max_rank=0)
    Traceback (most recent call last):
    ...
    seqray.ArgumentError: max_rank: expected a whole number from 1, got 0
    """

    n_prefixes: int | None = None
    n_suffixes: int | None = None
    max_rank: int = 100
    method: Method = Method.AUTO
    basis: BasisChoice = None
    max_length: int | None = None
    target: float | None = None
    counterexamples: int = 0
    repeat: int = 1
    seed: int = 0
    purpose: Purpose = Purpose.COPYING
    max_cost: int | None = None
    max_states: int | None = None
    objective: Objective | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        optional = ("n_prefixes", "n_suffixes", "max_length", "max_cost", "max_states")
        least = dict.fromkeys((name for name in optional if getattr(self, name) is not None), 1)
        least |= {"max_rank": 1, "counterexamples": 0, "repeat": 1, "seed": 0}
        for name, smallest in least.items():
            object.__setattr__(self, name, whole_number(name, getattr(self, name), smallest))
        if isinstance(self.basis, str) and self.basis not in BASES:
            raise ArgumentError(f"basis: expected {', '.join(BASES)} or words, got {self.basis!r}")
        _check_target(self.target)
        if self.memory is not None:
            object.__setattr__(self, "memory", byte_count("memory", self.memory))
        object.__setattr__(self, "max_rank", self._max_rank_within_limits())

    def _max_rank_within_limits(self) -> int:
        """Return the largest rank that the limits allow; n states cost n² multiplications."""
        most = self.max_rank if self.max_cost is None else math.isqrt(self.max_cost)
        return min(self.max_rank, most, self.max_states or self.max_rank)

    def for_box(self, box: BlackBox) -> Request:
        """Return the request with the objective and method for a box, or say why it cannot be met.

        Examples
        --------
        >>> import seqray
        >>> box = seqray.black_box(lambda words: [len(word) for word in words], "ab")
        >>> Request().for_box(box).method
        <Method.WEIGHTED: 'weighted'>
        """
        allowed_length(box, self.max_length, 1)  # an error where the box cannot read such words
        if isinstance(box, Classifier):
            return self._for_classifier()
        if self.objective is Objective.DECISIONS:
            raise ArgumentError(
                "objective: expected next, weights or log, got decisions, and the box is no "
                "classifier: make it one with seqray.classifier, or with the task classification "
                "in its card"
            )
        objective = _chosen_objective(self.objective, predicts(box))
        request = replace(self, objective=objective, max_rank=self._rank_that_fits(box))
        request = replace(request, method=_chosen_method(request, predicts(box)))
        _check_method(request, predicts(box))
        return request

    def _rank_that_fits(self, box: BlackBox) -> int:
        """Return the largest rank, or a smaller one where its matrices would take too much memory.

        >>> import seqray
        >>> words = seqray.black_box(lambda words: [len(word) for word in words], range(10_000))
        >>> Request().for_box(words).max_rank
        57
        """
        n_symbols = len(box.alphabet)
        most = largest_rank(n_symbols)
        if most < self.max_rank:
            logger.warning(
                "%s symbols: automata have at most %d states, not %d, so that their matrices take "
                "no more than %.2g GB",
                *(f"{n_symbols:,}", most, self.max_rank, 8 * MAX_MATRIX_NUMBERS / 1e9),
            )
        return min(most, self.max_rank)

    def _for_classifier(self) -> Request:
        """Return the request for a classifier: one method is for all of them."""
        if self.objective not in (None, Objective.DECISIONS):
            raise ArgumentError(
                f"objective: expected decisions, got {self.objective}, and the box is a "
                "classifier: leave it out"
            )
        if self.method not in (Method.AUTO, Method.WEIGHTED) or self.counterexamples:
            raise ArgumentError(
                f"method: expected weighted or auto for a classifier, got {self.method}, and no "
                "counterexamples: they are searched for in every round"
            )
        if self.memory is not None:
            raise ArgumentError(
                f"memory: expected none for a classifier, got {self.memory:,} bytes: its blocks "
                "are always in memory; leave it out"
            )
        if isinstance(self.basis, str | Basis) and self.basis != "grown":
            raise ArgumentError(
                "basis: expected grown, or words to draw from, for a classifier: leave it out"
            )
        return replace(self, objective=Objective.DECISIONS, method=Method.WEIGHTED)

    @property
    def has_fixed_basis(self) -> bool:
        """Whether the prefixes and suffixes come neither from the box nor from given words."""
        if isinstance(self.basis, str):
            return self.basis != "sampled"
        return isinstance(self.basis, Basis)

    def grows_basis(self, *, box_predicts: bool) -> bool:
        """Return whether the basis is grown.

        That is on request, where the box cannot be sampled, and where heavy words decide.
        """
        if self.basis is None:
            by_weights = self.objective is Objective.WEIGHTS
            return self.method is Method.WEIGHTED and (by_weights or not box_predicts)
        return isinstance(self.basis, str) and self.basis == "grown"


def largest_rank(n_symbols: int) -> int:
    """Return the largest rank whose matrices have at most `MAX_MATRIX_NUMBERS` numbers.

    >>> largest_rank(10_000)
    57
    """
    return max(1, math.isqrt(MAX_MATRIX_NUMBERS // max(1, n_symbols)))


def named_method(name: str) -> Method:
    """Return the method of a name.

    >>> named_method("paper")
    <Method.PAPER: 'paper'>
    """
    if name not in METHODS:
        raise ArgumentError(f"method: expected one of {', '.join(METHODS)}, got {name!r}")
    return Method(name)


def _chosen_objective(objective: Objective | None, box_predicts: bool) -> Objective:
    """Return the objective: the requested one, or that of the kind of box."""
    if objective is Objective.NEXT and not box_predicts:
        raise ArgumentError(
            "objective: expected weights or log, got next, and the box does not predict next "
            "symbols: leave it out"
        )
    return objective or (Objective.NEXT if box_predicts else Objective.LOG)


def _chosen_method(request: Request, box_predicts: bool) -> Method:
    """Return the method to use: the requested one, or the best that box and basis allow."""
    if request.method is not Method.AUTO:
        return request.method
    by_weights = request.basis is None and request.objective is Objective.WEIGHTS
    if box_predicts and not request.has_fixed_basis and not by_weights:
        return Method.CONDITIONAL
    return Method.WEIGHTED


def _check_method(request: Request, box_predicts: bool) -> None:
    """Refuse a method that box, basis, target or counterexamples do not allow."""
    method = request.method
    if method is Method.CONDITIONAL:
        if request.has_fixed_basis or not box_predicts:
            needed = "a box that predicts next symbols"
            if request.has_fixed_basis:
                needed = "basis 'sampled' or words"
            raise ArgumentError(f"method: conditional needs {needed}: use 'weighted'")
        return
    grows = method is Method.WEIGHTED and request.grows_basis(box_predicts=box_predicts)
    if request.target is not None and not grows:
        raise ArgumentError(
            "target: only the method conditional, and a basis that is grown, stop early: this is "
            f"{method}, with another basis"
        )
    if request.counterexamples:
        raise ArgumentError(
            "counterexamples: expected a box that predicts next symbols and the method "
            f"conditional, this is {method}; a basis that is grown learns from some by itself, and "
            "seqray.disagreements (seqray evaluate --worst) shows what is left"
        )


def _check_target(target: float | None) -> None:
    if target is None:
        return
    if isinstance(target, bool) or not isinstance(target, int | float) or not 0 < target <= 1:
        raise ArgumentError(f"target: expected a number above 0 and up to 1, got {target!r}")
