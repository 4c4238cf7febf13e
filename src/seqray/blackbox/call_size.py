"""How many words one call of a function gets, by what its calls took so far."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

FIRST_WORDS_PER_CALL = 16
"""How many words the first call gets, at most."""

TARGET_CALL_SECONDS = 1.0
"""About how long the words of one call should take, without the fixed cost of a call."""

MAX_CALLS_PER_ESTIMATE = 16
"""After so many calls of about one size the costs are estimated anew: an outlier is forgotten."""


class Call(NamedTuple):
    """How many words a call had, and how long it took."""

    n_words: int
    seconds: float


@dataclass(eq=False)
class CallSize:
    """The number of words of the next call, adapted to the speed of a function.

    A call costs a fixed time and a time per word. Both are estimated from the last two calls of
    different sizes, one at least twice as large as the other. The size doubles while the words of a
    call take less than `TARGET_CALL_SECONDS`, or less than the fixed cost.

    Parameters
    ----------
    n_words
        The number of words of the next call.

    Examples
    --------
    >>> size = CallSize()
    >>> for _ in range(3):
    ...     size.adapt(size.n_words, 0.6)  # whatever the number of words
    >>> size.n_words
    128
    """

    n_words: int = FIRST_WORDS_PER_CALL
    _last: Call | None = field(default=None, init=False, repr=False)
    _other: Call | None = field(default=None, init=False, repr=False)
    _n_alike: int = field(default=0, init=False, repr=False)

    def adapt(self, n_words: int, seconds: float, timeout: float | None = None) -> None:
        """Choose the next size after a call; none that may take longer than ``timeout``."""
        self._remember(Call(n_words, seconds))
        ideal = self._ideal(n_words, seconds)
        if ideal < n_words / 2:
            self.n_words = min(self.n_words, max(1, int(ideal)))
        elif ideal >= 2 * n_words >= 2 * self.n_words and 2 * seconds <= (timeout or math.inf):
            self.n_words = 2 * n_words

    def _remember(self, call: Call) -> None:
        """Keep the last call, and the last one before it that had another size."""
        last = self._last or call
        few, many = sorted((call.n_words, last.n_words))
        self._n_alike += 1
        if many >= 2 * few:
            self._other, self._n_alike = last, 0
        elif self._n_alike > MAX_CALLS_PER_ESTIMATE:
            self._other, self._n_alike = None, 0
        self._last = call

    def _ideal(self, n_words: int, seconds: float) -> float:
        """Return the size at which the words of a call take as long as they should."""
        other = self._other
        if other is None or not max(n_words / other.n_words, other.n_words / n_words) >= 2:
            is_long = seconds > 2 * TARGET_CALL_SECONDS
            return n_words / 4 if is_long and self.n_words > 1 else 2 * n_words
        slope = (seconds - other.seconds) / (n_words - other.n_words)
        per_word = min(max(0.0, slope), seconds / n_words)
        fixed = seconds - per_word * n_words
        return max(TARGET_CALL_SECONDS, fixed) / per_word if per_word else math.inf
