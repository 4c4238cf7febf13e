import json
import subprocess
import sys

import numpy as np
import pytest

import seqray
from seqray import WeightedAutomaton, cli, open_run
from seqray.blackbox.registry import known_black_boxes
from seqray.cli import common
from seqray.data.fst import from_fst_text
from seqray.data.generate import random_machine
from seqray.data.pautomac import write_machine
from seqray.extraction import TOLERANCE

RUN = ["automaton.npz", "basis.json", "config.json", "fidelity.csv", "singular_values.csv"]
SMALL = ("--prefixes", "60", "--suffixes", "60")


@pytest.fixture(scope="module")
def machine():
    return random_machine("pfa", 4, 3, rng=np.random.default_rng(1))


@pytest.fixture
def folder(machine, tmp_path, monkeypatch):
    """A folder to work in, with a machine and a file of words."""
    monkeypatch.chdir(tmp_path)
    machine.save("machine.json")
    seqray.write_words(machine.sample(50, rng=np.random.default_rng(2)), "words.txt")
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def run(capsys):
    """Run a command that succeeds; returns what it printed."""

    def call(*arguments):
        cli.main(list(map(str, arguments)))
        return capsys.readouterr().out

    return call


@pytest.fixture
def fails(capsys):
    """Run a command that fails; returns what it printed as an error."""

    def call(code, *arguments):
        with pytest.raises(SystemExit) as stopped:
            cli.main(list(map(str, arguments)))
        error = capsys.readouterr().err
        assert stopped.value.code == code, error
        assert "Traceback" not in error
        return " ".join(error.split())

    return call


@pytest.fixture
def extracted(folder, run):
    run("extract", "wa:machine.json", "-o", "run", *SMALL)
    return folder


# The program --------------------------------------------------------------------------------------


def test_the_module_runs_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "seqray", "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr == ""
    for command, text in cli.COMMANDS.items():
        assert command in done.stdout
        assert text.split()[0] in done.stdout


def test_help_lists_the_commands_in_the_order_of_their_use(run):
    text = run("--help")
    places = [text.index(f"\n  {command} ") for command in cli.COMMANDS]
    assert places == sorted(places)
    assert cli.cli.list_commands(None) == list(cli.COMMANDS)


def test_the_version_is_printed(run):
    assert run("--version").strip() == f"seqray, version {seqray.__version__}"


@pytest.mark.parametrize("command", [name for name in cli.COMMANDS if name != "demo"])
def test_every_command_has_help_with_examples(run, command):
    text = run(command, "-h")
    assert "Examples:" in text
    assert f"seqray {command}" in text


def test_an_unknown_command_is_misuse(fails):
    assert "No such command 'extrct'" in fails(2, "extrct")


# extract ------------------------------------------------------------------------------------------


def test_extract_writes_a_run_folder(folder, run, machine):
    text = run("extract", "wa:machine.json", "-o", "run", *SMALL)
    assert names(folder) == ["machine.json", "run", "words.txt"]
    assert names(folder / "run") == RUN
    found = open_run("run")
    words = machine.sample(100, rng=np.random.default_rng(3))
    np.testing.assert_allclose(found.automaton(4).weights(words), machine.weights(words), atol=1e-9)
    assert found.settings["box"] == "wa:machine.json"
    assert found.settings["rank"] == found.best_rank()
    assert f"Asked {found.settings['questions']:,} words (60 prefixes × 60 suffixes" in text
    assert "Fidelity by rank, on held-out words" in text
    assert f"→ {found.best_rank()}" in text
    assert "next: seqray draw run -o automaton.svg" in text


def test_extract_takes_all_it_is_told(folder, run):
    options = "--method weighted --basis uniform --prefixes 40 --suffixes 30 --max-rank 3"
    run("extract", "machine.json", "-o", "run", *options.split(), "--max-length=9", "--seed=5")
    settings = open_run("run").settings
    wanted = {
        "method": "weighted",
        "basis": "uniform up to length 9",
        "prefixes": 40,
        "suffixes": 30,
        "max_rank": 3,
        "max_length": 9,
        "seed": 5,
    }
    assert wanted.items() <= settings.items()


