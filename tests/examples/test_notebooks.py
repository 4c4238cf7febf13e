"""The notebooks of examples/, executed from beginning to end, and the tool that executes them."""

import base64
import importlib.util
import subprocess
import sys

import pytest

from pages import ROOT

nbformat = pytest.importorskip("nbformat", reason="notebooks need nbformat")
pytest.importorskip("nbclient", reason="notebooks need nbclient")
pytest.importorskip("ipykernel", reason="notebooks need ipykernel")

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
MAX_BYTES = 4_000_000

HASTY_CELL = f"""
import sys

sys.path.insert(0, {str(ROOT / "tests")!r})
from hasty_settings import HASTY, TINY_COPIES
from seqray.extraction.conditional import method

method.SETTINGS, method.STRUCTURED = HASTY, TINY_COPIES
"""

SMALLER = {
    "business_process": {
        "order[1000:]]": "order[1000:2000]]",
        "epochs=40": "epochs=2",
        "max_cost=256": "max_cost=16, n_prefixes=60",
    },
    "dna_promoters": {
        "n = len(words) * 4 // 5": "n = 4000",
        "words[n:], labels[n:]": "words[-1000:], labels[-1000:]",
        "Network(), 256, 8": "Network(), 100, 4",
        "(box, test)": "(box, test, n_words=20, budget=30_000)",
        "(automaton, test)": "(automaton, test, n_words=20)",
        "> 0.9": "> 0.4",
    },
    "domain_names": {
        "range(60)": "range(12)",
        "budget=12_000": "budget=3_000",
        "generated[:30]": "generated[:3]",
        "budget=10_000": "budget=2_000",
        "budget=20_000": "budget=3_000",
        "some_names(500)": "some_names(60)",
        "some_names(200)": "some_names(20)",
        "17, 1000": "17, 100",
    },
    "first_steps": {"n_prefixes=300": "n_prefixes=60"},
    "system_logs": {
        "order[1485:]]": "order[1485:2485]]",
        "epochs=40": "epochs=4",
        "max_cost=256": "max_cost=16, n_prefixes=60",
        "tolerance=0.3": "tolerance=0.9",
    },
}
"""What is smaller in the notebooks that tests execute: every line runs, on fewer words."""

