"""``seqray doctor``: what is installed, what is missing, and what seqray may use."""

import json
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import seqray
from seqray.cli.doctor import EXTRAS
from seqray.util.errors import install_hint

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
OPTIONAL = {
    name: packages for name, packages in PROJECT["optional-dependencies"].items() if name != "all"
}


@pytest.fixture
def prefix():
    return ("doctor",)


@pytest.fixture
def installed(monkeypatch):
    """Return a function that sets which versions are installed: None for none at all."""
    lines = [*PROJECT["dependencies"]]
    lines += [f"{p}; extra == '{name}'" for name, packages in OPTIONAL.items() for p in packages]
    monkeypatch.setattr(metadata, "requires", lambda name: lines)
    real = metadata.version

    def choose(**versions):
        def version(name):
            if (chosen := versions.get(name, real)) is None:
                raise metadata.PackageNotFoundError(name)
            return real(name) if chosen is real else chosen

        monkeypatch.setattr(metadata, "version", version)

    choose()
    return choose


def test_every_extra_has_a_line_that_says_what_it_is_for():
    assert EXTRAS.keys() == OPTIONAL.keys()


def test_it_shows_what_seqray_may_use(folder, installed, run, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("SEQRAY_DATA", str(folder))
    (folder / "spice").mkdir()
    (folder / ".answers.sqlite").write_bytes(bytes(2000))
    text = run()
    assert f"seqray {seqray.__version__} in {Path(seqray.__file__).parent}" in text
    for part in ("OMP_NUM_THREADS=1", ".answers.sqlite: 2 kB", f"{folder}: spice (SEQRAY_DATA"):
        assert part in text
    for part in ("cores ", "large tables may take ", " free (TMPDIR)", "seqray works."):
        assert part in text


def test_it_leaves_nothing_behind(folder, installed, run):
    before = sorted(folder.iterdir())
    assert "none yet" in run()
    assert sorted(folder.iterdir()) == before


def test_a_missing_extra_is_shown_with_its_command_and_is_no_failure(folder, installed, run):
    installed(torch=None, starlette=None, onnx="1.2")
    lines = [line.strip() for line in run().splitlines()]
    at = next(n for n, line in enumerate(lines) if " web " in line)
    assert lines[at].startswith("–")
    assert "starlette is missing" in lines[at]
    assert lines[at + 1] == install_hint("web")
    assert any("onnx 1.2, older than 1.16" in line for line in lines)
    assert lines.count("(on Linux more than 6 GB; the README says how to get the CPU build)") == 2


def test_keras_without_a_backend_is_reported(folder, installed, run):
    installed(keras="3.15.0", torch=None, jax=None, tensorflow=None)
    report = json.loads(run("--json"))
    assert report["extras"]["keras"]["installed"] is False
    assert report["extras"]["keras"]["command"] == "pip install 'torch'"
    assert "Keras has no backend" in report["extras"]["keras"]["found"]


def test_json_has_the_same_content(folder, installed, run):
    installed(aalpy=None)
    report = json.loads(run("--json"))
    assert report["ok"] is True
    assert report["problems"] == []
    assert report["base"].keys() >= {"numpy", "scipy", "click"}
    aalpy = report["extras"]["aalpy"]
    assert (aalpy["installed"], aalpy["command"]) == (False, install_hint("aalpy"))
    assert report["threads"]["cores"] >= report["threads"]["usable"] >= 1
    assert report["memory"]["for_tables"] > 0


@pytest.mark.parametrize(
    ("versions", "problem"),
    [
        ({"scipy": None}, "scipy is missing: pip install 'scipy>=1.11'"),
        ({"numpy": "1.9.3"}, "numpy 1.9.3, older than 1.26: pip install 'numpy>=1.26'"),
    ],
)
def test_a_base_package_that_is_missing_or_old_is_a_failure(
    folder, installed, capsys, versions, problem
):
    installed(**versions)
    with pytest.raises(SystemExit) as stopped:
        seqray.cli.main(["doctor"])
    assert stopped.value.code == 1
    assert f"Problem: {problem}" in capsys.readouterr().out


def test_a_base_package_that_cannot_be_imported_is_a_failure(
    folder, installed, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(SystemExit) as stopped:
        seqray.cli.main(["doctor", "--json"])
    assert stopped.value.code == 1
    report = json.loads(capsys.readouterr().out)
    assert "cannot be imported (ModuleNotFoundError" in report["problems"][0]
    assert "threads" not in report


@pytest.mark.parametrize("weight", [1.0, None])
def test_an_extraction_that_goes_wrong_is_a_failure(folder, installed, capsys, monkeypatch, weight):
    def extract(box, seed):
        if weight is None:
            raise OSError("no library")
        return seqray.WeightedAutomaton("ab", [weight], [[[1.0]], [[1.0]]], [1.0])

    monkeypatch.setattr(seqray.WeightedAutomaton, "best", lambda self: self, raising=False)
    monkeypatch.setattr(seqray, "extract", extract)
    with pytest.raises(SystemExit):
        seqray.cli.main(["doctor"])
    reason = "OSError: no library" if weight is None else "a weight of 1.0, not 0.0625"
    assert f"Problem: a small extraction fails ({reason})" in capsys.readouterr().out


def test_sources_that_are_not_installed_are_reported(folder, capsys, monkeypatch):
    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    with pytest.raises(SystemExit):
        seqray.cli.main(["doctor"])
    text = capsys.readouterr().out
    assert "Problem: seqray runs from a folder, and is not installed: pip install ." in text
    assert "unknown" in text
