"""Sentences about an extraction: what smaller automata lose, and which limit may be too small."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from seqray.extraction.request import largest_rank
from seqray.extraction.settings import CONDITIONAL, STRUCTURED
from seqray.fidelity.objective import Objective
from seqray.fidelity.table import EQUAL_SCORES, EXACT_TOLERANCE, Fidelity
from seqray.util.errors import StopReason
from seqray.util.formatting import counted, significant
from seqray.util.parameter_names import parameter

if TYPE_CHECKING:
    from seqray.extraction.classes.candidates import QuestionScore
    from seqray.extraction.result import Extraction

SMALLER_TOLERANCE = 0.01
"""A smaller rank is worth a sentence if its score is that near to the best."""

MIN_SHARE_OF_COST = 0.5
"""A copy that costs less than this share of the limit is not limited by it."""


def remarks(extraction: Extraction) -> tuple[str, ...]:
    """Return what ranks were chosen by, what smaller automata lose, and which limits may bind."""
    if extraction.classifies:
        loss = _loss_of_smaller_rank(extraction)
        return (*_question(extraction), *loss, *_limit_of_ranks(extraction))
    chosen_by = *_chosen_by(extraction), *_guided(extraction)
    if extraction.copies:
        some = *_loss_of_smaller_copies(extraction), *_limit_of_copies(extraction)
    else:
        some = *_loss_of_smaller_rank(extraction), *_limit_of_ranks(extraction)
    return (*chosen_by, *_unfitted(extraction), *some, *_copy_left_out(extraction))


def _chosen_by(extraction: Extraction) -> Iterator[str]:
    """Say what ranks were chosen by, where that is not the default for the box."""
    objective = extraction.settings.objective
    default = Objective.NEXT if extraction.predicts else Objective.LOG
    if objective is not None and objective is not default:
        yield f"Ranks are chosen by {objective.measured} (objective {objective})."


def _guided(extraction: Extraction) -> Iterator[str]:
    """Say what the box was allowed to say, and that a rank knows it only nearly."""
    guide = extraction.settings.guide
    if guide is not None:
        yield (
            f"The box was guided by {guide}. Automata of a rank may give a small weight to words "
            "that the guide forbids, copies give them none."
        )


def _unfitted(extraction: Extraction) -> Iterator[str]:
    """Say that some small automata were not fitted when the extraction had to end."""
    settings, table = extraction.settings, extraction.fidelity
    if settings.fitted_ranks is None or settings.stop_reason in (None, StopReason.BUDGET):
        return
    left = set(CONDITIONAL.fitted_ranks) & set(table.ranks) - set(settings.fitted_ranks)
    ranks = [str(rank) for rank in sorted(left) if table.at(rank).score < 1 - EXACT_TOLERANCE]
    if ranks:
        yield (
            f"Not fitted before the end: {', '.join(ranks)} states. Those automata are as the SVD "
            "made them, and lose more than fitted ones."
        )


def _question(extraction: Extraction) -> Iterator[str]:
    """Say what the automata of a classifier compute, and why."""
    settings = extraction.settings
    scores = {each.question: each for each in settings.question_scores or ()}
    if settings.question is None or settings.question not in scores:
        return
    first = [scores[settings.question]]
    others = [one for name, one in scores.items() if name != settings.question]
    yield (
        f"The automaton computes the {settings.question} of each class. The agreement with the box "
        "decided on that, then how near the probabilities are, and only between equals the "
        f"number of states: {'; '.join(map(_question_score, first + others))}."
    )


def _question_score(score: QuestionScore) -> str:
    """Write how good the automata of a question are."""
    agreement, states = significant(100 * score.agreement, 4), counted(score.states, "state")
    text = f"{score.question} {agreement} % with {states}"
    if score.distance is None:
        return text
    return f"{text}, probabilities off by {score.distance:.3f}"


def _bits(fidelity: Fidelity) -> float:
    return fidelity["kl_per_symbol"]


def _loss_of_smaller_copies(extraction: Extraction) -> Iterator[str]:
    """Say what the automaton for reading loses, and the copy before the last."""
    rank, last = extraction.best_rank(), extraction.copies[-1]
    if last.fidelity.chosen_by is not Objective.NEXT:
        return
    more = _bits(extraction.fidelity.at(rank)) - _bits(last.fidelity)
    yield (
        f"The automaton for reading, of {counted(rank, 'state')}, loses {significant(more, 2)} "
        f"bits per symbol more than the copy of {counted(last.n_states, 'state')}."
    )
    if len(extraction.copies) > 1:
        smaller = extraction.copies[-2]
        more = _bits(smaller.fidelity) - _bits(last.fidelity)
        yield (
            f"The copy of {counted(smaller.n_states, 'state')} loses {significant(more, 2)} bits "
            f"per symbol more, with {smaller.cost:,} instead of {last.cost:,} multiplications."
        )


def _loss_of_smaller_rank(extraction: Extraction) -> Iterator[str]:
    """Say what a rank that is nearly as good as the chosen one loses."""
    chosen, table = extraction.best_rank(), extraction.fidelity
    smaller = table.best_rank(SMALLER_TOLERANCE)
    less, best = table.at(smaller), table.at(chosen)
    if smaller >= chosen or less.score >= best.score:
        return
    states = counted(smaller, "state")
    if best.chosen_by is Objective.NEXT and "kl_per_symbol" in best:
        more = significant(_bits(less) - _bits(best), 2)
        verb = "loses" if smaller == 1 else "lose"
        yield f"{states} {verb} {more} bits per symbol more than the {chosen} chosen."
    else:
        reached, score = significant(less.score, 4), significant(best.score, 6)
        verb = "reaches" if smaller == 1 else "reach"
        yield f"{states} {verb} a score of {reached}; the {chosen} chosen {score}."


def _limit_of_ranks(extraction: Extraction) -> Iterator[str]:
    """Say which limit the best rank lies at, where more states may still help."""
    table, settings = extraction.fidelity, extraction.settings
    best = table.best_rank()
    is_exact = table.at(best).score >= 1 - EXACT_TOLERANCE
    if best != settings.max_rank or is_exact or settings.stop_reason is not None:
        return
    n_symbols = len(extraction.automata.largest.alphabet)
    if best == largest_rank(n_symbols):
        yield (
            f"The best rank is the largest whose matrices fit into memory over {n_symbols:,} "
            f"symbols, {best}: fewer symbols allow more states."
        )
        return
    limit = "max_rank"
    if settings.max_states == best:
        limit = "max_states"
    elif settings.max_cost is not None and math.isqrt(settings.max_cost) == best:
        limit = "max_cost"
    yield (
        f"The best rank is the largest allowed, {best}: a larger {parameter(limit)} may be nearer "
        "to the box."
    )


def _limit_of_copies(extraction: Extraction) -> Iterator[str]:
    """Say that a larger copy may be nearer, where the largest allowed gained much."""
    settings, last = extraction.settings, extraction.copies[-1]
    before = extraction.copies[-2].fidelity if extraction.copies[1:] else extraction.fidelity.best
    limit = settings.max_cost or STRUCTURED.max_states[-1] ** 2
    gain = 1 - _bits(last.fidelity) / max(_bits(before), 1e-300)
    fitted = settings.rounds[-1].score if settings.rounds else math.nan
    if (
        abs(fitted - last.fidelity.score) <= EQUAL_SCORES  # no larger one was fitted
        and gain >= STRUCTURED.min_gain
        and _bits(last.fidelity) >= STRUCTURED.small_share * last.fidelity["entropy_per_symbol"]
        and last.cost >= MIN_SHARE_OF_COST * limit
        and settings.stop_reason is None
    ):
        yield (
            f"The last copy loses {100 * gain:.0f} % less than the automaton before it: a larger "
            f"{parameter('max_cost')}, above {limit:,}, may be nearer still."
        )


def _copy_left_out(extraction: Extraction) -> Iterator[str]:
    """Say that a copy was larger than a limit allows, and what it would have reached."""
    settings, copies = extraction.settings, extraction.copies
    limits = {"max_states": settings.max_states, "max_cost": settings.max_cost}
    given = [f"{parameter(name)} {n:,}" for name, n in limits.items() if n is not None]
    reached = copies[-1].fidelity if copies else extraction.fidelity.best
    fitted = settings.rounds[-1].score if settings.rounds else 0.0
    if given and fitted > reached.score + EQUAL_SCORES:
        scores = (significant(each, 6) for each in (fitted, reached.score))
        yield (
            "A larger copy, with a score of {} instead of {}, was left out: {} does not allow it."
        ).format(*scores, " or ".join(given))
