import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import peak_bytes
from seqray import StructuredAutomaton, WeightedAutomaton
from seqray.automata.generators import KINDS, random_machine, random_structured
from seqray.formats.pautomac import read_machine, read_solution, write_machine
from seqray.util.errors import ArgumentError, FileError

MACHINE = """\
I: (state)
\t(0) 0.25
\t(1) 0.75
F: (state)
\t(1) 0.5
S: (state,symbol)
\t(0,0) 0.4
\t(0,1) 0.6
\t(1,1) 1.0
T: (state,symbol,state)
\t(0,0,0) 0.5
\t(0,0,1) 0.5
\t(0,1,1) 1.0
\t(1,0,0) 1.0
\t(1,1,0) 1.0
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "1.pautomac_model.txt"


@pytest.mark.parametrize("content", [MACHINE, MACHINE.replace("\n", "\r\n") + "\r\n"])
def test_a_machine_is_read_with_its_stops_taken_out_of_its_moves(path, content):
    path.write_bytes(content.encode())
    expected = WeightedAutomaton(
        range(2), [0.25, 0.75], [[[0.2, 0.2], [0, 0]], [[0, 0.6], [0.5, 0]]], [0, 0.5]
    )
    assert read_machine(path).allclose(expected)


def test_a_state_that_always_stops_needs_no_symbols(path):
    path.write_text("I:\n(0) 1\nF:\n(1) 1\nS:\n(0,0) 1\nT:\n(0,0,1) 1\n")
    assert read_machine(path).weights([[], [0], [0, 0]]).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (MACHINE, "", ": the file is empty"),
        (MACHINE, "(0) 1\n", ":1: expected a section"),
        (
            "T: (state,symbol,state)",
            "S: (state,symbol)",
            ":10: section S stands here and at line 6",
        ),
        ("(0) 0.25", "(0) 0.25 7", ":2: expected '(state) probability'"),
        ("(0) 0.25", "(x) 0.25", ":2: expected '(state) probability'"),
        ("(0) 0.25", "(-1) 0.25", ":2: expected '(state) probability'"),
        ("(0) 0.25", "() 0.25", ":2: expected '(state) probability'"),
        ("(0) 0.25", f"({'9' * 5000}) 0.25", ":2: expected '(state) probability'"),
        ("(0,0) 0.4", "(0) 0.4", ":7: expected '(state,symbol) probability', got '(0) 0.4'"),
        ("(0,0) 0.4", "(0,,0) 0.4", ":7: expected '(state,symbol) probability'"),
        ("(0,0) 0.4", "(0,0) -0.4", ":7: expected a probability, got '-0.4'"),
        ("(0,0) 0.4", "(0,0) 1.4", ":7: expected a probability"),
        ("(0,0) 0.4", "(0,0) nan", ":7: expected a probability"),
        ("(0,0) 0.4", "(0,0) many", ":7: expected a probability, got 'many'"),
        ("(0,1) 0.6", "(0,0) 0.6", ":8: S(0,0) is given twice"),
        (MACHINE[MACHINE.index("T:") :], "", ":9: cut short: there is no section 'T: (state,"),
        (MACHINE[MACHINE.index("\t(0,0,0)") :], "", ":10: section T is empty"),
        ("(1) 0.75", "(1) 0.7", ":1: damaged or cut short: the probabilities in section I sum to"),
        ("(0,1) 0.6", "(0,1) 0.5", ":6: damaged or cut short: the probabilities of (state) = (0)"),
        ("\t(1,1,0) 1.0\n", "", ":10: damaged or cut short: the probabilities of (state,symbol) ="),
        ("(1) 0.5", "(2) 0.5", ":6: damaged or cut short: the probabilities of (state) = (2)"),
        ("(1) 0.5", "(99999999) 0.5", ": 100,000,000 states and 2 symbols would need 600,0"),
    ],
)
def test_a_damaged_machine_is_refused_with_its_line(path, old, new, message):
    assert old in MACHINE
    path.write_text(MACHINE.replace(old, new))
    with pytest.raises(FileError) as caught:
        read_machine(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_a_machine_cut_anywhere_is_refused_or_unharmed(path):
    path.write_text(MACHINE)
    whole = read_machine(path)
    for end in range(len(MACHINE)):
        path.write_text(MACHINE[:end])
        try:
            cut = read_machine(path)
        except FileError:
            continue
        assert cut.allclose(whole)


@settings(max_examples=40)
@given(
    kind=st.sampled_from(KINDS),
    n_states=st.integers(1, 8),
    n_symbols=st.integers(1, 5),
    seed=st.integers(0, 2**32),
)
def test_a_machine_comes_back_from_its_file(tmp_path_factory, kind, n_states, n_symbols, seed):
    machine = random_machine(kind, n_states, n_symbols, seed=np.random.default_rng(seed))
    path = tmp_path_factory.mktemp("machine") / "model.txt"
    write_machine(machine, path)
    assert read_machine(path).allclose(machine, rtol=0, atol=1e-9)


def test_symbols_that_are_never_used_and_states_that_only_stop_come_back(path):
    machine = WeightedAutomaton(
        range(3), [1, 0], [[[0, 0], [0, 0]], [[0.25, 0.75], [0, 0]], np.zeros((2, 2))], [0, 1]
    )
    write_machine(machine, path)
    assert read_machine(path).allclose(machine)


def test_rounding_is_forgiven_when_a_machine_is_written_and_read(path):
    machine = WeightedAutomaton(
        range(1), [1 + 9e-7, 0], [[[1e-6, 0], [9e-7, 0]]], [1 - 1.9e-6, 1 + 1e-8]
    )
    write_machine(machine, path)
    assert read_machine(path).allclose(machine, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("initial", "transitions", "final", "message"),
    [
        ([-1], [[[0.5]]], [0.5], "initial is -1 at (0,), below 0"),
        ([1], [[[-0.5]]], [0.5], "transitions is -0.5 at (0, 0, 0), below 0"),
        ([1], [[[0.5]]], [-0.5], "final is -0.5 at (0,), below 0"),
        ([0.5], [[[0.5]]], [0.5], "initial sums to 0.5, not to 1"),
        ([1, 0], [[[0.5, 0], [0.5, 0.5]]], [0.5, 0.5], "what leaves state 1 and its final weight"),
    ],
)
def test_an_automaton_that_is_not_stochastic_is_not_written(
    path, initial, transitions, final, message
):
    with pytest.raises(ArgumentError) as caught:
        write_machine(WeightedAutomaton("a", initial, transitions, final), path)
    assert str(caught.value).startswith(message)
    assert "save it as .json" in str(caught.value)
    assert not path.exists()


@pytest.mark.parametrize(
    "content",
    ["2\n0.25\n5e-11\n", "2\r\n0.25\r\n5e-11\r\n\r\n", "\x1e2\n\x1f0.25\n5e-11\n"],
)
def test_a_solution_is_a_probability_a_line(path, content):
    path.write_bytes(content.encode())
    assert read_solution(path).tolist() == [0.25, 5e-11]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": the file is empty"),
        ("two\n0.5\n0.5\n", ":1: expected the number of words, got 'two'"),
        (f"{'9' * 5000}\n", ":1: expected the number of words"),
        ("2\n0.5\n", ":2: header promises 2 words, got 1"),
        ("2\n0.5\n0.25\n0.25\n", ":4: header promises 2 words, got 3"),
        ("2\n0.5\nx\n", ":3: expected a probability, got 'x'"),
        ("2\n0.5\ninf\n", ":3: expected a probability, got 'inf'"),
    ],
)
def test_a_damaged_solution_is_refused_with_its_line(path, content, message):
    path.write_text(content)
    with pytest.raises(FileError) as caught:
        read_solution(path)
    assert str(caught.value).startswith(f"{path}{message}")


def sparse_machine(n_states, n_symbols):
    """Return a machine in which every state emits one symbol and leads to the next state."""
    lines = ["I: (state)", "(0) 1", "F: (state)", *(f"({q}) 0.5" for q in range(n_states))]
    lines += ["S: (state,symbol)", *(f"({q},{q % n_symbols}) 1" for q in range(n_states))]
    steps = (f"({q},{q % n_symbols},{(q + 1) % n_states}) 1" for q in range(n_states))
    return "\n".join([*lines, "T: (state,symbol,state)", *steps])


def test_a_machine_with_too_many_states_for_dense_matrices_is_structured(path, tmp_path):
    path.write_text(sparse_machine(1000, 70))
    machine = read_machine(path)
    assert isinstance(machine, StructuredAutomaton)
    assert machine.weight(list(range(70))) == 0.5**71
    write_machine(machine, tmp_path / "again.pautomac")
    assert read_machine(tmp_path / "again.pautomac").allclose(machine, rtol=0, atol=0)


def test_reading_a_sparse_machine_takes_little_more_than_its_matrices(path):
    path.write_text(sparse_machine(200, 50))
    machine = read_machine(path)
    assert peak_bytes(lambda: read_machine(path)) < 2.5 * machine.transitions.nbytes
    assert machine.weights([[0, 1, 2], [1]]).tolist() == [0.0625, 0]


def test_a_structured_automaton_is_written_like_a_dense_one(tmp_path):
    wa = random_structured(range(3), 4, seed=0, remembering=0.5)
    one, other = tmp_path / "structured_model.txt", tmp_path / "dense_model.txt"
    write_machine(wa, one)
    write_machine(wa.to_dense(), other)
    assert one.read_text() == other.read_text()
    assert read_machine(one).allclose(wa)


def test_a_machine_whose_words_all_end_at_once_comes_back(path):
    write_machine(WeightedAutomaton(range(2), [1], np.zeros((2, 1, 1)), [1]), path)
    machine = read_machine(path)
    assert machine.weights([[], [0], [1]]).tolist() == [1, 0, 0]
