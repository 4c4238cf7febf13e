import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import seqray
from copied import copied
from copied import machine as copied_machine
from listing import names
from seqray import WeightedAutomaton, open_run
from seqray.automata.algebra import scale
from seqray.automata.generators import random_structured
from seqray.blackbox.box_record import BoxRecord
from seqray.fidelity.table import Fidelity, FidelityTable

SMALL = ("--prefixes", "60", "--suffixes", "60")


def test_evaluate_shows_a_table(extracted, run):
    text = run("evaluate", "run", "--against", "wa:machine.json", "--words", "words.txt")
    assert "against wa:machine.json" in text
    for name in ("ndcg5", "perplexity_ratio", "wer"):
        assert name in text
    assert "on 50 words of words.txt with" in text
    assert "± 95 % confidence interval" in " ".join(text.split())


def test_evaluate_shows_the_farther_end_of_an_interval(folder, run):
    text = run("evaluate", "machine.json", "--against", "machine.json", "--words", "words.txt")
    row = next(line for line in text.splitlines() if line.startswith("zeros"))
    assert row.split()[1:3] == ["0", "0.058"]


def test_evaluate_prints_json_that_is_right(extracted, run, machine):
    arguments = ("evaluate", "run", "--against", "wa:machine.json", "--words", "words.txt")
    found = json.loads(run(*arguments, "--json", "--rank", "2"))
    words = seqray.read_words("words.txt", alphabet=machine.alphabet)
    fidelity = seqray.compare(machine, open_run("run").automaton(2), words)
    assert found == {
        **fidelity.as_dict(),
        "states": 2,
        "cost": 4,
        "words": 50,
        "prefixes": fidelity.n_prefixes,
        "source": "50 words of words.txt",
        "intervals": {name: list(ends) for name, ends in fidelity.intervals.items()},
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
        (
            2,
            ["machine.json"],
            "machine.json does not say which box it is from (it is no run folder)",
        ),
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


def test_evaluate_searches_for_the_worst_words(extracted, run, machine):
    arguments = ("evaluate", "run", "--against", "wa:machine.json", "--words", "words.txt")
    text = run(*arguments, "--rank", "2", "--worst", "3")
    assert "Where they disagree most" in text
    assert "also look at words that neither draws" in text
    found = json.loads(run(*arguments, "--rank", "2", "--worst", "3", "--json"))["worst"]
    expected = seqray.disagreements(machine, open_run("run").automaton(2), n_words=3)
    assert [each["distance"] for each in found] == [each.distance for each in expected]


def test_without_words_they_are_drawn_from_the_box_or_at_random(folder, run, run_both, machine):
    found = json.loads(run("evaluate", "machine.json", "--against", "machine.json", "--json"))
    assert found["words"] == 2000
    assert found["ndcg5"] == pytest.approx(1)
    scale(machine, 2).save("twice.json")
    told = run_both(
        "evaluate", "machine.json", "--against", "wa:twice.json", "--worst", "2", "--json"
    )
    assert (
        "Compared on random words of up to 12 symbols, because wa:twice.json cannot be sampled"
        in told.err
    )
    found = json.loads(told.out)
    assert found["words"] == 2000
    assert found["relative_error"] == pytest.approx(0.5)
    assert {each["source"] for each in found["worst"]} <= {"automaton", "random", "search"}
    shown = run("evaluate", "machine.json", "--against", "wa:twice.json", "--worst", "2")
    assert "distance: the difference of the two weights" in shown
    assert "after the word" not in shown


def test_another_seed_draws_other_words(extracted, run):
    def metrics(*options):
        return json.loads(
            run("evaluate", "run", "--against", "wa:machine.json", "--json", *options)
        )

    assert metrics() == metrics("--seed", "0") != metrics("--seed", "1")


def test_a_structured_automaton_is_evaluated_like_a_dense_one(folder, run, machine):
    wa = random_structured(machine.alphabet, 4, seed=0)
    wa.save("structured.npz")
    wa.to_dense().save("dense.npz")
    against = ("--against", "wa:machine.json", "--words", "words.txt", "--json")
    files = "structured.npz", "dense.npz"
    mine, other = (json.loads(run("evaluate", file, *against)) for file in files)
    for name in other.keys() - {"intervals", "automaton", "states", "cost", "source"}:
        assert mine[name] == pytest.approx(other[name], rel=1e-9), name
    back = ("--against", "wa:structured.npz", "--words", "words.txt", "--json")
    assert json.loads(run("evaluate", "dense.npz", *back))["relative_error"] < 1e-12


def test_evaluate_takes_the_copy_of_a_run_and_says_so(folder, run):
    seqray.save_run(copied(), "copied")
    copied_machine().save("box.json")
    arguments = ("evaluate", "copied", "--against", "box.json")
    title = run(*arguments).splitlines()[0]
    assert title == "copied (copy of 7 states, 49 multiplications per symbol) against box.json"
    document = json.loads(run(*arguments, "--json"))
    assert (document["states"], document["cost"]) == (7, 49)
    assert document["kl_per_symbol"] < 1e-12


@pytest.mark.parametrize("options", [("--for", "reading"), ("--rank", "2")])
def test_evaluate_takes_the_rank_for_reading_on_request(folder, run, options):
    seqray.save_run(copied(), "copied")
    copied_machine().save("box.json")
    text = run("evaluate", "copied", "--against", "box.json", *options)
    assert text.startswith("copied (2 states) against box.json")


def test_of_a_run_without_copies_the_rank_chosen_there_is_evaluated(folder, run):
    fidelities = tuple(
        Fidelity({"kl_per_symbol": bits, "ndcg5": 0.99, "entropy_per_symbol": 2.0}, 20, 90)
        for bits in (0.0101, 0.01)
    )
    table = FidelityTable((1, 2), fidelities)
    seqray.save_run(replace(copied(), copies=(), fidelity=table), "run")
    copied_machine().save("box.json")
    arguments = "evaluate", "run", "--against", "box.json"
    assert open_run("run").best_rank() == 1
    assert run(*arguments).startswith("run (1 state) against")
    assert run(*arguments, "--for", "copying").startswith("run (2 states) against")


# The box that a run remembers -----------------------------------------------------------------


def test_a_run_remembers_its_box(extracted, run_both):
    printed = run_both("evaluate", "run", "--words", "words.txt")
    assert printed.err == "Box: wa:machine.json, as run remembers it.\n"
    assert "against wa:machine.json" in printed.out
    named = run_both("evaluate", "run", "--words", "words.txt", "--against", "wa:machine.json")
    assert (named.out, named.err) == (printed.out, "")


def test_a_run_and_its_box_are_moved_together(extracted, run_both, monkeypatch):
    (extracted / "elsewhere").mkdir()
    monkeypatch.chdir(extracted / "elsewhere")
    printed = run_both("evaluate", "../run", "--json")
    assert printed.err == "Box: wa:../machine.json, as ../run remembers it.\n"
    assert "Box: wa:../machine.json" in run_both("evaluate", "wa:../run", "--json").err


def saved_with(record, folder="made"):
    """Save a run folder that names a box."""
    extraction = seqray.extract(seqray.open_black_box("machine.json"), n_prefixes=20, max_rank=2)
    settings = replace(extraction.settings, recorded_box=record)
    seqray.save_run(replace(extraction, settings=settings), folder)
    return folder


def test_a_run_of_a_box_that_was_made_in_python_needs_its_name(folder, fails):
    message = fails(2, "evaluate", saved_with(None))
    assert "made does not say which box it is from (its box was not opened by a spec" in message


def test_save_run_records_the_box(folder, run_both):
    extraction = seqray.extract(seqray.open_black_box("machine.json"), n_prefixes=20, max_rank=2)
    seqray.save_run(extraction, "made")
    assert "Box: wa:machine.json, as made" in run_both("evaluate", "made", "--json").err
    config = json.loads(Path("made/config.json").read_text())
    assert config["box"] == "wa:machine.json"
    assert config["recorded_box"]["path_from_run"] == "../machine.json"
    again = seqray.open_run("made")
    assert again.settings.recorded_box.spec == "wa:machine.json"
    seqray.save_run(again, "copied")
    assert seqray.open_run("copied").settings.recorded_box.path_from_run is None


@pytest.mark.parametrize("spec", ["cmd:touch owned", "python:owned:box", "wa:/etc/passwd"])
def test_a_hostile_run_starts_nothing(folder, fails, spec):
    (folder / "owned.py").write_text("open('owned', 'w').close()\nbox = None\n")
    message = fails(2, "evaluate", saved_with(BoxRecord(spec)))
    assert f"made says that its box is {spec}, which " in message
    assert "add --trust-run if you trust the folder" in message
    assert fails(2, "evaluate", "made", "--against", "recorded") == message
    assert not (folder / "owned").exists()


def test_the_users_word_opens_whatever_is_recorded(folder, run_both, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    (folder / "trusted_machine.py").write_text(
        "import seqray\nbox = seqray.open_black_box('machine.json')\n"
    )
    made = saved_with(BoxRecord("python:trusted_machine:box"))
    printed = run_both("evaluate", made, "--trust-run", "--json")
    assert "Box: python:trusted_machine:box, as made remembers it." in printed.err


def test_no_secret_is_in_a_run_folder(folder, fails):
    record = BoxRecord.of("http://me:hunter22@host/?key=abcdefgh", {"token": "abcdefgh"})
    made = saved_with(record)
    for path in Path(made).iterdir():
        assert b"abcdefgh" not in path.read_bytes()
        assert b"hunter22" not in path.read_bytes()
    assert "which may be a secret and was not written" in fails(2, "evaluate", made)


# Boxes that read short words ------------------------------------------------------------------

SHORT = """
import numpy as np
import seqray


def rows(prefixes):
    assert max(map(len, prefixes)) <= 10
    return np.array([[0.5, 0.45, 0.05] if len(p) % 2 else [0.2, 0.75, 0.05] for p in prefixes])


box = seqray.language_model(rows, "ab", max_length=10)
"""


def test_no_command_sends_a_box_longer_words_than_it_reads(folder, run, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    (folder / "short_words.py").write_text(SHORT)
    (folder / "long.txt").write_text("a b a\n" + " ".join("a" * 20) + "\n")
    run("extract", "python:short_words:box", "-o", "short", "--prefixes", "30", "--max-rank", "3")
    recorded = ("--trust-run",)
    fidelity = json.loads(run("evaluate", "short", *recorded, "--json", "--worst", "2"))
    assert fidelity["ratio_per_symbol"] > 0.99
    assert (
        json.loads(run("evaluate", "short", *recorded, "--words", "long.txt", "--json"))["words"]
        == 1
    )
    run("evaluate", "short", *recorded, "--max-length", "4")
    run("explore", "short", "-o", "page.html", *recorded)
    run("explain", "short", "ababababab", *recorded)
    run("check", "python:short_words:box")
    run("learn", "python:short_words:box", "-o", "pdfa.json", "--budget", "500")


def test_the_length_of_words_is_the_runs_own(extracted, run):
    run("extract", "wa:machine.json", "-o", "short", "--max-length", "4", "--max-rank", "3")
    text = run("evaluate", "short", "--json")
    prefixes, words = (json.loads(text)[name] for name in ("prefixes", "words"))
    assert prefixes <= 5 * words
    more = json.loads(run("evaluate", "short", "--json", "--max-length", "100"))
    assert more["prefixes"] > prefixes