def test_extract_takes_a_file_of_words_as_basis(folder, run):
    run("extract", "wa:machine.json", "-o", "run", "--basis", "words.txt", *SMALL)
    found = open_run("run")
    words = seqray.read_words("words.txt", alphabet=range(3))
    assert found.settings["basis"] == "from a data set"
    assert set(found.basis.prefixes) <= {w[:n] for w in words for n in range(len(w) + 1)}


def test_extract_keeps_the_rank_it_is_told(folder, run):
    text = run("extract", "wa:machine.json", "-o", "run", "--rank", "2", *SMALL)
    assert open_run("run").settings["rank"] == 2
    assert "→ 2" in text
    run("extract", "wa:machine.json", "-o", "run", "--rank", "3", "--max-rank", "3", *SMALL)
    assert open_run("run").max_rank == open_run("run").settings["rank"] == 3
    assert open_run("run").best().n_states == 3


@pytest.mark.parametrize(
    ("rank", "options", "limit"),
    [
        (3, ["--max-rank", "2"], 2),
        (101, [], 100),
        (61, SMALL, 60),
        (11, ["--prefixes", "10"], 10),
        (8, ["--suffixes", "7"], 7),
    ],
)
def test_a_rank_that_cannot_be_is_refused_before_the_box_is_asked(
    folder, fails, monkeypatch, rank, options, limit
):
    def never(*arguments, **settings):
        raise AssertionError("the box was opened")

    monkeypatch.setattr(seqray, "open_black_box", never)
    monkeypatch.setattr(seqray, "extract", never)
    before = names(folder)
    error = fails(2, "extract", "machine.json", "-o", "run", "--rank", rank, *options)
    assert f"Invalid value for --rank: {rank} is more than {limit}, the least of" in error
    assert names(folder) == before


def test_a_rank_above_that_of_the_block_fails_but_the_answers_are_kept(folder, fails):
    error = fails(2, "extract", "machine.json", "-o", "run", "--rank", "60", *SMALL)
    found = open_run("run")
    best = found.best_rank(tolerance=TOLERANCE)
    assert found.max_rank == 4
    assert found.settings["rank"] == best
    assert "Error: rank 60 is above 4, the rank of the block" in error
    assert f"run was saved with rank {best}" in error
    assert names(folder) == ["machine.json", "run", "words.txt"]
    assert names(folder / "run") == RUN
    assert seqray.open_black_box("run").n_states == best


def test_extract_takes_the_network_that_ships_with_seqray(folder, run):
    options = ("--prefixes", "30", "--suffixes", "30", "--max-rank", "3", "--rank", "2")
    run("extract", "demo", "-o", "run", *options)
    assert open_run("run").settings["box"] == "demo"
    assert open_run("run").basis.alphabet == seqray.Alphabet("abcd")


def test_extract_takes_a_run_as_a_box_at_its_rank(folder, run):
    run("extract", "machine.json", "-o", "run", "--rank", "2", *SMALL)
    for box in ("run", "wa:run"):
        run("extract", box, "-o", "again", "--basis", "uniform", *SMALL)
        assert open_run("again").max_rank == 2


def test_extract_lists_the_boxes_as_they_are_written(run):
    lines = [line.split(maxsplit=1) for line in run("extract", "-h").splitlines()]
    for form, what in known_black_boxes().items():
        assert [form, what] in lines


def test_extract_says_what_the_library_warns_of(folder, capsys):
    cli.main(["extract", "machine.json", "-o", "run", "--basis", "words.txt", "--prefixes", "9999"])
    error = capsys.readouterr().err
    assert "Note: asked for 9999 prefixes, found only" in error


def test_extract_of_a_box_of_both_signs_shows_its_error(folder, run):
    WeightedAutomaton("ab", [1, 0], [[[1, 1], [0, 1]], [[1, -1], [0, 1]]], [0, 1]).save("d.npz")
    for basis in ([], ["--basis", "uniform"]):
        text = run("extract", "d.npz", "-o", "run", *basis, *SMALL)
        assert "relative_error" in text
        assert "ndcg5" not in text
        assert open_run("run").settings["basis"].startswith("uniform up to length")
        assert abs(open_run("run").automaton(2).weight("aab") - 1) < 1e-9


