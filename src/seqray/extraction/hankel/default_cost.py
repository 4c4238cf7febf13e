"""What extraction by Hankel blocks costs with its default sizes."""

from seqray.automata.words import Alphabet
from seqray.extraction.basis import uniform_basis
from seqray.extraction.cost import DefaultCost
from seqray.extraction.hankel.plan import Plan
from seqray.extraction.hankel.sizes import N_PREFIXES, N_SUFFIXES
from seqray.util.random import Seed


def default_cost(alphabet: Alphabet, *, seed: Seed) -> DefaultCost:
    """Return about what the default extraction costs: half of it fills blocks, half finds them.

    Examples
    --------
    >>> default_cost(Alphabet("ab"), seed=0).n_words > 2_000
    True
    """
    plan = Plan.of(uniform_basis(alphabet, N_PREFIXES, N_SUFFIXES, seed=seed))
    n_words = 2 * plan.n_queries
    what = f"{N_PREFIXES} × {N_SUFFIXES} blocks, and finding them, take {n_words:,} words"
    return DefaultCost(n_words, 2 * plan.n_steps, what)
