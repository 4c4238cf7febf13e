"""Filling Hankel blocks: plan the questions, then ask each word once.

Rows uσ that are no prefixes themselves (the *leaves* of the tree of rows) are asked in full. Every
other row u is then known already: f(u·σv) stands in row uσ, column v. A box with states reads every
row once and goes on from its state into the tree of suffixes; any other box is asked about words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from seqray.automata.algebra import reverse
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.stepper import Stepper, collect, read_each
from seqray.automata.tree import PrefixTree, States, walk
from seqray.automata.words import Words
from seqray.blackbox.protocol import (
    WORDS_PER_QUERY,
    BlackBox,
    checked_answers,
    name_of,
    query_weights,
)
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.blackbox.queries.answer_cache import word_keys
from seqray.blackbox.queries.meter import Meter
from seqray.blackbox.queries.oracle import KeptBlocks, MeteredBox
from seqray.extraction.basis import Basis
from seqray.extraction.hankel.blocks import HankelBlocks, row_tree
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import BlackBoxError, Stopped, StopReason
from seqray.util.progress import Progress

LANES = 64
"""Rows that go through the tree of suffixes together: few, so that siblings share a batch."""

STATES = 4096
"""States of a box that are stepped at once: few enough for a network's to stay in the cache."""

CHECK_SHARE, FEWEST_CHECKED = 16, 4
"""A check of a cached block takes one in so many of its steps, and at least so many words."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What has to be asked to fill the blocks of a basis.

    Parameters
    ----------
    basis
        The prefixes and suffixes.
    tree
        The rows, see `seqray.extraction.hankel.blocks.row_tree`.
    leaves
        The rows to ask in full.
    first, rest
        Of every suffix its first symbol, and which suffix remains without it: -1 where that is no
        suffix of the basis, or where there is no first symbol.
    lonely
        The suffixes whose rest is no suffix.
    row, column
        Of every prefix with every lonely suffix, which other row and column have the same word,
        shape ``(n_prefixes, n_lonely)``. Where none has, the row is -1 and the column says which
        of ``extra`` it is.
    extra
        Words that no row answers.
    """

    basis: Basis
    tree: PrefixTree
    leaves: IntArray
    first: IntArray
    rest: IntArray
    lonely: IntArray
    row: IntArray
    column: IntArray
    extra: Words

    @classmethod
    def of(cls, basis: Basis) -> Plan:
        """Plan the questions for a basis."""
        tree = row_tree(basis)
        goes_on = np.diff(tree.first_child) > 0
        # Backwards, the rest of a suffix is its parent.
        mirror = PrefixTree.of(basis.suffixes.reversed())
        nodes = mirror.node_of_word
        column_of_node = np.full(len(mirror), -1)
        column_of_node[nodes] = np.arange(len(nodes))
        first = mirror.symbol[nodes]
        rest = np.where(nodes > 0, column_of_node[mirror.parent[nodes]], -1)
        lonely = np.flatnonzero((rest < 0) & (first >= 0))
        # Follow lonely suffixes down the rows: where one ends, or leaves the rows by a leaf with
        # a suffix still to read, the word is asked there.
        row = np.repeat(tree.node_of_word[:, None], len(lonely), axis=1)
        tail = np.repeat(nodes[None, lonely], len(row), axis=0)
        while (moves := goes_on[row] & (tail > 0)).any():
            row[moves] = tree.first_child[row[moves]] + mirror.symbol[tail[moves]]
            tail[moves] = mirror.parent[tail[moves]]
        column = column_of_node[tail]
        unknown = np.nonzero(column < 0)
        keys = row[unknown] * len(mirror) + tail[unknown]
        _, one, column[unknown] = np.unique(keys, return_index=True, return_inverse=True)
        row[unknown] = -1
        chosen = lonely[unknown[1][one]]
        extra = basis.prefixes.joined(unknown[0][one], basis.suffixes, chosen)
        leaves = np.flatnonzero(~goes_on)
        return cls(basis, tree, leaves, first, rest, lonely, row, column, extra)

    @property
    def empty(self) -> int:
        """The column of the empty suffix."""
        return int(self.first.argmin())

    @property
    def n_questions(self) -> int:
        """How many distinct words have to be asked."""
        answered = len(self.leaves) * len(self.basis.suffixes) + len(self.basis.prefixes)
        return answered + len(self.extra)

    @property
    def n_steps(self) -> int:
        """How many steps a box with states takes, or how many prefixes a model is asked about."""
        n_suffixes, n_extra = (
            len(PrefixTree.of(words)) for words in (self.basis.suffixes, self.extra)
        )
        return len(self.basis.prefixes) + n_extra - 2 + len(self.leaves) * n_suffixes

    def cost(self, box: BlackBox) -> int:
        """Return how many questions that is to a box."""
        return self.n_steps if isinstance(box, Stepper) else self.n_questions


