import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import seqray
from seqray import open_black_box
from seqray.blackbox.queried import QueriedModel
from seqray.blackbox.queries.oracle import fingerprint_of
from seqray.util.errors import ArgumentError, BlackBoxError, MissingFileError

EXAMPLES = Path(__file__).parents[3] / "examples"
MODULE = """
import seqray

def values(words):
    return [len(word) for word in words]

def rows(prefixes):
    return [[0.25, 0.25, 0.5]] * len(prefixes)

box = seqray.black_box(values, "ab")
named = seqray.black_box(values, "ab", name="my model")

def factory():
    return seqray.language_model(rows, "ab")

class Own:
    alphabet = seqray.Alphabet("ab")
    def weights(self, words):
        return seqray.black_box(values, "ab").weights(words)

class Strange(Own):
    alphabet = "ab"

class Shelf:
    box = box

def broken():
    return 1 / 0

def missing():
    return seqray.open_black_box("wa:nowhere.json")

def nothing():
    pass

number = 3
strange = Strange()
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module into the current folder; return its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    names = []

    def write(text=MODULE, name="users_model"):
        (tmp_path / f"{name}.py").write_text(text)
        names.append(name)
        sys.modules.pop(name, None)
        return name

    yield write
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["box", "named", "Own", "Shelf.box"])
def test_a_box_is_opened_by_its_name(module, name):
    opened = open_black_box(f"python:{module()}:{name}")
    assert opened.weights(opened.alphabet.words(["", "aba"])).tolist() == [0, 3]


def test_a_function_that_makes_a_box_is_called(module):
    opened = open_black_box(f"python:{module()}:factory")
    assert isinstance(opened, QueriedModel)
    assert opened.weights(["a"]).tolist() == [0.125]


def test_the_current_folder_is_searched_whatever_the_path_is(module, monkeypatch):
    name = module()
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(Path.cwd()))])
    assert open_black_box(f"python:{name}:box").weights(["ab"]).tolist() == [2]


def test_a_box_is_known_by_its_name_and_its_source(module):
    fingerprints = []
    for text in (MODULE, MODULE, MODULE + "# changed\n"):
        name = module(text)
        fingerprints.append(fingerprint_of(open_black_box(f"python:{name}:box")))
        assert fingerprint_of(open_black_box(f"python:{name}:factory")) not in fingerprints
    assert fingerprints[0] == fingerprints[1] != fingerprints[2]
    assert fingerprints[0].startswith("python:users_model:box ")
    assert fingerprint_of(open_black_box(f"python:{name}:named")) == "my model"


def test_its_answers_can_be_cached(module, tmp_path):
    opened = open_black_box(f"python:{module()}:box")
    for _ in range(2):
        extraction = seqray.extract(opened, prefixes=9, suffixes=9, store=tmp_path / "a.sqlite")
    np.testing.assert_allclose(extraction.best().weights(["ab"]), [2])


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("users_model", "python:users_model: expected python:MODULE:OBJECT, as in"),
        ("users_model:", "expected python:MODULE:OBJECT"),
        (":box", "expected python:MODULE:OBJECT"),
        ("users_modl:box", r"no module 'users_modl': did you mean users_model\? .*PYTHONPATH"),
        ("users_model.inner:box", r"no module 'users_model.inner'"),
        ("users_model.py:box", r"not a file's: in the folder '.' write python:users_model:OBJECT"),
        ("models/users_model.py:box", r"in the folder 'models' write python:users_model:OBJECT"),
        ("users_model:bx", r"'users_model' has no 'bx': expected one of .*box"),
        ("users_model:Shelf.boxes", r"has no 'Shelf.boxes': expected one of box"),
        ("users_model:number", r"is no black box but 3: expected one, or a function .*black_box\("),
        ("users_model:values", r"is no black box but <function values.*\(missing a required"),
        ("users_model:nothing", r"what python:users_model:nothing returned is no black box but No"),
        ("users_model:strange", "its alphabet is str: expected a seqray.Alphabet"),
        ("users_model:Strange", "its alphabet is str: expected a seqray.Alphabet"),
    ],
)
def test_what_is_no_box_is_refused(module, where, message):
    module()
    with pytest.raises(ArgumentError, match=message):
        open_black_box(f"python:{where}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1 / 0", r"importing the module 'users_model' failed: ZeroDivisionError: .*line 1\)"),
        ("import sys\nsys.exit(2)", r"failed: SystemExit: 2 \(.*users_model.py, line 2\)"),
        (
            "import no_such_package",
            "ModuleNotFoundError: No module named 'no_such_package'",
        ),
        ("def box(:", "failed: SyntaxError"),
        ("from os import no_such_thing", "failed: ImportError"),
    ],
)
def test_a_module_that_fails_is_named(module, text, message):
    with pytest.raises(BlackBoxError, match=message):
        open_black_box(f"python:{module(text)}:box")


def test_a_factory_that_fails_is_named(module):
    name = module()
    with pytest.raises(BlackBoxError, match=r"python:users_model:broken failed: Zero.*line"):
        open_black_box(f"python:{name}:broken")
    with pytest.raises(MissingFileError, match=r"nowhere\.json"):
        open_black_box(f"python:{name}:missing")


def test_the_example_opens_itself_by_name():
    command = [sys.executable, "python_box.py"]
    done = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, check=True)
    assert "the function became WeightedAutomaton(2 states" in done.stdout


def test_the_command_line_finds_modules_in_the_current_folder(tmp_path):
    command = [str(Path(sys.executable).with_name("seqray")), "extract", "python:python_box:box"]
    command += ["-o", str(tmp_path / "run"), "--prefixes", "20", "--suffixes", "20"]
    own = os.environ | {"SEQRAY_STORE": str(tmp_path / "answers.sqlite")}
    done = subprocess.run(
        command, cwd=EXAMPLES, env=own, capture_output=True, text=True, check=True
    )
    assert "Run folder" in done.stdout


def test_a_classifier_is_known_by_its_name_and_its_source(module):
    text = (
        "import seqray\n"
        "box = seqray.classifier(lambda words: [0.5] * len(words), 'ab')\n"
        "named = seqray.classifier(lambda words: [0.5] * len(words), 'ab', name='my model')\n"
    )
    name = module(text)
    box = open_black_box(f"python:{name}:box")
    assert fingerprint_of(box).startswith("python:users_model:box ")
    assert box.classify(["a"]) == ["no"]
    assert fingerprint_of(open_black_box(f"python:{name}:named")) == "my model"
