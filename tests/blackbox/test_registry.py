import json
import subprocess
import sys

import numpy as np
import pytest

from seqray import WeightedAutomaton, extract, save_run
from seqray.automata.generators import random_machine
from seqray.blackbox import registry
from seqray.blackbox.native.demo import open_demo
from seqray.blackbox.protocol import BlackBox
from seqray.blackbox.registry import known_black_boxes, open_black_box
from seqray.formats.automaton_file import open_wa
from seqray.formats.pautomac import write_machine
from seqray.util.errors import ArgumentError, FileError, MissingFileError, SeqrayError

COIN = WeightedAutomaton(range(2), [1], [[[0.5]], [[0.25]]], [0.25])


@pytest.fixture(params=["coin.json", "coin.npz", "run", "coin_model.txt"])
def saved(request, tmp_path):
    path = tmp_path / request.param
    if path.name == "run":
        save_run(extract(COIN, prefixes=20, suffixes=20), path)
    elif path.name == "coin_model.txt":
        write_machine(COIN, path)
    else:
        COIN.save(path)
    return path


def test_an_automaton_is_opened_from_every_kind_of_file(saved):
    box = open_black_box(f"wa:{saved}")
    assert isinstance(box, BlackBox)
    np.testing.assert_allclose(box.weights(box.alphabet.words([[], [0, 1]])), [0.25, 0.03125])


@pytest.mark.parametrize("name", ["coin.json", "coin.npz", "coin_model.txt"])
def test_the_kind_of_a_path_with_a_known_ending_is_guessed(tmp_path, name):
    path = tmp_path / name
    (write_machine if name.endswith(".txt") else WeightedAutomaton.save)(COIN, path)
    assert COIN.allclose(open_black_box(str(path)))
    assert COIN.allclose(open_black_box(path))


@pytest.fixture(scope="module")
def extraction():
    machine = random_machine("pfa", 4, 3, seed=np.random.default_rng(1))
    return extract(machine, prefixes=40, max_rank=4)


@pytest.mark.parametrize("rank", [1, 3, 4])
def test_a_run_folder_is_opened_at_the_rank_chosen_there(extraction, tmp_path, rank):
    run = tmp_path / "run"
    save_run(extraction, run, rank=rank)
    for spec in (f"wa:{run}", str(run), run):
        assert open_black_box(spec).allclose(extraction.automaton(rank), rtol=0, atol=0)
    assert open_wa(run).n_states == rank


@pytest.mark.parametrize(
    "config",
    [
        None,
        "",
        "{",
        "[3]",
        '"rank"',
        "{}",
        "[" * 100_000,
        *(json.dumps({"rank": rank}) for rank in (None, 0, -1, 5, "3", 2.5, [3])),
    ],
    ids=lambda config: str(config)[:20],
)
def test_a_run_folder_without_a_usable_rank_is_refused(extraction, tmp_path, config):
    run = tmp_path / "run"
    save_run(extraction, run)
    (run / "config.json").unlink()
    if config is not None:
        (run / "config.json").write_text(config)
    for spec in (f"wa:{run}", run):
        with pytest.raises(FileError, match=r"run: .*(damaged|config\.json|seqray\.run)"):
            open_black_box(spec)


def test_the_demo_needs_no_place():
    words = [[], ["a"], ["b", "c"]]
    expected = open_demo().weights(open_demo().alphabet.words(words))
    for spec in ("demo", "demo:"):
        box = open_black_box(spec)
        assert isinstance(box, BlackBox)
        np.testing.assert_array_equal(box.weights(box.alphabet.words(words)), expected)


def test_a_drive_letter_is_no_kind():
    with pytest.raises(MissingFileError, match="there is no such file or folder"):
        open_black_box("C:/nowhere/coin.json")


