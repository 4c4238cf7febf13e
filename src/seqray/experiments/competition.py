"""Problems like those of PAutomaC: a machine, training words, test words and their probabilities.

How the competition drew its machines (Verwer, Eyraud and de la Higuera, 2012 and 2014; its 48
machines agree with it): 5 to 75 states, 4 to 24 symbols; a state emits 20 to 80 % of the symbols,
and stops like one symbol more; a state and symbol lead to at most 20 % of the states. The test
words are distinct.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.generators import KINDS, random_machine
from seqray.automata.words import Words
from seqray.formats.pautomac import write_machine, write_solution
from seqray.formats.words_file import PathLike, write_words
from seqray.util.arrays import whole_number
from seqray.util.errors import ArgumentError
from seqray.util.random import Seed, random_generator

N_STATES, N_SYMBOLS = (5, 75), (4, 24)
SYMBOL_SPARSITY, TRANSITION_SPARSITY = (0.2, 0.8), (0.0, 0.2)
MEAN_LENGTHS = (4.0, 30.0)
"""The mean length of words, in symbols; in the competition from 4.9 to 26.7 symbols."""


@dataclass(frozen=True)
class Parameters:
    """What a machine is drawn with, as `seqray.automata.generators.random_machine` takes it.

    Examples
    --------
    >>> Parameters("hmm", 63, 8, 0.33, 0.09).kind
    'hmm'
    """

    kind: str
    n_states: int
    n_symbols: int
    symbol_sparsity: float
    transition_sparsity: float


@dataclass(frozen=True)
class GeneratedProblem:
    """A problem as the competition set them.

    Examples
    --------
    >>> chosen = Parameters("dpfa", 5, 4, 0.5, 0.1)
    >>> problem = generate_problem(chosen, 100, 10, seed=np.random.default_rng(0))
    >>> problem.machine, len(problem.train), len(problem.test)
    (WeightedAutomaton(5 states, 4 symbols), 100, 10)
    """

    machine: WeightedAutomaton
    train: Words
    test: Words


def draw_parameters(
    *,
    seed: Seed,
    kind: str | None = None,
    n_states: int | None = None,
    n_symbols: int | None = None,
    symbol_sparsity: float | None = None,
    transition_sparsity: float | None = None,
) -> Parameters:
    """Draw what is not given, each uniformly from the competition's range.

    Examples
    --------
    >>> draw_parameters(seed=np.random.default_rng(0), kind="pfa", n_states=9).n_symbols
    14
    """
    # All are drawn, so that giving one does not change the others.
    rng = random_generator(seed)
    drawn = Parameters(
        str(rng.choice(KINDS)),
        int(rng.integers(*N_STATES, endpoint=True)),
        int(rng.integers(*N_SYMBOLS, endpoint=True)),
        float(rng.uniform(*SYMBOL_SPARSITY)),
        float(rng.uniform(*TRANSITION_SPARSITY)),
    )
    return Parameters(
        drawn.kind if kind is None else kind,
        drawn.n_states if n_states is None else n_states,
        drawn.n_symbols if n_symbols is None else n_symbols,
        drawn.symbol_sparsity if symbol_sparsity is None else symbol_sparsity,
        drawn.transition_sparsity if transition_sparsity is None else transition_sparsity,
    )


def generate_problem(
    parameters: Parameters, n_train: int, n_test: int, *, seed: Seed
) -> GeneratedProblem:
    """Draw a machine, training words, and distinct test words.

    Machines whose words are much shorter or longer on average than the competition's are drawn
    again.

    Parameters
    ----------
    parameters
        The kind, size and sparsity of the machine.
    n_train, n_test
        How many words; those of the test are all different, but may occur in the training.
    seed
        Random seed, or a random generator.

    Examples
    --------
    >>> chosen = draw_parameters(seed=np.random.default_rng(0), kind="hmm", n_states=8)
    >>> problem = generate_problem(chosen, 1000, 50, seed=np.random.default_rng(0))
    >>> len(set(problem.test))
    50
    """
    rng = random_generator(seed)
    n_train = whole_number("n_train", n_train, 1)
    n_test = whole_number("n_test", n_test, 1)
    machine = _drawn_machine(parameters, rng)
    train = machine.sample(n_train, seed=rng).words
    return GeneratedProblem(machine, train, _distinct(machine, n_test, rng))


def write_problem(problem: GeneratedProblem, folder: PathLike, number: int) -> None:
    """Write a problem in PAutomaC's four files; none of them may exist.

    Parameters
    ----------
    problem
        What to write.
    folder
        An existing folder.
    number
        The number of the problem, with which the files' names begin.

    Examples
    --------
    >>> import tempfile
    >>> problem = generate_problem(
    ...     Parameters("dpfa", 5, 4, 0.5, 0.1), 20, 5, seed=np.random.default_rng(0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_problem(problem, folder, 7)
    ...     sorted(path.name for path in Path(folder).iterdir() if path.suffix != ".sha256")
    ['7.pautomac.test', '7.pautomac.train', '7.pautomac_model.txt', '7.pautomac_solution.txt']
    """
    train, test, model, solution = problem_paths(folder, number)
    for path in (train, test, model, solution):
        if path.exists():
            raise ArgumentError(f"{path} exists already: choose another folder, or remove it first")
    write_machine(problem.machine, model)
    write_words(problem.train, train)
    write_words(problem.test, test)
    write_solution(problem.machine.weights(problem.test), solution)


def problem_paths(folder: PathLike, number: int) -> tuple[Path, Path, Path, Path]:
    """Return where the training words, test words, machine and solution of a problem are.

    Examples
    --------
    >>> [path.name for path in problem_paths("data", 3)][2:]
    ['3.pautomac_model.txt', '3.pautomac_solution.txt']
    """
    begin = f"{number}.pautomac"
    return (
        Path(folder, f"{begin}.train"),
        Path(folder, f"{begin}.test"),
        Path(folder, f"{begin}_model.txt"),
        Path(folder, f"{begin}_solution.txt"),
    )


def _drawn_machine(parameters: Parameters, rng: np.random.Generator) -> WeightedAutomaton:
    # To stop is one more thing to draw beside the symbols, with a probability like theirs.
    usual = 1 / (1 + max(1.0, parameters.symbol_sparsity * parameters.n_symbols))
    for _ in range(200):
        machine = random_machine(
            parameters.kind,
            parameters.n_states,
            parameters.n_symbols,
            seed=rng,
            symbol_sparsity=parameters.symbol_sparsity,
            transition_sparsity=parameters.transition_sparsity,
            stopping=parameters.symbol_sparsity,
            stop_probabilities=(usual / 5, min(1.0, usual * 9 / 5)),
        )
        if MEAN_LENGTHS[0] <= mean_length(machine) <= MEAN_LENGTHS[1]:
            return machine
    raise ArgumentError(
        f"200 machines of {parameters.n_states} states and {parameters.n_symbols} symbols were "
        f"drawn, and none has words of {MEAN_LENGTHS[0]:g} to {MEAN_LENGTHS[1]:g} symbols on "
        "average: choose another size or sparsity"
    )


def mean_length(machine: WeightedAutomaton) -> float:
    """Return the mean length of a stochastic machine's words.

    Examples
    --------
    >>> mean_length(WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25]))
    3.0
    """
    step = machine.transitions.sum(axis=0)
    # How often each state is visited; every visit but the last emits a symbol.
    visits = np.linalg.solve(np.eye(machine.n_states) - step.T, machine.initial)
    return float(visits @ step.sum(axis=1))


def _distinct(machine: WeightedAutomaton, n_words: int, rng: np.random.Generator) -> Words:
    distinct: dict[tuple[object, ...], None] = {}
    for _ in range(50):
        for word in machine.sample(2 * n_words, seed=rng).words:
            distinct.setdefault(tuple(word))
            if len(distinct) == n_words:
                return machine.alphabet.words(list(distinct))
    raise ArgumentError(
        f"{100 * n_words:,} words were drawn for the test, and only {len(distinct):,} of them are "
        f"distinct, not {n_words:,}: choose fewer test words, or more states or symbols"
    )
