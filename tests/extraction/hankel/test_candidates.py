import numpy as np

from automata import FIGURE_1 as MACHINE
from seqray import Reference, black_box, fill, uniform_basis
from seqray.blackbox.queries.noise import NO_NOISE, Noise
from seqray.blackbox.queries.oracle import open_oracle
from seqray.extraction.hankel.candidates import WEIGHTINGS, nearest_candidate, noise_of_mean
from seqray.extraction.job import Job, compared_for
from seqray.extraction.request import Method, Request
from seqray.fidelity.objective import Objective

BOX = black_box(lambda words: [0.4 ** len(w) * (2 + np.cos(len(w) ** 2)) for w in words], "ab")


def candidate(box=BOX, **request):
    job = Job(open_oracle(box), Request(max_rank=4, **request), None)
    blocks = fill(box, uniform_basis(box.alphabet, 30, 30, seed=0))
    words = uniform_basis(box.alphabet, 60, 1, seed=5).prefixes
    reference = compared_for(job, Reference.query(box, words))
    return nearest_candidate(job, blocks, reference, NO_NOISE), reference


def test_an_automaton_is_found_exactly():
    box = black_box(MACHINE.weights, MACHINE.alphabet)
    nearest, _ = candidate(box)
    assert nearest.chosen.n_states == 2
    assert nearest.score > 1 - 1e-9
    words = ["", "ab", "abba", "bbbbbb"]
    np.testing.assert_allclose(nearest.chosen.weights(words), MACHINE.weights(words), atol=1e-12)


def test_squared_errors_are_never_larger_with_raw_blocks_to_choose_from():
    by_weights, reference = candidate(objective=Objective.WEIGHTS)
    by_ratio, _ = candidate(objective=Objective.LOG)
    assert by_weights.table.best.objective is Objective.WEIGHTS
    errors = [
        min(
            reference.compare(each.automata.automaton(rank))["relative_error"] for rank in (1, 2, 3)
        )
        for each in (by_weights, by_ratio)
    ]
    assert errors[0] <= errors[1]
    assert by_ratio.weighting in WEIGHTINGS


def test_the_papers_method_has_raw_blocks_only():
    nearest, _ = candidate(method=Method.PAPER)
    assert nearest.weighting == "none"


def test_repeated_queries_have_less_noise():
    assert noise_of_mean(Noise(1.0, relative=True), 4).level * 2 == (
        noise_of_mean(Noise(1.0, relative=True), 1).level
    )
