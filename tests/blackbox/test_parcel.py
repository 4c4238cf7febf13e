import pickle
import sys

import pytest

import seqray
from seqray.blackbox.box_record import BoxRecord, remember
from seqray.blackbox.native.rnn import RecurrentNetwork
from seqray.blackbox.parcel import BoxParcel
from seqray.blackbox.registry import open_black_box
from seqray.util.errors import ArgumentError, BlackBoxError

MODULE = "import seqray\nbox = seqray.black_box(lambda words: [{} for w in words], 'ab')\n"


def posted(parcel):
    return pickle.loads(pickle.dumps(parcel))


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "boxes_of_parcels.py"
    path.write_text(MODULE.format(1))
    yield path
    sys.modules.pop("boxes_of_parcels", None)


def test_a_network_travels_as_its_own_content():
    box = open_black_box("demo")
    parcel = posted(BoxParcel.of(box))
    words = ["", "abc", "dddd"]
    assert (parcel.opened().weights(words) == box.weights(words)).all()
    assert parcel.opened().fingerprint == box.fingerprint


def test_a_network_that_was_never_in_a_file_travels_too(tmp_path):
    demo = open_black_box("demo")
    demo.save(tmp_path / "a.safetensors")
    box = RecurrentNetwork.load(tmp_path / "a.safetensors")
    assert posted(BoxParcel.of(box)).opened().fingerprint == demo.fingerprint


def test_an_automaton_and_its_guide_travel_as_they_are():
    box = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    opened = posted(BoxParcel.of(box)).opened()
    assert (opened.transitions == box.transitions).all()
    guided = seqray.guided(open_black_box("demo"), "a b*")
    words = ["a", "ab", "b"]
    assert (posted(BoxParcel.of(guided)).opened().weights(words) == guided.weights(words)).all()


def test_any_other_box_travels_as_its_specification(module):
    parcel = BoxParcel.of(open_black_box("python:boxes_of_parcels:box"))
    assert (parcel.spec, parcel.content) == ("python:boxes_of_parcels:box", None)
    assert b"lambda" not in pickle.dumps(parcel)
    assert posted(parcel).opened().weights(["a"]) == [1]


def test_a_box_is_opened_once(module):
    parcel = BoxParcel.of(open_black_box("python:boxes_of_parcels:box"))
    assert posted(parcel).opened() is posted(parcel).opened()


def test_the_path_of_a_file_is_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "net"
    folder.mkdir()
    box = open_black_box("demo")

    class Own:
        alphabet, weights = box.alphabet, box.weights

    own = Own()
    remember(own, BoxRecord("hf:net"))
    assert BoxParcel.of(own).spec == f"hf:{folder}"


def test_a_function_of_this_process_is_refused_with_what_to_do():
    box = seqray.black_box(lambda words: [0.0] * len(words), "ab")
    with pytest.raises(ArgumentError, match=r"in this process alone.*python:MODULE:OBJECT"):
        BoxParcel.of(box)
    with pytest.raises(ArgumentError, match="in this process alone"):
        seqray.extract(box, executor=2)


class Secretive:
    alphabet = seqray.Alphabet("ab")

    def weights(self, words):
        return [0.0] * len(words)


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("http://host", {"token": "x1y2z3"}, "the option 'token', and secrets are not sent"),
        ("http://host/?key=x1y2z3", {}, "a secret in its specification, and secrets are not"),
        ("http://host", {"function": abs}, "the option 'function' of the box is no number"),
    ],
)
def test_secrets_do_not_travel(spec, options, message):
    box = Secretive()
    remember(box, BoxRecord.of(spec, options))
    with pytest.raises(ArgumentError, match=message) as error:
        BoxParcel.of(box)
    assert "x1y2z3" not in str(error.value)


def test_a_worker_that_has_another_module_says_so(module):
    module.write_text(MODULE.format(3))
    parcel = posted(BoxParcel.of(open_black_box("python:boxes_of_parcels:box")))
    sys.modules.pop("boxes_of_parcels")
    module.write_text(MODULE.format("2.0"))
    with pytest.raises(BlackBoxError, match=r"another box there.*the same files and modules"):
        parcel.opened()