def test_a_run_is_replaced_and_what_else_is_there_kept(extracted, run):
    run("draw", "run", "-o", "run/wa.svg")
    drawing = (extracted / "run" / "wa.svg").read_bytes()
    run("extract", "wa:machine.json", "-o", "run", "--seed", "9", *SMALL)
    assert open_run("run").settings["seed"] == 9
    assert names(extracted / "run") == [*RUN, "wa.svg"]
    assert (extracted / "run" / "wa.svg").read_bytes() == drawing


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["wo:machine.json", "-o", "run"], "unknown kind 'wo': did you mean wa?"),
        (2, ["machine", "-o", "run"], "expected KIND:WHERE"),
        (2, ["wa:missing.json", "-o", "run"], "missing.json: there is no such file or folder"),
        (2, ["missing.json", "-o", "run"], "missing.json: there is no such file or folder"),
        (2, ["rnn:missing", "-o", "run"], "missing: there is no such file"),
        (2, ["taysir:missing", "-o", "run"], "missing/config.json: there is no such file"),
        (2, ["demo:words.txt", "-o", "run"], "black box 'demo:words.txt'"),
        (1, ["wa:words.txt", "-o", "run"], "words.txt"),
        (2, ["machine.json"], "Missing option '-o' / '--output'"),
        (2, ["machine.json", "-o", "run", "--rank", "0"], "expected 'auto' or a number from 1"),
        (2, ["machine.json", "-o", "run", "--rank", "few"], "got 'few'"),
        (2, ["machine.json", "-o", "run", "--rank", "²"], "got '²'"),
        (2, ["machine.json", "-o", "run", "--rank", "9" * 5000], "a number from 1"),
        (2, ["machine.json", "-o", "run", "--rank", "-1"], "got '-1'"),
        (2, ["machine.json", "-o", "run", *SMALL, "--rank", "99"], "99 is more than 60, the least"),
        (2, ["machine.json", "-o", "run", "--max-rank", "0"], "--max-rank"),
        (2, ["machine.json", "-o", "run", "--prefixes", "0"], "--prefixes"),
        (2, ["machine.json", "-o", "run", "--method", "best"], "--method"),
        (2, ["machine.json", "-o", "run", "--seed", "-1"], "--seed"),
        (2, ["machine.json", "-o", "missing/run"], "there is no folder missing to put it in"),
        (2, ["machine.json", "-o", "words.txt"], "words.txt: is there already"),
        (2, ["machine.json", "-o", "."], "is there already and is no run folder"),
        (
            2,
            ["machine.json", "-o", "run", "--basis", "smapled"],
            "--basis: expected sampled, uniform or a file of words, and there is no file 'smapled'",
        ),
    ],
)
def test_extract_that_fails_leaves_nothing(folder, fails, code, arguments, message):
    before = names(folder)
    assert message in fails(code, "extract", *arguments)
    assert names(folder) == before


@pytest.mark.parametrize(
    ("code", "text", "message"),
    [
        (1, "3 3\n2 0 1\n1 2\n", "words.pautomac:3: header promises 3 words, found 2"),
        (1, "1 3\n2 0\n", "words.pautomac:2: the line promises 2 symbols, found 1"),
        (2, "1 9\n2 0 8\n", "words.pautomac:2: letter 8 at position 1 is outside"),
        (1, "", "words.pautomac: the file is empty"),
    ],
)
def test_a_damaged_file_of_words_is_reported_with_its_line(extracted, fails, code, text, message):
    (extracted / "words.pautomac").write_text(text)
    before = names(extracted)
    assert message in fails(code, "extract", "machine.json", "-o", "new", "--basis=words.pautomac")
    evaluate = ("evaluate", "run", "--against", "machine.json", "--words", "words.pautomac")
    assert message in fails(code, *evaluate)
    assert names(extracted) == before


