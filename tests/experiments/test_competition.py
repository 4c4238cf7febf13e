import numpy as np
import pytest

from seqray.automata.generators import KINDS
from seqray.experiments.competition import (
    MEAN_LENGTHS,
    N_STATES,
    N_SYMBOLS,
    Parameters,
    draw_parameters,
    generate_problem,
    mean_length,
    write_problem,
)
from seqray.formats.pautomac import read_machine, read_solution, write_solution
from seqray.formats.words_file import read_words
from seqray.util.errors import ArgumentError

SMALL = Parameters("pfa", 6, 5, 0.6, 0.2)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_what_is_not_given_is_drawn_from_the_ranges_of_the_competition():
    drawn = [draw_parameters(seed=rng(seed)) for seed in range(200)]
    assert {p.kind for p in drawn} == set(KINDS)
    assert all(N_STATES[0] <= p.n_states <= N_STATES[1] for p in drawn)
    assert all(N_SYMBOLS[0] <= p.n_symbols <= N_SYMBOLS[1] for p in drawn)
    assert all(0.2 <= p.symbol_sparsity <= 0.8 and p.transition_sparsity <= 0.2 for p in drawn)
    assert min(p.n_states for p in drawn) < 10
    assert max(p.n_states for p in drawn) > 70


def test_what_is_given_is_kept_and_changes_nothing_else():
    free, tied = draw_parameters(seed=rng()), draw_parameters(seed=rng(), n_states=3, kind="hmm")
    assert (tied.n_states, tied.kind) == (3, "hmm")
    assert tied.n_symbols == free.n_symbols
    assert tied.transition_sparsity == free.transition_sparsity


@pytest.mark.parametrize("kind", KINDS)
def test_a_machine_is_stochastic_and_of_the_size_asked_for(kind):
    problem = generate_problem(Parameters(kind, 20, 8, 0.5, 0.1), 2000, 200, seed=rng())
    machine = problem.machine
    assert (machine.n_states, len(machine.alphabet)) == (20, 8)
    assert machine.total == pytest.approx(1)
    assert MEAN_LENGTHS[0] <= mean_length(machine) <= MEAN_LENGTHS[1]
    spread = problem.train.lengths.std() / np.sqrt(len(problem.train))
    assert problem.train.lengths.mean() == pytest.approx(mean_length(machine), abs=5 * spread)


def test_test_words_are_distinct():
    problem = generate_problem(SMALL, 10, 500, seed=rng())
    assert len(set(problem.test)) == len(problem.test) == 500


def test_the_same_seed_gives_the_same_problem():
    one, two = (generate_problem(SMALL, 50, 20, seed=rng(3)) for _ in range(2))
    assert one.machine.allclose(two.machine)
    assert list(one.test) == list(two.test)


def test_a_problem_comes_back_from_its_files(tmp_path):
    problem = generate_problem(SMALL, 50, 20, seed=rng())
    write_problem(problem, tmp_path, 4)
    machine = read_machine(tmp_path / "4.pautomac_model.txt")
    assert machine.allclose(problem.machine)
    assert list(read_words(tmp_path / "4.pautomac.train")) == list(problem.train)
    test = read_words(tmp_path / "4.pautomac.test")
    solution = read_solution(tmp_path / "4.pautomac_solution.txt")
    weights = machine.weights(test)
    np.testing.assert_allclose(solution, weights / weights.sum())


def test_existing_files_are_not_replaced(tmp_path):
    problem = generate_problem(SMALL, 5, 5, seed=rng())
    (tmp_path / "4.pautomac_solution.txt").write_text("mine")
    with pytest.raises(ArgumentError, match=r"4\.pautomac_solution\.txt exists already"):
        write_problem(problem, tmp_path, 4)
    assert [path.name for path in tmp_path.iterdir()] == ["4.pautomac_solution.txt"]


def test_sizes_that_give_no_such_words_are_refused():
    with pytest.raises(ArgumentError, match="none has words of 4 to 30 symbols on average"):
        generate_problem(Parameters("dpfa", 1, 200, 0.9, 0), 10, 10, seed=rng())


def test_too_few_distinct_words_are_refused():
    with pytest.raises(ArgumentError, match="10,000 words were drawn for the test, and only"):
        generate_problem(Parameters("dpfa", 30, 1, 0.3, 0), 10, 100, seed=rng())


@pytest.mark.parametrize("bad", [[0.5, -0.1], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_solution_without_probabilities_is_refused(tmp_path, bad):
    with pytest.raises(ArgumentError, match="expected probabilities, not all 0"):
        write_solution(np.array(bad), tmp_path / "1.pautomac_solution.txt")
    assert not list(tmp_path.iterdir())
