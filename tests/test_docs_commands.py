"""The commands in README and docs run, on small files that have their names."""

import contextlib
import gzip
import sys

import pytest
from click.testing import CliRunner

import seqray
from docs.run_page import blocks
from page_commands import page_commands, run_page_commands
from seqray.cli import cli
from tests.test_docs_code import DOCS, PAGES, SET_UP

SMALL_BOXES = """
import seqray

calls = seqray.language_model(
    lambda words: [[0.3, 0.3, 0.2, 0.1, 0.1] for _ in words], ["open", "read", "write", "close"]
)
letters = seqray.black_box(lambda words: [w.count("a") * 0.5 ** len(w) for w in words], "ab")
parity = seqray.black_box(lambda words: [float(w.count("a") % 2) for w in words], "ab")
classes = seqray.classifier(
    lambda words: [[0.9, 0.1] if "aa" in w else [0.2, 0.8] for w in words], "ab", ["yes", "no"]
)
"""

SMALL_NETWORK = ("-o model.safetensors", "-o model.safetensors --sizes 8 --epochs 3")
SMALL_EXTRACTION = ("-o run", "-o run --prefixes 100")

STAND_INS = {
    "docs/boxes/openai.md": [("--budget 5000", "--budget 800")],
    "docs/cases/domain_names.md": [("keras:domains.h5", "python:small_boxes:letters")],
    "docs/classifiers.md": [("BOX", "python:small_boxes:classes")],
    "docs/diff.md": [("hf:base hf:tuned", "python:small_boxes:calls python:small_boxes:calls")],
    "docs/deterministic.md": [
        ("python:module:box", "python:small_boxes:parity"),
        ("--tolerance 0.05", "--tolerance 0.2"),
    ],
    "docs/drawing.md": [("seqray demo -o demo", "seqray extract demo -o demo --prefixes 100")],
    "docs/events.md": [SMALL_NETWORK, SMALL_EXTRACTION],
    "docs/guides.md": [("hf:model", "python:small_boxes:calls")],
    "docs/howto.md": [SMALL_NETWORK, SMALL_EXTRACTION],
    "docs/queries.md": [("http://localhost:8000", "python:small_boxes:calls")],
    "docs/scaling.md": [("--executor 8", "--executor 2")],
    "docs/tutorials/server.md": [("--budget 5000", "--budget 800")],
}
"""Models of a page that are not at hand, what is opened for them, and what is smaller here."""

RUN_ELSEWHERE = {
    "docs/boxes/hf.md": "blackbox/frameworks/test_hf.py",
    "docs/boxes/keras.md": "blackbox/frameworks/test_keras.py",
    "docs/boxes/onnx.md": "blackbox/frameworks/test_onnx.py",
    "docs/boxes/torch.md": "blackbox/frameworks/test_torch.py",
    "docs/interchange.md": "formats/test_fst.py",
    "docs/training.md": "test_docs_commands.py",  # docs/howto.md has the same commands
}
"""Pages whose commands are run by another test, which makes their models."""


# Files that pages name -------------------------------------------------------------------------


def extracted(name):
    seqray.save_run(seqray.extract(seqray.open_black_box(name), n_prefixes=30), "run")


def run_of_classes(folder):
    extracted("python:small_boxes:classes")


def run_of_letters(folder):
    extracted("python:small_boxes:letters")


def run_of_demo(folder):
    box = seqray.open_black_box("demo")
    seqray.save_run(seqray.extract(box, n_prefixes=100, max_rank=6), "demo")


def run_of_network(folder):
    network = seqray.train(seqray.read_words("words.txt"), sizes=(4,), epochs=1).model
    network.save("model.safetensors")
    extraction = seqray.extract(seqray.open_black_box("rnn:model.safetensors"), max_rank=4)
    seqray.save_run(extraction, "run")
    extraction.best().save("wa.json")


def two_models(folder):
    network = seqray.train(seqray.read_words("words.txt"), sizes=(4,), epochs=1).model
    for name in ("monday", "tuesday", "released", "new"):
        network.save(f"{name}.safetensors")
    exec(first_python("diff.md"), {})
    two_runs(folder)


