import json
import re
import shutil

import numpy as np
import pytest

import made_results
from seqray.blackbox.native.demo import open_demo
from seqray.experiments import paper, report
from seqray.experiments.findings import SUITES, Findings, read_findings
from seqray.experiments.report import page_text, write_report
from seqray.experiments.statements import far_from_paper, statements
from seqray.experiments.table import Result, best, held_out
from seqray.experiments.tables import best_table, boxes_table, summaries
from seqray.util.errors import FileError, MissingFileError
from seqray.util.formatting import decimals

SOME = {"pautomac": ("3", "9", "22", "24", "37", "39"), "spice": ("spice4",), "trucks": ("trucks",)}
FULL = {"sizes": paper.BASES, "ranks": paper.RANKS}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return made_results.write(tmp_path_factory.mktemp("results"), SOME)


@pytest.fixture(scope="module")
def found(results):
    return read_findings(results)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return read_findings(made_results.write(tmp_path_factory.mktemp("whole"), SUITES, **FULL))


@pytest.fixture
def quick(monkeypatch):
    """Do not write figures: that is tried elsewhere, and slow."""
    monkeypatch.setattr(report, "save_figure", lambda figure, folder, name: None)


def cells(table):
    return [line.strip("| ").split(" | ") for line in table.splitlines()]


# The folder of results ---------------------------------------------------------------------------


def test_a_folder_is_read_whole(found):
    assert {row.problem for row in found.rows} == {
        name for names in SOME.values() for name in names
    }
    assert set(found.boxes) == {row.problem for row in found.rows}
    assert list(found.about) == list(SOME)
    assert found.distilled


def test_the_methods_are_kept_apart(found):
    assert {row.method for row in found.rows} == {"paper"}
    assert {row.method for row in found.own} == {"auto"}
    assert {row.problem for row in found.own} == {row.problem for row in found.rows}
    assert set(found.rounds) == {row.problem for row in found.rows}
    first, *_ = found.rounds["3"]
    assert first.questions == made_results.rounds("3")[0]["questions"]


def test_a_fidelity_that_is_no_number_is_none_in_the_rounds():
    about = {"pautomac": {"rounds": {"3": [{"questions": 5, "ndcg5": None}]}}}
    assert np.isnan(Findings([], about=about).rounds["3"][0].ndcg5)


def test_how_networks_were_trained_is_read_beside_them(results, tmp_path):
    header = "problem,hidden,epoch,validation,perplexity_target,perplexity,ratio"
    (tmp_path / "trained.csv").write_text(f"{header}\n3,50,13,1.1473,,,\n")
    found = read_findings(results, boxes=tmp_path)
    assert found.trained["3"].hidden == 50
    assert cells(boxes_table(found))[2][:4] == ["3", "50", "13", "1.1473"]


def test_an_empty_folder_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(MissingFileError, match=r"there is no table of results .*`seqray bench`"):
        read_findings(tmp_path)


def test_a_damaged_description_is_refused(results, tmp_path):
    shutil.copy(results / "spice.csv.gz", tmp_path)
    (tmp_path / "spice.json").write_text('{"format": "something"}')
    with pytest.raises(FileError, match=r"spice\.json: expected a file in format 'seqray.results'"):
        read_findings(tmp_path)


# Tables ------------------------------------------------------------------------------------------


def test_figures_are_compared_over_the_problems_that_both_have(found):
    ours = summaries(found, "test")
    assert {one.n_problems for one in ours.values()} == {5}  # 39 is not in the paper
    gains = [row.ndcg5 for p, row in best(found.pautomac("test")).items() if p != "39"]
    assert ours["best"].ndcg5_mean == pytest.approx(np.mean(gains))
    fair = [row.ndcg5 for p, row in held_out(found.pautomac("test")).items() if p != "39"]
    assert ours["held-out"].ndcg5_least == pytest.approx(min(fair))
    assert ours["paper"].ndcg5_mean == pytest.approx(
        np.mean([paper.published("test")[p].ndcg5 for p in ("3", "9", "22", "24", "37")])
    )


