import json
import re
import tempfile
from dataclasses import replace

import numpy as np
import pytest

import seqray
from listing import names
from seqray import WeightedAutomaton, open_run
from seqray.automata.generators import triggered_machine
from seqray.blackbox.registry import known_black_boxes
from seqray.extraction.conditional import method as conditional_method
from seqray.extraction.settings import StructuredSettings
from seqray.fidelity.table import TOLERANCE
from seqray.util.errors import StopReason

RUN = [
    *("automaton.npz", "basis.json", "config.json", "fidelity.csv", "fitted.npz"),
    "singular_values.csv",
]
SMALL = ("--prefixes", "60", "--suffixes", "60")
HARD = """
import seqray
box = seqray.black_box(lambda words: [word.count("a") - word.count("b") for word in words], "ab")
"""


def test_extract_writes_a_run_folder(folder, run, machine):
    text = run("extract", "wa:machine.json", "-o", "run", *SMALL)
    assert names(folder) == ["machine.json", "run", "words.txt"]
    assert names(folder / "run") == RUN
    found = open_run("run")
    words = machine.sample(100, seed=np.random.default_rng(3)).words
    np.testing.assert_allclose(found.automaton(4).weights(words), machine.weights(words), atol=1e-9)
    assert found.settings["box"] == "wa:machine.json"
    assert found.settings["rank"] == found.best_rank()
    assert found.settings["method"] == "conditional"
    said = " ".join(text.split())
    assert f"Queried {found.settings['questions']:,} prefixes (22 contexts × 40 columns, " in said
    assert "contexts of 200 words drawn from the box) as an automaton in " in said
    assert "Fidelity by queries" not in text
    assert "Fidelity by rank, on 1,000 held-out words" in text
    assert f"→ {found.best_rank()}" in text
    assert "next: seqray draw run -o automaton.svg" in text


def test_extract_by_blocks_says_what_it_queried(folder, run):
    text = run("extract", "demo", "-o", "run", "--method", "weighted", *SMALL)
    found = open_run("run")
    said = " ".join(text.split())
    assert f"Queried {found.settings['questions']:,} steps (60 prefixes × 60 suffixes" in said
    assert "sampled from the box) by states in " in said
    assert names(folder / "run") == [name for name in RUN if name != "fitted.npz"]


def test_extract_keeps_to_the_memory_it_is_told(folder, run_both):
    sizes = ("--method", "paper", "--prefixes", "300", "--suffixes", "300", "--max-rank", "5")
    _, said = run_both("extract", "wa:machine.json", "-o", "run", *sizes, "--memory", "5MB")
    assert "300 × 300 prefixes and suffixes take about" in " ".join(said.split())
    assert "of disk in" in said
    assert open_run("run").max_rank > 1


def test_rows_of_a_fast_box_are_cached_where_they_are_many(folder, run):
    options = ("--method", "weighted", *SMALL)
    assert "cached" not in run("extract", "demo", "-o", "run", *options)
    assert "answers are cached in" in run(
        "extract", "demo", "-o", "run", *options, "--memory", "1GB"
    )


def test_an_executor_changes_nothing_but_where_the_box_is_queried(folder, run, fails):
    options = ("--method", "weighted", "--prefixes", "30", "--suffixes", "30")
    for name, more in (("here", ()), ("there", ("--executor", "processes:2"))):
        run("extract", "demo", "-o", name, *options, *more)
    here, there = open_run("here"), open_run("there")
    assert (here.best().transitions == there.best().transitions).all()
    assert here.settings["questions"] == there.settings["questions"]
    said = fails(2, "extract", "demo", "-o", "run", "--executor", "threads:2")
    assert "executor: expected N, processes:N, dask, dask://HOST:PORT" in said


def test_extract_shows_fidelity_by_queries(folder, run):
    options = ("--max-rank", "2", "--prefixes", "60", "--for", "reading", "--target", "0.9999")
    text = run("extract", "demo", "-o", "run", *options)
    rounds = open_run("run").settings["rounds"]
    assert len(rounds) == 4
    assert "Fidelity by queries" in text
    for each in rounds:
        assert f"{each['questions']:,} " in text
    assert "Fidelity by queries" not in run("extract", "demo", "-o", "run", *options[:-1], "0.5")
    assert len(open_run("run").settings["rounds"]) == 1


def test_extract_shows_where_they_disagreed(folder, run):
    triggered_machine("abacab").save(folder / "rare.json")
    arguments = ("--prefixes", 400, "--suffixes", 60, "--max-length", 30, "--counterexamples", 2)
    shown = run("extract", "wa:rare.json", "-o", "run", *map(str, arguments))
    assert "Where box and automaton disagree" in shown
    assert "abacab" in shown
    assert "│ learnt" in shown
    assert "│ nothing to learn │" in shown
    assert open_run(folder / "run").best_rank() == 7
    assert "total_variation" in (folder / "run" / "fidelity.csv").read_text()


