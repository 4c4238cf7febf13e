"""What is saved comes back bit by bit, and no damaged file does harm."""

import errno
import io
import json
import math
import os
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from automata import FIGURE_1
from pages import ROOT
from scorer_cases import AUTOMATA
from seqray import DeterministicAutomaton, Grouping, StructuredAutomaton, WeightedAutomaton
from seqray.util.errors import ArgumentError, FileError, MissingFileError, SymbolError

HEADER = {"format": "seqray.automaton", "version": 1, "alphabet": ["a", "b"]}


def same_numbers(a, b):
    return a.alphabet == b.alphabet and all(
        getattr(a, name).tobytes() == getattr(b, name).tobytes()
        for name in ("initial", "transitions", "final")
    )


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_a_saved_automaton_comes_back_bit_by_bit(tmp_path, suffix):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(2, 3, 3)) * 10.0 ** rng.integers(-300, 300, size=(2, 3, 3))
    wa = WeightedAutomaton(["μ", 7], [0.1, -0.0, 5e-324], numbers, [1 / 3, 1e308, 0])
    path = tmp_path / f"wa.{suffix}"
    wa.save(path)
    assert same_numbers(WeightedAutomaton.load(path), wa)
    FIGURE_1.save(str(path))
    assert same_numbers(WeightedAutomaton.load(str(path)), FIGURE_1)
    assert os.listdir(tmp_path) == [path.name]


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def document(**changes):
    whole = {**HEADER, "initial": [1], "transitions": [[[0.5]], [[0.25]]], "final": [0.25]}
    return {key: value for key, value in {**whole, **changes}.items() if value is not ...}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged"),
        (b"{", "damaged"),
        (b"\xff\xfe\x00", "damaged"),
        (b"[" * 100_000, "damaged"),
        (b"[]", "expected a file in format 'seqray.automaton', got 'list'"),
        (b'{"format": "else"}', "expected a file in format .* got 'else'"),
        (document(version=3), "written by a newer seqray"),
        (document(version=None), "not a version number"),
        (document(final=...), "it has no 'final'"),
        (document(alphabet=...), "it has no 'alphabet'"),
        (document(alphabet=3), "damaged"),
        (document(alphabet=["a", ["b"]]), "not hashable"),
        (document(alphabet=["a"]), r"transitions: expected shape \(1, 1, 1\)"),
        (document(initial=["x"]), "initial: expected real numbers"),
        (document(initial=[math.nan]), "initial: expected finite numbers"),
        (document(transitions=[[[1]], [[1, 2]]]), "transitions: expected rows of equal lengths"),
        (document(final=[10**400]), "final"),
    ],
)
def test_a_json_file_that_cannot_be_used_is_refused(tmp_path, content, message):
    path = tmp_path / "wa.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    with pytest.raises(FileError, match=rf"wa\.json: .*{message}"):
        WeightedAutomaton.load(path)


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("this-folder-must-not-appear",)


def npz_contents():
    arrays = {"initial": [1], "transitions": [[[0.5]], [[0.25]]], "final": [0.25]}
    header = json.dumps(HEADER)
    good = npz(header=header, **arrays)
    damaged = good.replace(b"header.npy", b"hfader.npy")
    single = io.BytesIO()
    np.save(single, np.ones(3))
    bomb = np.array([Bomb()], dtype=object)
    return {
        "empty": (b"", "damaged"),
        "cut short": (good[:-100], "damaged"),
        "no zip": (b"hello world", "damaged"),
        "one array": (single.getvalue(), "damaged"),
        "a pickle": (pickle.dumps([1]), "damaged"),
        "damaged": (damaged, "damaged"),
        "no header": (npz(**arrays), "it has no"),
        "no final": (npz(header=header, initial=[1], transitions=[[[1]], [[1]]]), "has no 'final'"),
        "header is a list": (npz(header="[]", **arrays), "got 'list'"),
        "other format": (npz(header="{}", **arrays), "expected a file in format"),
        "newer": (npz(header=json.dumps({**HEADER, "version": 9}), **arrays), "newer seqray"),
        "object header": (npz(header=bomb, **arrays), "damaged"),
        "object inside": (npz(header=header, **{**arrays, "final": bomb}), "damaged"),
        "wrong shape": (npz(header=header, **{**arrays, "final": [1, 2]}), "final: expected shape"),
    }


