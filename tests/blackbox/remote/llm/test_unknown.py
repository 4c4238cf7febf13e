import numpy as np
import pytest

from seqray.blackbox.remote.llm.dialects import Listed
from seqray.blackbox.remote.llm.unknown import UnknownShare, token_logs, unknown_shares
from seqray.blackbox.token_tree import token_tree


def listed(rest=None, **probabilities):
    values = list(probabilities.values())
    rest = 1 - sum(values) if rest is None else rest
    logs = {name: np.log(p) for name, p in probabilities.items()}
    return Listed(logs, float(np.log(min(values))), rest)


def test_listed_tokens_are_known():
    guess, least, largest = token_logs(listed(a=0.5, b=0.2), [["a"], ["b"]])
    np.testing.assert_allclose(np.exp(guess), [0.5, 0.2])
    assert (least == largest).all()


@pytest.mark.parametrize(
    ("rest", "n", "together"),
    [(0.9, 1, 0.1), (0.9, 3, 0.3), (0.05, 1, 0.05), (0.05, 3, 0.05)],
)
def test_unlisted_tokens_are_bounded_by_the_last_one_and_by_what_is_left(rest, n, together):
    names = [["a"], *([f"x{i}"] for i in range(n))]
    guess, least, largest = token_logs(listed(rest, a=0.1), names)
    assert np.exp(largest[1:]).sum() == pytest.approx(together)
    assert np.exp(guess[1:]).sum() == pytest.approx(together / 2)
    assert (np.exp(least[1:]) == 0).all()


def test_an_unlisted_token_is_never_impossible():
    guess, _, _ = token_logs(listed(rest=0.0, a=0.5, b=0.5), [["a"], ["c"]])
    assert 0 < np.exp(guess[1]) < 1e-6


def test_a_token_may_have_several_names():
    guess, *_ = token_logs(listed(**{"Ġa": 0.5}), [[" a", "Ġa", 7]])
    np.testing.assert_allclose(np.exp(guess), [0.5])


def test_the_first_name_of_a_token_counts_where_another_token_has_one_of_them():
    both = Listed({"cat": -0.1, " cat": -3.0}, bound=-3.0, rest=0.0)
    assert token_logs(both, [[" cat", "cat"]]).guess.tolist() == [-3.0]


def test_the_unknown_share_is_the_largest_that_unlisted_tokens_can_have():
    tree = token_tree([[1], [2]], [[0]])  # columns: 1, 2, the end
    with np.errstate(divide="ignore"):
        least, largest = np.log([[0.3, 0, 0.1]]), np.log([[0.3, 0.1, 0.1]])
    np.testing.assert_allclose(unknown_shares(tree, least, largest), [0.2])
    np.testing.assert_allclose(unknown_shares(tree, largest, largest), [0])


def test_an_unknown_token_counts_by_the_probability_of_reaching_it():
    tree = token_tree([[1, 3], [2]], [[0]])
    at = {path: tree.paths.index(path) for path in tree.paths}
    least, largest = np.full((2, 1, len(tree.paths)), -np.inf)
    for path, low, high in (((1,), 0.5, 0.5), ((2,), 0.3, 0.3), ((0,), 0.1, 0.1), ((1, 3), 0, 0.2)):
        with np.errstate(divide="ignore"):
            least[0, at[path]], largest[0, at[path]] = np.log([low, high])
    np.testing.assert_allclose(unknown_shares(tree, least, largest), [0.1 / 0.5])


def test_shares_are_counted():
    unknown = UnknownShare()
    assert str(unknown) == "nothing in 0 rows"
    unknown.add(np.array([0.0, 0.2]))
    unknown.add(np.array([0.1, 0.1]))
    assert (unknown.n_rows, unknown.n_unknown, unknown.largest) == (4, 3, 0.2)
    assert str(unknown).startswith("up to 0.2 of a row, 0.1 on average; 3 of 4 rows")
