import numpy as np
import pytest

from seqray import Alphabet, Basis, HankelBlocks, WeightedAutomaton, black_box, fill, uniform_basis
from seqray.extraction.hankel.blocks import row_tree
from seqray.util.errors import ArgumentError, SymbolError

AB = Alphabet("ab")


def lengths_block(prefixes, suffixes):
    box = black_box(lambda words: [float(len(word)) for word in words], AB)
    return fill(box, Basis(AB.words(prefixes), AB.words(suffixes)))


def test_rows_are_every_prefix_with_all_its_children():
    basis = uniform_basis(AB, 25, 3, seed=np.random.default_rng(0))
    tree = row_tree(basis)
    found = list(tree.words())
    wanted = set(basis.prefixes) | {(*u, s) for u in basis.prefixes for s in AB}
    assert len(found) == len(set(found))
    assert set(found) == wanted
    assert tree.words(tree.node_of_word) == basis.prefixes


def test_blocks_follow_the_order_of_the_basis():
    blocks = lengths_block(["b", "", "ba"], ["ab", ""])
    np.testing.assert_array_equal(blocks.block(), [[3, 1], [2, 0], [4, 2]])
    np.testing.assert_array_equal(blocks.block("a"), [[4, 2], [3, 1], [5, 3]])
    np.testing.assert_array_equal(blocks.block("a"), blocks.block("b"))
    assert blocks.empty_suffix == 1
    assert blocks.rows.shape == (3, 3)
    assert repr(blocks) == "HankelBlocks(3 prefixes, 2 suffixes, 2 symbols)"


def test_a_block_of_an_unknown_symbol_is_refused():
    with pytest.raises(SymbolError, match="symbol 'c' at position 1"):
        lengths_block([""], [""]).block("c")


def test_blocks_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        lengths_block([""], [""]).values[0, 0] = 1


@pytest.mark.parametrize(
    "values", [np.zeros((3, 2)), np.zeros((5, 3)), np.zeros((3, 3), np.float32)]
)
def test_values_of_another_shape_or_kind_are_refused(values):
    basis = Basis(AB.words([""]), AB.words(["", "a", "b"]))
    with pytest.raises(ArgumentError, match=r"values: expected float64 of shape \(3, 3\), got"):
        HankelBlocks(basis, values)


def test_no_weighting_weighs_everything_the_same():
    rows, columns = lengths_block(["", "a"], ["", "b", "bb"]).weights("none")
    np.testing.assert_array_equal(rows, [1, 1])
    np.testing.assert_array_equal(columns, [1, 1, 1])


def test_weighted_rows_sum_to_one():
    blocks = lengths_block(["", "a", "ab"], ["", "b", "bb"])
    rows, _ = blocks.weights("balanced")
    np.testing.assert_allclose((rows[:, None] * blocks.block()).sum(axis=1), 1)


@pytest.mark.parametrize(("weighting", "power"), [("soft", 0.75), ("softer", 0.5)])
def test_soft_weights_are_powers(weighting, power):
    blocks = lengths_block(["", "a", "ab"], ["", "b", "bb"])
    rows, columns = blocks.weights(weighting)
    whole, _ = blocks.weights("balanced")
    np.testing.assert_allclose(rows / rows[0], (whole / whole[0]) ** power)
    sizes = np.sqrt(np.mean((rows[:, None] * blocks.block()) ** 2, axis=0))
    np.testing.assert_allclose(columns / columns[0], (sizes / sizes[0]) ** -power)


def test_balanced_columns_have_mean_square_one():
    box = WeightedAutomaton("ab", [1, -2], [np.eye(2) / 2, [[0, 0.1], [-1, 0]]], [1, 0.5])
    blocks = fill(box, uniform_basis(AB, 30, 20, seed=np.random.default_rng(0)))
    rows, columns = blocks.weights("balanced")
    scaled = rows[:, None] * blocks.block() * columns
    np.testing.assert_allclose(np.mean(scaled**2, axis=0), 1)


@pytest.mark.parametrize("size", [0.0, 1e-300, 5e-324])
@pytest.mark.parametrize("weighting", ["softer", "soft", "balanced"])
def test_rows_and_columns_of_next_to_nothing_keep_weight_one(weighting, size):
    box = black_box(lambda words: [1.0 if w == "b" else size for w in words], AB)
    blocks = fill(box, Basis(AB.words(["", "a"]), AB.words(["", "b", "a"])))
    rows, columns = blocks.weights(weighting)
    np.testing.assert_allclose(rows, [1, 1])
    assert np.isfinite(columns).all()
    assert columns[2] == 1


def test_an_unknown_weighting_is_refused():
    with pytest.raises(
        ArgumentError, match="expected one of none, softer, soft, balanced, got 'column'"
    ):
        lengths_block([""], [""]).weights("column")
