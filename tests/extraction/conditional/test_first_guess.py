import numpy as np
import pytest

from seqray.extraction.conditional.first_guess import cluster, first_guess
from seqray.extraction.conditional.fit import to_automaton
from told import rng


def test_the_first_guess_of_a_machine_is_near_it(predicted):
    reference, blocks = predicted
    guess = to_automaton(reference.tree.alphabet, first_guess(blocks, 20, rng()))
    assert reference.compare(guess)["ndcg5"] > 0.97


def test_clusters_are_where_the_points_are():
    centres = np.array([[0.0, 0], [5, 5], [0, 9]])
    points = np.concatenate([c + 0.1 * rng(i).normal(size=(40, 2)) for i, c in enumerate(centres)])
    clusters = cluster(points, np.ones(len(points)), 3, rng(1))
    order = np.argsort(clusters @ [1.0, 10.0])
    np.testing.assert_allclose(
        clusters[order], centres[np.argsort(centres @ [1.0, 10.0])], atol=0.1
    )


def test_there_are_no_more_clusters_than_points_and_none_is_empty():
    points = np.repeat(np.eye(3), [5, 1, 2], axis=0)
    for n in (1, 2, 3, 8):
        centres = cluster(points, np.ones(8), n, rng(n))
        nearest = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        assert set(nearest) == set(range(len(centres)))
        assert len(centres) == min(n, 3)


def test_a_heavy_point_draws_its_centre():
    points = np.array([[0.0], [1.0]])
    assert cluster(points, np.array([3.0, 1.0]), 1, rng())[0] == pytest.approx(0.25)


@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_those_of_k_means_by_its_definition(seed):
    draw = rng(seed)
    points, weights = draw.normal(size=(60, 3)), draw.integers(0, 4, 60).astype(float)
    weights[0] = 1
    begun = cluster(points, weights, 5, rng(seed), max_iterations=0)
    centres = begun.copy()
    for _ in range(20):
        nearest = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        for at in range(len(centres)):
            here = nearest == at
            if weights[here].sum() > 0:
                centres[at] = np.average(points[here], axis=0, weights=weights[here])
    np.testing.assert_allclose(cluster(points, weights, 5, rng(seed)), centres, atol=1e-12)
