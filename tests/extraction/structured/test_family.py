from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from seqray import WeightedAutomaton
from seqray.extraction.settings import StructuredSettings
from seqray.extraction.structured.family import (
    NO_POSITIONS,
    Candidate,
    Structure,
    candidates,
    layout_for,
    promising_structures,
)
from seqray.extraction.structured.fit import FitWords, StructuredFit, fit_structured
from structured_fits import contexts_of, drawn, fixed_length_box, last_symbol_box, leaking_box

SETTINGS = StructuredSettings(
    max_states=(2, 4),
    word_factors=(1, 2),
    max_contexts=(2, 1),
    n_contexts=50,
    visits_per_state=20,
    min_steps=30,
    n_epochs=2,
)


def words_of(box, n_words=300, *, leaks=False):
    return FitWords(drawn(box, n_words), leaks)


class Fitter:
    """Fits structures, and records them."""

    def __init__(self, words, settings=SETTINGS):
        self.words, self.settings, self.fits = words, settings, []

    def __call__(self, structures):
        fits = [Candidate(each, self.fit(each)) for each in structures]
        self.fits += fits
        return fits

    def fit(self, structure):
        layout = layout_for(structure, self.words, self.settings.max_states[0], self.settings)
        return fit_structured(layout, self.words, self.words, seed=0, settings=self.settings)


def chosen(box, settings=SETTINGS, **kind):
    words = words_of(box, **kind)
    fit = Fitter(words, settings)
    ranked = candidates(words, fit, settings)
    assert sorted(fit.fits, key=lambda each: each[1].divergence) == ranked
    return ranked[0].structure, fit.fits


def hidden_box():
    """Return a box whose hidden state says more than any last symbols, and no position."""
    to_a, to_b = [[0.75, 0.0], [0.15, 0.1]], [[0.05, 0.1], [0.0, 0.65]]
    return WeightedAutomaton("ab", [0.5, 0.5], [to_a, to_b], [0.1, 0.1])


def test_words_of_one_length_have_position_classes():
    structure, fits = chosen(fixed_length_box(8))
    assert structure.position_begins.tolist() == [8]
    assert len(fits) > 1


@pytest.mark.parametrize(("box", "leaks"), [(hidden_box, False), (leaking_box, True)])
def test_where_the_position_says_nothing_there_are_no_classes(box, leaks):
    structure, fits = chosen(box(), replace(SETTINGS, exact_bits=-1), leaks=leaks)
    assert structure.position_begins.tolist() == []
    tried = [(each.max_context, len(each.position_begins)) for each, _ in fits]
    assert tried == [(2, 0), (1, 0)]


def test_where_the_first_structure_is_exact_no_other_is_tried():
    structure, fits = chosen(last_symbol_box())
    assert len(fits) == 1
    assert structure.max_context == SETTINGS.max_contexts[0]
    assert structure.position_begins is NO_POSITIONS


def test_a_context_has_the_more_states_the_more_often_it_is_visited():
    words = words_of(leaking_box(), leaks=True)
    layout = layout_for(Structure(2, NO_POSITIONS), words, 30, SETTINGS)
    tree, visits = words.followed.tree, words.followed.visits
    contexts = contexts_of(words.reference.words, visits.sum() / SETTINGS.n_contexts)
    assert list(layout.contexts.endings) == list(contexts.endings)
    n_visits, n_prefixes = Counter(), Counter()
    for node, context in enumerate(contexts.of_nodes(tree).tolist()):
        n_visits[context] += visits[node]
        n_prefixes[context] += 1
    for context, size in enumerate(layout.sizes.tolist()):
        wanted = int(n_visits[context] / SETTINGS.visits_per_state + 1e-6)
        assert size == min(max(1, min(wanted, n_prefixes[context])), 30)
    assert len(set(layout.sizes.tolist())) > 2
    assert layout.n_outcomes == 4


@pytest.mark.parametrize("most", [1, 3, 100])
def test_no_context_has_more_states_than_the_limit_or_than_prefixes(most):
    words = words_of(leaking_box(), leaks=True)
    layout = layout_for(Structure(2, np.array([3])), words, most, SETTINGS)
    assert 1 <= layout.sizes.min() <= layout.sizes.max() <= most
    assert layout.sizes[layout.contexts.start] == 1
    assert layout.position_begins.tolist() == [3]


def test_pairs_remember_where_symbols_follow_often():
    words = words_of(leaking_box(), leaks=True)
    rare, none = (
        layout_for(
            Structure(1, NO_POSITIONS),
            words,
            4,
            replace(SETTINGS, min_flow=flow),
        )
        for flow in (0, 1e9)
    )
    np.testing.assert_array_equal(rare.remembers, rare.sizes[rare.contexts.next_context] > 1)
    assert rare.remembers.any()
    assert not none.remembers.any()


def ranked_by(*divergences):
    """Return candidates with a longest context and a divergence each."""
    return [
        Candidate(Structure(max_context, NO_POSITIONS), StructuredFit(None, None, bits, 1))
        for max_context, bits in divergences
    ]


def test_longer_contexts_that_are_not_far_behind_are_tried_further():
    ranked = ranked_by((2, 0.1), (1, 0.11), (8, 0.15))
    tried = [each.max_context for each in promising_structures(ranked, SETTINGS)]
    assert tried == [2, 8]


def test_longer_contexts_that_are_as_near_replace_the_nearest():
    ranked = ranked_by((2, 0.1), (8, 0.1019), (1, 0.15))
    tried = [each.max_context for each in promising_structures(ranked, SETTINGS)]
    assert tried == [8]


def test_longer_contexts_that_are_far_behind_are_not_tried_further():
    ranked = ranked_by((1, 0.1), (2, 0.15), (8, 0.3))
    tried = [each.max_context for each in promising_structures(ranked, SETTINGS)]
    assert tried == [1, 2]
