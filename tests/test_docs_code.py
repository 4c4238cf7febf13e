"""The code in README and docs: Python runs, commands have the options that they are given."""

import contextlib
import gc
import io
import json
import re
import sys
import threading
import tomllib
from pathlib import Path

import click
import pytest

from docs.run_page import COMMAND_LANGUAGES, blocks, commands, run
from examples import http_server, language_model_server
from seqray.cli import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {
    str(path.relative_to(ROOT)): path
    for path in [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
}

# Pages whose Python is run by the tests of what they are about, with a model made for them.
RUN_ELSEWHERE = {
    "docs/boxes/hf.md": "blackbox/frameworks/test_hf.py",
    "docs/boxes/keras.md": "blackbox/frameworks/test_keras.py",
    "docs/boxes/onnx.md": "blackbox/frameworks/test_onnx.py",
    "docs/boxes/torch.md": "blackbox/frameworks/test_torch.py",
    "docs/cards.md": "blackbox/test_card.py",
    "docs/notebooks.md": "notebook/test_shown.py",
}

# Pages whose Python cannot run here, and why.
NOT_RUN = {
    "docs/scaling.md": "starts clusters of SLURM and Kubernetes",
    "docs/cases/business_process.md": "part of examples/business_process.ipynb, which is executed",
    "docs/cases/dna.md": "part of examples/dna_promoters.ipynb, which is executed",
    "docs/cases/system_logs.md": "part of examples/system_logs.ipynb, which is executed",
}

# Programs in commands that are not part of seqray.
OTHER_PROGRAMS = {"cp", "dask", "export", "fstcompile", "fstrmepsilon", "git", "pip", "vllm"}


def has_python(path: Path) -> bool:
    return any(block.language == "python" for block in blocks(path.read_text("utf-8")))


# What pages need before their code runs ----------------------------------------------------------


@contextlib.contextmanager
def serving(server):
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def letters_server(folder):
    """A server with the box that docs/boxes/http.md speaks of."""
    import seqray  # noqa: PLC0415

    box = seqray.language_model(lambda words: [[0.5, 0.25, 0.25] for _ in words], "ab")
    server = http_server.Server(box, name="letters", deterministic=True)
    with serving(server) as address:
        yield {"https://models.example/letters": f"http://{address}/"}


@contextlib.contextmanager
def support_server(folder):
    with serving(language_model_server.Server()) as address:
        yield {"127.0.0.1:8000": address}


@contextlib.contextmanager
def answers_server(folder):
    """A server whose model says yes, no or maybe."""
    server = language_model_server.Server()
    server.model.log_probabilities = lambda prompt: {
        " yes": -1.0,
        " no": -1.5,
        " maybe": -2.5,
        "<|endoftext|>": -1.2,
    }
    with serving(server) as address:
        yield {"localhost:8000": address}


@contextlib.contextmanager
def child_program(folder):
    """The program of docs/boxes/cmd.md, which the page shows as its second block."""
    (folder / "letters.bin").touch()
    code = [b.text for b in blocks((DOCS / "boxes/cmd.md").read_text("utf-8"))][2]
    assert "sys.stdin" in code
    (folder / "child.py").write_text(code, "utf-8")
    yield {"cmd:python ": f"cmd:{sys.executable} ", '["python"': f'["{sys.executable}"'}


@contextlib.contextmanager
def table_of_events(folder):
    rows = ["ticket,step,when", "1,open,2024-01-01", "1,close,2024-01-02", "2,open,2024-01-03"]
    (folder / "events.csv").write_text("\n".join(rows), "utf-8")
    yield {"log = seqray": "import seqray\nlog = seqray"}


SET_UP = {
    "docs/boxes/cmd.md": child_program,
    "docs/boxes/http.md": letters_server,
    "docs/boxes/openai.md": answers_server,
    "docs/events.md": table_of_events,
    "docs/tutorials/server.md": support_server,
}

SLOW = {
    "docs/tutorials/classifier.md": "trains a network",
    "docs/tutorials/pytorch.md": "trains a network",
    "docs/tutorials/server.md": "talks to a live server",
    "docs/boxes/cmd.md": "starts processes",
    "docs/boxes/http.md": "talks to a live server",
    "docs/boxes/openai.md": "talks to a live server",
    "docs/drawing.md": "draws with matplotlib",
    "docs/sklearn.md": "fits estimators",
    "docs/guides.md": "a whole extraction",
    "docs/interchange.md": "runs onnxruntime, AALpy and hmmlearn",
}


def pages_to_run():
    for name, path in PAGES.items():
        if has_python(path) and name not in RUN_ELSEWHERE and name not in NOT_RUN:
            marks = [pytest.mark.slow(reason=SLOW[name])] if name in SLOW else []
            yield pytest.param(name, marks=marks, id=name)


# Python ------------------------------------------------------------------------------------------


def shape_of(text: str) -> list[str]:
    """Return the lines of an output without its numbers: other machines round otherwise."""
    lines = [" ".join(line.split()) for line in text.strip().splitlines()]
    return [re.sub(r"[-+]?\d[\d.,]*(e[-+]?\d+)?", "#", line) for line in lines]


@pytest.mark.parametrize("name", list(pages_to_run()))
def test_the_python_of_a_page_runs_and_prints_what_the_page_says(name, tmp_path, monkeypatch):
    if "import torch" in PAGES[name].read_text("utf-8"):
        pytest.importorskip("torch")
    monkeypatch.setenv("SEQRAY_STORE", str(tmp_path / ".answers.sqlite"))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    set_up = SET_UP.get(name, lambda folder: contextlib.nullcontext({}))
    names = {"__name__": "__main__"}
    with set_up(tmp_path) as replaced:
        for block, printed in run(PAGES[name], tmp_path, names, replaced):
            if block.output is not None:
                assert shape_of(printed) == shape_of(block.output), f"{name}, line {block.line}"
        for value in names.values():
            if hasattr(value, "close"):
                value.close()
        names.clear()
        gc.collect()


def test_pages_that_are_not_run_here_have_a_reason_that_holds():
    for name, test in RUN_ELSEWHERE.items():
        assert name.removeprefix("docs/") in (ROOT / "tests" / test).read_text("utf-8")
    for name, reason in NOT_RUN.items():
        assert has_python(PAGES[name]), f"{name} can leave the list"
        if notebook := re.search(r"examples/\w+\.ipynb", reason):
            assert (ROOT / notebook[0]).is_file()
            assert Path(notebook[0]).name in PAGES[name].read_text("utf-8")
    assert {*SET_UP, *SLOW} <= PAGES.keys()


# Commands ----------------------------------------------------------------------------------------


def all_commands():
    for name, path in PAGES.items():
        if name != "CHANGELOG.md":
            for block in blocks(path.read_text("utf-8")):
                if block.language in COMMAND_LANGUAGES:
                    yield from ((name, block.line, line) for line in lines_of(block))


def lines_of(block):
    """Return the commands of a block; nothing for a block that shows what is printed."""
    if block.text.startswith("$ "):  # a session: the rest is what it prints
        return commands(block.text.splitlines()[0])
    known = ("seqray ", "make ", "python ", "pip ", "export ", *OTHER_PROGRAMS)
    first = re.sub(r"^(\w+=\S+ )+", "", block.text)
    return commands(block.text) if first.startswith(known) else []


def without_variables(line):
    return line[next(i for i, part in enumerate(line) if not re.match(r"[A-Z_]+=", part)) :]


def check_command(arguments: list[str]) -> None:
    """Fail unless the options of a command of seqray exist, and have values that can be."""
    command, context = cli, click.Context(cli, info_name="seqray", **cli.context_settings)
    while isinstance(command, click.Group) and arguments:
        inner = command.get_command(context, arguments[0])
        assert inner is not None, f"no command {arguments[0]}"
        context = click.Context(inner, info_name=arguments[0], parent=context)
        command, arguments = inner, arguments[1:]
    given, left, _ = command.make_parser(context).parse_args(list(arguments))
    assert left == [], f"too many arguments: {left}"
    for parameter in command.get_params(context):
        value = given.get(parameter.name)
        if value is None:
            assert not parameter.required, f"{parameter.name} is missing"
        elif isinstance(parameter.type, (click.Choice, click.IntRange, click.FloatRange)):
            for each in value if isinstance(value, (list, tuple)) else [value]:
                parameter.type.convert(each, parameter, context)


def check_line(line: list[str]) -> None:
    program, *rest = without_variables(line)
    if program == "seqray":
        check_command(rest[: rest.index(">")] if ">" in rest else rest)
    elif program == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        assert rest[0] in targets
    elif program.endswith("python"):
        check_python(rest)
    else:
        assert program in OTHER_PROGRAMS
        for extra in re.findall(r"\.\[(\w+)\]", " ".join(rest)):
            project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
            assert extra in project["optional-dependencies"]


def check_python(rest: list[str]) -> None:
    """Fail unless what Python runs is there, and its text has the options."""
    if rest[0] == "-m":
        path = ROOT / rest[1].replace(".", "/")
        assert rest[1] in ("pytest", "timeit", "sglang.launch_server") or (
            path.is_dir() or path.with_suffix(".py").is_file()
        )
        return
    text = (ROOT / rest[0]).read_text("utf-8")
    options = [part.split("=")[0] for part in rest[1:] if part.startswith("--")]
    assert [option for option in options if option not in text] == []


def test_commands_in_the_docs_have_options_that_exist():
    wrong = []
    lines = list(all_commands())
    for name, number, line in lines:
        try:
            check_line(line)
        except (AssertionError, click.ClickException, OSError) as error:
            wrong.append(f"{name}:{number} {' '.join(line)}: {error}")
    assert not wrong, "\n".join(wrong)
    assert len(lines) > 60


@pytest.mark.parametrize(
    "line",
    [
        "seqray extrct demo -o run",
        "seqray extract demo -o run --no-such-option",
        "seqray extract demo -o run --for nothing",
        "seqray draw",
        "make nothing",
        "python benchmarks/fill.py --no-such-option",
        "pip install '.[nothing]'",
    ],
)
def test_a_wrong_command_would_be_noticed(line):
    with pytest.raises((AssertionError, click.ClickException)):
        check_line(commands(line)[0])


def inline_commands():
    for name, path in PAGES.items():
        if name != "CHANGELOG.md":
            for code in re.findall(r"(?<!`)`(seqray [^`]+)`(?!`)", path.read_text("utf-8")):
                yield name, code


def test_commands_within_sentences_have_options_that_exist():
    wrong = []
    for name, code in inline_commands():
        words = code.split()[1:]
        command = cli.get_command(click.Context(cli), words[0]) if words[0].islower() else None
        options = {o for p in command.params for o in p.opts} if command else {"--help"}
        if isinstance(command, click.Group):
            continue
        unknown = [w for w in words if w.startswith("--") and w.split("=")[0] not in options]
        if unknown and unknown != ["--help"]:
            wrong.append(f"{name}: {code}")
    assert not wrong, "\n".join(wrong)


# Other blocks ------------------------------------------------------------------------------------


def test_json_in_the_docs_is_json():
    for path in PAGES.values():
        for block in blocks(path.read_text("utf-8")):
            if block.language == "json":
                json.loads(block.text)


def test_every_block_is_of_a_kind_that_is_tested():
    kinds = {block.language for path in PAGES.values() for block in blocks(path.read_text("utf-8"))}
    elsewhere = {"c", "js"}  # formats/test_scorer.py compiles and runs them
    assert kinds <= {"python", "json", *elsewhere, *COMMAND_LANGUAGES}