def test_the_best_parameters_stand_beside_the_papers(found):
    header, _, *lines = cells(best_table(found, "rnn"))
    assert len({len(line) for line in (header, *lines)}) == 1
    nine = next(line for line in lines if line[0] == "9")
    top = best(found.pautomac("rnn"), "perplexity_ratio")["9"]
    assert nine[1:6] == [
        "DPFA 71 × 4", str(top.rank), str(top.prefixes), decimals(top.perplexity_ratio, 5),
        "0.31197",
    ]  # fmt: skip
    assert nine[11] == "0.79165"
    missing = next(line for line in lines if line[0] == "39")
    assert missing[5] == missing[7] == missing[11] == "–"


def test_the_redrawn_problem_is_marked(found):
    assert "| 22* |" in best_table(found, "test")


# Statements --------------------------------------------------------------------------------------


def test_what_is_not_in_the_results_is_not_judged():
    found = Findings([Result("3", "paper", 300, 300, 5, "rnn", "all", zeros=0.1)])
    verdicts = [one.agrees for one in statements(found)]
    assert set(verdicts) == {None}
    assert all(one.ours.startswith("not measured: ") for one in statements(found))


def test_every_statement_is_judged_where_all_was_measured(whole):
    made = statements(whole)
    assert len(made) == 9
    assert None not in {one.agrees for one in made}


@pytest.mark.parametrize(("share", "agrees"), [(0.1, True), (0.0, False), (0.5, False)])
def test_zeros_on_problem_3_agree_around_a_tenth(whole, share, agrees):
    rows = [row._replace(zeros=share) for row in whole.rows]
    (judged,) = [one for one in statements(Findings(rows)) if "PAutomaC 3 the share" in one.paper]
    assert judged.agrees is agrees
    assert f"{100 * share:.1f} %" in judged.ours


def test_many_poor_ratios_contradict_the_paper(whole):
    rows = [row._replace(perplexity_ratio=0.5) for row in whole.rows]
    assert statements(Findings(rows, whole.boxes))[0].agrees is False
    assert statements(whole)[0].agrees is True


def test_problems_far_from_the_paper_are_named():
    rows = [
        Result(problem, "paper", 300, 300, 5, "test", "all", ndcg5=0.7)
        for problem in ("1", "10", "35")
    ]
    assert far_from_paper(Findings(rows), "test") == (["35"], ["1"])


# The page ----------------------------------------------------------------------------------------


