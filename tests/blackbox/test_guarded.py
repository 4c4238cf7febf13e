"""A box that raises anything, SystemExit too, fails with a `BlackBoxError`."""

import asyncio

import numpy as np
import pytest

import seqray
from seqray import Alphabet, Card, WeightedAutomaton, black_box, language_model, open_black_box
from seqray.blackbox.frameworks.stepped import stepped_box
from seqray.blackbox.guarded import guarded
from seqray.blackbox.queries.oracle import open_oracle
from seqray.util.errors import BlackBoxError

EVIL = [SystemExit(0), SystemExit("bye"), GeneratorExit(), asyncio.CancelledError()]


class OwnStepper:
    """A box with states of the user's own, one of whose methods raises."""

    def __init__(self, method, error):
        self._inner = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
        self._method, self._error = method, error
        self.alphabet = self._inner.alphabet

    def _call(self, method, *arguments):
        if method == self._method:
            raise self._error
        return getattr(self._inner, method)(*arguments)

    def weights(self, words):
        return self._call("weights", words)

    def start(self):
        return self._call("start")

    def step(self, states, parents, symbols):
        return self._call("step", states, parents, symbols)

    def state_weights(self, states):
        return self._call("state_weights", states)


class OwnModel(OwnStepper):
    def state_next_symbol(self, states):
        return self._call("state_next_symbol", states)


def raises(error):
    def function(words):
        raise error

    return function


@pytest.mark.parametrize("error", EVIL, ids=repr)
@pytest.mark.parametrize("make", [black_box, language_model])
@pytest.mark.parametrize("timeout", [None, 5])
def test_a_function_that_ends_the_program_has_failed(make, timeout, error):
    box = make(raises(error), "ab", timeout=timeout)
    with pytest.raises(
        BlackBoxError, match=f"'function' failed on the word.*{type(error).__name__}"
    ):
        seqray.extract(box, prefixes=4, suffixes=4)


def test_ctrl_c_in_a_box_stays_ctrl_c():
    for box in (
        black_box(raises(KeyboardInterrupt()), "ab"),
        OwnModel("step", KeyboardInterrupt()),
    ):
        with pytest.raises(KeyboardInterrupt):
            seqray.extract(box, prefixes=4, suffixes=4)


@pytest.mark.parametrize("error", [SystemExit(0), ZeroDivisionError("x")], ids=repr)
@pytest.mark.parametrize("method", ["start", "step", "state_weights", "state_next_symbol"])
def test_somebody_elses_box_with_states_fails_with_its_name(method, error):
    with pytest.raises(BlackBoxError, match=f"the OwnModel failed.*{type(error).__name__}"):
        seqray.extract(OwnModel(method, error), prefixes=4, suffixes=4)
    if method != "state_next_symbol":
        with pytest.raises(BlackBoxError, match="the OwnStepper failed"):
            seqray.extract(OwnStepper(method, error), prefixes=4, suffixes=4)


def test_a_box_of_whole_words_of_the_users_own_fails_with_its_name():
    class Own:
        alphabet = Alphabet("ab")
        weights = staticmethod(raises(SystemExit(0)))

    with pytest.raises(BlackBoxError, match=r"the Own failed on the word.*SystemExit: 0"):
        seqray.extract(Own(), prefixes=4, suffixes=4)


def test_a_guarded_box_has_all_that_the_box_has():
    box = OwnModel("nothing", None)
    box.fingerprint, box.max_states = "mine", 7
    oracle = open_oracle(box)
    assert (oracle.fingerprint, oracle.stepper.max_states) == ("mine", 7)
    assert oracle.predicts
    assert not open_oracle(OwnStepper("nothing", None)).predicts
    assert oracle.weights(["a"]) == [0.125]
    assert not hasattr(guarded(box), "no_such_thing")


def test_a_network_that_ends_the_program_has_failed():
    class Steps:
        def begin(self):
            return np.zeros((1, 3)), None

        def advance(self, state, parents, ids):
            raise SystemExit(0)

    box = stepped_box(Steps(), Card(Alphabet("ab"), "next", end=2), who="the network")
    with pytest.raises(BlackBoxError, match="the network failed on 2 states and symbols: SystemEx"):
        box.weights(["a", "b"])


@pytest.mark.parametrize(
    "box", [black_box(raises(SystemExit(0)), "ab"), OwnModel("step", ValueError())]
)
def test_a_check_finds_a_box_that_raises(box):
    failed = [each for each in seqray.check(box) if each.ok is False]
    assert failed
    assert all("failed" in each.observed for each in failed)


def test_a_module_whose_box_ends_the_program_has_failed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leaving.py").write_text("import sys\ndef box():\n    sys.exit(0)\n")
    with pytest.raises(BlackBoxError, match=r"python:leaving:box failed: SystemExit: 0 .*line 3\)"):
        open_black_box("python:leaving:box")