def test_an_adapter_may_be_a_method(monkeypatch, tmp_path):
    COIN.save(tmp_path / "coin.json")
    target = "seqray.automata.automaton:WeightedAutomaton.load"
    monkeypatch.setitem(registry.ADAPTERS, "mine", registry.Adapter(target, "PATH", "a test"))
    assert COIN.allclose(open_black_box(f"mine:{tmp_path / 'coin.json'}"))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("model.safetensors", "rnn"),
        ("model.keras", "keras"),
        ("model.onnx", "onnx"),
        ("model.pt", "torch"),
    ],
)
def test_files_of_networks_are_known_by_their_ending(path, kind):
    assert registry.split_spec(path) == (kind, path)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("model.bin", "black box 'model.bin': expected KIND:WHERE, one of .*demo, .*rnn:PATH"),
        ("", "expected KIND:WHERE"),
        ("tasir:folder", r"unknown kind 'tasir': did you mean taysir\? expected one of .*demo, "),
        ("WA:x.json", r"unknown kind 'WA': did you mean wa\?"),
        ("xyzzy:x.json", "'xyzzy': expected one of .*demo, .*taysir:FOLDER, .*wa:PATH"),
        ("demos", "black box 'demos': expected KIND:WHERE, one of .*demo, "),
        ("demo:x", "black box 'demo:x': expected nothing after demo: write demo"),
        (":x.json", "unknown kind ''"),
        ("wa:", "does not say where the box is: write wa:PATH"),
    ],
)
def test_a_specification_that_cannot_be_used_is_refused(spec, message):
    with pytest.raises(ArgumentError, match=message):
        open_black_box(spec)


def test_every_known_kind_has_one_line_of_description():
    known = known_black_boxes()
    assert set(known) >= {"demo", "http://URL", "rnn:PATH", "taysir:FOLDER", "wa:PATH"}
    assert all(text and "\n" not in text for text in known.values())


def test_no_adapter_is_loaded_before_it_is_needed():
    code = (
        "import sys, seqray.blackbox.registry as r; r.known_black_boxes();"
        "sys.exit(any(m.split(':')[0] in sys.modules for m, *_ in r.ADAPTERS.values()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_holds_no_automaton_is_refused(tmp_path):
    for name in ("missing.json", "missing.npz", "missing_model.txt", "missing"):
        with pytest.raises(MissingFileError, match=f"{name}: there is no such file or folder$"):
            open_wa(tmp_path / name)
    with pytest.raises(FileError, match="expected a run folder that `seqray extract` wrote"):
        open_wa(tmp_path)
    with pytest.raises(ArgumentError, match="expected KIND:WHERE"):
        open_black_box(tmp_path)  # nor is its kind guessed
    (tmp_path / "notes.txt").write_text("hello\n")
    with pytest.raises(FileError, match="expected a section"):
        open_wa(tmp_path / "notes.txt")


def test_options_reach_the_adapter_and_unknown_ones_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"timeout: expected seconds, more than 0, got -1"):
        open_black_box("http://localhost:1", timeout=-1)
    with pytest.raises(ArgumentError, match=r"the cmd adapter has no option 'time': expected one"):
        open_black_box("cmd:true", time=3)
    with pytest.raises(ArgumentError, match=r"the demo adapter has no option 'x': it takes none"):
        open_black_box("demo", x=3)


def test_a_module_in_the_folder_is_proposed_as_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mods.py").touch()
    with pytest.raises(ArgumentError, match=r"unknown kind 'mods': did you mean python:mods:box\?"):
        open_black_box("mods:box")


def test_a_python_file_is_proposed_as_a_module():
    with pytest.raises(ArgumentError, match="did you mean python:boxes:NAME"):
        open_black_box("my/boxes.py")


@pytest.mark.parametrize(
    "kind", ["wa", "rnn", "taysir", "torch", "onnx", "hf", "keras", "none", "a" * 5000]
)
@pytest.mark.parametrize("name", ["a" * 5000 + ".h5", "a\0b.h5", "\udcff.h5"])
def test_a_name_that_no_file_can_have_is_an_error_of_seqray(kind, name):
    with pytest.raises(SeqrayError):
        open_black_box(f"{kind}:{name}")
