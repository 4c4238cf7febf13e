import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
import webbrowser

import pytest

import seqray
from listing import names
from seqray.cli import explore
from seqray.fidelity import table


def content(path):
    text = path.read_text("utf-8")
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', text)
    return json.loads(found[1])


@pytest.fixture
def opened(monkeypatch):
    """What a browser was told to open."""
    found = []
    monkeypatch.setattr(webbrowser, "open", found.append)
    return found


def test_a_page_of_a_run_has_all_its_ranks(extracted, run, opened):
    text = run("explore", "run", "-o", "page.html")
    assert re.match(r"page\.html: 0\.\d MB; open it in a browser, it needs nothing else", text)
    told = content(extracted / "page.html")
    assert [entry["rank"] for entry in told["ranks"]] == [1, 2, 3, 4]
    assert told["name"] == "wa:machine.json"
    assert told["recorded"] is None
    assert opened == []


def test_a_page_against_the_box_holds_its_answers(extracted, run, opened):
    box = ("--against", "wa:machine.json", "--words", "words.txt", "--rank", "3")
    run("explore", "run", "-o", "page.html", *box, "--open")
    told = content(extracted / "page.html")
    assert told["chosen"] == 3
    assert told["recorded"]["source"] == "50 given words"
    assert told["fidelity"]["words"] == 50
    assert opened == [(extracted / "page.html").as_uri()]


def test_a_run_remembers_its_box(extracted, run_both):
    printed = run_both("explore", "run", "-o", "page.html", "--words", "words.txt")
    assert "Box: wa:machine.json, as run remembers it." in printed.err
    assert content(extracted / "page.html")["recorded"]["source"] == "50 given words"
    run_both("explore", "run", "-o", "page.html", "--against", "recorded", "--max-length", "5")
    words = content(extracted / "page.html")["recorded"]
    assert words["source"] == "2,000 words drawn from the box"


def test_a_page_of_an_automaton_is_named_after_its_file(extracted, run):
    run("explore", "wa:machine.json", "-o", "page.html", "--against", "wa:machine.json")
    told = content(extracted / "page.html")
    assert told["name"] == "machine.json"
    assert told["recorded"]["source"] == "2,000 words drawn from the box"


def test_a_run_that_does_not_say_what_it_is_of_is_named_after_its_folder(folder, run, machine):
    seqray.save_run(seqray.extract(machine, prefixes=30, max_rank=2), "mine")
    run("explore", "mine/", "-o", "page.html")
    assert content(folder / "page.html")["name"] == "mine"


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["run"], "add -o page.html, or --serve"),
        (2, ["run", "-o", "page.htm"], "page.htm ends in none of .html"),
        (2, ["run", "-o", "missing/page.html"], "there is no folder missing"),
        (2, ["machine.json", "-o", "page.html", "--words", "words.txt"], "add --against"),
        (2, ["run", "-o", "page.html", "--rank", "5"], "rank 5 is outside 1 … 4"),
        (2, ["machine.json", "-o", "page.html", "--rank", "2"], "machine.json is no run folder"),
        (2, ["missing", "-o", "page.html"], "missing: there is no such file or folder"),
        (2, ["run", "-o", "page.html", "--against", "demo"], "expected the same symbols"),
        (2, ["machine.json", "--serve", "--port", "0"], "(it is no run folder): add --against BOX"),
        (2, ["run", "--serve", "--against", "demo", "-o", "a.html"], "--serve writes no file"),
        (2, ["run", "--serve", "--port", "70000", "--against", "demo"], "--port"),
    ],
)
def test_explore_that_fails_leaves_nothing(extracted, fails, code, arguments, message):
    before = names(extracted)
    assert message in fails(code, "explore", *arguments)
    assert names(extracted) == before


SERVED = ("explore", "run", "--against", "wa:machine.json", "--serve")


def test_serving_says_where_and_ends_in_good_order(extracted, run, opened, monkeypatch):
    pytest.importorskip("starlette")
    monkeypatch.setattr(explore, "run", lambda app, listening: listening.close())
    text = run(*SERVED, "--port", "0")
    assert re.match(r"http://127\.0\.0\.1:\d+/    Ctrl-C ends it\nEnded\.\n", text)
    assert opened == []


def test_serving_to_others_is_warned_of(extracted, run_both, opened, monkeypatch):
    pytest.importorskip("starlette")
    monkeypatch.setattr(explore, "run", lambda app, listening: listening.close())
    said = run_both(*SERVED, "--port", "0", "--host", "0.0.0.0", "--open")
    assert "Warning: at 0.0.0.0 everybody who reaches this computer" in said.err
    [address] = opened
    assert address.startswith("http://0.0.0.0:")


def test_a_port_in_use_is_noticed_before_any_work(extracted, fails, monkeypatch):
    pytest.importorskip("starlette")
    monkeypatch.setattr(explore, "open_against", lambda *_: pytest.fail("the box was opened"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        error = fails(2, *SERVED, "--port", taken.getsockname()[1])
    assert "cannot listen at 127.0.0.1" in error
    assert "choose another --port" in error


def test_a_page_has_the_name_that_was_given_to_its_box(folder, run):
    small = ("--prefixes", "30", "--suffixes", "30", "--max-rank", "2")
    run("extract", "machine.json", "-o", "run", *small, "--name", "Our model")
    assert seqray.open_run("run").settings["name"] == "Our model"
    assert seqray.open_run("run").settings["box"] == "machine.json"
    run("explore", "run", "-o", "page.html")
    assert content(folder / "page.html")["name"] == "Our model"
    for subject in ("run", "machine.json"):
        run("explore", subject, "-o", "page.html", "--name", "Another")
        assert content(folder / "page.html")["name"] == "Another"


def test_explore_proposes_a_smaller_rank_where_there_are_many_states(extracted, run, monkeypatch):
    assert "many to look at" not in run("explore", "run", "-o", "page.html")
    monkeypatch.setattr(table, "MANY_STATES", 2)
    proposed = "states are many to look at. --rank 1 shows 1, with a fidelity score of 0."
    assert proposed in run("explore", "run", "-o", "page.html")
    assert "many to look at" not in run("explore", "run", "-o", "page.html", "--rank", "4")


def test_a_port_that_cannot_be_had_is_misuse(extracted, fails):
    pytest.importorskip("starlette")
    assert "cannot listen at 203.0.113.9" in fails(2, *SERVED, "--host", "203.0.113.9")


def test_ctrl_c_ends_a_server(extracted):
    pytest.importorskip("starlette")
    program = [sys.executable, "-m", "seqray", *SERVED, "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        address = server.stdout.readline().split()[0]
        question = urllib.request.Request(
            f"{address}query", b'{"word": [0]}', {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(question) as answer:
            assert json.load(answer)["weight"] >= 0
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=30)
        assert (server.returncode, out, err) == (0, "Ended.\n", "")