def test_a_target_is_refused_where_nothing_predicts(folder, fails):
    error = fails(2, "extract", "machine.json", "-o", "run", "--target", "0.9", "--method", "paper")
    assert "target: only the method conditional, and a basis that is grown, stop early" in error


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
    assert found.settings["basis"] == "contexts of 50 words of a data set"
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
        (8, ["--suffixes", "7", "--method", "weighted"], 7),
    ],
)
def test_a_rank_that_cannot_be_is_refused_before_the_first_query(
    folder, fails, monkeypatch, rank, options, limit
):
    def never(*arguments, **settings):
        raise AssertionError("the box was opened")

    monkeypatch.setattr(seqray, "open_black_box", never)
    monkeypatch.setattr(seqray, "extract", never)
    before = names(folder)
    error = fails(2, "extract", "machine.json", "-o", "run", "--rank", rank, *options)
    assert f"Invalid value for --rank: {rank} is more than {limit}, which --" in error
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


def test_extract_says_what_the_library_warns_of(folder, run_both):
    basis = ("--basis", "words.txt", "--prefixes", "9999", "--max-rank", "2")
    for method in ("auto", "weighted"):
        _, error = run_both("extract", "machine.json", "-o", "run", *basis, "--method", method)
        assert "Note: wanted 9999 prefixes, got only" in error


def test_extract_of_a_box_of_both_signs_shows_its_error(folder, run):
    WeightedAutomaton("ab", [1, 0], [[[1, 1], [0, 1]], [[1, -1], [0, 1]]], [0, 1]).save("d.npz")
    for basis in ([], ["--basis", "uniform"]):
        text = run("extract", "d.npz", "-o", "run", *basis, *SMALL)
        assert "relative_error" in text
        assert "ndcg5" not in text
        assert open_run("run").settings["basis"].startswith("uniform up to length")
        assert abs(open_run("run").automaton(2).weight("aab") - 1) < 1e-9


def test_a_run_is_replaced_with_a_note_and_what_else_is_there_kept(extracted, run, run_both):
    run("draw", "run", "-o", "run/wa.svg")
    drawing = (extracted / "run" / "wa.svg").read_bytes()
    _, said = run_both("extract", "wa:machine.json", "-o", "run", "--seed", "9", *SMALL)
    assert "Note: run holds an earlier run, which is replaced at the end." in said
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
        (
            2,
            ["machine.json", "-o", "run", *SMALL, "--rank", "99"],
            "99 is more than 60, which --pre",
        ),
        (2, ["machine.json", "-o", "run", "--target", "0"], "--target"),
        (2, ["machine.json", "-o", "run", "--target", "1.5"], "--target"),
        (2, ["machine.json", "-o", "run", "--max-rank", "0"], "--max-rank"),
        (2, ["machine.json", "-o", "run", "--prefixes", "0"], "--prefixes"),
        (2, ["machine.json", "-o", "run", "--method", "best"], "--method"),
        (2, ["machine.json", "-o", "run", "--seed", "-1"], "--seed"),
        (2, ["machine.json", "-o", "missing/run"], "there is no folder missing to put it in"),
        (2, ["machine.json", "-o", "words.txt"], "words.txt: is there already"),
        (2, ["machine.json", "-o", "."], "is there already and is no run folder"),
        (
            2,
            ["machine.json", "-o", "run", "--memory", "2XB"],
            "expected a number of bytes or a text such as 500MB, 2GB or 1.5GiB, got '2XB'",
        ),
        (
            2,
            ["machine.json", "-o", "run", "--basis", "smapled"],
            "--basis: expected sampled, grown, uniform or a file of words, and there is no file "
            "'smapled'",
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
        (1, "3 3\n2 0 1\n1 2\n", "words.pautomac:3: header promises 3 words, got 2"),
        (1, "1 3\n2 0\n", "words.pautomac:2: the line promises 2 symbols, got 1"),
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


def test_advice_names_options(folder, run_both):
    (folder / "hard_box.py").write_text(HARD)
    out, error = run_both("extract", "python:hard_box:box", "-o", "run", "--max-rank", "1", *SMALL)
    assert "Query more prefixes and suffixes (--prefixes, --suffixes), allow more" in error
    assert "states (--max-rank), draw longer words (--max-length), or let" in error
    assert "a larger --max-rank may be nearer to the box" in " ".join(out.split())


def interrupted(*arguments, **options):
    raise KeyboardInterrupt


class Interrupted:
    __set_name__ = interrupted


def interrupted_while_a_class_is_made(*arguments, **options):
    type("Made", (), {"field": Interrupted()})  # as importing a module does


@pytest.mark.parametrize("interrupted", [interrupted, interrupted_while_a_class_is_made])
def test_interrupted_work_leaves_nothing(folder, fails, monkeypatch, interrupted):
    monkeypatch.setattr(seqray, "extract", interrupted)
    before = names(folder)
    shown = fails(130, "extract", "machine.json", "-o", "run")
    assert "Interrupted. No output was written" in shown
    assert names(folder) == before


@pytest.mark.parametrize("output", ["run", "."])
def test_an_interrupted_run_is_saved_beside_a_finished_one(extracted, fails, monkeypatch, output):
    extract = seqray.extract

    def stopped(*arguments, **options):
        options["stop"].set()
        extraction = extract(*arguments, **{**options, "stop": None})
        settings = replace(extraction.settings, stop_reason=StopReason.INTERRUPTED)
        return replace(extraction, settings=settings)

    monkeypatch.setattr(seqray, "extract", stopped)
    monkeypatch.chdir(extracted / "run" if output == "." else extracted)
    shown = fails(130, "extract", str(extracted / "machine.json"), "-o", output, *SMALL)
    assert f"{output} still holds the earlier run" in shown
    assert open_run(extracted / "run").stop_reason is None
    beside = open_run(extracted / "run.interrupted")
    assert beside.stop_reason is StopReason.INTERRUPTED


def test_symbols_that_no_file_can_hold_are_refused_before_the_work(folder, fails):
    document = {"format": "seqray.automaton", "version": 1, "alphabet": ["\ud800"]}
    document |= {"initial": [1], "transitions": [[[0.5]]], "final": [0.5]}
    (folder / "odd.json").write_text(json.dumps(document))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seqray, "extract", None)
        assert "cannot be written to a file" in fails(2, "extract", "odd.json", "-o", "run")


