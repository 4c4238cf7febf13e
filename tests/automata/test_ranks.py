import numpy as np
import pytest

from seqray import WeightedAutomaton
from seqray.automata.generators import random_machine, random_structured
from seqray.automata.ranks import MIN_ENDING, RankedAutomata, ending
from seqray.util.errors import FileError, RankError


def machine(n_states=4):
    return random_machine("pfa", n_states, 3, seed=np.random.default_rng(1))


def same(one, other):
    return one.allclose(other, rtol=0, atol=0)


def test_the_end_is_what_no_symbol_takes():
    whole = machine()
    found = ending(whole, np.ones(4))
    np.testing.assert_allclose(found.final, whole.final, atol=1e-12)
    np.testing.assert_allclose(found.prefix_final, np.ones(4))
    assert found.total == pytest.approx(1)


def test_what_never_ends_can_still_be_read():
    never = WeightedAutomaton("ab", [1, 0], [[[0, 0.7], [0, 0.1]], [[0.3, 0], [0.9, 0]]], [0, 0])
    found = ending(never, np.ones(2))
    np.testing.assert_allclose(found.prefix_final, np.ones(2), rtol=1e-5)
    np.testing.assert_allclose(
        found.next_symbol(["", "a"]), [[0.7, 0.3, 0], [0.1, 0.9, 0]], atol=1e-6
    )
    assert 0 < found.final.max() < 2 * MIN_ENDING


def test_a_fitted_automaton_comes_before_one_that_is_cut():
    largest, fitted = machine(), machine(2)
    automata = RankedAutomata(largest, np.ones(4), {2: fitted})
    assert automata.automaton(2) is fitted
    assert same(automata.automaton(3), ending(largest.truncate(3), np.ones(3)))
    assert same(RankedAutomata(largest).automaton(3), largest.truncate(3))
    for rank in (0, 5):
        with pytest.raises(RankError, match=f"rank {rank} is outside 1 … 4"):
            automata.automaton(rank)


@pytest.mark.parametrize("fitted", [{}, {2: machine(2)}, {1: machine(1), 4: machine()}])
def test_automata_come_back_to_the_bit(fitted):
    automata = RankedAutomata(machine(), np.array([0.1, 1 / 3, 1e-17, -2]), fitted)
    opened = RankedAutomata.from_files(automata.to_files())
    assert set(opened.fitted) == set(fitted)
    np.testing.assert_array_equal(opened.prefix_final, automata.prefix_final)
    for rank in range(1, 5):
        assert same(opened.automaton(rank), automata.automaton(rank))


def test_blocks_leave_one_file():
    files = RankedAutomata(machine()).to_files()
    assert list(files) == ["automaton.npz"]
    assert RankedAutomata.from_files(files).prefix_final is None


@pytest.mark.parametrize(
    ("name", "what"),
    [("fitted.npz", "a file of fitted automata"), ("automaton.npz", "a seqray automaton")],
)
def test_damage_is_named(name, what):
    files = RankedAutomata(machine(), np.ones(4)).to_files()
    with pytest.raises(FileError, match=rf"{name}: not {what}, or damaged"):
        RankedAutomata.from_files({**files, name: b"noise"})


def test_a_structured_automaton_comes_back_with_its_structure():
    largest = machine(7)
    fitted = random_structured(largest.alphabet, 2, seed=0)
    automata = RankedAutomata(largest, np.ones(7), {7: fitted, 4: machine()})
    again = RankedAutomata.from_files(automata.to_files())
    assert type(again.automaton(7)) is type(fitted)
    assert same(again.automaton(7), fitted)
    assert same(again.automaton(4), machine())
