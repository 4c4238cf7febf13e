import json

from seqray import open_run
from seqray.blackbox.queries.answer_cache import AnswerStore

SMALL = ("--prefixes", "30", "--suffixes", "30")


def queried(folder):
    return (folder / "queried.txt").read_text().split("\n")[:-1]


def test_answers_are_cached_and_not_queried_again(folder, run, module):
    box = module()
    text = run("extract", box, "-o", "run", *SMALL)
    assert "The answers are cached in" in text
    assert ".answers.sqlite" in "".join(text.split())
    n_asked = len(queried(folder))
    run("extract", box, "-o", "again", *SMALL)
    assert len(queried(folder)) - n_asked <= 8
    assert open_run("run").singular_values.tolist() == open_run("again").singular_values.tolist()


def test_answers_may_be_cached_elsewhere_or_not_at_all(folder, run, module):
    run("extract", module(), "-o", "run", *SMALL, "--store", "mine.sqlite")
    assert (folder / "mine.sqlite").exists()
    text = run("extract", module(), "-o", "run", *SMALL, "--store", "none")
    assert "are kept" not in text
    assert not (folder / ".answers.sqlite").exists()


def test_boxes_of_seqrays_own_are_not_cached(folder, run):
    run("extract", "machine.json", "-o", "run", *SMALL)
    assert not (folder / ".answers.sqlite").exists()


def test_evaluate_caches_answers_as_well(folder, run, module):
    (folder / "some.txt").write_text("a\nab\nba\n")
    run("extract", module(), "-o", "run", *SMALL)
    n_asked = len(queried(folder))
    for _ in range(2):
        run("evaluate", "run", "--against", module(), "--words", "some.txt")
    assert len(queried(folder)) - n_asked <= 2 * 8 + 3


def test_info_shows_what_is_cached(folder, run, module):
    run("extract", module(), "-o", "run", *SMALL)
    text = " ".join(run("store", "info").split())
    assert "answers.sqlite:" in text
    assert "MB" in text
    assert "mine value 2" in text


def test_export_writes_one_line_per_word(folder, run, module):
    run("extract", module(), "-o", "run", *SMALL)
    rows = [json.loads(line) for line in run("store", "export", "--box", "mine").splitlines()]
    assert len(rows) == len(set(queried(folder)))
    kept = {"".join(row["word"]): row["answer"] for row in rows}
    assert kept["ab"] == 0.125
    assert {row["box"] for row in rows} == {"mine"}


def test_prune_removes_what_it_is_given(folder, run, fails, module):
    run("extract", module(), "-o", "run", *SMALL)
    assert "Removed 0 answers" in run("store", "prune", "--older-than", "1")
    assert "Removed 0 answers" in run("store", "prune", "--box", "other")
    assert "nothing was chosen" in fails(2, "store", "prune")
    said = run("store", "prune", "--box", "mine")
    assert "of 1 boxes" in said
    assert "of disk space" in said
    assert "Removed 0 answers" in run("store", "prune", "--all")
    assert run("store", "export") == ""
    assert "no box has 'mine' in its name" in fails(2, "store", "export", "--box", "mine")


def test_prune_says_what_is_left_to_do_when_it_is_interrupted(
    folder, run, fails, module, monkeypatch
):
    def interrupted(store):
        raise KeyboardInterrupt

    run("extract", module(), "-o", "run", *SMALL)
    monkeypatch.setattr(AnswerStore, "shrink", interrupted)
    said = fails(1, "store", "prune", "--all")
    assert "the answers are removed" in said
    assert "Run the same command again to free the disk space" in said


def test_a_store_that_is_not_there_is_named(folder, fails):
    assert "there are no cached answers yet" in fails(2, "store", "info")
    assert "x.sqlite: there are no cached answers yet" in fails(
        2, "store", "info", "--store", "x.sqlite"
    )


def test_a_damaged_store_is_named_before_the_first_query(folder, fails, module):
    (folder / "bad.sqlite").write_text("not a database, not at all, but rather long" * 99)
    error = fails(1, "extract", module(), "-o", "run", *SMALL, "--store", "bad.sqlite")
    assert "bad.sqlite: no store of seqray, or a damaged one" in error
    assert not (folder / "queried.txt").exists()
