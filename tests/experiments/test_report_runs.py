"""What was run, with what, and how long it took."""

import pytest

from made_results import cells
from seqray.experiments.findings import Findings
from seqray.experiments.report_runs import runs_text


def test_time_is_listed_by_method(findings):
    text = runs_text(findings)
    lines = cells(text[text.index("| table |") :])[2:4]
    assert [line[-2:] for line in lines] == [["8", "1.3"], ["4", "0.7"]]
    text = " ".join(text.split())
    assert "by phase: fill 75%, svd 25%; of seqray's own method: extract 75%, ref" in text


@pytest.mark.parametrize(
    ("about", "text"),
    [
        ({"settings": {"max_length": 12}}, "12"),
        ({"settings": {"max_length": None}}, "default"),
        ({}, "–"),
    ],
)
def test_the_longest_word_of_a_basis_is_said(about, text):
    page = runs_text(Findings([], about={"spice": about}))
    header, _, line = cells(page[page.index("| table |") :])[:3]
    assert dict(zip(header, line, strict=True))["longest word of a basis"] == text
