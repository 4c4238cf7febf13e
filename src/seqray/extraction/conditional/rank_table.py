"""The rank table: of each rank the nearer automaton, that of the SVD or a fitted one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import RankedAutomata
from seqray.extraction.conditional.comparison import compare, is_exact, with_counterexamples
from seqray.extraction.conditional.counterexamples import conclude, find_counterexamples
from seqray.extraction.conditional.learner import ConditionalLearner, joined
from seqray.extraction.conditional.parts import Learning, LearntPart, SearchOutcome
from seqray.fidelity.disagreements import mean_word_distance
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import Fidelity, FidelityTable
from seqray.util.errors import Stopped


@dataclass(frozen=True, eq=False)
class RankTable:
    """The nearest automaton of every rank, and its fidelity.

    Parameters
    ----------
    svd
        The automata of the SVD, of every rank.
    fidelities
        The fidelity of the automaton of each rank.
    fitted
        The fitted automata that are nearer to the box than those of the SVD, by rank.
    fitted_ranks
        The ranks at which an automaton was fitted, nearer or not.
    """

    svd: RankedAutomata
    fidelities: Mapping[int, Fidelity]
    fitted: Mapping[int, WeightedAutomaton] = field(default_factory=dict)
    fitted_ranks: frozenset[int] = frozenset()

    @property
    def fidelity(self) -> FidelityTable:
        """The fidelity of every rank as a table."""
        return FidelityTable(tuple(self.fidelities), tuple(self.fidelities.values()))

    def automaton(self, rank: int) -> WeightedAutomaton:
        """Return the nearest automaton of a rank."""
        return self.fitted[rank] if rank in self.fitted else self.svd.automaton(rank)

    def with_fitted(self, automaton: WeightedAutomaton, fidelity: Fidelity) -> RankTable:
        """Return the table with a fitted automaton, where that is nearer than what is there."""
        rank = automaton.n_states
        table = replace(self, fitted_ranks=self.fitted_ranks | {rank})
        if rank in self.fidelities and fidelity.is_nearer_than(self.fidelities[rank]):
            fitted = {**self.fitted, rank: automaton}
            table = replace(table, fitted=fitted, fidelities={**self.fidelities, rank: fidelity})
        return table

    def with_counterexamples(self, counterexamples: Reference) -> RankTable:
        """Return the table with fidelities that count these counterexamples."""
        fidelities = {
            rank: with_counterexamples(fidelity, self.automaton(rank), counterexamples)
            for rank, fidelity in self.fidelities.items()
        }
        return replace(self, fidelities=fidelities)


def rank_table(learner: ConditionalLearner, learning: Learning) -> tuple[RankTable, Learning]:
    """Compare the automata of every rank, fit some of smaller ranks too, and keep the nearer ones.

    Return the table, and the learning with the searches and limits that were met.
    """
    part = learning.part
    table = _svd_table(learner, part)
    if part.fitted is not None:
        table = _with_fitted(learner, part, table, part.fitted)
    ranks = [
        rank
        for rank in learner.ranks_to_fit(part)
        if rank < part.svd.max_rank and not is_exact(table.fidelities[rank])
    ]
    if ranks:
        fitted, stopped = learner.fit_ranks(
            part, _words_to_fit(learner, ranks), warn=learning.stopped is None
        )
        learning = learning if stopped is None else replace(learning, stopped=stopped)
        for rank in sorted(fitted):
            table = _with_fitted(learner, part, table, fitted[rank])
    if learner.job.request.counterexamples:
        return _validate_choice(learner, learning, table)
    return table, learning


def _svd_table(learner: ConditionalLearner, part: LearntPart) -> RankTable:
    job, svd, counterexamples = learner.job, part.svd, part.counterexamples.to_validate
    fidelities = {}
    job.begin("comparing automata", "automata")
    with job.timing("choose"):
        for rank in range(1, svd.max_rank + 1):
            fidelities[rank] = compare(svd.automaton(rank), learner.held_out, counterexamples)
            if job.progress is not None:
                job.progress(rank, svd.max_rank)
    return RankTable(svd, fidelities)


def _words_to_fit(learner: ConditionalLearner, ranks: list[int]) -> dict[int, int]:
    """Return how many words an automaton of each rank is fitted to."""
    settings = learner.settings
    return {rank: max(settings.min_fitted_words, settings.words_per_state * rank) for rank in ranks}


def _with_fitted(
    learner: ConditionalLearner, part: LearntPart, table: RankTable, fitted: WeightedAutomaton
) -> RankTable:
    fidelity = compare(fitted, learner.held_out, part.counterexamples.to_validate)
    return table.with_fitted(fitted, fidelity)


def _validate_choice(
    learner: ConditionalLearner, learning: Learning, table: RankTable
) -> tuple[RankTable, Learning]:
    """Search for counterexamples of the rank that would be chosen, and let them count.

    What the automaton of largest rank has not learnt either does not count.
    """
    part, max_rank = learning.part, table.svd.max_rank
    counterexamples = part.counterexamples.to_validate
    searched = {max_rank}
    for _ in range(learner.job.request.counterexamples):
        rank = table.fidelity.best_rank()
        if rank in searched:
            break
        searched.add(rank)
        try:
            automaton, number = table.automaton(rank), len(learning.searches)
            words, search = find_counterexamples(learner, automaton, part, number)
            learning = replace(learning, searches=(*learning.searches, search))
            reference = learner.query(words, None) if words else None
        except Stopped as stopped:
            learning = replace(learning, stopped=stopped, search_stopped=stopped)
            break
        if reference is None:
            break
        distance = mean_word_distance(reference, table.automaton(max_rank))
        if distance > learner.settings.max_learnt_distance:
            break
        learning = conclude(learning, SearchOutcome.COUNTS)
        counterexamples = joined(counterexamples, reference)
        table = table.with_counterexamples(counterexamples)
    return table, learning