def fill(
    box: BlackBox,
    basis: Basis,
    *,
    progress: Progress | None = None,
    kept: KeptBlocks | None = None,
) -> HankelBlocks:
    """Ask a black box for all values of the Hankel blocks of a basis.

    Parameters
    ----------
    box
        What to ask. A box with states (a `seqray.automata.stepper.Stepper`) reads no prefix twice.
    basis
        The prefixes and suffixes.
    progress
        Called as answers come in.
    kept
        Where the answers of a box with states are kept, and are looked for first.

    Examples
    --------
    >>> import seqray
    >>> wa = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> basis = seqray.uniform_basis(wa.alphabet, 30, 20, seed=np.random.default_rng(0))
    >>> blocks = fill(wa, basis)
    >>> bool(np.allclose(blocks.block("a"), 0.5 * blocks.block()))
    True
    """
    return _filled(box, Plan.of(basis), progress, kept)


def _filled(
    box: BlackBox, plan: Plan, progress: Progress | None, kept: KeptBlocks | None
) -> HankelBlocks:
    """Ask all that a plan says."""
    box.alphabet.words(plan.basis.prefixes)  # refuses symbols that the box does not know
    values = np.empty((len(plan.tree), len(plan.basis.suffixes)))
    done = 0

    def answered(n: int) -> None:
        nonlocal done
        done += n
        if progress is not None:
            progress(done, plan.n_questions)

    if isinstance(box, WeightedAutomaton):
        n_steps = _fill_by_product(box, plan, values, answered)
    else:
        if isinstance(box, Stepper):
            extra = _fill_by_states(box, plan, values, answered, kept)
            n_steps = plan.n_steps
        else:
            extra, n_steps = _fill_by_words(box, plan, values, answered), 0
        _complete(plan, values, extra)
    return HankelBlocks(plan.basis, values, done, n_steps)


MORE = 1.05
"""Where answers were known, a part that is so many times as large may be filled after all."""

STAGES = {
    "words": tuple(2 ** (-k / 2) for k in range(12, -1, -1)),
    "states": (1 / 16, 1 / 4, 1 / 2, 1),
}
"""How large a part of the basis is filled first where time may be short, and next, and last.

Answers that are kept cost nothing the second time, so that a box that is asked takes small steps;
states are computed again, which makes four stages a third dearer than the last one alone.
"""


def fill_within(
    box: BlackBox,
    basis: Basis,
    meter: Meter,
    *,
    progress: Progress | None = None,
    kept: KeptBlocks | None = None,
) -> tuple[HankelBlocks, Stopped | None]:
    """Fill the blocks of a basis, or of as large a part of it as the limits allow.

    Parameters
    ----------
    box
        What to ask, as `seqray.blackbox.queries.oracle.attended` returned it.
    basis, progress, kept
        As for `fill`.
    meter
        The limits. A budget is planned with; time that runs out, or somebody who says stop, ends
        the filling of a part, and the part before it is returned.

    Returns
    -------
    blocks, stopped
        What was filled, and why it is not all; None where it is.
    """
    asked = isinstance(box, QueriedBox | QueriedModel)
    patient = meter.seconds is None and not (asked and meter.stop)
    stages = (1,) if patient else STAGES["words" if asked else "states"]
    again = 1.0 if asked else sum(stage**2 for stage in stages)
    plan, cut = _affordable(box, basis, meter, again)
    filled: HankelBlocks | None = None
    n_questions, furthest, cost = plan.n_questions, 0, 0

    def report(done: int, n_part: int) -> None:
        nonlocal furthest
        furthest = max(furthest, done)
        if progress is not None:
            progress(furthest, max(furthest, n_questions))
        if done < n_part:
            meter.check()

    while plan.cost(box) > MORE * cost:
        cost = plan.cost(box)
        for stage in stages if filled is None else (1,):
            part = plan if stage == 1 else Plan.of(plan.basis.share(stage))
            try:
                filled = _filled(box, part, report, kept)
            except Stopped as stopped:
                if filled is None:
                    raise
                return filled, stopped
        if cut is None or not asked:
            break
        plan, cut = _affordable(box, basis, meter, again, cost)  # much may have been known
    assert filled is not None
    return filled, cut


