import json

import pytest

from reliability import Row, page, results
from reliability.campaigns import fuzz
from reliability.campaigns._fuzzing import targets
from reliability.results import campaigns


@pytest.mark.parametrize("name", campaigns())
def test_the_short_form_of_a_campaign_has_trials_and_no_failure(name):
    rows = list(campaigns()[name].run("short", 0))
    assert [each for row in rows for each in row.failures] == []
    assert all(row.n > 0 or row.skipped for row in rows)
    assert sum(row.n for row in rows) > 0
    assert len({row.name for row in rows}) == len(rows)


def test_a_row_takes_the_place_of_the_one_with_its_name(tmp_path):
    path = tmp_path / "results.json"
    results.save("kills", Row("extraction", 1, ["seed 3: lost"]), 3, 0.25, "now", path)
    results.save("kills", Row("training", 2), 0, 1, "now", path)
    results.save("kills", Row("extraction", 7, figures={"repeats": 0}), 0, 1, "now", path)
    assert [(row["name"], row["n"]) for row in results.load(path)] == [
        ("extraction", 7),
        ("training", 2),
    ]
    results.keep_only("kills", ["training"], path)
    assert [row["name"] for row in json.loads(path.read_text())["rows"]] == ["training"]


def test_the_page_shows_figures_failures_and_what_was_skipped(tmp_path):
    name = next(iter(campaigns()))
    for row in (
        Row("first part", 1234, ["seed 0: lost"], {"memory (MB)": 12.5}),
        Row("second part", 0, skipped="needs another user"),
    ):
        results.save(name, row, 0, 1, "2026-01-01T10:00:00", tmp_path / "results.json")
    page.write(tmp_path / "page.md", tmp_path / "results.json")
    text = (tmp_path / "page.md").read_text("utf-8")
    assert "| first part | 1,234 | 1 | memory (MB): 12.5 |" in text
    assert "| second part | skipped | | needs another user |" in text
    assert "1,234 trials, of which 1 failed" in text


def test_a_run_goes_on_after_its_rows_without_failures(tmp_path):
    path = tmp_path / "results.json"
    for row, seed, started in (
        (Row("of another seed", 1), 1, "2026-03"),
        (Row("of an earlier run", 1), 0, "2026-01"),
        (Row("failed", 1, ["lost"]), 0, "2026-02"),
        (Row("done", 1), 0, "2026-02"),
    ):
        results.save("kills", row, seed, 1, started, path)
    assert results.begun("kills", 0, path) == ("2026-02", {"done"})
    assert results.begun("floods", 0, path)[1] == set()


def test_the_long_form_of_fuzzing_has_a_million_inputs():
    names = targets()[0]
    assert set(fuzz.FEWER_INPUTS) <= set(names)
    assert sum(fuzz.planned_inputs(list(names)).values()) >= 1_000_000