@pytest.mark.parametrize("name", list(npz_contents()))
def test_an_npz_file_that_cannot_be_used_is_refused(tmp_path, monkeypatch, name):
    content, message = npz_contents()[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wa.npz").write_bytes(content)
    with pytest.raises(FileError, match=rf"wa\.npz: .*{message}"):
        WeightedAutomaton.load("wa.npz")
    assert os.listdir(tmp_path) == ["wa.npz"]


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_a_byte_changed_anywhere_is_a_file_error_or_another_automaton(tmp_path, suffix):
    path = tmp_path / f"wa.{suffix}"
    FIGURE_1.save(path)
    good, rng = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for at in range(len(good)):
        content = bytearray(good)
        content[at] ^= int(rng.integers(1, 256))
        path.write_bytes(content)
        try:
            WeightedAutomaton.load(path)
        except FileError:
            refused += 1
    assert refused > len(good) / 4


def test_an_archive_with_unknown_compression_or_a_password_is_refused(tmp_path):
    path = tmp_path / "wa.npz"
    FIGURE_1.save(path)
    content = bytearray(path.read_bytes())
    central = content.index(b"PK\x01\x02")
    for at, value in ((8, 1), (10, 99)):  # flags: encrypted; method: unknown
        changed = content.copy()
        changed[central + at] = value
        path.write_bytes(changed)
        assert zipfile.is_zipfile(path)
        with pytest.raises(FileError, match="damaged"):
            WeightedAutomaton.load(path)


def test_files_of_other_kinds_are_refused(tmp_path):
    for name in ("wa.pkl", "wa", "wa.JSONL"):
        with pytest.raises(ArgumentError, match=r"ends in \.json or \.npz"):
            FIGURE_1.save(tmp_path / name)
        with pytest.raises(ArgumentError, match=r"ends in \.json or \.npz"):
            WeightedAutomaton.load(tmp_path / name)
    for name in ("missing.json", "missing.npz"):
        with pytest.raises(MissingFileError, match=rf"{name}: there is no such file$"):
            WeightedAutomaton.load(tmp_path / name)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_symbols_that_json_cannot_hold_are_refused_before_anything_is_written(tmp_path, suffix):
    for symbol in (("x", 1), "\ud800"):
        wa = WeightedAutomaton([symbol], [1], [[[0.5]]], [1])
        with pytest.raises(SymbolError, match="cannot be written to a file"):
            wa.save(tmp_path / f"wa.{suffix}")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"wa.{suffix}"
    FIGURE_1.save(path)
    before = path.read_bytes()

    def full(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(FileError, match="No space left on device"):
        FIGURE_1.truncate(1).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in ("file", "missing"):
        with pytest.raises(FileError, match=rf"{folder}/wa\.json: cannot write here"):
            FIGURE_1.save(tmp_path / folder / "wa.json")
    assert os.listdir(tmp_path) == ["file"]


STRUCTURED = StructuredAutomaton(
    "ab",
    Grouping.by_last_symbol([2, 1]),
    [1],
    [[0.5, 0.5, 0], [0, 0.5, 0.25], [0, 0.25, 0.5], [0.25, 0.25, 0.5]],
    [1, 0.5, 0.5, 1],
    {(1, 0): [[0, 0.25], [0.25, 0]]},
    [0, 0.25, -0.0, 5e-324],
)


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_a_structured_automaton_comes_back_bit_by_bit(tmp_path, suffix):
    path = tmp_path / f"wa.{suffix}"
    STRUCTURED.save(path)
    again = WeightedAutomaton.load(path)
    assert type(again) is StructuredAutomaton
    assert again.alphabet == STRUCTURED.alphabet
    for name, array in STRUCTURED.arrays.items():
        assert array.tobytes() == again.arrays[name].tobytes(), name


def test_a_file_says_which_kind_of_automaton_it_holds(tmp_path):
    STRUCTURED.save(tmp_path / "structured.json")
    FIGURE_1.save(tmp_path / "dense.json")
    headers = [
        json.loads((tmp_path / f"{each}.json").read_bytes()) for each in ("structured", "dense")
    ]
    assert (headers[0]["version"], headers[0]["kind"]) == (2, "structured")
    assert headers[1]["version"] == 1
    assert "kind" not in headers[1]


def test_an_array_that_lost_its_name_is_missed(tmp_path):
    path = tmp_path / "wa.npz"
    WeightedAutomaton("a", [1], [[[0.5]]], [0.25], elsewhere=[0.25]).save(path)
    path.write_bytes(path.read_bytes().replace(b"elsewhere.npy", b"elsewherf.npy"))
    with pytest.raises(FileError, match=r"wa\.npz: damaged: it is not what was saved"):
        WeightedAutomaton.load(path)


@pytest.mark.parametrize("ending", [".json", ".npz"])
def test_files_of_earlier_versions_have_no_checksum_and_open(tmp_path, ending):
    path = tmp_path / f"wa{ending}"
    document = {"format": "seqray.automaton", "version": 1, "alphabet": ["a"]}
    arrays = {"initial": [1.0], "transitions": [[[0.5]]], "final": [0.25]}
    if ending == ".json":
        path.write_text(json.dumps({**document, **arrays}))
    else:
        np.savez(path, header=json.dumps(document), **arrays)
    assert WeightedAutomaton.load(path).final.tolist() == [0.25]


def test_a_digit_that_was_changed_is_noticed(tmp_path):
    path = tmp_path / "wa.json"
    WeightedAutomaton("a", [1], [[[0.5]]], [0.25]).save(path)
    path.write_text(path.read_text().replace("0.25", "0.27"))
    with pytest.raises(FileError, match=r"wa\.json: damaged: .*if you changed it yourself, remove"):
        WeightedAutomaton.load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"kind": "other"},
            "expected an automaton of kind 'structured', 'classifier' or none, got 'other'",
        ),
        ({"version": 3}, "written by a newer seqray"),
        ({"next_group": ...}, "it has no 'next_group'"),
        ({"values": ...}, "it has no 'values'"),
        ({"next_group": [[0.5, 1]] * 3}, "next_group: expected whole numbers"),
        ({"next_group": [[7, 1]] * 3}, "next_group: expected 0 … 2, got 7"),
        ({"next_group": [[1]] * 3}, "next_group: expected one column for each of 2 symbols"),
        ({"group_sizes": [1, 2, 10**12]}, "group_sizes: expected at most 2147483647"),
        ({"group_sizes": [1, 2, 2**31 - 1]}, r"emission: expected shape \(2147483650, 3\)"),
        ({"group_sizes": [10**30]}, "group_sizes: expected"),
        ({"start_group": "x"}, "start_group: expected a whole number"),
        ({"start_group": [0, 1]}, "damaged"),
        ({"initial_vector": [1, 0]}, r"initial_vector: expected shape \(1\)"),
        ({"pair_groups": [1, 1]}, "pair_symbols: expected one for each of 2 pairs"),
        ({"pair_symbols": [9]}, "pair_symbols: expected 0 … 1, got 9"),
        ({"values": [0.5]}, r"values: expected shape \(4\)"),
        ({"values": [0, "x", 0, 0]}, "values: expected real numbers"),
        ({"entry": [math.inf] * 4}, "entry: expected finite numbers"),
    ],
)
def test_a_structured_file_that_cannot_be_used_is_refused(tmp_path, changes, message):
    path = tmp_path / "wa.json"
    STRUCTURED.save(path)
    whole = {**json.loads(path.read_bytes()), "checksum": ..., **changes}
    path.write_text(json.dumps({key: each for key, each in whole.items() if each is not ...}))
    with pytest.raises(FileError, match=rf"wa\.json: .*{message}"):
        WeightedAutomaton.load(path)