def test_a_run_that_cannot_be_saved_at_the_end_is_saved_elsewhere(folder, fails, monkeypatch):
    (folder / "spare").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "spare"))
    extract = seqray.extract

    def replaced(*arguments, **options):
        (folder / "run").write_text("somebody else's")
        return extract(*arguments, **options)

    monkeypatch.setattr(seqray, "extract", replaced)
    error = fails(2, "extract", "machine.json", "-o", "run", *SMALL)
    (saved,) = (folder / "spare").glob("*/run")
    assert f"the run was saved in {saved} instead" in error
    assert seqray.open_run(saved).max_rank == 4


@pytest.fixture
def small_copies(monkeypatch):
    """Fit copies of two and five states per context, hastily."""
    hasty = {"n_contexts": 5, "n_epochs": 1, "min_steps": 40}
    small = StructuredSettings((2, 5), (1, 1), small_share=0, min_gain=-1, **hasty)
    monkeypatch.setattr(conditional_method, "STRUCTURED", small)


@pytest.mark.usefixtures("hasty", "small_copies")
def test_copies_are_a_table_of_their_own_and_later_commands_use_them(folder, run):
    text = run("extract", "machine.json", "-o", "run", "--max-rank", "1", "--prefixes", "20")
    copies = open_run("run").copies
    assert "Copies, on 1,000 held-out words" in text
    assert f"→ {copies[-1].n_states}" in text
    assert f"per symbol more than the copy of {copies[-1].n_states} states." in text
    assert "copy-1.npz" in names(folder / "run")
    assert open_run("run").best().n_states == copies[-1].n_states


@pytest.mark.usefixtures("hasty", "small_copies")
@pytest.mark.parametrize("options", [("--for", "reading"), ("--rank", "1"), ("--max-states", "1")])
def test_there_are_no_copies_where_none_are_wanted(folder, run, options):
    options = (*options, "--max-rank", "1", "--prefixes", "20")
    text = run("extract", "machine.json", "-o", "run", *options)
    assert open_run("run").copies == ()
    assert "Copies" not in text


@pytest.mark.parametrize(("option", "limit"), [("--max-states", "2"), ("--max-cost", "8")])
def test_a_rank_above_a_limit_is_refused(folder, fails, option, limit):
    error = fails(2, "extract", "machine.json", "-o", "run", "--rank", "3", option, limit)
    assert f"3 is more than 2, which {option} allows" in error


def test_extract_takes_an_objective_and_shows_its_metric_first(folder, run):
    text = run("extract", "wa:machine.json", "-o", "run", "--objective", "weights", *SMALL)
    assert open_run("run").settings["objective"] == "weights"
    assert "Ranks are chosen by the mean squared error of the weights of words" in text
    header = next(line for line in text.splitlines() if "relative_error" in line)
    assert header.index("relative_error") < header.index("kl_per_symbol")


def test_a_box_of_numbers_has_one_estimate(folder, run_both, monkeypatch):
    (folder / "number_box.py").write_text(
        "import seqray\n"
        "box = seqray.black_box(lambda words: [w.count('a') - 1 for w in words], 'ab', name='n')\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    said = run_both("extract", "python:number_box:box", "-o", "run", "--store", "none").err
    (n_first,) = re.findall(r"Estimate: the first round queries about ([\d,]+) words", said)
    assert int(n_first.replace(",", "")) <= 10_000
    assert "rounds end where nothing is left to learn, after at most 2,560,000 words" in said
    assert said.count("Estimate:") == 1
    assert open_run("run").settings["questions"] < 10_000