def test_a_page_and_all_its_figures_are_written(results, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "DRAWINGS", report.DRAWINGS[2:5])
    made = write_report(results, tmp_path / "page.md", tmp_path / "images")
    text = made.page.read_text("utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) == len(made.figures) == 5
    assert made.figures[:2] == ("own", "questions")
    assert all((tmp_path / link).is_file() for link in links)
    assert all((tmp_path / link).with_suffix(".png").is_file() for link in links)
    assert made.missing == {"automaton": "the folder of networks was not named"}
    assert "- Figure automaton: the folder of networks was not named." in text


def test_figures_that_cannot_be_made_are_said(tmp_path, quick):
    folder = made_results.write(tmp_path, {"pautomac": ("3", "24")}, methods=("paper",))
    made = write_report(folder, tmp_path / "page.md", tmp_path / "images")
    assert set(made.missing) == {"own", "questions", "ranks", "basis", "zeros", "automaton"}
    text = " ".join(made.page.read_text("utf-8").split())
    assert "- Figure own: no results of PAutomaC by both methods in the table." in text
    assert "experiments-own.svg" not in text


def test_the_automaton_of_problem_24_is_extracted_and_drawn(results, tmp_path, quick, monkeypatch):
    monkeypatch.setattr(paper, "DRAWN", paper.Drawn(basis=40))
    open_demo().save(tmp_path / "24.safetensors")
    made = write_report(results, tmp_path / "page.md", tmp_path, boxes=tmp_path)
    assert not made.missing
    drawn = (tmp_path / "experiments-automaton.svg").read_text("utf-8")
    assert drawn.count('class="state"') == 5


def test_links_lead_from_the_page_to_the_figures_wherever_both_are(results, tmp_path, quick):
    (tmp_path / "docs").mkdir()
    made = write_report(results, tmp_path / "docs" / "page.md", tmp_path / "some" / "images")
    assert "](../some/images/experiments-overview.svg)" in made.page.read_text("utf-8")


def test_a_folder_that_is_not_there_is_said_before_anything_is_drawn(results, tmp_path):
    with pytest.raises(FileError, match="there is no folder"):
        write_report(results, tmp_path / "none" / "page.md", tmp_path / "images")
    (tmp_path / "taken").write_text("")
    with pytest.raises(FileError, match="cannot be made"):
        write_report(results, tmp_path / "page.md", tmp_path / "taken" / "images")


def test_every_number_of_the_summary_is_computed(found, whole):
    one, two = (page_text(which, "images", {}) for which in (found, whole))
    mean = summaries(found, "test")["best"].ndcg5_mean
    assert decimals(mean) in one
    assert one != two
    assert "| pautomac | 6 of 48 | 300, 800, 1400 | default | 8 from 1 to 100 |" in one
    assert "| pautomac | 48 of 48 | 300, 400, 800, 1000, 1400 | default | 1–100 | 48,000 |" in two
    own = "| pautomac, seqray's own method | 48 of 48 | 1,490 contexts | – | 1–100 | 9,600 |"
    assert own in two


def test_time_is_told_by_method(found):
    text = page_text(found, "images", {})
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
    page = page_text(Findings([], about={"spice": about}), "images", {})
    header, _, line = cells(page[page.index("| table |") :])[:3]
    assert dict(zip(header, line, strict=True))["longest word of a basis"] == text


def test_a_whole_table_has_no_holes(whole):
    assert "Nothing: every problem, basis, rank and set is there." in page_text(whole, "images", {})


def test_holes_are_named_with_their_reasons(tmp_path):
    suites = {"pautomac": ("3", "9", "24")}
    folder = made_results.write(tmp_path, suites, holes={"5": "no network"}, **FULL)
    about = json.loads((folder / "pautomac.json").read_text("utf-8"))
    about["notes"] = {
        "3-300": ["the block has no more than rank 40"],
        "3-auto": ["the block has no more than rank 61", "the box is odd"],
        "9-800": ["7 words were cut"],
    }
    about["failed"] = {"24-400": "out of memory"}
    (folder / "pautomac.json").write_text(json.dumps(about), "utf-8")
    found = read_findings(folder)
    kept = [
        row
        for row in found.rows
        if not (row.problem == "3" and row.prefixes == 300 and row.rank > 40)
        and not (row.problem == "24" and row.prefixes == 400)
        and not (row.problem == "9" and row.prefixes == 1000 and row.rank == 7)
    ]
    own = [row for row in found.own if row.problem == "3"]
    page = page_text(Findings(kept, about=found.about, own=own), "images", {})
    text = " ".join(page.split())
    assert "- The table `spice.csv.gz` is not in the results." in text
    assert "PAutomaC 5: no network." in text
    assert "pautomac 24-400 failed: out of memory." in text
    assert "no rows of 1, 2, 4, 6," in text
    assert "at a basis of 300 the block itself has a rank below 100" in text
    assert "and no further ranks exist, on 3 (40)." in text
    assert "no basis of 400 on 24." in text
    assert "at a basis of 1000 ranks are missing, unexplained, on 9 (100)" in text
    assert "pautomac 9-800: 7 words were cut." in text
    assert "pautomac: no rows of seqray's own method of 9, 24." in text
    assert "pautomac 3-auto: the box is odd." in text
    assert "rank 61" not in text


def test_paragraphs_are_broken_and_tables_are_not(found):
    lines = page_text(found, "images", {}).splitlines()
    plain = [line for line in lines if not line.startswith(("|", "!"))]
    assert max(map(len, plain)) <= 110
    assert max(map(len, lines)) > 110
