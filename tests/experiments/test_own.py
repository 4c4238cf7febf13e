import math

import numpy as np
import pytest

import made_results
from seqray.experiments import paper
from seqray.experiments.findings import Findings, read_findings
from seqray.experiments.own import (
    BEST,
    HELD_OUT,
    OWN,
    PUBLISHED,
    compared,
    criteria,
    methods,
    own_summary_table,
    own_table,
    queries_text,
    reaching,
)
from seqray.experiments.report import page_text
from seqray.experiments.table import best, choose, held_out
from seqray.util.formatting import decimals, percent

SOME = {"pautomac": ("3", "9", "22", "35", "39"), "spice": ("spice4",), "trucks": ("trucks",)}
SHARED = ["3", "9", "22", "35"]  # 39 is not in the paper


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return read_findings(made_results.write(tmp_path_factory.mktemp("results"), SOME))


def cells(table):
    return [line[2:-2].split(" | ") for line in table.splitlines()]


def with_own(found, **values):
    """Return the same, with other values of seqray's own method."""
    own = [row._replace(**values) for row in found.own]
    return Findings(found.rows, found.boxes, about=found.about, own=own)


def asked(rounds, *, problem="35"):
    """Return results of a problem whose rounds of questions are given."""
    rows = made_results.rows(problem)
    made = [{"questions": questions, "ndcg5": gain} for questions, gain in rounds]
    return Findings(rows, about={"pautomac": {"rounds": {problem: made}}})


# What is compared --------------------------------------------------------------------------------


def test_only_problems_that_all_have_are_compared(found):
    assert compared(found) == SHARED
    fewer = [row for row in found.own if row.problem != "9"]
    assert compared(Findings(found.rows, own=fewer)) == ["3", "22", "35"]
    half = [row for row in found.own if row.problem != "9" or row.set == "test"]
    assert compared(Findings(found.rows, own=half)) == ["3", "22", "35"]
    assert compared(Findings(found.rows)) == compared(Findings([], own=found.own)) == []


@pytest.mark.parametrize("which", ["test", "rnn"])
def test_each_way_is_what_it_says(found, which):
    sides, rows = methods(found, which), found.pautomac(which)
    theirs = paper.published(which)
    assert list(sides[PUBLISHED].ndcg5) == [theirs[p].ndcg5 for p in SHARED]
    assert list(sides[PUBLISHED].zeros) == [theirs[p].zeros for p in SHARED]
    assert np.isnan(sides[PUBLISHED].steps).all()
    gains, ratios = best(rows, "ndcg5"), best(rows, "perplexity_ratio")
    assert list(sides[BEST].ndcg5) == [gains[p].ndcg5 for p in SHARED]
    assert list(sides[BEST].ratios) == [ratios[p].perplexity_ratio for p in SHARED]
    assert list(sides[BEST].zeros) == [ratios[p].zeros for p in SHARED]
    assert list(sides[HELD_OUT].ndcg5) == [held_out(rows)[p].ndcg5 for p in SHARED]
    chosen = {row.problem: row for row in choose(found.own, set=which, selection="held-out")}
    assert list(sides[OWN].ndcg5) == [chosen[p].ndcg5 for p in SHARED]
    assert list(sides[OWN].steps) == [chosen[p].steps for p in SHARED]


def test_what_is_best_on_the_evaluation_words_has_no_part_in_our_own(found):
    lucky = [row._replace(ndcg5=1.0) if row.selection == "best-ndcg" else row for row in found.own]
    same = Findings(found.rows, own=lucky)
    assert list(methods(same, "test")[OWN].ndcg5) == list(methods(found, "test")[OWN].ndcg5)


# Tables ------------------------------------------------------------------------------------------


def test_the_summary_has_every_way_on_both_sets(found):
    header, _, *lines = cells(own_summary_table(found))
    table = {line[0]: dict(zip(header[1:], line[1:], strict=True)) for line in lines}
    own, theirs = f"S_RNN: {OWN}", f"S_RNN: {PUBLISHED}"
    sides = methods(found, "rnn")
    assert len(header) == 9
    assert set(table["problems"].values()) == {"4"}
    assert table["NDCG₅, mean"][own] == decimals(sides[OWN].ndcg5.mean())
    assert table["NDCG₅, smallest"][theirs] == decimals(paper.published("rnn")["35"].ndcg5)
    above = (sides[OWN].ndcg5 > sides[PUBLISHED].ndcg5).sum()
    assert table["NDCG₅ above the paper's"][own] == str(above)
    assert table["NDCG₅ above the paper's"][theirs] == "–"
    steps = [made_results.rounds(p)[-1]["questions"] for p in SHARED]
    assert table["steps of the network, median"][own] == f"{np.median(steps):,.0f}"
    at_800 = {row.problem: row.steps for row in choose(found.rows, prefixes=800)}
    shares = [n / at_800[p] for p, n in zip(SHARED, steps, strict=True)]
    (share,) = [line for name, line in table.items() if "800 × 800" in name]
    assert share[own] == percent(np.median(shares))
    assert share[theirs] == table["steps of the network, median"][theirs] == "–"


