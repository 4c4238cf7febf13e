from dataclasses import replace

import pytest

from conditional_boxes import SMALL
from seqray import extract, language_model
from seqray.automata.generators import random_structured
from seqray.automata.structured import StructuredAutomaton
from seqray.extraction.conditional import method
from seqray.extraction.conditional.spectral_copy import learn_spectral_copy
from seqray.extraction.settings import STRUCTURED
from structured_fits import leaking_box

LIMITS = {**SMALL, "max_rank": 3, "max_length": 15}


def box(n_states=4):
    return random_structured("abc", n_states, seed=0, mean_length=5)


def as_function(wa):
    """Return a box that predicts as an automaton does, but is none."""
    return language_model(wa.next_symbol, wa.alphabet)


def learnt(box, **options):
    """Learn from a box all but copies; return the learner and what was learnt."""
    recorded = []

    def record(learner, learning, best, _):
        recorded.append((learner, learning.part, best))
        return (), learning

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(method, "learn_copies", record)
        extract(box, **(LIMITS | options))
    return recorded[0]


def test_an_exact_spectral_copy_is_the_only_copy():
    extraction = extract(box(), **LIMITS)
    (copy,) = extraction.copies
    assert isinstance(copy.automaton, StructuredAutomaton)
    assert copy.fidelity["kl_per_symbol"] < STRUCTURED.exact_bits
    assert copy.n_states <= box().n_states
    assert extraction.best() is copy.automaton


def test_a_box_that_is_no_automaton_has_a_spectral_copy_too():
    copy, _ = learn_spectral_copy(*learnt(as_function(box())), STRUCTURED)
    assert copy is not None
    assert copy.n_states <= box().n_states


def test_free_queries_make_blocks_larger():
    learner, _, best = learnt(box(), n_prefixes=None)
    small = learner.learn(1 / 64)
    _, after = learn_spectral_copy(learner, small, best, STRUCTURED)
    assert after.share == 1


def test_a_copy_that_is_not_exact_is_returned_where_it_is_nearer_than_every_rank():
    learner, part, best = learnt(box())
    copy, _ = learn_spectral_copy(learner, part, best, replace(STRUCTURED, exact_bits=0))
    assert copy is not None
    assert copy.fidelity.is_nearer_than(best)
    nearest = copy.fidelity
    copy, _ = learn_spectral_copy(learner, part, nearest, replace(STRUCTURED, exact_bits=0))
    assert copy is None


def test_cheap_queries_make_blocks_larger_than_the_ranks_need_where_the_copy_is_nearer():
    settings = replace(STRUCTURED, exact_bits=0, near_bits=9, large_share=1.5)
    learner, part, best = learnt(box(), prefixes=None, suffixes=None, max_rank=1)
    _, after = learn_spectral_copy(learner, part, best, settings)
    assert after.share == 1.5
    assert len(after.blocks.contexts) > len(part.blocks.contexts)


def test_a_number_of_prefixes_that_is_given_is_not_exceeded():
    learner, part, best = learnt(box())
    _, after = learn_spectral_copy(learner, part, best, replace(STRUCTURED, exact_bits=0))
    assert after.share == 1


def test_a_copy_that_is_far_from_the_box_is_left_to_fits():
    learner, part, best = learnt(box())
    far = replace(STRUCTURED, exact_bits=0, near_bits=0)
    assert learn_spectral_copy(learner, part, best, far)[0] is None


def test_a_limit_on_the_cost_limits_the_states_after_a_symbol():
    learner, part, best = learnt(box(), max_cost=4)
    copy, _ = learn_spectral_copy(learner, part, best, replace(STRUCTURED, exact_bits=9))
    assert copy is not None
    assert copy.cost <= 4


def test_a_box_that_leaks_has_none():
    learner, part, best = learnt(leaking_box(), max_rank=1)
    copy, after = learn_spectral_copy(learner, part, best, STRUCTURED)
    assert copy is None
    assert after is part


def test_a_budget_that_larger_blocks_would_use_up_is_left_to_fits():
    wa = random_structured("abcd", 6, seed=1)
    learner, part, best = learnt(as_function(wa), budget=3000)
    part = replace(part, share=0.5)
    left = learner.meter.left
    assert left < 2 * learner.sizes.contexts * learner.sizes.columns
    _, after = learn_spectral_copy(learner, part, best, STRUCTURED)
    assert after is part
    assert learner.meter.left == left