def test_interrupted_work_leaves_nothing(folder, fails, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(seqray, "extract", interrupted)
    before = names(folder)
    assert "Interrupted: nothing was written." in fails(130, "extract", "machine.json", "-o", "run")
    assert names(folder) == before


# evaluate -----------------------------------------------------------------------------------------


def test_evaluate_shows_a_table(extracted, run):
    text = run("evaluate", "run", "--against", "wa:machine.json", "--words", "words.txt")
    assert "against wa:machine.json" in text
    for name in ("ndcg5", "perplexity_ratio", "wer"):
        assert name in text
    assert "on 50 words with" in text


def test_evaluate_prints_json_that_is_right(extracted, run, machine):
    arguments = ("evaluate", "run", "--against", "wa:machine.json", "--words", "words.txt")
    found = json.loads(run(*arguments, "--json", "--rank", "2"))
    words = seqray.read_words("words.txt", alphabet=machine.alphabet)
    fidelity = seqray.compare(machine, open_run("run").automaton(2), words)
    assert found == {
        **fidelity.as_dict(),
        "states": 2,
        "words": 50,
        "prefixes": fidelity.n_prefixes,
    }


def test_evaluate_uses_the_rank_of_the_run(folder, run):
    run("extract", "machine.json", "-o", "run", "--rank", "3", *SMALL)
    arguments = ("evaluate", "run", "--against", "machine.json", "--words", "words.txt", "--json")
    assert json.loads(run(*arguments))["states"] == 3


def test_evaluate_takes_an_automaton_file_and_a_target(folder, run):
    arguments = ("evaluate", "machine.json", "--against", "machine.json", "--words", "words.txt")
    found = json.loads(run(*arguments, "--target", "machine.json", "--json"))
    assert found["perplexity_ratio"] == pytest.approx(1)
    assert found["states"] == 4


def test_evaluate_against_a_run_takes_its_rank(folder, run):
    run("extract", "machine.json", "-o", "run", "--rank", "2", *SMALL)
    for against in ("run", "wa:run"):
        arguments = ("evaluate", "run", "--against", against, "--words", "words.txt", "--json")
        found = json.loads(run(*arguments))
        assert found["states"] == 2
        assert found["max_error"] == 0
        assert json.loads(run(*arguments, "--rank", "4"))["max_error"] > 0


def no_constant(name):
    raise AssertionError(f"{name} is no JSON")


def test_evaluate_prints_null_for_what_is_no_number(folder, run):
    (folder / "one.txt").write_text("1 3\n2 0 1\n")  # over one word there is no correlation
    arguments = ("evaluate", "machine.json", "--against", "machine.json", "--words", "one.txt")
    found = json.loads(run(*arguments, "--json"), parse_constant=no_constant)
    assert found["correlation"] is None
    assert [name for name, value in found.items() if value is None] == ["correlation"]
    assert found["words"] == 1


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (
            2,
            ["missing", "--against", "machine.json", "--words", "words.txt"],
            "missing: there is no such file or folder",
        ),
        (2, ["machine.json", "--against", "machine.json", "--words", "missing"], "'missing'"),
        (2, ["machine.json", "--against", "machine.json"], "Missing option '--words'"),
        (2, ["machine.json", "--words", "words.txt"], "Missing option '--against'"),
        (
            2,
            ["machine.json", "--against", "wa:x.json", "--words", "words.txt"],
            "x.json: there is no such file or folder",
        ),
        (1, ["empty", "--against", "machine.json", "--words", "words.txt"], "a run folder"),
        (2, ["other.json", "--against", "machine.json", "--words", "words.txt"], "same symbols"),
        (2, ["machine.json", "--against", "machine.json", "--words", "ab.txt"], "ab.txt:1: symbol"),
    ],
)
def test_evaluate_that_fails_says_why(folder, fails, code, arguments, message):
    (folder / "empty").mkdir()
    (folder / "ab.txt").write_text("a b\n")
    WeightedAutomaton("xyz", [1], np.zeros((3, 1, 1)), [1]).save("other.json")
    before = names(folder)
    assert message in fails(code, "evaluate", *arguments)
    assert names(folder) == before


