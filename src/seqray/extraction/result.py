"""What an extraction returns: automata of every rank, how faithful they are, how they were made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.decisions import Question
from seqray.automata.guide import Guide
from seqray.automata.purpose import Purpose, named_purpose
from seqray.automata.ranks import RankedAutomata
from seqray.blackbox.box_record import BoxRecord
from seqray.blackbox.queries.noise import Noise
from seqray.blackbox.queries.oracle import QueryMode
from seqray.extraction import plots
from seqray.extraction.basis import Basis
from seqray.extraction.classes.candidates import QuestionScore
from seqray.extraction.conditional.parts import (
    ConditionalRound,
    CounterexampleSearch,
    SearchOutcome,
)
from seqray.extraction.hankel.rounds import HankelRound
from seqray.extraction.remarks import remarks
from seqray.extraction.request import Method
from seqray.extraction.structured.copies import Copy
from seqray.fidelity.objective import Objective
from seqray.fidelity.table import EXACT_TOLERANCE, FidelityTable
from seqray.util.arrays import FloatArray, whole_number
from seqray.util.display import Drawable
from seqray.util.errors import RankError, StopReason
from seqray.util.formatting import counted
from seqray.util.frames import data_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COUNTS = ("questions", "words", "contexts", "prefixes", "suffixes")
"""The fields of rounds that are counts."""

EARLIER_NAMES = {"asked": "query_mode"}
"""Settings of old run folders that have another name now."""


@dataclass(frozen=True, eq=False)
class ExtractionSettings(Mapping[str, Any]):
    """How an extraction was made, and what it cost.

    It is also a mapping from names to values as ``config.json`` holds them. There a field that is
    None is missing, but for ``max_length``; what ``about`` holds is there too.

    Parameters
    ----------
    method
        ``"paper"``, ``"weighted"`` or ``"conditional"``.
    query_mode
        How the box was queried: as an automaton, by states, next symbols or whole words.
    guide
        What the box was allowed to say; None: everything.
    basis
        Where prefixes and suffixes come from, in words.
    prefixes, suffixes
        How many of each the basis has.
    columns
        How many columns the blocks have; for the method ``"conditional"``.
    words_cut
        How many of the words drawn had not ended at the maximum length.
    objective
        What ranks were chosen by; None in run folders of versions that had no choice.
    max_rank, max_length, max_cost, max_states, seed, repeat
        The arguments of `seqray.extract`; ``max_rank`` is what the limits left of it.
    weighting
        The weights of rows and columns that were chosen, see `HankelBlocks.weights`.
    fitted_ranks
        The ranks at which an automaton was fitted, whether or not it was nearer to the box.
    questions
        How many queries were made, in words, prefixes or steps.
    validation_questions
        How many of them were for words to compare on, and for probes.
    queries_sent
        How many of them the answer cache did not answer.
    steps
        How many symbols a box with states read.
    classes, threshold
        Those of a classifier.
    question
        What its automata compute: decisions, probabilities or logits.
    question_scores
        How well the best automata of each question agree with it.
    rounds
        What each round of queries had cost, and how near to the box its automata were.
    counterexamples
        Each search for words on which box and automaton disagree.
    stopped
        Why the extraction ended early, in words; empty where it did not.
    stop_reason
        Which limit ended it early.
    noise
        How much the answers of the box differ from one time to the next.
    held_out_words
        How many words the ranks were compared on.
    held_out_length
        How many symbols the longest of them has; of a classifier.
    seconds
        By phase.
    python, numpy
        Versions.
    rank, rank_is_given
        The rank that was chosen when the run was saved, and whether that was by hand; earlier
        versions did not say.
    words, word_prefixes
        How many words, and prefixes of them, the ranks were compared on; of a saved run.
    recorded_box
        How the box was opened; None where that was not by a specification.
    about
        What else is known, such as the specification and the name of the box.

    Examples
    --------
    >>> settings = ExtractionSettings(method="weighted", questions=120, about={"box": "demo"})
    >>> settings.questions, settings["questions"], settings["box"], "rank" in settings
    (120, 120, 'demo', False)
    """

    method: str | None = None
    query_mode: QueryMode | None = None
    guide: Guide | None = None
    basis: str | None = None
    prefixes: int | None = None
    suffixes: int | None = None
    columns: int | None = None
    words_cut: int | None = None
    max_rank: int | None = None
    max_length: int | None = None
    max_cost: int | None = None
    max_states: int | None = None
    objective: Objective | None = None
    seed: int | None = None
    weighting: str | None = None
    fitted_ranks: Sequence[int] | None = None
    questions: int | None = None
    validation_questions: int | None = None
    queries_sent: int | None = None
    steps: int | None = None
    classes: Sequence[str] | None = None
    threshold: float | None = None
    question: Question | None = None
    question_scores: Sequence[QuestionScore] | None = None
    rounds: Sequence[HankelRound | ConditionalRound] | None = None
    counterexamples: Sequence[CounterexampleSearch] | None = None
    stopped: str = ""
    stop_reason: StopReason | None = None
    noise: Noise | None = None
    held_out_words: int | None = None
    held_out_length: int | None = None
    repeat: int = 1
    seconds: Mapping[str, float] = field(default_factory=dict)
    python: str | None = None
    numpy: str | None = None
    rank: int | None = None
    rank_is_given: bool | None = None
    words: int | None = None
    word_prefixes: int | None = None
    recorded_box: BoxRecord | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> ExtractionSettings:
        """Return the settings that a run folder holds; what an old one lacks is None.

        >>> ExtractionSettings.from_json({"box": "demo", "seed": 3})["seed"]
        3
        """
        document = {EARLIER_NAMES.get(name, name): value for name, value in document.items()}
        known = {each.name for each in fields(cls)} - {"about"}
        values = {name: value for name, value in document.items() if name in known}
        for name, read in READERS.items():
            if values.get(name) is not None:
                values[name] = read(values[name])
        about = {name: value for name, value in document.items() if name not in known}
        return cls(**values, about=about)

    @cached_property
    def _document(self) -> dict[str, Any]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        del values["about"]
        for name in READERS:
            values[name] = _to_json(values[name])
        shown = {k: v for k, v in values.items() if v is not None or k == "max_length"}
        return {**self.about, **shown}

    def __getitem__(self, name: str) -> Any:
        return self._document[EARLIER_NAMES.get(name, name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._document)

    def __len__(self) -> int:
        return len(self._document)


def _to_json(value: Any) -> Any:
    """Return a record, or several of them, as JSON holds it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, CounterexampleSearch | Guide):
        return value.to_json()
    if isinstance(value, tuple | list):
        return [_to_json(each) for each in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _read_rounds(rounds: Sequence[Mapping[str, Any]]) -> tuple[HankelRound | ConditionalRound, ...]:
    """Return the rounds of a run folder; what is no count in old ones is the score."""
    kinds = (HankelRound, ConditionalRound)
    known = [COUNTS, (*COUNTS, "ndcg5")]
    return tuple(
        kinds["contexts" in each](**_renamed(each, "score", known["score" in each]))
        for each in rounds
    )


def _read_searches(searches: Sequence[Mapping[str, Any]]) -> tuple[CounterexampleSearch, ...]:
    """Return the searches for counterexamples of a run folder."""
    known = [each.name for each in fields(CounterexampleSearch)]
    renamed = [_renamed(each, "distance", known) for each in searches]
    return tuple(
        CounterexampleSearch(**{**each, "then": SearchOutcome(each["then"])}) for each in renamed
    )


def _renamed(record: Mapping[str, Any], name: str, known: Sequence[str]) -> dict[str, Any]:
    """Return a record with the one field renamed that has another name in old run folders."""
    return {key if key in known else name: value for key, value in record.items()}


READERS: Mapping[str, Callable[[Any], Any]] = {
    "max_length": lambda length: whole_number("max_length", length, 0),
    "noise": lambda noise: Noise(**noise),
    "rounds": _read_rounds,
    "counterexamples": _read_searches,
    "stop_reason": StopReason,
    "query_mode": QueryMode,
    "objective": Objective,
    "question": Question,
    "guide": Guide.from_json,
    "recorded_box": BoxRecord.from_json,
    "question_scores": lambda scores: tuple(QuestionScore(**each) for each in scores),
}
"""How fields that are no plain values are read from ``config.json``."""


@dataclass(frozen=True, eq=False, repr=False)
class Extraction(Drawable):
    """What `extract` returns.

    Parameters
    ----------
    automata
        The automata of all ranks, and the singular values.
    basis
        The prefixes and suffixes that were queried.
    fidelity
        By rank, on words that were held out.
    settings
        How it was made: method, sizes, seed, queries, seconds, versions.
    copies
        Larger, structured automata that are nearer to the box than that of any rank, smaller ones
        first.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> extraction = seqray.extract(box, n_prefixes=30, n_suffixes=30)
    >>> extraction
    Extraction(ranks 1 … 1, best 1)
    >>> round(extraction.best().weight("ab"), 12)
    0.03125
    """

    automata: RankedAutomata
    basis: Basis
    fidelity: FidelityTable
    settings: ExtractionSettings
    copies: tuple[Copy, ...] = ()

    @property
    def singular_values(self) -> FloatArray:
        """The singular values of the block, largest first."""
        return self.automata.singular_values

    @property
    def max_rank(self) -> int:
        """The largest rank there is an automaton of."""
        return self.automata.max_rank

    @property
    def fitted(self) -> Mapping[int, WeightedAutomaton]:
        """By rank, probabilistic automata, where one is nearer to the box than that of the SVD."""
        return self.automata.fitted

    def automaton(self, rank: int) -> WeightedAutomaton:
        """Return the automaton with ``rank`` states; no second SVD is made."""
        return self.automata.automaton(rank)

    def best_rank(self, *, tolerance: float | None = None) -> int:
        """Return the smallest rank that on held-out words is within a tolerance of the best.

        What counts is `Fidelity.score`. Without a tolerance, a rank that was chosen by hand when a
        run was saved comes first, and then what `FidelityTable.best_rank` says.
        """
        if tolerance is None and self.settings.rank is not None:
            return self.settings.rank
        return self.fidelity.best_rank(tolerance)

    def best(
        self,
        *,
        purpose: str = Purpose.COPYING,
        max_cost: int | None = None,
        max_states: int | None = None,
        tolerance: float | None = None,
    ) -> WeightedAutomaton:
        """Return the most faithful automaton within limits.

        Parameters
        ----------
        purpose
            ``"copying"``: the largest copy, or where there is none the rank that is nearest to the
            box. ``"reading"``: the `best_rank`, which is smaller where that loses next to nothing.
        max_cost
            The most multiplications to read one symbol; n dense states need n². By default the
            limit of the extraction, if it had one.
        max_states
            The most states, with the same default.
        tolerance
            See `best_rank`.

        Examples
        --------
        >>> import seqray
        >>> box = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
        >>> seqray.extract(box, n_prefixes=30, n_suffixes=30).best(max_states=5)
        WeightedAutomaton(1 states, 2 symbols)
        """
        max_cost = self.settings.max_cost if max_cost is None else max_cost
        max_states = self.settings.max_states if max_states is None else max_states
        if named_purpose(purpose) is Purpose.COPYING and tolerance is None:
            for copy in reversed(self.copies):
                if copy.is_within(max_cost, max_states):
                    return copy.automaton
            if self.predicts and not self.has_given_rank:
                tolerance = EXACT_TOLERANCE
        most = self.max_rank if max_states is None else max_states
        if max_cost is not None:
            most = min(most, math.isqrt(max(max_cost, 0)))
        rank = self.best_rank(tolerance=tolerance)
        return self.automaton(rank if rank <= most else self._best_of_ranks(most, tolerance))

    def _best_of_ranks(self, most: int, tolerance: float | None) -> int:
        """Return the best of the ranks up to one."""
        ranks = [rank for rank in self.fidelity.ranks if rank <= most]
        if not ranks:
            raise RankError(f"no automaton has at most {most} states: expected 1 or more")
        some = FidelityTable(tuple(ranks), tuple(self.fidelity[rank] for rank in ranks))
        return some.best_rank(tolerance)

    @property
    def has_given_rank(self) -> bool:
        """Whether somebody chose a rank by hand when the run was saved."""
        return self.settings.rank is not None and self.settings.rank_is_given is not False

    @property
    def stop_reason(self) -> StopReason | None:
        """Which limit ended the extraction early; None where it is complete."""
        return self.settings.stop_reason

    @property
    def predicts(self) -> bool:
        """Whether the box predicts next symbols."""
        return "ndcg5" in self.fidelity.fidelities[0]

    @property
    def classifies(self) -> bool:
        """Whether the box is a classifier: automata have one output per class."""
        return self.settings.classes is not None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences for people: what smaller automata lose, and which limit may be too small."""
        return remarks(self)

    @property
    def compared_on(self) -> str:
        """Which words the ranks were compared on, for people."""
        if self.classifies:
            longest = self.settings.held_out_length
            of_length = "" if longest is None else f" of up to {counted(longest, 'symbol')}"
            return f"held-out words{of_length}, half of them near to rare classes"
        is_drawn = self.settings.method == Method.CONDITIONAL
        return "held-out words drawn from the box" if is_drawn else "held-out words"

    def plot_fidelity(self, metric: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Plot fidelity against the number of states, of ranks and copies; returns the axes.

        Parameters
        ----------
        metric
            The name of a metric, such as ``"kl_per_symbol"``; by default the fidelity score.
        ax
            The axes to plot on; by default those of a new figure.
        """
        rank = self.best_rank()
        return plots.plot_fidelity(self.fidelity, self.copies, rank, metric=metric, ax=ax)

    def plot_singular_values(self, *, ax: Axes | None = None) -> Axes:
        """Plot the singular values of the block, and the chosen rank; returns the axes.

        A new figure is made unless ``ax`` names axes to plot on.
        """
        return plots.plot_singular_values(self.singular_values, self.best_rank(), ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per rank and copy as a pandas data frame: sizes, score and metrics."""
        ranks = [("rank", n, n**2, each) for n, each in self.fidelity.items()]
        copies = [("copy", each.n_states, each.cost, each.fidelity) for each in self.copies]
        return data_frame(
            [
                {"kind": kind, "states": n, "cost": cost, "score": each.score, **each}
                for kind, n, cost, each in ranks + copies
            ]
        )

    def __repr__(self) -> str:
        ranks = f"Extraction(ranks 1 … {self.max_rank}, best"
        if not self.copies:
            return f"{ranks} {self.best_rank()})"
        number = "1 copy" if len(self.copies) == 1 else f"{len(self.copies)} copies"
        copying = f"{number}, best for copying {self.best().n_states:,} states"
        return f"{ranks} for reading {self.best_rank()}, {copying})"
