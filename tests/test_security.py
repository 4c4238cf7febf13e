"""What SECURITY.md claims about the source, the repository, and what a run writes."""

import ast
import re
import shlex
import subprocess
import tomllib

import pytest

from children import child_command
from seqray import cli
from source_rules import ROOT, SOURCES, Module, modules_of

# Calls that run code, start programs or open connections; each with the reason why it may.
ALLOWED = {
    ("blackbox/remote/child.py", "subprocess.Popen"): "cmd: the command that the user typed",
    ("parallel/cores.py", "pickle.load"): "pipes between a run and its own processes",
    ("parallel/team.py", "pickle.load"): "pipes between a run and its own processes",
    ("parallel/cores.py", "subprocess.Popen"): "seqray's own program, on this machine",
    ("parallel/process_pool.py", "pickle.loads"): "pipes between a run and its own processes",
    ("parallel/executor.py", "pickle.loads"): "what a run sends to its own workers",
    ("parallel/dask_cluster.py", "pickle.loads"): "outcomes of the workers the user named",
    ("parallel/executor.py", "ctypes.CDLL"): "the C library's own memory settings",
    ("blackbox/native/python.py", "importlib.import_module"): "python: the module the user named",
    ("blackbox/registry.py", "importlib.import_module"): "a table of seqray's own adapters",
    ("blackbox/frameworks/extras.py", "importlib.import_module"): "names in the source only",
    ("draw/canvas.py", "importlib.import_module"): "names in the source only",
    ("formats/aalpy_models.py", "importlib.import_module"): "names in the source only",
    ("cli/__init__.py", "importlib.import_module"): "a command of the table COMMANDS",
    ("cli/doctor.py", "importlib.import_module"): "packages that seqray always needs",
    ("__init__.py", "importlib.import_module"): "a table of seqray's own rooms",
    ("blackbox/remote/http_request.py", "http.client.HTTPConnection"): "http: the user's server",
    ("blackbox/remote/http_request.py", "http.client.HTTPSConnection"): "http: the user's server",
    (
        "blackbox/frameworks/torch_file.py",
        "torch.load",
    ): "weights_only, no old PyTorch",
    ("explore/serve.py", "socket.socket"): "explore --serve listens; it connects to nobody",
    ("cli/explore.py", "webbrowser.open"): "explore --open shows the page that was just made",
}

RUNS_CODE = re.compile(
    r"eval|exec|compile|__import__|(runpy|code)\..+|(pickle|marshal|dill|cloudpickle|joblib|shelve)"
    r"\.(load|loads|open|Unpickler)|os\.(system|popen|exec\w+|spawn\w+|startfile)|subprocess\.\w+"
    r"|importlib\.(import_module|util\..+|machinery\..+)|yaml\.\w*load\w*|pty\.spawn"
    r"|http\.client\.HTTPS?Connection|urllib\.request\.\w+|socket\.(socket|create_connection)"
    r"|webbrowser\.\w+|ctypes\..+|(np|numpy)\.load|torch\.load|\w*\.read_pickle"
)
"""Calls by which data could run code, start a program or open a connection."""

HARMLESS = re.compile(r"subprocess\.(TimeoutExpired|PIPE|DEVNULL)")


def dangerous_calls(module: Module) -> list[tuple[str, str, str]]:
    """Return the path, the name and the place of such calls, but imports of a fixed name."""
    calls = [node for node in module.nodes if isinstance(node, ast.Call)]
    named = [(ast.unparse(call.func), call) for call in calls]
    return [
        (module.path, name, module.at(call))
        for name, call in named
        if RUNS_CODE.fullmatch(name) and not HARMLESS.fullmatch(name)
        if not (name == "importlib.import_module" and isinstance(call.args[0], ast.Constant))
    ]


def test_no_data_can_run_code_start_a_program_or_open_a_connection():
    calls = [each for module in modules_of(SOURCES) for each in dangerous_calls(module)]
    assert [at for path, name, at in calls if (path, name) not in ALLOWED] == []
    assert set(ALLOWED) == {(path, name) for path, name, _ in calls}, "ALLOWED lists what is gone"


