"""Records of the conditional method: how large a part of all queries is, and what it taught."""

from __future__ import annotations

import enum
import math
from dataclasses import asdict, dataclass
from typing import Any

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import RankedAutomata
from seqray.automata.words import Words
from seqray.extraction.conditional.blocks import ConditionalBlocks
from seqray.extraction.settings import CONDITIONAL, ConditionalSettings
from seqray.fidelity.reference import Reference
from seqray.util.errors import Stopped


@dataclass(frozen=True)
class PartSizes:
    """How much is queried: words, contexts among their prefixes, and columns of their blocks.

    Examples
    --------
    >>> PartSizes(20_000, 1500, 250).share(1 / 16)
    PartSizes(words=1250, contexts=188, columns=125)
    """

    words: int
    contexts: int
    columns: int

    def share(self, share: float, settings: ConditionalSettings = CONDITIONAL) -> PartSizes:
        """Return the sizes of a part that costs this share of the queries.

        A smaller part has shorter rows, and so keeps more of the contexts.
        """
        return PartSizes(
            max(settings.min_words, math.ceil(share * self.words)),
            math.ceil(share**0.75 * self.contexts),
            math.ceil(share**0.25 * self.columns),
        )


@dataclass(frozen=True)
class ConditionalRound:
    """One part: the queries up to then, and the fidelity of the automaton of largest rank.

    ``ndcg5`` is None for runs that were saved before it was recorded.
    """

    questions: int
    words: int
    contexts: int
    score: float
    ndcg5: float | None = None


class SearchOutcome(enum.Enum):
    """What came of a search for counterexamples; the values are what run folders hold."""

    NOTHING_TO_LEARN = "nothing to learn"
    """There are no counterexamples."""
    LEARNT = "learnt"
    """Half of them were learnt from."""
    NO_NEARER = "no nearer"
    """Learning from them brought no automaton nearer to the box."""
    STOPPED = "stopped"
    """A limit ended the learning."""
    COUNTS = "counts"
    """They count where the rank is chosen."""
    STAYS = "stays"
    """None of that: the disagreement stays."""


@dataclass(frozen=True)
class CounterexampleSearch:
    """A search for words on which the box and an automaton disagree.

    Parameters
    ----------
    questions
        How many queries were sent up to then.
    states
        How many states the automaton has.
    distance
        The largest total variation distance between the next-symbol distributions of the two.
    after
        The word after which they have it.
    words
        How many words have at least half that distance.
    then
        What came of it.
    """

    questions: int
    states: int
    distance: float
    after: str
    words: int
    then: SearchOutcome

    def to_json(self) -> dict[str, Any]:
        """Return the record as run folders hold it."""
        return asdict(self) | {"then": self.then.value}


@dataclass(frozen=True, eq=False)
class Counterexamples:
    """Words on which box and automaton disagreed, as far as they are used.

    Parameters
    ----------
    to_learn
        What the box predicts for those that are learnt from; None: there are none yet.
    suffixes
        Frequent endings of what leads to the disagreements: columns of the blocks.
    to_validate
        What the box predicts for those on which automata are compared.
    """

    to_learn: Reference | None = None
    suffixes: Words | None = None
    to_validate: Reference | None = None


@dataclass(frozen=True, eq=False)
class LearntPart:
    """What was learnt from a part of all queries.

    Parameters
    ----------
    share
        Which share of all queries the part is.
    reference
        What the box predicts for the words to learn from.
    blocks, svd
        The conditional blocks of these words, and their decomposition.
    n_block_queries
        How many queries it took to fill the blocks.
    counterexamples
        The counterexamples that are used.
    fitted
        The probabilistic automaton of the largest rank; None: there is none.
    """

    share: float
    reference: Reference
    blocks: ConditionalBlocks
    svd: RankedAutomata
    n_block_queries: int
    counterexamples: Counterexamples
    fitted: WeightedAutomaton | None = None

    @property
    def largest(self) -> WeightedAutomaton:
        """The automaton of the SVD of largest rank."""
        return self.svd.automaton(self.svd.max_rank)


@dataclass(frozen=True, eq=False)
class Learning:
    """How far the learning has come.

    Parameters
    ----------
    part
        The largest part that was learnt.
    rounds
        One record per part whose fidelity was measured.
    searches
        One record per search for counterexamples.
    stopped
        Which limit ended the learning early; None: it is complete.
    search_stopped
        Which limit ended the search for counterexamples early.
    """

    part: LearntPart
    rounds: tuple[ConditionalRound, ...] = ()
    searches: tuple[CounterexampleSearch, ...] = ()
    stopped: Stopped | None = None
    search_stopped: Stopped | None = None
