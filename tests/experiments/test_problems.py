import pickle
from pathlib import Path

import numpy as np
import pytest

import seqray
from seqray.automata.words import Alphabet
from seqray.blackbox.native.cells import DenseLayer, RecurrentLayer
from seqray.blackbox.native.rnn import RecurrentLanguageModel, RecurrentNetwork
from seqray.experiments import problems
from seqray.experiments.competition import Parameters, generate_problem, write_problem
from seqray.experiments.problems import FileSource, GeneratedSource, load, sources
from seqray.util.errors import ArgumentError, BlackBoxError, FileError, SymbolError

SMALL = {"n_rnn": 30, "n_held_out": 20}


def network(n_symbols, kind=RecurrentLanguageModel, first=0):
    rng = np.random.default_rng(0)
    layer = RecurrentLayer(
        "gru", rng.normal(size=(9, n_symbols)), rng.normal(size=(9, 3)), np.zeros(9), np.zeros(9)
    )
    n_outputs = n_symbols + 1 if kind is RecurrentLanguageModel else 1
    dense = DenseLayer(rng.normal(size=(n_outputs, 3)), np.zeros(n_outputs))
    return kind(range(first, first + n_symbols), [layer], [dense])


@pytest.fixture
def folder(tmp_path):
    """A data folder with one problem of PAutomaC, and a folder of networks beside it."""
    data, boxes = tmp_path / "data" / "pautomac", tmp_path / "boxes"
    data.mkdir(parents=True)
    boxes.mkdir()
    rng = np.random.default_rng(0)
    problem = generate_problem(Parameters("pfa", 5, 4, 0.5, 0.2), 10, 40, seed=rng)
    write_problem(problem, data, 3)
    network(4).save(boxes / "3.safetensors")
    return tmp_path


def pautomac(folder, **options):
    return sources("pautomac", data=folder / "data", boxes=folder / "boxes", **options)


def test_a_problem_of_pautomac_has_test_words_a_target_and_words_of_its_network(folder):
    problem = load(pautomac(folder, problems=[3])[0], **SMALL)
    assert repr(problem) == (
        "Problem(3: 4 symbols, 40 test words, 30 of the box, target with 5 states)"
    )
    stem = folder / "data" / "pautomac" / "3.pautomac"
    assert problem.test == seqray.read_words(f"{stem}.test")
    assert problem.target.allclose(seqray.open_black_box(f"wa:{stem}_model.txt"))
    assert problem.rnn != problem.held_out
    assert load(pautomac(folder, problems=[3])[0], **SMALL).rnn == problem.rnn


def test_fewer_test_words_are_the_first(folder):
    source = pautomac(folder, problems=[3])[0]
    assert load(source, n_test=7, **SMALL).test == load(source, **SMALL).test[:7]


def test_what_is_missing_is_said_and_nothing_is_read(folder):
    holes = {source.name: source.hole for source in pautomac(folder)}
    assert len(holes) == 48
    assert holes["3"] == ""
    assert holes["4"].endswith("there is no file " + str(folder / "data/pautomac/4.pautomac.test"))
    (folder / "boxes" / "3.safetensors").unlink()
    assert "there is no network" in pautomac(folder, problems=[3])[0].hole
    assert "train one with `seqray train`" in pautomac(folder, problems=[3])[0].hole


def test_a_fingerprint_changes_with_the_network(folder):
    source = pautomac(folder, problems=[3])[0]
    before = source.fingerprint()
    assert before == source.fingerprint()
    (folder / "boxes" / "3.safetensors").write_bytes(b"other")
    assert source.fingerprint() != before


def test_a_network_with_more_symbols_than_the_machine_widens_the_machine(folder):
    network(6).save(folder / "boxes" / "3.safetensors")
    problem = load(pautomac(folder, problems=[3])[0], **SMALL)
    assert problem.alphabet == problem.target.alphabet == Alphabet(range(6))
    narrow = seqray.open_black_box(f"wa:{folder}/data/pautomac/3.pautomac_model.txt")
    words = list(problem.test)
    np.testing.assert_array_equal(problem.target.weights(words), narrow.weights(words))
    assert problem.target.weights([[5]]) == 0


def test_a_network_with_fewer_symbols_than_the_words_is_refused(folder):
    network(2).save(folder / "boxes" / "3.safetensors")
    with pytest.raises((SymbolError, FileError), match="alphabet"):
        load(pautomac(folder, problems=[3])[0], **SMALL)


