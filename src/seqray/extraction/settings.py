"""Settings of the methods of extraction: what experts may tune, with the values that are used."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ConditionalSettings:
    """Settings of the conditional method; the defaults are what `seqray.extract` uses.

    Parameters
    ----------
    n_contexts, n_columns
        How many contexts, and columns of their conditional blocks, to query unless the caller says
        so: enough for most boxes.
    words_per_context
        How many words to learn from per context: 20,000 words for 1,500 contexts.
    min_words
        How many words to learn from at least, however small the budget is.
    part_shares
        Which share of all queries is sent first, and next, where there is a limit or a target.
    min_growth
        The next part has to be at least this many times as large as the one before.
    first_share_of_limits
        Which share of budget and time the first learning gets where counterexamples follow.
    max_block_share, block_share_of_budget
        Which share of the whole blocks are, and which share of a budget they take, where the
        automaton of the SVD is not the nearest one; all other queries are for words.
    fitted_ranks
        The ranks at which a probabilistic automaton is fitted; so is one of the largest rank.
    words_per_state, min_fitted_words
        How many words an automaton of one of these ranks is fitted to.
    batch_size
        How many words one step of the fit reads at most.
    n_epochs, min_steps
        How often the fit reads all words, and how many steps it takes at least.
    learning_rate
        The largest learning rate of the fit.
    max_fitted_numbers
        The most numbers in the matrices of a fitted automaton: over thousands of symbols only
        small ones are fitted.
    n_counterexamples
        How many words a search for counterexamples returns per method to find them.
    max_counterexample_length
        The length of the longest counterexample, in symbols.
    min_distance
        A counterexample has at least this total variation distance.
    contexts_per_counterexample, min_counterexamples
        One counterexample is learnt from per this many contexts, and at least so many.
    n_endings
        How many endings of the words that lead to a disagreement become suffixes.
    counterexample_share
        How much counterexamples count in the SVD and in the fit, relative to all other words.
    max_ratio_loss, max_ndcg_loss
        How much of the ratio per symbol, and of NDCG₅, on held-out words learning from
        counterexamples may cost.
    max_followed
        How many contexts with a symbol are read at most, per part, to follow symbols that are rare
        but frequent together.
    max_learnt_distance
        Above this total variation distance a behaviour counts as not learnt.

    Examples
    --------
    >>> ConditionalSettings(n_contexts=100).n_columns
    250
    """

    n_contexts: int = 1500
    n_columns: int = 250
    words_per_context: float = 40 / 3
    min_words: int = 20
    part_shares: tuple[float, ...] = (1 / 64, 1 / 16, 1 / 4, 1.0)
    min_growth: float = 1.5
    first_share_of_limits: float = 1 / 6
    max_block_share: float = 1 / 4
    block_share_of_budget: float = 1 / 2
    fitted_ranks: tuple[int, ...] = (2, 3, 5, 10, 20, 30, 50, 100)
    words_per_state: int = 200
    min_fitted_words: int = 1000
    batch_size: int = 512
    n_epochs: int = 6
    min_steps: int = 200
    learning_rate: float = 0.4
    max_fitted_numbers: int = 2**23
    n_counterexamples: int = 20
    max_counterexample_length: int = 30
    min_distance: float = 0.01
    contexts_per_counterexample: int = 10
    min_counterexamples: int = 8
    n_endings: int = 12
    counterexample_share: float = 0.1
    max_ratio_loss: float = 1e-2
    max_ndcg_loss: float = 1e-3
    max_followed: int = 500_000
    max_learnt_distance: float = 0.1


CONDITIONAL = ConditionalSettings()
"""The settings that `seqray.extract` uses."""


@dataclass(frozen=True)
class HankelSettings:
    """Settings of extraction by Hankel blocks; the defaults are what `seqray.extract` uses.

    Parameters
    ----------
    max_first_size
        The first basis, a uniform one, has at most this many prefixes and suffixes.
    batch_size
        How many words are drawn at once.
    max_heavy_batches
        After this many batches of heavy words, uniform words fill up what is missing.
    candidates_per_prefix
        This many times as many prefixes and suffixes are compared as are taken.
    n_continuations
        How many suffixes are compared to continue a word with one of them.
    n_long_continuations
        The same for words that are continued several times.
    min_relative_weight
        A word is continued only if its continuations weigh at least this much, relative to it.
    prefixes_per_counterexample
        One counterexample is learnt from per this many prefixes.
    max_independent_rows
        The most prefixes that are taken because their rows are linearly independent.
    min_gain, min_near_score
        A round has to lower what the automaton lacks to a score of 1 by this share, on the same
        words. Otherwise it is the last, unless the score is below ``min_near_score`` and the round
        before it did so.
    rank_tolerance
        A row counts as independent if what the rows before it leave of it is larger than this,
        relative to the largest row.

    Examples
    --------
    >>> HankelSettings(batch_size=64).n_continuations
    16
    """

    max_first_size: int = 75
    batch_size: int = 512
    max_heavy_batches: int = 30
    candidates_per_prefix: int = 3
    n_continuations: int = 16
    n_long_continuations: int = 4
    min_relative_weight: float = 1e-6
    prefixes_per_counterexample: int = 10
    max_independent_rows: int = 200
    min_gain: float = 0.2
    min_near_score: float = 0.9
    rank_tolerance: float = 1e-9


HANKEL = HankelSettings()
"""The settings that `seqray.extract` uses."""


@dataclass(frozen=True)
class StructuredSettings:
    """Settings of copies, which are structured automata; the defaults are what is used.

    Parameters
    ----------
    max_states, word_factors
        Copies of growing size: the most states of a context, and how many times as many words they
        learn from as the automata of every rank do.
    max_prefixes
        No copy learns from more prefixes of words.
    n_contexts, max_contexts
        A context is visited at least once in this many prefixes. It has at most so many symbols:
        all of these limits are tried.
    visits_per_state
        How often a context is visited for each state that it has.
    min_flow
        How often a symbol has to follow a context to have a matrix of its own.
    min_position_bits
        How much positions have to say about what comes next, in bits per symbol, to have classes.
    exact_bits, small_share, min_gain
        There are no copies where the divergence of a rank, in bits per symbol, is this small. They
        do not grow any more where theirs is this small a share of the box's entropy, or where it
        fell by less than this share.
    max_behind
        A structure of longer contexts is tried no further if its divergence is this many times that
        of the nearest. One of shorter contexts never is: more words would help it less.
    max_tie
        Nor is the nearest, where the divergence of a structure of longer contexts is at most this
        many times its own.
    max_spectral_cost
        The most multiplications per symbol of a spectral copy, where the caller gives no limit.
    large_share
        How large blocks for a spectral copy may be, as a share of all queries, where queries are
        cheap: 6 means four times as many contexts and 1.6 times as many columns.
    near_bits
        A spectral copy that is nearer than every rank is taken, and none is fitted, where it loses
        less than this, in bits per symbol.
    n_epochs, min_epochs, max_reads, min_steps
        How often a fit reads all words: fewer times where it would read more prefixes than
        ``max_reads``, but at least ``min_epochs`` times. It takes at least ``min_steps`` steps.
    learning_rate
        The largest learning rate of a fit.
    batch_prefixes, max_batches, min_batches
        About how many prefixes one step reads; more where there would be too many batches, fewer
        where there would be too few.
    n_checks, max_rise
        How often the divergence on validation words is measured during a fit, and up to which
        ratio to the best one it may rise.

    Examples
    --------
    >>> StructuredSettings(max_states=(4, 8), word_factors=(1, 2)).n_contexts
    1000
    """

    max_states: tuple[int, ...] = (12, 32, 64)
    word_factors: tuple[float, ...] = (1, 4, 20)
    max_prefixes: int = 4_000_000
    n_contexts: int = 1000
    max_contexts: tuple[int, ...] = (8, 2, 1)
    visits_per_state: float = 50
    min_flow: float = 30
    min_position_bits: float = 0.02
    exact_bits: float = 2e-5
    small_share: float = 2e-5
    min_gain: float = 0.08
    max_behind: float = 2.0
    max_tie: float = 1.02
    max_spectral_cost: int = 10_000
    large_share: float = 6.0
    near_bits: float = 1e-3
    n_epochs: int = 5
    min_epochs: int = 3
    max_reads: int = 12_000_000
    min_steps: int = 150
    learning_rate: float = 0.2
    batch_prefixes: int = 16_000
    max_batches: int = 120
    min_batches: int = 8
    n_checks: int = 5
    max_rise: float = 5.0

    def within_cost(self, max_cost: int | None) -> StructuredSettings:
        """Return the settings with the sizes of copies that read a symbol at a cost.

        A context of n states takes n² multiplications at most. The largest size is the limit
        itself where the limit is another than one of the sizes.

        >>> settings = StructuredSettings(max_states=(12, 32), word_factors=(1, 4))
        >>> settings.within_cost(400).max_states, settings.within_cost(10_000).max_states
        ((12, 20), (12, 32, 100))
        """
        if max_cost is None:
            return self
        most = math.isqrt(max_cost)
        sizes = (*(size for size in self.max_states if size < most), most)
        factors = (*self.word_factors, self.word_factors[-1])[: len(sizes)]
        return replace(self, max_states=sizes, word_factors=factors)


STRUCTURED = StructuredSettings()
"""The settings that `seqray.extract` uses."""
