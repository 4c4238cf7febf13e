"""The search for counterexamples: words on which box and automaton disagree.

Rare behaviour is not in words that are drawn. Half of the counterexamples are learnt from; the
others count where automata are compared, so that one which has learnt nothing of them is not taken.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.words import Symbol, Words
from seqray.extraction.conditional.answer_count import counted_answers
from seqray.extraction.conditional.gradient import reachable
from seqray.extraction.conditional.learner import ConditionalLearner
from seqray.extraction.conditional.parts import (
    Counterexamples,
    CounterexampleSearch,
    Learning,
    LearntPart,
    SearchOutcome,
)
from seqray.extraction.conditional.suffixes import frequent_endings
from seqray.fidelity.disagreements import disagreements, prefix_distances, shortest_disagreements
from seqray.fidelity.reference import Reference
from seqray.util.errors import Stopped

logger = logging.getLogger(__name__)

SymbolTuple = tuple[Symbol, ...]


def learn_from_counterexamples(learner: ConditionalLearner, learning: Learning) -> Learning:
    """Search for counterexamples and learn from them, while that brings automata nearer."""
    n_rounds = learner.job.request.counterexamples
    for number in range(n_rounds + 1 if n_rounds else 0):
        part = learning.part
        automaton, _ = learner.nearest(part, part.counterexamples.to_validate)
        try:
            words, search = find_counterexamples(learner, automaton, part, len(learning.searches))
        except Stopped as stopped:
            return replace(learning, stopped=stopped, search_stopped=stopped)
        learning = replace(learning, searches=(*learning.searches, search))
        if not words or number == n_rounds:
            break
        try:
            learning = _learn_from(learner, learning, words)
        except Stopped as stopped:
            learning = conclude(learning, SearchOutcome.STOPPED)
            return replace(learning, stopped=stopped, search_stopped=stopped)
        if learning.searches[-1].then is not SearchOutcome.LEARNT:
            break
    return learning


def find_counterexamples(
    learner: ConditionalLearner, automaton: WeightedAutomaton, part: LearntPart, number: int
) -> tuple[list[SymbolTuple], CounterexampleSearch]:
    """Return words on which box and automaton disagree much, and the record of the search.

    ``number`` is how many searches there were before: every search draws other words.
    """
    settings, meter, box = learner.settings, learner.meter, learner.box
    meter.check()
    phase = "searching for disagreements"
    with learner.job.timing("fill"), counted_answers(learner.job, meter, phase, 0):
        worst = disagreements(
            box,
            automaton,
            n_words=settings.n_counterexamples,
            n_drawn=int(max(10, min(500, meter.left / (12 * learner.word_length)))),
            max_length=min(learner.job.longest, settings.max_counterexample_length),
            seed=learner.job.request.seed + number,
        )
    distances = {each.word: each.distance for each in worst}
    distances |= _worst_prefixes(part.reference, automaton, settings.n_counterexamples)
    distances = _possible(learner, distances)
    largest = max(distances.values())
    shortest = min((word for word in distances if distances[word] >= 0.99 * largest), key=len)
    least = max(largest / 2, settings.min_distance)
    words = [word for word in distances if distances[word] > least]
    search = CounterexampleSearch(
        questions=meter.n_queries,
        states=automaton.n_states,
        distance=distances[shortest],
        after=box.alphabet.show(shortest),
        words=len(words),
        then=SearchOutcome.STAYS if words else SearchOutcome.NOTHING_TO_LEARN,
    )
    return words, search


def conclude(learning: Learning, outcome: SearchOutcome) -> Learning:
    """Record what came of the last search."""
    *others, last = learning.searches
    return replace(learning, searches=(*others, replace(last, then=outcome)))


def warn_of_unlearnt(learner: ConditionalLearner, learning: Learning, rank: int) -> None:
    """Warn where the search ended early, or where the chosen automaton is far from the box."""
    if learning.search_stopped:
        early = "the search for counterexamples ended early"
        none = "no counterexamples were searched for"
        what = early if learning.searches else none
        logger.warning("%s: %s", learning.search_stopped, what)
    last = [each for each in learning.searches if each.states == rank][-1:]
    for each in last:
        is_far = each.distance > learner.settings.max_learnt_distance
        if is_far and each.then is not SearchOutcome.LEARNT:
            logger.warning(
                "after %s box and automaton (%d states) give %.0f %% of the probability to "
                "different symbols, and that was not learnt",
                *(each.after, rank, 100 * each.distance),
            )


def _worst_prefixes(
    reference: Reference, automaton: WeightedAutomaton, n_words: int
) -> dict[SymbolTuple, float]:
    """Return the prefixes of words to learn from with the largest distances, and these."""
    distances = prefix_distances(reference, automaton)
    nodes = np.argsort(-distances, kind="stable")[:n_words]
    return dict(zip(reference.tree.words(nodes), distances[nodes].tolist(), strict=True))


def _possible(
    learner: ConditionalLearner, distances: dict[SymbolTuple, float]
) -> dict[SymbolTuple, float]:
    """Leave out words that the box says are impossible."""
    reference = Reference.query(learner.box, [*distances])
    possible = reachable(reference)[reference.tree.node_of_word].tolist()
    left = {word: distances[word] for word, can in zip(distances, possible, strict=True) if can}
    return left or dict.fromkeys([()], 0.0)


def _learn_from(
    learner: ConditionalLearner, learning: Learning, words: list[SymbolTuple]
) -> Learning:
    """Learn from half of the words; keep that only where it brings an automaton nearer."""
    settings, part = learner.settings, learning.part
    n_contexts = len(part.blocks.contexts)
    most = max(settings.min_counterexamples, n_contexts // settings.contexts_per_counterexample)
    to_learn = learner.query(words[::2][:most], part.counterexamples.to_learn)
    to_validate = learner.query(words[1::2] or words, part.counterexamples.to_validate)
    automaton, before = learner.nearest(part, to_validate)
    suffixes = _leading_suffixes(learner, part, to_learn, automaton)
    another = learner.learn(part.share, part, Counterexamples(to_learn, suffixes, to_validate))
    another, stopped = learner.fit_largest(another, learning.stopped)
    _, after = learner.nearest(another, to_validate)
    is_nearer = (
        after.score > before.score
        and after["ratio_per_symbol"] > before["ratio_per_symbol"] - settings.max_ratio_loss
        and after["ndcg5"] > before["ndcg5"] - settings.max_ndcg_loss
    )
    learning = replace(learning, part=another if is_nearer else part, stopped=stopped)
    return conclude(learning, SearchOutcome.LEARNT if is_nearer else SearchOutcome.NO_NEARER)


def _leading_suffixes(
    learner: ConditionalLearner,
    part: LearntPart,
    to_learn: Reference,
    automaton: WeightedAutomaton,
) -> Words:
    """Return the suffixes of a part, and frequent endings of what leads to the disagreements."""
    leading = shortest_disagreements(to_learn, automaton, learner.settings.min_distance)
    endings = frequent_endings(leading, learner.settings.n_endings)
    before = part.counterexamples.suffixes
    return endings if before is None else Words.concatenate([before, endings])