@pytest.mark.parametrize(
    "text",
    [
        "eval(text)",
        "pickle.loads(data)",
        "np.load(path, allow_pickle=True)",
        "torch.load(path)",
        "importlib.import_module(config['module'])",
        "subprocess.run(config['command'], shell=True)",
        "urllib.request.urlopen(url)",
        "os.system(name)",
    ],
)
def test_such_a_call_is_noticed(text):
    assert len(dangerous_calls(Module("a.py", text))) == 1


def test_other_calls_are_fine():
    text = "re.compile(x); importlib.import_module('pandas'); module.eval(); pickle.dumps(x)"
    assert dangerous_calls(Module("a.py", text)) == []


def test_nothing_is_imported_under_a_name_that_would_hide_it():
    hidden = re.compile(r"from (pickle|marshal|subprocess|importlib|os|runpy|ctypes)\b")
    texts = {module.path: module.text for module in modules_of(SOURCES)}
    found = {path: hidden.findall(text) for path, text in texts.items()}
    harmless = {"importlib": r"from importlib(\.(resources|metadata|abc|util))? import "}
    assert {path for path, names in found.items() if set(names) - set(harmless)} == set()


# Secrets ------------------------------------------------------------------------------------------

KEY_SHAPES = re.compile(
    rb"sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|hf_[A-Za-z0-9]{30,}"
    rb"|xox[abprs]-[A-Za-z0-9-]{20,}|AKIA[0-9A-Z]{16}|AIza[\w-]{35}"
    rb"|-----BEGIN [A-Z ]*PRIVATE KEY-----|eyJ[\w-]{20,}\.eyJ[\w-]{20,}\.[\w-]{20,}"
)
"""Texts that nothing but a key looks like."""

MADE_UP = {
    b"sk-abcdefghijklmnopqrst": "examples of docstrings and tests",
}


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a checkout of git")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


def test_no_tracked_file_holds_a_key():
    hits = {
        (str(path.relative_to(ROOT)), key)
        for path in tracked_files()
        if path.is_file() and path.name != "test_redaction.py"  # tests what keys look like
        for key in KEY_SHAPES.findall(path.read_bytes())
        if key not in MADE_UP
    }
    assert hits == set()


def test_a_key_is_noticed():
    assert KEY_SHAPES.search(b"token = 'ghp_" + b"a1" * 18 + b"'")
    assert KEY_SHAPES.search(b"-----BEGIN RSA " + b"PRIVATE KEY-----")


def test_no_file_of_a_run_holds_the_secret_that_it_was_given(tmp_path, monkeypatch, capfd, hasty):
    secret = "s3cr3t-" + "q" * 20
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQRAY_TOKEN", secret)
    monkeypatch.setenv("SEQRAY_STORE", str(tmp_path / "answers.sqlite"))
    box = f"cmd:{shlex.join(child_command(tmp_path))} --api-key {secret}"
    small = ("--prefixes", "8", "--suffixes", "8", "--max-rank", "2")
    for arguments in (
        ("extract", box, "-o", "run", *small),
        ("explore", "run", "-o", "page.html"),
        ("convert", "run", "wa.json"),
        ("draw", "run", "-o", "wa.svg"),
        ("store", "info"),
    ):
        cli.main([*map(str, arguments)])
    said = capfd.readouterr()
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert len(files) > 8
    assert [each.name for each in files if secret.encode() in each.read_bytes()] == []
    assert secret not in said.out + said.err


# Dependencies -------------------------------------------------------------------------------------


def test_every_dependency_has_a_least_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [each for extra in project["optional-dependencies"].values() for each in extra]
    listed = [each for each in project["dependencies"] + extras if not each.startswith("seqray")]
    assert len(listed) > 10
    assert [each for each in listed if not re.fullmatch(r"[\w-]+>=\d[\d.]*", each)] == []


def test_every_dependency_is_listed_with_its_least_version_in_security_md():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [each for extra in project["optional-dependencies"].values() for each in extra]
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    missing = {
        each
        for each in project["dependencies"] + extras
        if not each.startswith("seqray") and f"`{each}`" not in text
    }
    assert missing == set()


def test_every_claim_of_security_md_names_a_test_that_exists():
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) > 20
    for path, test in named:
        assert (ROOT / path).is_file(), path
        assert not test or f"def {test}(" in (ROOT / path).read_text("utf-8"), test