def two_runs(folder):
    box = seqray.open_black_box("python:small_boxes:letters")
    for name in ("run-a", "run-b"):
        seqray.save_run(seqray.extract(box, n_prefixes=30), name)


def first_python(page):
    shown = blocks((DOCS / page).read_text("utf-8"))
    return next(block.text for block in shown if block.language == "python")


def module_of_page(folder):
    (folder / "my_model.py").write_text(first_python("boxes/python.md"), "utf-8")


def rules(folder):
    dfa = seqray.regex_dfa("open (read | write)* close", ["open", "read", "write", "close"])
    dfa.save("rules.json")
    assert CliRunner().invoke(cli, ["convert", "rules.json", "rules.dot"]).exit_code == 0


def logs(folder):
    steps = ("Take in charge ticket", "Wait", "Closed")
    events = "".join(
        f'<event><string key="concept:name" value="{step}"/></event>' for step in steps
    )
    xes = f"<log>{f'<trace>{events}</trace>' * 25}</log>"
    (folder / "log.xes.gz").write_bytes(gzip.compress(xes.encode()))
    rows = [f"{case},{step},2024-01-0{1 + n}" for case in range(5) for n, step in enumerate(steps)]
    (folder / "later.csv").write_text("\n".join(["ticket,step,when", *rows]), "utf-8")
    lines = [f"INFO node: {what} block blk_{n}" for n in range(20) for what in ("get", "put")]
    (folder / "hdfs.log").write_text("\n".join(lines), "utf-8")


FILES = {
    "docs/boxes/python.md": module_of_page,
    "docs/classifiers.md": run_of_classes,
    "docs/deterministic.md": run_of_letters,
    "docs/diff.md": two_models,
    "docs/events.md": logs,
    "docs/explaining.md": run_of_demo,
    "docs/exploring.md": run_of_network,
    "docs/guides.md": rules,
    "docs/howto.md": two_runs,
    "docs/queries.md": module_of_page,
    "docs/scaling.md": module_of_page,
}

NEED_TORCH = ("docs/diff.md", "docs/events.md", "docs/exploring.md", "docs/howto.md")


@pytest.fixture
def folder(tmp_path, monkeypatch, hasty):
    """A folder to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQRAY_STORE", str(tmp_path / ".answers.sqlite"))
    (tmp_path / "docs" / "images").mkdir(parents=True)
    (tmp_path / "small_boxes.py").write_text(SMALL_BOXES, "utf-8")
    (tmp_path / "words.txt").write_text("a b\nb b a\na\nb a\na b b a\n" * 10, "utf-8")
    yield tmp_path
    for name in ("small_boxes", "my_model"):
        sys.modules.pop(name, None)


def pages_with_commands():
    return [name for name, path in PAGES.items() if name != "CHANGELOG.md" and page_commands(path)]


@pytest.mark.slow(reason="runs whole commands")
@pytest.mark.parametrize("name", [n for n in pages_with_commands() if n not in RUN_ELSEWHERE])
def test_the_commands_of_a_page_run(name, folder):
    if name in NEED_TORCH:
        pytest.importorskip("torch")
    FILES.get(name, lambda folder: None)(folder)
    set_up = SET_UP.get(name, lambda folder: contextlib.nullcontext({}))
    with set_up(folder) as addresses:
        code = addresses.items() if name != "docs/events.md" else ()
        replaced = [pair for pair in code if pair[0] in PAGES[name].read_text("utf-8")]
        run_page_commands(PAGES[name], [*STAND_INS.get(name, ()), *replaced])


def test_pages_whose_commands_are_run_elsewhere_are_named_there():
    for name, test in RUN_ELSEWHERE.items():
        assert name.removeprefix("docs/") in (DOCS.parent / "tests" / test).read_text("utf-8")
    assert {*STAND_INS, *FILES, *RUN_ELSEWHERE} <= {*pages_with_commands()}


def test_a_command_that_fails_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```\nseqray draw nothing.json -o nothing.svg\n```\n", "utf-8")
    with pytest.raises(AssertionError, match=r"seqray draw nothing\.json"):
        run_page_commands(page)
