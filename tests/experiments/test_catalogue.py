import shutil

import numpy as np
import pytest

from seqray.experiments.catalogue import catalogue, check, find
from seqray.formats.pautomac import read_machine
from seqray.util.errors import ArgumentError


def states(name, folder):
    return {finding.file.name: finding.state for finding in check(find(name), folder)}


def only_finding(folder, file):
    known = find("spice" if "spice" in file else "pautomac")
    (finding,) = [found for found in check(known, folder) if found.file.name == file]
    return finding


@pytest.fixture
def copied(data, tmp_path):
    """Copy one file of the data to a folder of its own."""

    def copy(name, new=None):
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        shutil.copy(data / name, target)
        target.chmod(0o644)
        return target

    return copy


def test_every_set_says_where_it_belongs_whom_to_cite_and_on_which_terms():
    for known in catalogue():
        assert known.folder
        assert known.url.startswith("http")
        assert known.cite
        assert known.terms
        assert known.files


def test_names_and_checksums_are_unique():
    names = [known.name for known in catalogue()]
    assert len(set(names)) == len(names)
    for known in catalogue():
        for values in ([f.name for f in known.files], [f.sha256 for f in known.files]):
            assert len(set(values)) == len(known.files)
        assert all(len(f.sha256) == 64 for f in known.files)


def test_pautomac_has_four_files_for_each_of_48_problems():
    assert len(find("pautomac").files) == 4 * 48
    assert len(find("pautomac").machines) == 48
    sizes = {f.n_words for f in find("pautomac").files if f.name.endswith(".train")}
    assert sizes == {20_000, 100_000}


def test_the_redrawn_training_words_are_the_only_file_that_is_not_official():
    odd = [f.name for known in catalogue() for f in known.files if not f.official]
    assert odd == ["22.pautomac.train"]


def test_an_unknown_set_is_refused_with_the_known_ones():
    with pytest.raises(ArgumentError, match="'pautomc' is not one of pautomac, trucks, spice"):
        find("pautomc")


def test_what_is_not_there_is_absent(tmp_path):
    assert set(states("spice", tmp_path).values()) == {"absent"}


@pytest.mark.parametrize("known", [known.name for known in catalogue()])
def test_the_data_are_whole(data, known):
    if not (data / find(known).folder).is_dir():
        pytest.skip(f"no {find(known).folder} in {data}")
    assert set(states(known, data).values()) == {"whole"}


def test_the_machines_are_what_the_catalogue_says(data):
    for number in (1, 24, 39):
        machine = read_machine(data / "pautomac" / f"{number}.pautomac_model.txt")
        known = find("pautomac").machines[number - 1]
        assert (machine.n_states, len(machine.alphabet)) == (known.n_states, known.n_symbols)
        single = np.count_nonzero(machine.transitions, axis=2).max() == 1
        assert single == (known.kind == "dpfa")


def test_line_ends_do_not_count(copied, tmp_path):
    path = copied("pautomac/1.pautomac.test")
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    assert only_finding(tmp_path, path.name).state == "whole"


@pytest.mark.parametrize(
    ("name", "old", "new", "detail"),
    [
        ("pautomac/1.pautomac.test", b"1000 8", b"1001 8", "header promises 1001 words"),
        ("pautomac/1.pautomac.test", b"1000 8", b"1000 9", "expected 8 symbols, got 9"),
        ("pautomac/1.pautomac_solution.txt", b"0.3537", b"0.3538", "its content differs"),
        ("pautomac/1.pautomac_model.txt", b"0.2715", b"0.9715", "the probabilities in section I"),
        ("spice/4.spice.target.private", b"1.0 8 1.0\n", b"", "expected 748 words, got"),
        ("spice/4.spice.target.private", b"1.0 8 1.0\n", b"1.0 8 0.5\n", "promises a best gain"),
    ],
)
def test_damage_is_named(copied, tmp_path, name, old, new, detail):
    path = copied(name)
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    finding = only_finding(tmp_path, path.name)
    assert finding.state == "damaged"
    assert str(path) in finding.detail
    assert detail in finding.detail


def test_a_file_of_words_without_a_header_is_checked_in_its_own_layout(tmp_path):
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "hdfs_train.txt").write_text("5 22\n5 11 9\n")
    (finding,) = check(find("logs"), tmp_path)
    assert finding.state == "damaged"
    assert "expected 4,855 words, got 2" in finding.detail


def test_another_version_of_a_file_that_is_not_official_is_no_damage(copied, tmp_path):
    path = copied("pautomac/22.pautomac.train")
    header, first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([header, *rest, first]) + "\n")
    assert only_finding(tmp_path, path.name).state == "other"
    path.write_text("\n".join([header, *rest]) + "\n")
    assert only_finding(tmp_path, path.name).state == "damaged"
