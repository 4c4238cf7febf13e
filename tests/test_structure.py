"""The shape of the code: each rule as a check, and each check on code that breaks it."""

import re
import tomllib

import pytest

from kinds import SLOW, left_out_of_fast, mark_of
from source_rules import (
    ROOT,
    SOURCES,
    TESTS,
    Module,
    box_classes,
    checks_of_classes,
    compared_texts,
    long_modules,
    modules_of,
    private_names,
    repeated_classes,
    test_file_of,
    uses_of_private_names,
    wide_functions,
)

MAX_ROOMS = 16
MAX_LAYERS = 12
MAX_LINES = 450
MAX_PARAMETERS = 8
WIDE = ("extraction/extract.py:extract", "training/loop.py:train")

# Where a WeightedAutomaton is what a caller passes, not one kind of box among others.
AUTOMATON_CHECKS = {
    "formats/automaton_file.py": "takes whatever stands for an automaton",
    "explore/content.py": "shows an automaton or an extraction",
    "sklearn.py": "fits to words, or takes an automaton as it is",
}

# Source files without a test file of their own.
UNTESTED = {
    "__main__.py": "two lines: python -m seqray",
}

# Test files without a source file of their own.
EXTRA_TESTS = {
    "test_structure.py": "the shape of the code",
    "test_vocabulary.py": "the words of the code",
    "test_readme.py": "what README and docs show",
    "test_docs_code.py": "the code in README and docs, and docs/run_page.py",
    "test_docs_commands.py": "the commands in README and docs",
    "test_docs_site.py": "names, commands and pictures in docs, and docs/hooks",
    "test_public_names.py": "the names of seqray itself: src/seqray/__init__.py",
    "test_security.py": "what SECURITY.md claims of the source, the repository and files",
    "published/test_pautomac.py": "published figures, repeated on the public data",
    "automata/test_algebra_scale.py": "the algebra, with weights far from 1",
    "benchmarks/test_distribution.py": "benchmarks/distribution.py, and the release",
    "benchmarks/test_peers.py": "what is written in benchmarks/peers itself",
    "examples/test_adapter.py": "examples/adapter.py, which newcomers copy",
    "examples/test_classifier.py": "examples/classifier.py",
    "examples/test_export.py": "examples/export.py, which newcomers copy",
    "examples/test_notebooks.py": "the notebooks of examples/, and examples/execute.py",
    "blackbox/test_contract.py": "what every kind of box has in common",
    "blackbox/frameworks/test_same_network.py": "one network in every framework",
    "fidelity/test_leaking.py": "boxes that leak, from extraction to explanation",
    "blackbox/remote/test_http_opening.py": "servers that describe themselves wrongly",
    "blackbox/remote/llm/test_real_server.py": "llama.cpp's own server",
    "blackbox/remote/test_kill.py": "what a kill leaves of a run with a server",
    "blackbox/remote/test_openapi.py": "docs/openapi.json",
    "draw/test_drawings.py": "whole drawings: nothing covers anything",
    "cli/test_cli.py": "what the commands have in common: cli/__init__.py",
    "explore/test_browser.py": "the page's JavaScript, in a browser",
    "reliability/test_campaigns.py": "the campaigns of reliability/, in their short form",
    "reliability/test_fuzzing.py": "the processes of the campaign fuzz",
    "reliability/test_mutator.py": "the mutator of reliability/",
    "extraction/test_limits.py": "limits of every method and kind of box",
}


@pytest.fixture(scope="module")
def sources():
    return modules_of(SOURCES)


@pytest.fixture(scope="module")
def tests():
    return modules_of(TESTS)


def none(breaches, advice):
    assert not breaches, "\n".join([advice, *breaches])


def module(text, path="room/module.py"):
    return Module(path, text)


# --- Rooms and layers -----------------------------------------------------------------------------


def test_the_root_has_few_entries():
    entries = sorted(
        each.name
        for each in SOURCES.iterdir()
        if not each.name.startswith(("__", ".")) and each.name != "py.typed"
    )
    assert len(entries) <= MAX_ROOMS, f"{len(entries)} entries, put one into a room: {entries}"


@pytest.fixture(scope="module")
def contract():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (contract,) = [each for each in settings["contracts"] if each["type"] == "layers"]
    return contract


