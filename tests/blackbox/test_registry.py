import subprocess
import sys

import numpy as np
import pytest

from seqray import WeightedAutomaton
from seqray.blackbox import registry
from seqray.blackbox.protocol import BlackBox
from seqray.blackbox.registry import known_black_boxes, open_black_box
from seqray.blackbox.wa import open_wa
from seqray.data.pautomac import write_machine
from seqray.errors import ArgumentError, FileError

COIN = WeightedAutomaton(range(2), [1], [[[0.5]], [[0.25]]], [0.25])


@pytest.fixture(params=["coin.json", "coin.npz", "run", "coin_model.txt"])
def saved(request, tmp_path):
    path = tmp_path / request.param
    if path.name == "run":
        path.mkdir()
        COIN.save(path / "automaton.npz")
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


def test_a_drive_letter_is_no_kind():
    with pytest.raises(FileError, match="there is no such file or folder"):
        open_black_box("C:/nowhere/coin.json")


def test_an_adapter_may_be_a_method(monkeypatch, tmp_path):
    COIN.save(tmp_path / "coin.json")
    target = "seqray.automaton:WeightedAutomaton.load"
    monkeypatch.setitem(registry.ADAPTERS, "mine", registry.Adapter(target, "PATH", "a test"))
    assert COIN.allclose(open_black_box(f"mine:{tmp_path / 'coin.json'}"))


def test_safetensors_are_networks():
    assert registry._split("model.safetensors") == ("rnn", "model.safetensors")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("model.bin", "black box 'model.bin': expected KIND:WHERE, one of rnn:PATH, taysir:FOLDER"),
        ("", "expected KIND:WHERE"),
        ("tasir:folder", r"unknown kind 'tasir': did you mean taysir\? expected one of rnn:PATH"),
        ("WA:x.json", r"unknown kind 'WA': did you mean wa\?"),
        ("xyzzy:x.json", r"unknown kind 'xyzzy': expected one of rnn:PATH, taysir:FOLDER, wa:PATH"),
        (":x.json", "unknown kind ''"),
        ("wa:", "say where it is: wa:PATH"),
    ],
)
def test_a_specification_that_cannot_be_used_is_refused(spec, message):
    with pytest.raises(ArgumentError, match=message):
        open_black_box(spec)


def test_every_known_kind_has_one_line_of_description():
    known = known_black_boxes()
    assert set(known) == {"rnn", "taysir", "wa"}
    assert all(text and "\n" not in text for text in known.values())


def test_no_adapter_is_loaded_before_it_is_needed():
    code = (
        "import sys, seqray.blackbox.registry as r; r.known_black_boxes();"
        "sys.exit(any(m.split(':')[0] in sys.modules for m, *_ in r.ADAPTERS.values()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_holds_no_automaton_is_refused(tmp_path):
    with pytest.raises(FileError, match="there is no such file or folder"):
        open_wa(tmp_path / "missing.json")
    with pytest.raises(FileError, match=r"not the folder of an extraction: .* automaton\.npz"):
        open_wa(tmp_path)
    (tmp_path / "notes.txt").write_text("hello\n")
    with pytest.raises(FileError, match="expected a section"):
        open_wa(tmp_path / "notes.txt")
