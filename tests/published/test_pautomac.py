"""The target machines of PAutomaC give the published probabilities of the test words.

Verwer, Eyraud and de la Higuera: "PAutomaC: a probabilistic automata and hidden Markov models
learning competition", Machine Learning 96 (2014). The solution files hold the probabilities
divided by their sum over the test words, in 12 digits. The perplexities of the targets of problems
2 and 47 are those of the competition's table of results.
"""

import numpy as np
import pytest

from seqray.formats.pautomac import read_machine, read_solution
from seqray.formats.words_file import read_words


def target_and_solution(data, problem):
    folder = data / "pautomac"
    machine = read_machine(folder / f"{problem}.pautomac_model.txt")
    # The alphabet of the machine: problem 39 promises 14 symbols in its headers and uses 12.
    words = read_words(folder / f"{problem}.pautomac.test", alphabet=machine.alphabet)
    weights = machine.weights(words)
    return weights / weights.sum(), read_solution(folder / f"{problem}.pautomac_solution.txt")


@pytest.mark.parametrize("problem", range(1, 49))
def test_a_target_machine_gives_its_solution(data, problem):
    target, solution = target_and_solution(data, problem)
    np.testing.assert_allclose(target, solution, rtol=1e-9, atol=0)


@pytest.mark.parametrize(("problem", "perplexity"), [(2, 168.331), (47, 4.119)])
def test_a_target_machine_has_the_published_perplexity(data, problem, perplexity):
    target, solution = target_and_solution(data, problem)
    found = 2 ** -(solution / solution.sum() @ np.log2(target))
    assert found == pytest.approx(perplexity, abs=5e-4)


@pytest.mark.parametrize("problem", [2, 5, 39])
def test_a_target_machine_is_a_distribution(data, problem):
    machine = read_machine(data / "pautomac" / f"{problem}.pautomac_model.txt")
    assert machine.total == pytest.approx(1, abs=1e-9)
