import gc

import numpy as np
import pytest

from seqray import WeightedAutomaton, black_box, open_black_box
from seqray.blackbox.box_record import BoxRecord, record_of, remember
from seqray.util.errors import FileError

COIN = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])


def test_boxes_know_how_they_were_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    COIN.save("coin.json")
    assert record_of(open_black_box("wa:coin.json")) == BoxRecord("wa:coin.json")
    assert record_of(open_black_box("demo")) == BoxRecord("demo")


def test_a_path_alone_is_recorded_with_its_kind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("coin.json", "wa.json"):
        COIN.save(name)
        assert record_of(open_black_box(name)).spec == f"wa:{name}"


def test_options_are_recorded(tmp_path):
    COIN.save(tmp_path / "coin.json")
    box = open_black_box(tmp_path / "coin.json", purpose="reading")
    assert record_of(box).options == {"purpose": "reading"}


def test_a_box_that_was_made_in_python_has_no_record():
    assert record_of(black_box(len, "ab")) is None
    assert record_of(COIN) is None


def test_an_object_around_a_box_has_no_record_for_it_may_answer_otherwise():
    class Wrapper:
        def __init__(self, box):
            self.box = box

    assert record_of(Wrapper(open_black_box("demo"))) is None


def test_the_record_goes_with_its_box():
    box = open_black_box("demo")
    key = id(box)
    del box
    gc.collect()
    assert record_of(type("Other", (), {"__hash__": lambda self: key})()) is None


def test_an_object_that_cannot_be_referred_to_is_left_alone():
    number = 5
    remember(number, BoxRecord("demo"))
    assert record_of(number) is None


def test_what_cannot_be_shown_is_not_remembered():
    class Box:
        pass

    box = Box()
    remember(box, BoxRecord("cmd:printf '\n'"))
    assert record_of(box) is None


def test_no_secret_is_recorded():
    spec = "https://me:hunter22@host/box?key=abcdef&model=letters"
    record = BoxRecord.of(spec, {"token": "abcdef", "timeout": 60, "api_key": "abcdef"})
    assert "abcdef" not in repr(record)
    assert "hunter22" not in repr(record)
    assert record.options == {"timeout": 60}
    assert record.left_out == ("token", "api_key")
    assert record.has_secrets


def test_values_without_a_word_in_json_are_left_out():
    record = BoxRecord.of("hf:folder", {"alphabet": np.array([1]), "start": ["<s>", 3]})
    assert (dict(record.options), record.left_out) == ({"start": ["<s>", 3]}, ("alphabet",))


@pytest.mark.parametrize(
    ("run", "path", "expected"),
    [
        ("run", "net.h5", "../net.h5"),
        ("./runs/a/", "./nets/net.h5", "../../nets/net.h5"),
        ("run", "run/net.h5", "../run/net.h5"),
        ("run", "../net.h5", None),
        ("../run", "net.h5", None),
        ("/home/me/run", "net.h5", None),
        ("run", "/home/me/net.h5", None),
        (".", "net.h5", None),
    ],
)
def test_only_names_that_the_user_wrote_are_recorded(run, path, expected):
    assert BoxRecord(f"keras:{path}").seen_from(run).path_from_run == expected


def test_records_come_back():
    record = BoxRecord("keras:net.h5", {"batch_size": 5}, ("token",), "../net.h5")
    document = {
        **{"spec": "keras:net.h5", "options": {"batch_size": 5}},
        **{"left_out": ["token"], "path_from_run": "../net.h5"},
    }
    assert BoxRecord.from_json(document) == record


@pytest.mark.parametrize(
    "document",
    [
        *(None, [], "demo", {}, {"spec": 3}, {"spec": ""}, {"spec": "x" * 20_000}),
        *({"spec": "demo", "options": []}, {"spec": "demo", "options": {"x": {"y": 1}}}),
        *({"spec": "demo", "left_out": "token"}, {"spec": "demo", "path_from_run": 3}),
        *({"spec": "demo", "path_from_run": "a\0b"}, {"spec": "demo", "shell": True}),
        *({"spec": "demo", "left_out": [3]}, {"spec": "wa:\x1b[2Jcoin.json"}),
    ],
)
def test_other_documents_are_damaged(document):
    with pytest.raises(FileError, match="damaged: recorded_box"):
        BoxRecord.from_json(document)