# 1 × 1 pixel, with a text that names the software.
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACnRFWHRTb2Z0d2FyZQB4So2/zgAA"
    "AApJREFUeJxjYAAAAAIAAUivpHEAAAAASUVORK5CYII="
)


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("execute", ROOT / "examples" / "execute.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(path):
    return nbformat.read(path, as_version=4)


def executed(path, folder):
    """Execute a notebook in another process, and return what it wrote and what it complained of."""
    tool = str(ROOT / "examples" / "execute.py")
    done = subprocess.run(
        [sys.executable, tool, str(path), "--output", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    return (read(folder / path.name) if done.returncode == 0 else None), done.stderr


def notebook(*sources, **metadata):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def smaller(path, folder):
    """Write a notebook that does the same with less, and return its path."""
    made = read(path)
    for text, other in SMALLER[path.stem].items():
        assert any(text in cell.source for cell in made.cells), f"{path.name} has no {text}"
        for cell in made.cells:
            if cell.cell_type == "code":
                cell.source = cell.source.replace(text, other)
    made.cells.insert(0, nbformat.v4.new_code_cell(HASTY_CELL))
    nbformat.write(made, folder / path.name)
    return folder / path.name


def kinds(cells):
    """What each cell shows: printed text or not, and the formats of displays; no warnings."""
    return [
        [
            (each.get("name"), sorted(each.get("data", {})))
            for each in cell.get("outputs", [])
            if each.get("name") != "stderr"
        ]
        for cell in cells
    ]


# --- The notebooks --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_was_committed(tool, path, tmp_path):
    committed = read(path)
    if missing := tool.what_is_missing(committed):
        pytest.skip(f"{path.name} needs {', '.join(missing)}")
    made, complaint = executed(smaller(path, tmp_path), tmp_path)
    assert made is not None, complaint
    assert kinds(made.cells[1:]) == kinds(committed.cells), (
        f"the outputs of {path.name} are old: run python examples/execute.py {path.stem}"
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_committed_notebook_is_clean_and_small(tool, path):
    committed = read(path)
    assert tool.cleaned(committed) == committed, f"run python examples/execute.py {path.stem}"
    assert path.stat().st_size <= MAX_BYTES
    assert any(cell.get("outputs") for cell in committed.cells)


# --- The tool -------------------------------------------------------------------------------------


def test_a_notebook_runs_in_a_folder_of_its_own_with_this_interpreter(tool, tmp_path):
    code = "import os, sys\nprint(os.listdir())\nprint(sys.executable)\nos.getcwd()"
    nbformat.write(notebook(code, other=1), tmp_path / "own.ipynb")
    made, _ = executed(tmp_path / "own.ipynb", tmp_path)
    printed, shown = made.cells[0].outputs
    assert printed.text == f"[]\n{sys.executable.replace(sys.prefix, '…')}\n"
    assert shown.data["text/plain"] == "'.'"
    assert "other" not in made.metadata
    assert tool.cleaned(made) == made


def test_a_cell_that_fails_is_an_error_and_nothing_is_written(tmp_path):
    nbformat.write(notebook("1 / 0"), tmp_path / "failing.ipynb")
    (tmp_path / "made").mkdir()
    made, complaint = executed(tmp_path / "failing.ipynb", tmp_path / "made")
    assert made is None
    assert "ZeroDivisionError" in complaint
    assert not list((tmp_path / "made").iterdir())


def test_files_and_packages_that_are_missing_are_named(tool, monkeypatch, tmp_path):
    monkeypatch.setenv("SEQRAY_DATA", str(tmp_path))
    (tmp_path / "here.txt").touch()
    needs = {"needs": ["here.txt", "cases/gone.txt"], "packages": ["json", "no_such_package"]}
    assert tool.what_is_missing(notebook(seqray=needs)) == [
        "cases/gone.txt in SEQRAY_DATA",
        "the package no_such_package",
    ]
    assert tool.what_is_missing(notebook()) == []


def test_addresses_are_not_kept_and_pieces_of_a_stream_are_joined(tool):
    made = notebook("f")
    pieces = ["<function f at 0x7f001122", "3344>\n"]
    made.cells[0].outputs = [
        nbformat.v4.new_output("stream", name="stdout", text=each) for each in pieces
    ]
    (output,) = tool.cleaned(made).cells[0].outputs
    assert output.text == "<function f at 0x…>\n"


def test_pictures_are_written_for_the_docs(tool, tmp_path):
    made = notebook("draw()", "plot()", "2")
    for number, cell in enumerate(made.cells, 1):
        cell.execution_count = number
    kinds_of_data = {"image/svg+xml": "<svg></svg>"}, {"image/png": PIXEL}, {"text/plain": "2"}
    for cell, data in zip(made.cells, kinds_of_data, strict=True):
        cell.outputs = [nbformat.v4.new_output("display_data", data=data)]
    tool.write_pictures(made, tmp_path, "own")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["own-1.svg", "own-2.png"]
    assert (tmp_path / "own-2.png").read_bytes() == base64.b64decode(PIXEL)


def test_a_picture_does_not_name_the_version_that_drew_it(tool):
    made = notebook("plot()")
    data = {"image/png": PIXEL}
    made.cells[0].outputs = [nbformat.v4.new_output("display_data", data=data)]
    picture = base64.b64decode(tool.cleaned(made).cells[0].outputs[0].data["image/png"])
    assert b"Software" in base64.b64decode(PIXEL)
    assert b"Software" not in picture
    assert picture.endswith(base64.b64decode(PIXEL)[-12:])
