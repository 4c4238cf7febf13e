import json


def test_a_sound_box_passes(folder, run):
    text = " ".join(run("check", "wa:machine.json").split())
    assert "empty word" in text
    assert "✗" not in text


def test_results_are_one_line_of_json(folder, run):
    (line,) = run("check", "wa:machine.json", "--json").splitlines()
    assert all(entry["ok"] is not False for entry in json.loads(line))


def test_a_box_that_breaks_a_promise_ends_with_1(folder, fails):
    (folder / "odd_box.py").write_text(
        "import itertools, seqray\n"
        "n = itertools.count()\n"
        "box = seqray.black_box(lambda words: [next(n) for _ in words], 'ab')\n"
    )
    fails(1, "check", "python:odd_box:box")


def test_a_box_that_cannot_be_opened_is_an_error(folder, fails):
    assert "nothing.json" in fails(2, "check", "wa:nothing.json")