def test_a_network_that_does_not_predict_is_refused(folder):
    network(4, RecurrentNetwork).save(folder / "boxes" / "3.safetensors")
    with pytest.raises(BlackBoxError, match=r"3\.safetensors: expected a network that predicts"):
        load(pautomac(folder, problems=[3])[0], **SMALL)


@pytest.mark.parametrize(
    ("suite", "number", "file", "first", "n_reserved"),
    [
        ("spice", 0, "spice/0.spice.train", 0, 2000),
        ("spice", 4, "spice/4.spice.train", 0, 2000),
        ("trucks", 2, "pautomac-real/pautomac-real-2.train.txt", 1, 2000),
        ("logs", 1, "cases/hdfs_train.txt", 2, 970),
    ],
)
def test_problems_without_a_target_are_evaluated_on_the_last_words_of_the_file(
    tmp_path, suite, number, file, first, n_reserved
):
    (tmp_path / file).parent.mkdir(parents=True)
    codes = [[first] * (1 + n % 7) for n in range(n_reserved + 5)]
    codes[0] = [first, first + 2]
    words = Alphabet(range(first, first + 3)).words(codes)
    seqray.write_words(words, tmp_path / file, layout="text" if suite == "logs" else "pautomac")
    (source,) = sources(suite, data=tmp_path, boxes=tmp_path, problems=[number])
    assert source.hole.startswith(f"there is no network {tmp_path}")
    network(3, first=first).save(source.network)
    problem = load(source, **SMALL)
    assert problem.target is None
    assert "no target" in repr(problem)
    assert problem.test == words[5:]


def test_a_file_with_too_few_words_to_keep_some_is_refused(tmp_path):
    (tmp_path / "few.train").write_text("2 2\n1 0\n1 1\n")
    network(2).save(tmp_path / "few.safetensors")
    source = FileSource("few", tmp_path / "few.safetensors", tmp_path / "few.train", None, 2000)
    with pytest.raises(FileError, match=r"expected more than the 2000 words .*, got 2"):
        load(source, **SMALL)


def test_generated_problems_need_no_file_and_are_always_the_same():
    source = sources("generated", problems=[5])[0]
    assert source == GeneratedSource(5)
    assert source.hole == ""
    first, again = load(source, **SMALL), load(pickle.loads(pickle.dumps(source)), **SMALL)
    assert (first.test, first.rnn, first.held_out) == (again.test, again.rnn, again.held_out)
    assert first.box.allclose(again.box)
    assert not first.box.allclose(first.target)
    assert len(first.test) == len(set(first.test)) == 1000


def test_a_generated_box_is_close_to_its_target():
    problem = load(GeneratedSource(1), **SMALL)
    fidelity = seqray.compare(problem.target, problem.box, problem.test)
    assert 0.9 < fidelity["perplexity_ratio"] < 1
    assert 0.9 < fidelity["ndcg5"] < 1


def test_words_that_do_not_end_are_cut_and_noted(monkeypatch):
    monkeypatch.setattr(problems, "MAX_WORD_LENGTH", 3)
    problem = load(GeneratedSource(1), **SMALL)
    assert problem.rnn.lengths.max() == 3
    assert "of 50 words drawn from the box had no end after 3 symbols" in problem.notes[0]


@pytest.mark.parametrize(
    ("suite", "options", "message"),
    [
        ("pautomc", {}, "suite: expected one of pautomac, spice"),
        ("pautomac", {"problems": [49]}, "pautomac has no problem 49: it has 1 … 48"),
        ("spice", {"problems": [1]}, "spice has no problem 1: it has 0 and 4"),
        ("generated", {"problems": [0]}, "generated has no problem 0"),
        ("pautomac", {}, "pautomac needs its data: name the data folder"),
    ],
)
def test_what_is_not_known_is_refused(suite, options, message):
    with pytest.raises(ArgumentError, match=message):
        sources(suite, **options)


def test_the_public_data_are_found(data):
    names = {"pautomac": 48, "spice": 2, "trucks": 1, "logs": 1}
    for suite, number in names.items():
        found = sources(suite, data=data)
        assert len(found) == number
        assert all(source.words.is_file() for source in found)
        assert all(source.machine is None or source.machine.is_file() for source in found)


@pytest.mark.parametrize(("suite", "number", "n_test"), [("spice", 0, 2000), ("logs", 1, 970)])
def test_the_networks_of_natural_data_read_their_test_words(data, suite, number, n_test):
    boxes = Path(__file__).resolve().parents[2] / "benchmarks" / "blackboxes"
    (source,) = sources(suite, data=data, boxes=boxes, problems=[number])
    box, words, target = source.read()
    assert (len(words), target) == (n_test, None)
    assert words.alphabet == box.alphabet
