import json

import pytest

from reliability import Row, page, results
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
    results.save("kills", Row("extraction", 1, ["seed 3: lost"]), 3, 0.25, path)
    results.save("kills", Row("training", 2), 0, 1, path)
    results.save("kills", Row("extraction", 7, figures={"repeats": 0}), 0, 1, path)
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
        results.save(name, row, 0, 1, tmp_path / "results.json")
    page.write(tmp_path / "page.md", tmp_path / "results.json")
    text = (tmp_path / "page.md").read_text("utf-8")
    assert "| first part | 1,234 | 1 | memory (MB): 12.5 |" in text
    assert "| second part | skipped | | needs another user |" in text
    assert "1,234 trials, of which 1 failed" in text