def test_the_import_contract_has_few_layers(contract):
    assert contract["exhaustive"]
    assert len(contract["layers"]) <= MAX_LAYERS, f"too many layers: {contract['layers']}"


@pytest.mark.parametrize(("name", "room"), [("adapter.py", "blackbox"), ("export.py", "formats")])
def test_an_example_to_copy_could_stand_in_its_room(contract, name, room):
    text = (ROOT / "examples" / name).read_text("utf-8")
    imported = re.findall(r"^ *(?:from|import) (seqray\S*)", text, re.MULTILINE)
    below = contract["layers"][contract["layers"].index(room) :]
    assert imported
    none([at for at in imported if at.split(".")[1:2] not in [[each] for each in below]], room)


# --- Habits ---------------------------------------------------------------------------------------


def test_commits_are_checked_like_make_lint():
    recipe = (ROOT / "Makefile").read_text("utf-8").split("\nlint:")[1].split("\n\n")[0]
    hooks = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    in_make = [each.rstrip(" .") for each in re.findall(r"\$\(BIN\)/(.+)", recipe)]
    in_hooks = re.findall(r"entry: \.venv/bin/(.+)", hooks)
    assert [each.replace(" --force-exclude", "") for each in in_hooks] == in_make


# --- Size -----------------------------------------------------------------------------------------


def test_no_module_is_long():
    files = [
        (file.relative_to(SOURCES).as_posix(), file.read_text("utf-8"))
        for pattern in ("*.py", "*.js", "*.css", "*.html")
        for file in sorted(SOURCES.rglob(pattern))
        if "vendor" not in file.parts
    ]
    none(long_modules(files, MAX_LINES), f"Split these, {MAX_LINES} lines are the most:")


def test_a_long_module_is_noticed():
    files = [("a.py", "x\n" * 450), ("b.py", "x\n" * 451)]
    assert long_modules(files, 450) == ["b.py: 451 lines"]


def test_no_function_takes_many_parameters(sources):
    none(
        wide_functions(sources, MAX_PARAMETERS, WIDE),
        f"Group the parameters of these into a class, {MAX_PARAMETERS} are the most:",
    )


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("def f(a, b, /, c, *, d): ...", 4),
        ("def f(a, *b, **c): ...", 3),
        ("class A:\n  def f(self, a, b, c): ...", 3),
        ("class A:\n  @classmethod\n  async def f(cls, a, b, c): ...", 3),
    ],
)
def test_parameters_are_counted_without_self(text, n):
    assert wide_functions([module(text)], n, ()) == []
    (breach,) = wide_functions([module(text)], n - 1, ())
    assert f"f: {n} parameters" in breach
    assert wide_functions([module(text)], 0, ["room/module.py:f"]) == []


# --- Names ----------------------------------------------------------------------------------------


def test_no_class_name_means_two_things(sources):
    none(repeated_classes(sources), "Rename all but one of each:")


def test_a_class_name_that_is_used_twice_is_noticed():
    modules = [module("class A: ..."), module("def f():\n  class A: ...", "b.py")]
    assert repeated_classes(modules) == ["A: room/module.py:1, b.py:2"]
    assert repeated_classes(modules[:1]) == []


# --- Types ----------------------------------------------------------------------------------------


def test_only_blackbox_knows_which_classes_are_boxes(sources):
    boxes = box_classes(sources, "blackbox")
    assert {"RecurrentNetwork", "SteppedBox"} <= boxes, "the classes of boxes were not recognised"
    others = [each for each in sources if each.room != "blackbox"]
    inside = [each for each in others if each.path not in AUTOMATON_CHECKS]
    inside = [each for each in inside if each.room != "automata"]
    breaches = checks_of_classes(others, boxes) + checks_of_classes(inside, {"WeightedAutomaton"})
    none(breaches, "Ask the box or its oracle what it can do, not which class it is:")


def test_boxes_are_classes_with_weights_and_their_subclasses():
    text = """
class Protocolled(Protocol):
    def weights(self, words): ...
class A:
    def weights(self, words): ...
class B(A): ...
class C(native.B, Generic[T]): ...
class D: ...
"""
    modules = [module(text), module("class E:\n  def weights(self): ...", "b.py")]
    assert box_classes(modules, "room") == {"A", "B", "C"}


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(box, A)",
        "isinstance(box, str | A)",
        "not isinstance(box.inner, (str, rnn.A))",
        "issubclass(kind, A)",
        "type(box) is A",
        "match box:\n  case A(): ...",
        "from rnn import A as B\nisinstance(box, B)",
    ],
)
def test_a_check_for_a_class_is_noticed(text):
    (breach,) = checks_of_classes([module(text)], {"A"})
    assert breach.endswith(" A")
    assert checks_of_classes([module(text)], {"C"}) == []


