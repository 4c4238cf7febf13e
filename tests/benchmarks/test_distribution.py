"""Wheel and sdist: what they hold, how large they are; and what has to say the same as they do."""

import re
import tarfile
import tomllib
import zipfile
from importlib import metadata

import pytest

import seqray
from benchmarks.distribution import MAX_INSTALLED_BYTES, MAX_WHEEL_BYTES, build, files_of
from source_rules import ROOT

SOURCES = ROOT / "src"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("hatchling", reason="make test installs it")
    return build(tmp_path_factory.mktemp("dist"))


def test_the_wheel_holds_every_source_file_and_the_schema(built):
    files = [path for path in (SOURCES / "seqray").rglob("*") if path.is_file()]
    names = {path.relative_to(SOURCES).as_posix() for path in files if path.suffix != ".pyc"}
    needed = {"py.typed", "formats/scorers/scorer.c", "explore/static/vendor/LICENSES.txt"}
    assert {f"seqray/{name}" for name in needed} <= names
    assert files_of(built[0]) == names | {"seqray/formats/automaton.schema.json"}


def test_the_wheel_is_small(built):
    assert built[0].stat().st_size < MAX_WHEEL_BYTES


def test_the_wheel_names_its_version_its_command_and_its_licence(built):
    with zipfile.ZipFile(built[0]) as wheel:
        about = f"seqray-{seqray.__version__}.dist-info"
        assert "seqray = seqray.cli:main" in wheel.read(f"{about}/entry_points.txt").decode()
        assert wheel.read(f"{about}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
        lines = wheel.read(f"{about}/METADATA").decode().splitlines()
    assert {f"Requires-Dist: {each}" for each in PROJECT["dependencies"]} <= set(lines)
    assert {f"Provides-Extra: {each}" for each in PROJECT["optional-dependencies"]} <= set(lines)


def test_the_sdist_holds_what_the_wheel_is_built_from_and_no_results(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    sources = {f"src/{name}" for name in files_of(built[0]) if not name.endswith(".schema.json")}
    others = names - sources
    assert sources <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "docs/automaton.schema.json"} <= others
    assert len(others) < 12


def base_packages():
    """Return the packages that are always installed, with what they need themselves."""
    names, waiting = {}, [re.split(r"[^\w-]", each)[0] for each in PROJECT["dependencies"]]
    while waiting:
        package = metadata.distribution(waiting.pop())
        if names.setdefault(package.name.lower(), package) is package:
            needed = [each for each in package.requires or [] if ";" not in each]
            waiting += [re.split(r"[^\w.-]", each)[0] for each in needed]
    return names


def test_the_base_install_is_small():
    packages = base_packages()
    files = [file for each in packages.values() for file in each.files or []]
    paths = {file.locate() for file in files}
    assert {"numpy", "scipy", "pygments"} <= packages.keys()
    assert sum(path.stat().st_size for path in paths if path.is_file()) < MAX_INSTALLED_BYTES


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {seqray.__version__}\n" in text
    date = re.search(r"^date-released: (\S+)$", text, re.MULTILINE)
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert date is not None
    assert f"\n## [{seqray.__version__}] - {date[1]}\n" in changes


def test_the_conda_recipe_needs_what_the_project_needs():
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text("utf-8"))
    assert recipe["context"]["version"] == seqray.__version__
    wanted = [f"python {PROJECT['requires-python']}"]
    wanted += [each.replace(">=", " >=") for each in PROJECT["dependencies"]]
    assert recipe["requirements"]["run"] == wanted
    (command,) = recipe["build"]["python"]["entry_points"]
    assert command == f"seqray = {PROJECT['scripts']['seqray']}"


def test_hosted_checks_and_forms_are_what_is_there():
    yaml = pytest.importorskip("yaml")
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    commands = [step.get("run") for job in flow["jobs"].values() for step in job["steps"]]
    assert "make test" in commands
    named = [word for line in filter(None, commands) for word in line.split() if "/" in word]
    assert [word for word in named if not (ROOT / word).exists()] == []
    supported = {each.rpartition(" ")[2] for each in PROJECT["classifiers"] if ":: 3." in each}
    assert set(flow["jobs"]["package"]["strategy"]["matrix"]["python"]) == supported
    for form in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        assert yaml.safe_load(form.read_text("utf-8"))