def test_a_name_that_utf_8_cannot_hold_is_a_clear_error(tmp_path):
    moore = DeterministicAutomaton("a", [[0]], [1], ("x", "\ud800"))
    with pytest.raises(FileError, match="cannot be written"):
        moore.save(tmp_path / "moore.json")
    assert list(tmp_path.iterdir()) == []


# The published schema -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schema():
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads((ROOT / "docs" / "automaton.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


@pytest.mark.parametrize("name", AUTOMATA)
def test_the_schema_describes_what_is_written(tmp_path, schema, name):
    AUTOMATA[name].save(tmp_path / "wa.json")
    schema.validate(json.loads((tmp_path / "wa.json").read_bytes()))


def test_the_schema_describes_the_examples_of_the_docs(schema):
    text = (ROOT / "docs" / "files.md").read_text("utf-8")
    examples = [json.loads(each) for each in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]
    automata = [each for each in examples if each.get("format") == "seqray.automaton"]
    assert len(automata) == 3
    for each in automata:
        schema.validate(each)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("probabilistic", {"format": "other"}),
        ("probabilistic", {"version": 3}),
        ("probabilistic", {"alphabet": ["a", "a"]}),
        ("probabilistic", {"final": ["x", 1]}),
        ("probabilistic", {"transitions": ...}),
        ("probabilistic", {"kind": "classifier"}),
        ("structured", {"group_sizes": [0, 1]}),
        ("structured", {"start_group": 0.5}),
        ("DFA", {"output_names": ...}),
        ("logits", {"question": "guess"}),
        ("logits", {"threshold": 2}),
        ("logits", {"version": 1}),
    ],
)
def test_the_schema_refuses_what_is_refused(tmp_path, schema, name, changes):
    path = tmp_path / "wa.json"
    AUTOMATA[name].save(path)
    whole = {**json.loads(path.read_bytes()), "checksum": ..., **changes}
    document = {key: each for key, each in whole.items() if each is not ...}
    assert not schema.is_valid(document)
    if changes != {"version": 1}:  # which would be read all the same
        path.write_text(json.dumps(document))
        with pytest.raises((FileError, ArgumentError)):
            WeightedAutomaton.load(path)
