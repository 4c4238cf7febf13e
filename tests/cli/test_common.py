import json
import re
from dataclasses import replace

import numpy as np
import pytest

import seqray
from copied import copied
from listing import names
from seqray import WeightedAutomaton, open_run
from seqray.cli import common
from seqray.fidelity.table import Fidelity, FidelityTable


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


@pytest.mark.parametrize(
    "command",
    [
        ("draw", "run", "-o", "wa.svg"),
        ("convert", "run", "wa.npz"),
        ("explore", "run", "-o", "page.html"),
    ],
)
def test_a_rank_that_was_not_fitted_is_warned_of(extracted, run_both, command):
    bits = [f"{one['kl_per_symbol']:.2g}" for one in open_run("run").fidelity.values()]
    assert run_both(*command, "--rank", "1").err == (
        "Warning: rank 1 was not fitted: its automaton is as the SVD made it, and loses "
        f"{bits[0]} bits per symbol. The nearest that was fitted: 2 (loses {bits[1]}).\n"
    )
    for rank in ("2", "3", "4"):  # fitted, fitted, and exact
        assert run_both(*command, "--rank", rank).err == ""
    assert run_both(*command).err == ""


def test_the_nearest_fitted_ranks_below_and_above_are_named(extracted, run_both):
    found = open_run("run")
    seqray.save_run(replace(found, settings=replace(found.settings, fitted_ranks=(1, 3))), "run")
    error = run_both("draw", "run", "-o", "wa.svg", "--rank", "2").err
    assert re.search(r"The nearest that were fitted: 1 \(loses \S+\) and 3 \(loses \S+\)\.", error)


def test_a_line_of_json_has_null_for_what_is_no_number():
    numbers = {"a": float("nan"), "b": float("inf"), "c": -float("inf"), "d": 0.5, "e": 3, "f": "λ"}
    line = common.json_line(numbers)
    assert line == '{"a": null, "b": null, "c": null, "d": 0.5, "e": 3, "f": "λ"}'


def test_the_ranks_shown_include_the_best_and_the_largest():
    assert common.some_ranks(4, 4) == [1, 2, 3, 4]
    assert common.some_ranks(100, 40) == [1, 2, 3, 5, 10, 20, 30, 40, 50, 100]
    assert common.some_ranks(1, 1) == [1]


def test_ranks_at_which_an_automaton_was_fitted_are_shown():
    assert common.some_ranks(40, 12, [2, 3, 7, 10, 40]) == [1, 2, 3, 5, 7, 10, 12, 20, 30, 40]


def shown_ranks(capsys, rows, best=1):
    fidelities = [Fidelity(row, 20, 90) for row in rows]
    ranks = tuple(range(1, len(rows) + 1))
    common.show_ranks(FidelityTable(ranks, tuple(fidelities)), [*ranks], best, "held-out words")
    return capsys.readouterr().out


def test_ranks_are_shown_with_what_they_are_chosen_by_first(capsys):
    row = {"perplexity_ratio": 0.9, "ndcg5": 0.875, "kl_per_symbol": 0.25, "kl_per_word": 1.0}
    text = shown_ranks(capsys, [{**row, "entropy_per_symbol": 1.5}] * 2, best=2)
    assert "Fidelity by rank, on 20 held-out words" in text
    head = next(line for line in text.splitlines() if "states" in line)
    assert head.replace("┃", "").split() == ["states", "kl_per_symbol", "ndcg5", "kl_per_word"]
    assert "lost per symbol, of 1.5 that one has" in text
    assert "→ 2" in text


def test_ranks_of_a_box_that_does_not_predict_lead_with_the_agreement_of_weights(capsys):
    text = shown_ranks(capsys, [{"relative_error": 0.5, "weight_agreement": 0.75}])
    head = next(line for line in text.splitlines() if "states" in line)
    assert head.replace("┃", "").split() == ["states", "weight_agreement", "relative_error"]
    assert "per symbol" not in text


@pytest.mark.parametrize("has_interval", [True, False])
def test_a_fidelity_says_first_how_many_bits_are_lost(capsys, has_interval):
    metrics = {"kl_per_symbol": 0.25, "kl_per_word": 1.125, "entropy_per_symbol": 1.5}
    ends = {"kl_per_symbol": (0.2, 0.375), "kl_per_word": (1.0, 1.2)} if has_interval else {}
    common.show_fidelity(Fidelity(metrics, 20, 90, ends), "A title", "20 words of words.txt")
    title, symbol, word, *others = capsys.readouterr().out.splitlines()
    assert title == "A title"
    assert symbol == f"It loses 0.25{' ± 0.12' * has_interval} bits per symbol of 1.5,"
    assert word == f"and 1.12{' ± 0.12' * has_interval} bits per word."
    assert ("carry the loss" in others[0]) != has_interval
    assert any(line.startswith("on 20 words of words.txt with 90 prefixes") for line in others)
    assert ("is not in the intervals" in others[-1]) == has_interval


def test_a_comparison_shows_probable_words_once_and_the_worst(capsys):
    words = seqray.Alphabet("ab").words(["b", "a", "a", "", "ab" * 30])
    box = np.array([0.1, 0.4, 0.4, 0.3, 0.01])
    common.show_comparison(words, box, np.array([0.1, 0.4, 0.4, 0.3, -0.5]))
    text = capsys.readouterr().out
    assert text.count("0.4") == 2
    assert "λ" in text
    assert "-0.5" in text
    assert "ab" * 30 not in text


def test_copies_are_shown_one_row_each_and_the_last_is_marked(capsys):
    common.show_copies(copied().copies, "held-out words")
    text = capsys.readouterr().out
    assert text.startswith("Copies, on 20 held-out words")
    rows = [line.replace("│", " ").split() for line in text.splitlines() if "│" in line]
    size = copied().copies[0].n_bytes / 1e6
    assert rows[0][:4] == ["6", "36", f"{size:.2g}", "MB"]
    assert rows[1][:3] == ["→", "7", "49"]
    assert rows[1][-2:] == ["0.01", "0.99"]
    assert "an automaton of rank 100 takes 10,000" in text


@pytest.mark.parametrize(
    "command",
    [("draw", "copied", "-o", "wa.svg"), ("explain", "copied", "0 1")],
)
def test_what_a_person_reads_is_the_chosen_rank_of_a_run_with_copies(folder, run, command):
    seqray.save_run(copied(), "copied")
    read, copy = run(*command), run("convert", "copied", "copy.npz")
    assert copied().best_rank() == 2
    assert run(*command, "--rank", "2") == read
    assert copy.startswith("copy.npz: 7 states")


def test_a_deterministic_automaton_is_described_as_one():
    even = seqray.DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    assert common.described_size(even) == "2 deterministic states"