# draw ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ending", "begin"), [("svg", "<svg"), ("dot", "digraph")])
def test_draw_writes_a_picture(extracted, run, ending, begin):
    text = run("draw", "run", "-o", f"wa.{ending}", "--rank", "3", "--threshold", "0.1")
    assert f"\n{begin} " in "\n" + (extracted / f"wa.{ending}").read_text("utf-8")
    assert f"wa.{ending}: 3 states; transitions below 0.1 are hidden" in text


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["machine.json", "-o", "wa.png"], "wa.png ends in none of .svg .dot"),
        (2, ["machine.json", "-o", "wa"], "wa ends in none of .svg .dot"),
        (2, ["machine.json", "-o", "missing/wa.svg"], "there is no folder missing to put it in"),
        (2, ["machine.json", "-o", "folder.svg"], "is a directory"),
        (2, ["machine.json", "-o", "wa.svg", "--rank", "0"], "--rank"),
        (2, ["machine.json", "-o", "wa.svg", "--rank", "two"], "--rank"),
        (2, ["run", "-o", "wa.svg", "--rank", "5"], "rank 5 is outside 1 … 4"),
        (2, ["machine.json", "-o", "wa.svg", "--threshold", "-1"], "--threshold"),
        (2, ["missing.json", "-o", "wa.svg"], "missing.json: there is no such file or folder"),
        (2, ["wa:missing", "-o", "wa.svg"], "missing: there is no such file or folder"),
        (1, ["words.txt", "-o", "wa.svg"], "words.txt"),
        (1, ["cut.json", "-o", "wa.svg"], "cut.json: not a seqray automaton, or damaged"),
    ],
)
def test_draw_that_fails_leaves_nothing(extracted, fails, code, arguments, message):
    folder = extracted
    (folder / "folder.svg").mkdir()
    (folder / "cut.json").write_text((folder / "machine.json").read_text()[:99])
    before = names(folder)
    assert message in fails(code, "draw", *arguments)
    assert names(folder) == before


# convert ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["json", "npz", "pautomac"])
def test_formats_that_can_be_read_come_back(folder, run, machine, ending):
    assert run("convert", "machine.json", f"wa.{ending}") == f"wa.{ending}: 4 states, 3 symbols\n"
    run("convert", f"wa.{ending}", "back.json")
    back = WeightedAutomaton.load("back.json")
    assert back.allclose(machine, rtol=1e-12, atol=1e-15)
    if ending != "pautomac":
        assert (folder / "back.json").read_bytes() == (folder / "machine.json").read_bytes()


def test_a_machine_of_pautomac_is_converted(folder, run, machine):
    write_machine(machine, "24.pautomac_model.txt")
    run("convert", "24.pautomac_model.txt", "24.json")
    assert WeightedAutomaton.load("24.json").allclose(machine)


def test_openfst_text_has_its_symbols_beside_it(folder, run, machine):
    run("convert", "machine.json", "wa.fst")
    assert names(folder) == ["machine.json", "wa.fst", "wa.syms", "words.txt"]
    back = from_fst_text((folder / "wa.fst").read_text(), (folder / "wa.syms").read_text())
    words = machine.sample(30, rng=np.random.default_rng(4))
    texts = [tuple(map(str, word)) for word in words]
    np.testing.assert_allclose(back.weights(texts), machine.weights(words))


def test_openfst_text_is_written_with_its_symbols_or_not_at_all(folder, fails):
    (folder / "wa.syms").mkdir()
    before = names(folder)
    assert "wa.syms: cannot be written" in fails(1, "convert", "machine.json", "wa.fst")
    assert names(folder) == before


def test_dot_keeps_every_transition(folder, run, machine):
    run("convert", "machine.json", "wa.dot")
    text = (folder / "wa.dot").read_text("utf-8")
    pairs = {(origin, target) for origin, _, target, _ in machine.edges()}
    assert text.count(" -> ") >= len(pairs)
    for origin, target in pairs:
        assert f"    {origin} -> {target} [" in text


