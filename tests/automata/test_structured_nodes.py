"""Vectors with which parts of words begin, and those after their first letters."""

import numpy as np
import pytest

from seqray import Grouping, StructuredAutomaton
from seqray.automata import structured_nodes
from seqray.automata.generators import random_structured
from seqray.automata.structured_nodes import part_nodes
from seqray.automata.structured_states import StructuredSteps
from structured_cases import random_case


@pytest.mark.parametrize("wa", [random_structured("abc", 4, seed=0), random_case(7, signed=True)])
def test_the_vector_of_a_child_is_that_of_its_parent_times_the_matrix(wa):
    nodes = part_nodes(StructuredSteps(wa.blocks), wa.initial_vector)
    assert nodes.is_complete
    sizes = wa.grouping.sizes
    for parent, code in np.argwhere(nodes.children >= 0)[::7]:
        child, group = nodes.children[parent, code], nodes.groups[parent]
        target = wa.next_group[group, code]
        if child < len(nodes.groups):
            assert nodes.groups[child] == target
        product = nodes.vectors[parent, : sizes[group]] @ wa.blocks.block(group, code)
        np.testing.assert_allclose(nodes.vectors[child, : sizes[target]], product, rtol=1e-12)


def test_nodes_are_as_many_as_memory_allows(monkeypatch):
    wa = random_structured("abc", 4, seed=0)  # 5 roots, of which 4 are entries, and width 4
    counts = []
    for n_numbers in (0, 4 * 100, 4 * 1000):
        monkeypatch.setattr(structured_nodes, "MAX_NODE_NUMBERS", n_numbers)
        nodes = part_nodes(StructuredSteps(wa.blocks), wa.initial_vector)
        counts.append(len(nodes.vectors))
        assert len(nodes.vectors) <= max(n_numbers // 4, StructuredSteps(wa.blocks).n_roots)
    assert counts[0] < counts[1] < counts[2]


def test_leaves_become_nodes_as_long_as_memory_allows_for_their_children(monkeypatch):
    wa = random_structured("abc", 4, seed=0)  # 8 roots, 18 children, 3 of each of these, width 4
    sizes = []
    for n_numbers in (103, 104, 115, 116, 215, 216):
        monkeypatch.setattr(structured_nodes, "MAX_NODE_NUMBERS", n_numbers)
        nodes = part_nodes(StructuredSteps(wa.blocks), wa.initial_vector)
        assert nodes.has_leaves == (len(nodes.vectors) > len(nodes.groups))
        sizes.append((len(nodes.groups), len(nodes.vectors)))
    assert sizes == [(8, 8), (8, 26), (8, 26), (9, 29), (17, 53), (17, 53)]


def visits(wa, nodes):
    """Count how often words drawn from an automaton lead to each vector, letter by letter."""
    steps = StructuredSteps(wa.blocks)
    n_symbols, counts = len(wa.alphabet), np.zeros(len(nodes.vectors), int)
    for word in wa.sample(2000, seed=1).words:
        at, group = wa.grouping.n_groups, wa.start_group
        counts[at] += 1
        for code in wa.alphabet.encode(word).tolist():
            pair = group * n_symbols + code
            if steps.matrix_of_pair[pair] < 0:
                at = steps.root_of_pair[pair]
            else:  # beyond the nodes nothing is known until the next root
                at = nodes.children[at, code] if 0 <= at < len(nodes.groups) else -1
            if at >= 0:
                counts[at] += 1
            group = steps.targets[pair]
    return counts


def test_nodes_are_the_vectors_that_words_lead_to_most_often(monkeypatch):
    monkeypatch.setattr(structured_nodes, "MAX_NODE_NUMBERS", 300 * 4)
    wa = random_structured("abcd", 4, seed=0, remembering=0.6)
    nodes = part_nodes(StructuredSteps(wa.blocks), wa.initial_vector)
    assert nodes.has_leaves
    n_nodes, n_roots = len(nodes.groups), StructuredSteps(wa.blocks).n_roots
    counts = visits(wa, nodes)
    later, leaves = counts[n_roots:n_nodes], counts[n_nodes:]
    assert len(later) > 20
    assert np.median(later) > 10 * np.median(leaves)
    assert later.min() >= structured_nodes.LEAST_SHARE * leaves.max()


@pytest.mark.parametrize("size", [1e-60, 1e60, 1e-160])
def test_numbers_that_must_not_be_multiplied_in_advance_are_not(size):
    matrix = np.array([[size, 0.5 * size], [0.25 * size, size]])
    matrices = {(0, 0): matrix}
    wa = StructuredAutomaton(
        "a", Grouping([[0]], [2]), [0.5, 0.5], np.full((2, 2), size), np.ones(2), matrices
    )
    lengths = [0, 1, 2, 3, 9, 40]
    sign, log = wa.log_weights(["a" * n for n in lengths])
    unscaled = [
        np.full(2, 0.5) @ np.linalg.matrix_power(matrix / size, n) @ np.ones(2) for n in lengths
    ]
    assert (sign == 1).all()
    expected = np.log(unscaled) + (np.array(lengths) + 1) * np.log(size)
    np.testing.assert_allclose(log, expected, rtol=1e-12)


def test_where_one_symbol_can_follow_for_ever_the_table_has_few_levels():
    matrix = np.array([[0.5, 0.25], [0.25, 0.5]])
    wa = StructuredAutomaton(
        "a", Grouping([[0]], [2]), [0.5, 0.5], np.full((2, 2), 0.25), np.ones(2), {(0, 0): matrix}
    )
    steps = StructuredSteps(wa.blocks)
    nodes = part_nodes(steps, wa.initial_vector)
    assert len(nodes.groups) <= steps.n_roots * (1 + structured_nodes.MAX_ROUNDS)