def test_every_problem_has_a_line_also_real_data(found):
    header, _, *lines = cells(own_table(found))
    assert len({len(line) for line in (header, *lines)}) == 1
    names = [line[0] for line in lines]
    assert names == [*("3", "9", "22*", "35", "39"), *(
        "SPiCe 4 (English verbs)", "trucks (PAutomaC natural 2)",
    )]  # fmt: skip
    nine = lines[1]
    own = {which: found.own_choices(which)["9"] for which in ("test", "rnn")}
    assert nine[1:3] == ["0.7918", "0.7916"]
    assert nine[3] == decimals(best(found.pautomac("test"))["9"].ndcg5, 4)
    assert nine[5:7] == [str(own["test"].rank), decimals(own["test"].ndcg5, 4)]
    assert nine[9] == decimals(own["rnn"].perplexity_ratio, 4)
    assert nine[12] == f"{own['test'].steps:,}"
    for line in lines[4:]:
        assert line[1:3] == ["–", "–"]
        assert line[3] != "–"


def test_without_the_papers_method_the_table_has_dashes(found):
    _, _, *lines = cells(own_table(Findings([], own=found.own)))
    assert lines[1][3:5] == ["–", "–"]
    assert lines[1][-1] == "–"


# Questions ---------------------------------------------------------------------------------------


def test_the_first_round_that_reaches_the_paper_counts():
    level = paper.published("rnn")["35"].ndcg5
    found = asked([(1000, level - 0.01), (5000, level), (21000, 1.0)])
    steps = choose(found.rows, prefixes=800)[0].steps
    assert reaching(found) == {"35": 5000 / steps}
    text = queries_text(found)
    assert f"in the median over 1 problems, {percent(5000 / steps)} of the steps" in text
    assert "Every problem reaches it." in text


@pytest.mark.parametrize("gain", [0.1, None])
def test_what_never_reaches_the_paper_is_named_and_counts_as_infinity(gain):
    found = asked([(1000, gain)])
    assert reaching(found) == {"35": math.inf}
    assert "∞ of the steps" in queries_text(found)
    assert "On 1 of them (35) no round does, which counts as ∞." in queries_text(found)


def test_problems_that_the_paper_or_the_table_lacks_have_no_share():
    assert reaching(asked([(1000, 1.0)], problem="39")) == {}
    bare = asked([(1000, 1.0)])
    assert reaching(Findings(choose(bare.rows, prefixes=300), about=bare.about)) == {}


# Criteria -----------------------------------------------------------------------------------------


def test_criteria_are_computed(found):
    good, poor = (
        {criterion.text: criterion for criterion in criteria(with_own(found, **values))}
        for values in (
            {"ndcg5": 1.0, "zeros": 0.0, "perplexity_ratio": 1.0, "steps": 1},
            {"ndcg5": 0.3, "zeros": 0.9, "perplexity_ratio": 0.5, "steps": 10**12},
        )
    )
    assert list(good) == list(poor)
    assert len(good) == 7
    questions = list(good)[-1]  # what rounds reached is not in the rows
    assert questions.startswith("2 % of these steps")
    for text in good:
        if text != questions:
            assert good[text].holds, text
            assert not poor[text].holds, text
    (every,) = [criterion for text, criterion in poor.items() if "above the paper's" in text]
    assert "S_test: 0 of 4, not on 3, 9, 22, 35 (at most 0.6927 below)" in every.reached


def test_a_method_that_is_as_good_is_not_above(found):
    theirs = paper.published("test")["35"].ndcg5
    rows = [row for row in with_own(found, ndcg5=theirs).own if row.problem == "35"]
    checked = criteria(Findings(found.rows, own=rows))
    assert checked[2].reached.startswith("S_test: 0 of 1, not on 35")


def test_without_a_basis_of_800_steps_are_not_checked(found):
    rows = [row for row in found.rows if row.prefixes != 800]
    checked = criteria(Findings(rows, about=found.about, own=found.own))
    assert len(checked) == 5
    assert not any("steps" in criterion.text for criterion in checked)


# The page ----------------------------------------------------------------------------------------


def test_our_own_method_has_a_section_near_the_top(found):
    text = page_text(found, "images", {})
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles[:3] == ["## What was run", "## seqray's own method", "## In a few figures"]
    checked = criteria(found)
    assert f"Of 7 criteria, {sum(criterion.holds for criterion in checked)} hold." in text
    for criterion in checked:
        assert (
            f"| {criterion.text} | {criterion.reached} | {'yes' if criterion.holds else '**no**'} |"
            in text
        )
    assert own_summary_table(found) in text
    assert own_table(found) in text
    assert queries_text(found) in " ".join(text.split())
    assert text.index("experiments-own.svg") < text.index("experiments-overview.svg")


def test_the_rest_of_the_page_is_as_without_our_own_method(tmp_path):
    pages = []
    for chosen in (("paper", "auto"), ("paper",)):
        folder = tmp_path / "-".join(chosen)
        folder.mkdir()
        found = read_findings(made_results.write(folder, SOME, methods=chosen))
        text = page_text(found, "images", {})
        pages.append(text[text.index("## In a few") : text.index("## What is missing")])
    assert pages[0] == pages[1]


def test_a_page_without_our_own_method_says_how_to_add_it(found):
    text = " ".join(page_text(Findings(found.rows, about={"pautomac": {}}), "images", {}).split())
    assert "It was not run: `seqray bench --method auto` adds it to the same results." in text
    assert "pautomac: no rows of seqray's own method of 3, 9, 22, 35, 39." in text
    assert "seqray's own method | " not in text


def test_a_page_of_our_own_method_alone_can_be_made(found):
    text = page_text(Findings([], about=found.about, own=found.own), "images", {})
    assert "| pautomac | 0 of 48 | – |" in text
    assert "hold." not in text
    assert "| 9 | 0.7918 | 0.7916 | – | – |" in text