def test_convert_takes_a_run_at_a_rank(extracted, run):
    run("convert", "run", "wa.npz", "--rank", "2")
    wa = WeightedAutomaton.load("wa.npz")
    assert wa.allclose(open_run("run").automaton(2), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["machine.json", "wa.txt"], "wa.txt ends in none of .json .npz .dot .fst .pautomac"),
        (2, ["machine.json", "missing/wa.npz"], "there is no folder missing to put it in"),
        (2, ["missing.json", "wa.npz"], "missing.json: there is no such file or folder"),
        (2, ["run", "wa.npz", "--rank", "9"], "rank 9 is outside 1 … 4"),
        (2, ["signed.json", "wa.pautomac"], "PAutomaC"),
        (2, ["signed.json", "wa.fst"], "symbol 'a b' cannot be written as FST text"),
        (2, ["machine.json"], "Missing argument 'OUTPUT'"),
    ],
)
def test_convert_that_fails_leaves_nothing(extracted, fails, code, arguments, message):
    folder = extracted
    WeightedAutomaton(["a b", "c"], [1], [[[-0.5]], [[1]]], [2]).save("signed.json")
    before = names(folder)
    assert message in fails(code, "convert", *arguments)
    assert names(folder) == before


# What commands share ------------------------------------------------------------------------------


@pytest.mark.parametrize("wa", ["machine.json", "wa:machine.json"])
@pytest.mark.parametrize("rank", [1, 4, 5])
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("draw", ["-o", "wa.svg"]),
        ("convert", ["wa.npz"]),
        ("evaluate", ["--against", "machine.json", "--words", "words.txt"]),
    ],
)
def test_only_a_run_has_ranks(folder, fails, command, options, rank, wa):
    before = names(folder)
    error = fails(2, command, wa, *options, "--rank", rank)
    assert "Invalid value for --rank: machine.json is no run folder" in error
    assert names(folder) == before


def test_what_is_opened_may_be_written_as_a_box_is(extracted, run, machine):
    run("convert", "wa:machine.json", "wa.json")
    assert WeightedAutomaton.load("wa.json").allclose(machine, rtol=0, atol=0)
    run("convert", "wa:run", "wa.npz", "--rank", "2")
    assert WeightedAutomaton.load("wa.npz").allclose(open_run("run").automaton(2), rtol=0, atol=0)
    assert "wa.svg: 3 states" in run("draw", "wa:run", "-o", "wa.svg", "--rank", "3")
    assert "wa.svg: 4 states" in run("draw", "wa:machine.json", "-o", "wa.svg")
    arguments = ("--against", "machine.json", "--words", "words.txt", "--json")
    plain, same = (json.loads(run("evaluate", wa, *arguments)) for wa in ("run", "wa:run"))
    assert plain == same


def test_a_line_of_json_has_null_for_what_is_no_number():
    numbers = {"a": float("nan"), "b": float("inf"), "c": -float("inf"), "d": 0.5, "e": 3, "f": "λ"}
    line = common.json_line(numbers)
    assert line == '{"a": null, "b": null, "c": null, "d": 0.5, "e": 3, "f": "λ"}'


def test_the_ranks_shown_include_the_best_and_the_largest():
    assert common.some_ranks(4, 4) == [1, 2, 3, 4]
    assert common.some_ranks(100, 40) == [1, 2, 3, 5, 8, 13, 21, 34, 40, 55, 89, 100]
    assert common.some_ranks(1, 1) == [1]


def test_a_comparison_shows_probable_words_once_and_the_worst(capsys):
    words = seqray.Alphabet("ab").words(["b", "a", "a", "", "ab" * 30])
    box = np.array([0.1, 0.4, 0.4, 0.3, 0.01])
    common.show_comparison(words, box, np.array([0.1, 0.4, 0.4, 0.3, -0.5]))
    text = capsys.readouterr().out
    assert text.count("0.4") == 2
    assert "λ" in text
    assert "-0.5" in text
    assert "ab" * 30 not in text


def test_evaluate_says_when_the_alphabets_differ(tmp_path, capsys):
    other = tmp_path / "other.json"
    seqray.WeightedAutomaton("xy", [1], [[[0.25]], [[0.25]]], [0.5]).save(other)
    (tmp_path / "words.txt").write_text("ab\n")
    words = str(tmp_path / "words.txt")
    with pytest.raises(SystemExit) as stopped:
        cli.main(["evaluate", str(other), "--against", "demo", "--words", words])
    assert stopped.value.code == 2
    assert "expected the same symbols" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "text"), [(1, "1"), (0.999998, "0.999998"), (0.98765432, "0.9877")]
)
def test_what_is_not_one_is_not_shown_as_one(value, text):
    assert common.show_number(value, 4) == text
