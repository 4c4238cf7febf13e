import numpy as np
import pytest

import seqray
from copied import copied
from copied import machine as copied_machine
from deterministic_cases import random_pdfa, same_predictions
from listing import names
from seqray import DeterministicAutomaton, StructuredAutomaton, WeightedAutomaton, open_run
from seqray.automata.generators import random_structured
from seqray.formats.automaton_file import open_wa
from seqray.formats.fst import from_fst_text
from seqray.formats.pautomac import write_machine


@pytest.mark.parametrize("ending", ["json", "npz", "pautomac"])
def test_formats_that_can_be_read_come_back(folder, run, machine, ending):
    assert run("convert", "machine.json", f"wa.{ending}") == f"wa.{ending}: 4 states, 3 symbols\n"
    run("convert", f"wa.{ending}", "back.json")
    back = WeightedAutomaton.load("back.json")
    assert back.allclose(machine, rtol=1e-12, atol=1e-15)
    if ending != "pautomac":
        assert (folder / "back.json").read_bytes() == (folder / "machine.json").read_bytes()


def test_a_machine_of_pautomac_is_converted(folder, run, machine):
    write_machine(machine, "24.pautomac_model.txt")
    run("convert", "24.pautomac_model.txt", "24.json")
    assert WeightedAutomaton.load("24.json").allclose(machine)


def test_openfst_text_has_its_symbols_beside_it(folder, run, machine):
    run("convert", "machine.json", "wa.fst")
    assert names(folder) == ["machine.json", "wa.fst", "wa.syms", "words.txt"]
    back = from_fst_text((folder / "wa.fst").read_text(), (folder / "wa.syms").read_text())
    words = machine.sample(30, seed=np.random.default_rng(4)).words
    texts = [tuple(map(str, word)) for word in words]
    np.testing.assert_allclose(back.weights(texts), machine.weights(words))


def test_openfst_text_is_written_with_its_symbols_or_not_at_all(folder, fails):
    (folder / "wa.syms").mkdir()
    before = names(folder)
    assert "wa.syms: cannot be written" in fails(1, "convert", "machine.json", "wa.fst")
    assert names(folder) == before


def test_dot_keeps_every_transition(folder, run, machine):
    run("convert", "machine.json", "wa.dot")
    text = (folder / "wa.dot").read_text("utf-8")
    pairs = {(origin, target) for origin, _, target, _ in machine.edges()}
    assert text.count(" -> ") >= len(pairs)
    for origin, target in pairs:
        assert f"    {origin} -> {target} [" in text


def test_convert_takes_a_run_at_a_rank(extracted, run):
    run("convert", "run", "wa.npz", "--rank", "2")
    wa = WeightedAutomaton.load("wa.npz")
    assert wa.allclose(open_run("run").automaton(2), rtol=0, atol=0)


def test_what_is_repaired_can_be_written_as_a_machine(folder, run, fails, machine):
    moved = machine.transitions.copy()
    moved[0] -= 0.02
    odd = WeightedAutomaton(machine.alphabet, machine.initial, moved, machine.final)
    whole = WeightedAutomaton(machine.alphabet, machine.initial / odd.total, moved, machine.final)
    whole.save("odd.json")
    assert "or repair it" in fails(2, "convert", "odd.json", "odd.pautomac")
    text = run("convert", "odd.json", "odd.pautomac", "--repair")
    assert "The repaired automaton against the old one" in text
    assert "ndcg5" in text
    assert "odd.pautomac: 4 states, 3 symbols" in text
    run("convert", "odd.pautomac", "back.json")
    assert WeightedAutomaton.load("back.json").transitions.min() >= 0


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["machine.json", "wa.txt"], "wa.txt ends in none of .json .npz "),
        (2, ["machine.json", "missing/wa.npz"], "there is no folder missing to put it in"),
        (2, ["missing.json", "wa.npz"], "missing.json: there is no such file or folder"),
        (2, ["run", "wa.npz", "--rank", "9"], "rank 9 is outside 1 … 4"),
        (2, ["signed.json", "wa.pautomac"], "PAutomaC"),
        (2, ["signed.json", "wa.fst"], "symbol '<eps>' cannot be written as FST text"),
        (2, ["machine.json"], "Missing argument 'OUTPUT'"),
    ],
)
def test_convert_that_fails_leaves_nothing(extracted, fails, code, arguments, message):
    folder = extracted
    WeightedAutomaton(["<eps>", "c"], [1], [[[-0.5]], [[1]]], [2]).save("signed.json")
    before = names(folder)
    assert message in fails(code, "convert", *arguments)
    assert names(folder) == before


def test_a_structured_automaton_is_converted(folder, run):
    wa = random_structured(range(3), 4, seed=0)
    wa.save("structured.npz")
    for ending in ("json", "fst", "dot", "pautomac", "npz"):
        assert run("convert", "structured.npz", f"wa.{ending}").endswith("13 states, 3 symbols\n")
    for ending in ("json", "npz"):
        again = WeightedAutomaton.load(f"wa.{ending}")
        assert isinstance(again, StructuredAutomaton)
        assert again.allclose(wa, rtol=0, atol=0)
    assert WeightedAutomaton.allclose(wa, open_wa("wa.pautomac"))


def test_a_copy_is_converted_unless_it_is_to_be_read(folder, run):
    seqray.save_run(copied(), "copied")
    assert run("convert", "copied", "wa.npz") == "wa.npz: 7 states, 3 symbols\n"
    words = copied_machine().sample(20, seed=0).words
    np.testing.assert_allclose(
        WeightedAutomaton.load("wa.npz").weights(words), copied_machine().weights(words)
    )
    for options in (["wa.json", "--for", "reading"], ["wa.json", "--rank", "2"], ["wa.dot"]):
        assert run("convert", "copied", *options).endswith(": 2 states, 3 symbols\n")
    assert run("convert", "copied", "wa.json", "--repair").endswith(": 2 states, 3 symbols\n")


MOORE = DeterministicAutomaton("ab", [[1, 0], [2, 1], [0, 2]], [0, 1, 2], ["x", "y", "z"])
EVEN = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])


@pytest.mark.parametrize("automaton", [EVEN, MOORE])
def test_the_graph_of_an_automaton_that_decides_is_opened_as_a_box(folder, run, automaton):
    automaton.save("dfa.json")
    run("convert", "dfa.json", "dfa.dot")
    assert seqray.open_black_box("wa:dfa.dot").allclose(automaton)


def test_the_graph_of_a_pdfa_is_opened_as_a_box(folder, run):
    machine = random_pdfa(5, 2, 0)
    machine.save("pdfa.json")
    run("convert", "pdfa.json", "pdfa.dot")
    assert same_predictions(seqray.open_black_box("wa:pdfa.dot"), machine)


@pytest.mark.parametrize(
    ("automaton", "kind"),
    [(EVEN, "DFA"), (MOORE, "Moore machine"), (MOORE.to_classifier(), "classifier")],
)
@pytest.mark.parametrize("ending", ["prism", "pautomac"])
def test_an_automaton_that_decides_is_no_markov_chain(folder, fails, automaton, kind, ending):
    automaton.save("dfa.json")
    message = " ".join(fails(2, "convert", "dfa.json", f"dfa.{ending}").split())
    assert f"needs a probabilistic automaton: this one is a {kind} with the classes" in message
    assert "repair" not in message