def test_outcomes_are_not_compared_as_text(sources):
    none(compared_texts(sources), "Compare an enum such as StopReason, not text:")


@pytest.mark.parametrize(
    "text",
    [
        "stopped.reason == 'interrupted'",
        "'budget' in why",
        "search.then != 'grow'",
        "run['stopped'] == 'time'",
        "reason in ('time', 'budget')",
        "try: ...\nexcept E as error:\n  str(error).startswith('the budget')",
        "def f(stop: Stopped):\n  return str(stop) == 'interrupted'",
        "try: ...\nexcept E as error:\n  error.args[0] == 'x'",
        "match stopped.reason:\n  case 'time': ...",
    ],
)
def test_a_comparison_of_text_is_noticed(text):
    assert len(compared_texts([module(text)])) == 1


@pytest.mark.parametrize(
    "text",
    ["stopped.reason is StopReason.TIME", "reason == ''", "str(path) == 'x'", "name == 'reason'"],
)
def test_other_comparisons_are_fine(text):
    assert compared_texts([module(text)]) == []


# --- Tests ----------------------------------------------------------------------------------------


def test_every_source_file_has_its_test_file(sources, tests):
    there = {each.path for each in tests}
    named = [each.path for each in sources if not each.path.endswith("__init__.py")]
    missing = [at for at in named if at not in UNTESTED and test_file_of(at) not in there]
    none([f"{at}: no tests/{test_file_of(at)}" for at in missing], "Write these test files:")
    needless = [at for at in UNTESTED if at not in named or test_file_of(at) in there]
    none(needless, "UNTESTED lists files that have tests, or do not exist:")


def test_every_test_file_has_its_source_file(sources, tests):
    expected = {test_file_of(each.path) for each in sources} | set(EXTRA_TESTS)
    files = [each.path for each in tests if each.path.rsplit("/", 1)[-1].startswith("test_")]
    none([at for at in files if at not in expected], "Name these after the files that they test:")
    none(sorted(set(EXTRA_TESTS) - set(files)), "EXTRA_TESTS lists files that do not exist:")


def test_kinds_of_tests_are_of_tests_that_exist(tests):
    texts = {each.path: each.text for each in tests}
    gone = [each for each in left_out_of_fast() if not (TESTS / each).exists()]
    gone += [
        each
        for each in SLOW
        if "::" in each and f"def {each.split('::')[1]}(" not in texts.get(each.split("::")[0], "")
    ]
    none(gone, "tests/kinds.py lists what does not exist:")


def test_a_test_has_the_mark_of_its_file_or_folder():
    assert mark_of("training/test_loop.py::test_a")[0] == "frameworks"
    assert mark_of("explore/test_browser.py::test_a")[0] == "browser"
    assert mark_of("cli/test_demo.py::test_a") == ("slow", "runs the whole demo")
    assert mark_of("trainings.py::test_a") is None


def test_tests_use_no_private_names(sources, tests):
    breaches = uses_of_private_names(tests, private_names(sources))
    none(breaches, "Test what is public, or split the class:")


@pytest.mark.parametrize(
    "text",
    [
        "from seqray.room import _helper",
        "module._helper(1)",
        "oracle._meter",
        "monkeypatch.setattr(module, '_helper', 1)",
        "monkeypatch.setattr('seqray.module._helper', 1)",
        "getattr(oracle, '_meter')",
    ],
)
def test_a_private_name_in_a_test_is_noticed(text):
    names = private_names([module("def _helper(): self._meter = __x = _ = 1")])
    assert names == {"_helper", "_meter"}
    assert len(uses_of_private_names([module(text)], names)) == 1


@pytest.mark.parametrize(
    "text", ["os._exit(1)", "self._meter", "_helper(1)", "from room import _helper", "m.helper"]
)
def test_other_names_are_fine_in_tests(text):
    names = {"_helper", "_meter"}
    assert uses_of_private_names([module(text)], names) == []
