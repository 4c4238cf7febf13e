import pytest

from listing import names
from seqray.experiments.catalogue import catalogue

SMALL = ("--train", "60", "--test", "20", "--states", "6", "--symbols", "4")


def generated(run, folder, *options):
    return run("data", "generate", "-o", folder, *SMALL, *options)


def test_the_list_says_what_is_known_where_it_belongs_and_whom_to_cite(run):
    shown = " ".join(run("data").split())
    for known in catalogue():
        assert f"{known.name}: {known.title}" in shown
        assert f"belongs in {known.folder}/" in shown
        assert all(" ".join(paper.split()) in shown for paper in known.cite)
    assert "22.pautomac.train: not the official file" in shown


def test_help_does_not_list_the_catalogue(run):
    assert "belongs in" not in run("data", "--help")


def test_a_check_counts_and_ends_well_where_nothing_is_damaged(run, data):
    shown = run("data", "check", "--data", data)
    assert shown.count("✓") == len(catalogue()) + 1  # and one for the redrawn file
    assert "✗" not in shown
    assert "2,048,000" in shown


def test_absence_is_no_failure(run, tmp_path, monkeypatch):
    monkeypatch.setenv("SEQRAY_DATA", str(tmp_path))
    shown = run("data", "check")
    assert shown.count("–") == len(catalogue())


def test_a_set_in_part_names_what_is_absent_first(run, data, tmp_path):
    (tmp_path / "spice").mkdir()
    (tmp_path / "spice" / "0.spice.train").symlink_to((data / "spice" / "0.spice.train").resolve())
    assert "spice: 7 absent, the first is 0.spice.prefix" in run(
        "data", "check", "--data", tmp_path
    )


def test_damage_is_named_and_fails(fails, tmp_path):
    (tmp_path / "spice").mkdir()
    (tmp_path / "spice" / "4.spice.train").write_text("3 2\n1 0\n")
    error = fails(1, "data", "check", "--data", tmp_path)
    assert "1 damaged file in" in error


def test_a_check_without_a_folder_is_refused(fails, monkeypatch, tmp_path):
    monkeypatch.delenv("SEQRAY_DATA", raising=False)
    assert "no data folder was given" in fails(2, "data", "check")
    assert "no such data folder" in fails(2, "data", "check", "--data", tmp_path / "none")


def test_problems_are_generated_in_pautomacs_files(run, folder):
    shown = generated(run, "new", "--problems", "2", "--kind", "hmm")
    assert shown.count("hmm") == 2
    written = names(folder / "new" / "pautomac")
    assert len(written) == 9
    assert "2.pautomac_solution.txt" in written
    first = (folder / "new" / "pautomac" / "generated.csv").read_text().splitlines()[1].split(",")
    assert first[:4] == ["1", "hmm", "6", "4"]


def test_a_problem_does_not_depend_on_how_many_there_are(run, folder):
    generated(run, "one")
    generated(run, "two", "--problems", "2")
    name = "pautomac/1.pautomac.train"
    assert (folder / "one" / name).read_text() == (folder / "two" / name).read_text()


def test_generated_problems_are_not_taken_for_damaged_ones(run, folder):
    generated(run, "new")
    assert "generated problems" in run("data", "check", "--data", "new")


def test_existing_problems_are_never_replaced(run, fails, folder):
    generated(run, "new")
    assert "exists already" in fails(2, "data", "generate", "-o", "new")


def test_a_folder_that_cannot_be_made_is_said(fails, folder):
    (folder / "taken").write_text("")
    assert "cannot be made" in fails(1, "data", "generate", "-o", "taken/in", *SMALL)


@pytest.mark.parametrize("options", [("--kind", "nfa"), ("--states", "0"), ("--problems", "0")])
def test_bad_options_are_misuse(fails, folder, options):
    fails(2, "data", "generate", "-o", "new", *options)
    assert not (folder / "new").exists()