def _affordable(
    box: BlackBox, basis: Basis, meter: Meter, again: float, known: int = 0
) -> tuple[Plan, Stopped | None]:
    """Return the plan for the largest share of a basis that the budget allows, and why not all.

    All its stages together cost ``again`` times as much as the last one; so many questions as are
    ``known`` are answered.
    """
    whole = Plan.of(basis)
    if meter.budget is None or isinstance(box, WeightedAutomaton):
        return whole, None

    def fits(plan: Plan) -> bool:
        return again * (plan.cost(box) - known) <= meter.left

    if fits(whole):
        return whole, None
    largest: Plan | None = None
    low, high = 0.0, 1.0
    while (high - low) * max(len(basis.prefixes), len(basis.suffixes)) > 1:
        middle = (low + high) / 2
        plan = Plan.of(basis.share(middle))
        if fits(plan):
            low, largest = middle, plan
        else:
            high = middle
    if largest is None:
        raise Stopped(
            StopReason.BUDGET,
            f"the budget of {meter.budget} questions is too small to fill any block",
        )
    return largest, meter.no_more()


def _fill_by_product(
    box: WeightedAutomaton, plan: Plan, values: FloatArray, answered: Callable[[int], None]
) -> int:
    """Fill all rows from an automaton's forward and backward states: f(uv) = α₀M_u · M_vα∞."""
    suffixes = PrefixTree.of(plan.basis.suffixes.reversed())
    mirror = reverse(box)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is named below
        forward = collect(box, plan.tree, box.state_vectors)
        backward = collect(mirror, suffixes, mirror.state_vectors)
        np.matmul(forward, backward[suffixes.node_of_word].T, out=values)
    _finite(values, plan.tree, np.arange(len(values)))
    answered(plan.n_questions)
    return len(plan.tree) + len(suffixes) - 2


def _fill_by_states(
    box: Stepper,
    plan: Plan,
    values: FloatArray,
    answered: Callable[[int], None],
    kept: KeptBlocks | None,
) -> FloatArray:
    """Fill the leaf rows, and the empty suffix of the others, from states; return the extra."""
    basis, tree = plan.basis, plan.tree
    prefix_tree, suffix_tree = PrefixTree.of(basis.prefixes), PrefixTree.of(basis.suffixes)
    row_of_node = np.empty(len(prefix_tree), np.int64)
    row_of_node[prefix_tree.node_of_word] = tree.node_of_word
    children = np.arange(len(basis.alphabet))
    for nodes, states in walk(box, prefix_tree, box.start()):
        rows = row_of_node[nodes]
        values[rows, plan.empty] = _finite(box.state_weights(states), tree, rows)
        answered(len(rows))
        below = tree.first_child[rows][:, None] + children
        parents, symbols = np.nonzero(tree.first_child[below] == tree.first_child[below + 1])
        for begin in range(0, len(parents), LANES):
            lanes = slice(begin, begin + LANES)
            leaves = below[parents[lanes], symbols[lanes]]
            name = b"" if kept is None else _block_name(tree.words(leaves), basis.suffixes)
            found = (
                None if kept is None else _cached(box, plan, leaves, len(suffix_tree), kept, name)
            )
            if found is None:
                roots = box.step(states, parents[lanes], symbols[lanes])
                found = _read_suffixes(box, roots, len(leaves), suffix_tree)
                _finite(found, tree, leaves)
                if kept is not None:
                    kept.add(name, found)
            values[leaves] = found.reshape(len(leaves), -1)
            answered(len(leaves) * len(basis.suffixes))
    extra: FloatArray = np.empty(0)
    if len(plan.extra):
        extra = read_each(box, plan.extra, box.state_weights)
        _checked(box, extra, plan.extra)
        answered(len(extra))
    return extra


def _cached(
    box: Stepper, plan: Plan, leaves: IntArray, n_nodes: int, kept: KeptBlocks, name: bytes
) -> FloatArray | None:
    """Return a cached block if a sample of it is still what the box answers.

    The sample is spread over the rows and columns. It costs a sixteenth of the block or less; a
    block so small that this is hardly anything is not looked for: it is as well filled anew.
    """
    rows, suffixes = plan.tree.words(leaves), plan.basis.suffixes
    n_steps = len(leaves) * n_nodes
    length = 1 + rows.lengths.mean() + suffixes.lengths.mean()
    n_words = min(len(leaves), int(n_steps / (CHECK_SHARE * length)))
    found = None if n_words < FEWEST_CHECKED else kept.find(name)
    if found is None:
        return None
    which = np.linspace(0, len(leaves) - 1, n_words).round().astype(np.int64)
    rng = np.random.default_rng([*name[:8]])  # in each block other columns
    columns = np.resize(rng.permutation(len(suffixes)), n_words)
    words = rows.joined(which, suffixes, columns)
    n_sent = box.meter.n_sent if isinstance(box, MeteredBox) else 0
    kept.check(box, words, found.reshape(len(leaves), -1)[which, columns])
    if isinstance(box, MeteredBox):
        box.skip(max(0, n_steps - (box.meter.n_sent - n_sent)))
    return found


def _block_name(rows: Words, suffixes: Words) -> bytes:
    """Return a digest of what a block is about."""
    digest = hashlib.sha256()
    for words in (rows, suffixes):
        digest.update(b"%d:" % len(words))
        for key in word_keys(words):
            digest.update(b"%d:" % len(key) + key)
    return digest.digest()


def _read_suffixes(box: Stepper, roots: States, width: int, suffixes: PrefixTree) -> FloatArray:
    """Return the weight of every suffix from every root state, ``(width, n_suffixes)``."""
    weights = np.empty((len(suffixes), width))
    for nodes, states in walk(box, suffixes, roots, width=width, batch=STATES):
        weights[nodes] = box.state_weights(states).reshape(-1, width)
    return weights[suffixes.node_of_word].T


def _fill_by_words(
    box: BlackBox, plan: Plan, values: FloatArray, answered: Callable[[int], None]
) -> FloatArray:
    """Fill the leaf rows, and the empty suffix of the others, by words; return the extra."""
    suffixes = plan.basis.suffixes
    n_rows = max(1, WORDS_PER_QUERY // len(suffixes))
    for begin in range(0, len(plan.leaves), n_rows):
        leaves = plan.leaves[begin : begin + n_rows]
        words = plan.tree.words(leaves).followed_by(suffixes)
        values[leaves] = _ask(box, words).reshape(len(leaves), -1)
        answered(len(words))
    values[plan.tree.node_of_word, plan.empty] = query_weights(box, plan.basis.prefixes, answered)
    return query_weights(box, plan.extra, answered)


def _complete(plan: Plan, values: FloatArray, extra: FloatArray) -> None:
    """Fill the rows of the prefixes from other rows, and from the extra answers."""
    tree = plan.tree
    found = values[plan.row, plan.column * (plan.row >= 0)]
    asked = plan.row < 0
    found[asked] = extra[plan.column[asked]]
    values[tree.node_of_word[:, None], plan.lonely] = found
    known = np.flatnonzero(plan.rest >= 0)
    depth = tree.depth[tree.node_of_word]
    for length in range(int(depth.max()), -1, -1):
        rows = tree.node_of_word[depth == length]
        longer = tree.first_child[rows][:, None] + plan.first[known]
        values[rows[:, None], known] = values[longer, plan.rest[known]]


def _ask(box: BlackBox, words: Words) -> FloatArray:
    return _checked(box, box.weights(words), words)


def _checked(box: BlackBox | Stepper, answers: FloatArray, words: Words) -> FloatArray:
    return checked_answers(answers, words, (len(words),), name_of(box))


def _finite(weights: FloatArray, tree: PrefixTree, rows: IntArray) -> FloatArray:
    """Return weights, one or a row of them for each of ``rows``, or name the row that is bad."""
    bad = ~np.isfinite(weights)
    if bad.any():
        at = np.argwhere(bad)[0]
        word = tree.alphabet.show(tree.words(rows[at[:1]])[0])
        raise BlackBoxError(
            f"the box gave {weights[tuple(at)]} to a word that begins with {word!r}: "
            "expected a finite number"
        )
    return weights
