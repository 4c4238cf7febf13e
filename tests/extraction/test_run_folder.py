import errno
import json
import os
import shutil
import stat
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import seqray
from automata import FIGURE_1
from listing import names
from seqray import (
    Extraction,
    Grouping,
    StructuredAutomaton,
    WeightedAutomaton,
    open_run,
    save_run,
)
from seqray.automata.generators import random_machine
from seqray.automata.grouping import PairMatrices
from seqray.extraction.result import ExtractionSettings
from seqray.extraction.structured.copies import Copy
from seqray.fidelity.objective import Objective
from seqray.fidelity.table import TOLERANCE, Fidelity
from seqray.formats.run_files import check_run_target
from seqray.util.errors import ArgumentError, FileError, MissingFileError, RankError, SymbolError

FILES = [
    *("automaton.npz", "basis.json", "config.json", "fidelity.csv", "fitted.npz"),
    "singular_values.csv",
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path_factory, monkeypatch):
    """Where a run goes that cannot be saved in its place."""
    folder = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def extracted(method):
    wa = random_machine("pfa", 4, 3, seed=np.random.default_rng(1))
    return seqray.extract(wa, prefixes=40, suffixes=30, max_rank=4, method=method)


@pytest.fixture(scope="module")
def found():
    return extracted("conditional")


@pytest.fixture(scope="module")
def from_weights():
    return extracted("weighted")


@pytest.fixture
def run(found, tmp_path):
    save_run(found, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def old_run(run):
    """A run of the first version, which had no checksums."""
    change(run / "config.json", version=1, checksums="delete")
    return run


def content(folder):
    """Everything in a folder: links with where they lead, files with their bytes."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else path.is_file() and path.read_bytes()
        for path in folder.rglob("*")
    }


def check_same(one, other, rank=None):
    """Whether a run came back as it was, with the rank that was chosen, by hand or not."""
    for n_states in range(1, one.max_rank + 1):
        for name in ("initial", "transitions", "final"):
            left, right = (getattr(each.automaton(n_states), name) for each in (one, other))
            np.testing.assert_array_equal(left, right)
    assert set(one.fitted) == set(other.fitted)
    np.testing.assert_array_equal(one.singular_values, other.singular_values)
    assert repr(one.fidelity.rows()) == repr(other.fidelity.rows())
    assert repr(one.fidelity.fidelities) == repr(other.fidelity.fidelities)
    assert one.basis.prefixes == other.basis.prefixes
    assert one.basis.suffixes == other.basis.suffixes
    assert (one.basis.source, one.basis.n_cut) == (other.basis.source, other.basis.n_cut)
    assert one.settings.items() <= other.settings.items()
    assert other.best_rank() == other.settings["rank"] == (rank or one.best_rank())
    assert one.best_rank(tolerance=TOLERANCE) == other.best_rank(tolerance=TOLERANCE)


def test_what_is_best_for_copying_is_the_same_after_saving(tmp_path):
    box = random_machine("pfa", 7, 3, seed=np.random.default_rng(1))
    extraction = seqray.extract(box, n_prefixes=20, max_rank=6, purpose="reading")
    nearest = max(extraction.fidelity.ranks, key=lambda rank: extraction.fidelity.at(rank).score)
    for rank, expected in ((None, nearest), (2, 2)):
        save_run(extraction, tmp_path / str(rank), rank=rank)
        again = open_run(tmp_path / str(rank))
        save_run(again, tmp_path / "again")
        for run in (again, open_run(tmp_path / "again")):
            assert run.best().n_states == expected


def test_a_run_comes_back_as_it_was(found, run):
    assert names(run) == FILES
    assert names(run.parent) == ["run"]
    check_same(found, open_run(run))


def test_a_run_by_blocks_comes_back_as_it_was(from_weights, tmp_path):
    save_run(from_weights, tmp_path / "run")
    assert names(tmp_path / "run") == [name for name in FILES if name != "fitted.npz"]
    check_same(from_weights, open_run(tmp_path / "run"))


def test_fitted_automata_come_back_as_they_were(tmp_path):
    box = seqray.open_black_box("demo")
    found = seqray.extract(box, prefixes=40, suffixes=40, max_rank=4, seed=1, purpose="reading")
    assert found.fitted
    save_run(found, tmp_path / "run")
    check_same(found, open_run(tmp_path / "run"))
    for rank in (1, *found.fitted):
        save_run(found, tmp_path / "run", rank=rank)
        opened, chosen = seqray.open_black_box(tmp_path / "run"), found.automaton(rank)
        for name in ("initial", "transitions", "final"):
            np.testing.assert_array_equal(getattr(opened, name), getattr(chosen, name))


def test_what_was_fitted_goes_when_a_run_by_blocks_takes_its_place(found, from_weights, run):
    save_run(from_weights, run)
    assert "fitted.npz" not in names(run)
    check_same(from_weights, open_run(run))
    save_run(found, run)
    check_same(found, open_run(run))


@pytest.mark.parametrize("symbols", ["ab", ["do", "ré", " "], [1, "1", 2.5], [0, 3, "\n"]])
def test_symbols_of_every_kind_come_back(symbols, tmp_path):
    box = seqray.black_box(lambda words: [float(len(word)) for word in words], symbols)
    found = seqray.extract(box, prefixes=12, suffixes=9)
    save_run(found, tmp_path / "run")
    opened = open_run(tmp_path / "run")
    check_same(found, opened)
    assert opened.basis.alphabet.symbols == tuple(symbols)


def test_symbols_that_no_file_can_hold_are_refused(tmp_path):
    box = seqray.black_box(lambda words: [1.0] * len(words), [(0, 1), (1, 0)])
    with pytest.raises(SymbolError, match="cannot be written to a file"):
        save_run(seqray.extract(box, prefixes=5, suffixes=5), tmp_path / "run")
    assert names(tmp_path) == []


def test_the_rank_chosen_and_more_about_the_run_are_kept(found, tmp_path):
    save_run(found, tmp_path / "run", rank=2, about={"box": "wa:machine.json"})
    settings = open_run(tmp_path / "run").settings
    assert settings["rank"] == 2
    assert settings["box"] == "wa:machine.json"
    save_run(found, tmp_path / "run")
    assert open_run(tmp_path / "run").settings["rank"] == found.best_rank()
    assert "box" not in open_run(tmp_path / "run").settings


def test_a_rank_that_is_not_there_is_refused_and_nothing_written(found, tmp_path):
    for rank in (0, 5):
        with pytest.raises(RankError, match=f"rank {rank} is outside 1 … 4"):
            save_run(found, tmp_path / "run", rank=rank)
    assert names(tmp_path) == []


def test_a_run_can_be_moved(found, run, tmp_path):
    check_same(found, open_run(run.rename(tmp_path / "elsewhere")))


def add_others(run):
    """Put a file, a folder and links into a run folder; returns them as `content` does."""
    before = content(run)
    (run / "drawing.svg").write_text("precious")
    (run / "notes" / "deep").mkdir(parents=True)
    (run / "notes" / "deep" / "note.txt").write_text("precious too")
    (run / "notes" / "link").symlink_to("deep/note.txt")
    (run / "link").symlink_to("drawing.svg")
    (run / "folder-link").symlink_to("notes", target_is_directory=True)
    (run / "nowhere").symlink_to("missing")
    return {name: value for name, value in content(run).items() if name not in before}


def test_a_run_is_replaced_and_all_else_in_its_folder_kept(found, run):
    others = add_others(run)
    assert len(others) == 8
    (run / "fidelity.csv").write_text("damaged")
    save_run(found, str(run), rank=1)
    now = content(run)
    assert {name: value for name, value in now.items() if name not in FILES} == others
    assert set(now) == {*FILES, *others}
    assert (run / "link").read_text() == "precious"
    assert names(run.parent) == ["run"]
    check_same(found, open_run(run), rank=1)
    save_run(found, run, rank=2)  # and again
    assert set(content(run)) == set(now)
    check_same(found, open_run(run), rank=2)


def test_a_link_in_the_place_of_a_runs_own_file_is_replaced(found, run, tmp_path):
    (run / "basis.json").rename(tmp_path / "basis.json")
    (run / "basis.json").symlink_to("../basis.json")
    old = (tmp_path / "basis.json").read_bytes()
    save_run(found, run, rank=1)
    assert not (run / "basis.json").is_symlink()
    assert (tmp_path / "basis.json").read_bytes() == old
    check_same(found, open_run(run), rank=1)


def test_a_rank_chosen_by_hand_is_the_best_of_the_run(found, tmp_path):
    for rank in (2, 3, 4):
        save_run(found, tmp_path / "run", rank=rank)
        opened = open_run(tmp_path / "run")
        assert opened.best_rank() == opened.best().n_states == rank
        assert repr(opened) == f"Extraction(ranks 1 … 4, best {rank})"
        for tolerance in (0, TOLERANCE, 1):
            computed = found.best_rank(tolerance=tolerance)
            assert opened.best_rank(tolerance=tolerance) == computed
            assert opened.best(tolerance=tolerance).n_states == computed
    assert "rank" not in found.settings
    save_run(opened, tmp_path / "copy")  # the choice goes along
    assert open_run(tmp_path / "copy").best_rank() == 4


@pytest.mark.parametrize(
    "config", [None, "{}", '{"format": "other"}', "[1]", "{", '{"model_type": "gpt2"}']
)
def test_a_folder_that_is_no_run_is_left_alone(found, tmp_path, config):
    target = tmp_path / "model"
    target.mkdir()
    (target / "weights.bin").write_text("precious")
    if config is not None:
        (target / "config.json").write_text(config)
    before = names(target)
    with pytest.raises(ArgumentError, match=r"model: is there already and is no run folder"):
        save_run(found, target)
    assert names(target) == before
    assert (target / "weights.bin").read_text() == "precious"


def test_a_file_in_the_place_of_a_run_is_left_alone(found, tmp_path):
    (tmp_path / "run").write_text("precious")
    with pytest.raises(ArgumentError, match="is there already and is no run folder"):
        save_run(found, tmp_path / "run")
    assert (tmp_path / "run").read_text() == "precious"


def test_the_folder_above_must_be_there(found, tmp_path):
    with pytest.raises(ArgumentError, match=r"there is no folder .*missing to put it in"):
        save_run(found, tmp_path / "missing" / "run")
    assert names(tmp_path) == []


def test_a_target_can_be_checked_before_the_work(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_run_target("new")
    check_run_target("run")
    check_run_target(tmp_path / "new")
    assert names(tmp_path) == ["run"]


def fill_the_disk(patch, at, below=""):
    """Let writing the file number ``at`` of a run fail, in folders with ``below`` in their path."""
    write, written = Path.write_bytes, []

    def full(path, content):
        if below in str(path) and path.parent.name.startswith(".fresh."):
            written.append(path)
            if len(written) > at:
                raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    patch.setattr(Path, "write_bytes", full)


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("at", [0, 1, 4])
def test_a_full_disk_leaves_nothing_behind(found, tmp_path, monkeypatch, exists, at):
    target = tmp_path / "run"
    before = {}
    if exists:
        save_run(found, target, rank=1)
        add_others(target)
        before = content(target)
    with monkeypatch.context() as patch:
        fill_the_disk(patch, at)
        with pytest.raises(FileError, match=r"run: cannot .*: No space left on device"):
            save_run(found, target, rank=2)
    assert names(tmp_path) == (["run"] if exists else [])
    if exists:
        assert content(target) == before
        check_same(found, open_run(target), rank=1)


def test_a_run_that_cannot_be_saved_is_saved_elsewhere(found, run, elsewhere, monkeypatch):
    with monkeypatch.context() as patch:
        fill_the_disk(patch, 3, below=str(run))
        with pytest.raises(FileError, match="No space left on device; the run was saved in") as it:
            save_run(found, run, rank=2)
    (saved,) = elsewhere.glob("*/run")
    assert f"the run was saved in {saved} instead" in str(it.value)
    check_same(found, open_run(saved), rank=2)
    assert stat.S_IMODE(saved.parent.stat().st_mode) == 0o700


def test_a_run_whose_place_was_taken_meanwhile_is_saved_elsewhere(found, tmp_path, elsewhere):
    (tmp_path / "run").write_text("precious")
    with pytest.raises(ArgumentError, match=r"is no run folder: .* the run was saved in"):
        save_run(found, tmp_path / "run")
    check_same(found, open_run(next(elsewhere.glob("*/run"))))


def test_where_nothing_can_be_written_both_errors_are_said(found, run, monkeypatch):
    with monkeypatch.context() as patch:
        fill_the_disk(patch, 1)
        with pytest.raises(FileError, match=r"No space left .* nor can the run be saved elsewhere"):
            save_run(found, run, rank=2)
    check_same(found, open_run(run))


# Folders of every kind ----------------------------------------------------------------------------


def test_the_current_folder_becomes_a_run(found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for rank in (1, 2):
        check_run_target(".")
        save_run(found, ".", rank=rank)
        check_same(found, open_run("."), rank=rank)
    assert names(tmp_path) == FILES


def test_the_folder_itself_is_never_replaced(found, run):
    os.chmod(run, 0o700)  # it may be a mount point, or have permissions of its own
    os.chmod(run / "config.json", 0o600)
    before = run.stat()
    check_run_target(run)
    save_run(found, run, rank=1)
    assert run.stat().st_ino == before.st_ino
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    assert stat.S_IMODE((run / "config.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("exists", [False, True])
def test_a_run_is_saved_through_a_link(found, tmp_path, exists):
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to("disk/run", target_is_directory=True)
    if exists:
        save_run(found, tmp_path / "disk" / "run", rank=1)
    check_run_target(tmp_path / "run")
    save_run(found, tmp_path / "run", rank=2)
    assert os.readlink(tmp_path / "run") == "disk/run"
    check_same(found, open_run(tmp_path / "disk" / "run"), rank=2)


def test_a_link_to_nowhere_is_refused_before_the_work(tmp_path):
    (tmp_path / "run").symlink_to("missing/run")
    with pytest.raises(ArgumentError, match=r"run: there is no folder .*missing to put it in"):
        check_run_target(tmp_path / "run")


def test_a_pipe_in_a_run_folder_is_left_alone(found, run):
    os.mkfifo(run / "pipe")
    check_run_target(run)
    save_run(found, run, rank=1)
    assert stat.S_ISFIFO((run / "pipe").stat().st_mode)
    check_same(found, open_run(run), rank=1)


def test_a_read_only_run_folder_is_refused_before_the_work(run, monkeypatch):
    mkdir = os.mkdir

    def refuse(path, *mode):  # chmod does not stop root
        if Path(path).parent == run:
            raise PermissionError(errno.EACCES, "Permission denied")
        mkdir(path, *mode)

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(FileError, match=r"run: cannot write here: Permission denied$"):
        check_run_target(run)


def test_a_folder_in_the_place_of_a_runs_file_is_refused_before_the_work(run):
    (run / "fidelity.csv").unlink()
    (run / "fidelity.csv").mkdir()
    with pytest.raises(FileError, match=r"cannot write here: fidelity\.csv is a folder: remove"):
        check_run_target(run)


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "\ud800"])
def test_names_that_no_folder_can_have_are_refused(name, tmp_path):
    with pytest.raises(FileError, match="cannot write here"):
        check_run_target(tmp_path / name)
    with pytest.raises(FileError):
        open_run(tmp_path / name)


# Kills and readers --------------------------------------------------------------------------------


def killed_states(from_weights, found, tmp_path):
    """Yield copies of a run folder as kills at every step of a save over it leave them."""
    target = tmp_path / "run"
    save_run(found, target, rank=1)
    steps, calls = [], {name: getattr(os, name) for name in ("rename", "replace", "unlink")}

    def copied(name):
        def step(*arguments, **options):
            steps.append(shutil.copytree(target, tmp_path / f"killed{len(steps)}"))
            return calls[name](*arguments, **options)

        return step

    with pytest.MonkeyPatch.context() as patch:
        for name in calls:
            patch.setattr(os, name, copied(name))
        save_run(from_weights, target, rank=2)
    return steps


def test_a_kill_at_any_moment_leaves_one_of_the_runs(found, from_weights, tmp_path):
    old, new = found.automaton(1), from_weights.automaton(2)
    states = killed_states(from_weights, found, tmp_path)
    ranks = [open_run(state).best_rank() for state in states]
    assert ranks == sorted(ranks)
    assert set(ranks) == {1, 2}
    for state, rank in zip(states, ranks, strict=True):
        check_same(
            *((found, open_run(state)) if rank == 1 else (from_weights, open_run(state))), rank
        )
        opened = seqray.open_black_box(f"wa:{state}")
        np.testing.assert_array_equal(opened.initial, (old if rank == 1 else new).initial)


def test_a_save_after_a_kill_finishes_what_was_left(found, from_weights, tmp_path):
    for state in killed_states(from_weights, found, tmp_path):
        check_run_target(state)
        save_run(from_weights, state, rank=3)
        check_same(from_weights, open_run(state), rank=3)
        left = [name for name in names(state) if name not in FILES]
        assert all(name.startswith(".fresh.") for name in left)  # young: maybe of another process
        for name in left:
            os.utime(state / name, (0, 0))
        save_run(from_weights, state)
        assert names(state) == [name for name in FILES if name != "fitted.npz"]


def test_a_first_save_that_was_killed_is_no_obstacle(found, tmp_path):
    (tmp_path / "run" / ".fresh.1").mkdir(parents=True)
    check_run_target(tmp_path / "run")
    save_run(found, tmp_path / "run")
    check_same(found, open_run(tmp_path / "run"))


def test_a_reader_beside_a_writer_sees_one_run(found, from_weights, tmp_path):
    save_run(found, tmp_path / "run", rank=1)
    done = threading.Event()

    def write():
        for _ in range(10):
            save_run(from_weights, tmp_path / "run", rank=2)
            save_run(found, tmp_path / "run", rank=1)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        opened = open_run(tmp_path / "run")
        one = found if opened.best_rank() == 1 else from_weights
        check_same(one, opened, rank=opened.best_rank())
    writer.join()


# Damage -------------------------------------------------------------------------------------------


def check_refused(run, message=None):
    with pytest.raises(FileError, match=message) as caught:
        open_run(run)
    assert str(run) in str(caught.value)


def change(path, **entries):
    document = json.loads(path.read_text("utf-8"))
    document |= entries
    path.write_text(json.dumps({k: v for k, v in document.items() if v != "delete"}), "utf-8")


def test_what_is_no_run_is_refused(tmp_path):
    check_refused(tmp_path, "expected a run folder that `seqray extract` wrote")
    with pytest.raises(MissingFileError, match=r"missing: there is no such folder$"):
        open_run(tmp_path / "missing")


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(run, name):
    (run / name).unlink()
    check_refused(run, "expected a run folder" if name == "config.json" else name)
    with pytest.raises(FileError) as caught:
        open_run(run)
    assert not isinstance(caught.value, ArgumentError)  # the folder is there: it is damaged


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("share", [0, 0.5, 0.9])
def test_a_file_that_was_cut_short_is_found_out(run, name, share):
    content = (run / name).read_bytes()
    (run / name).write_bytes(content[: int(share * len(content))])
    check_refused(run)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_noise_is_found_out(run, name):
    (run / name).write_bytes(b"\xff\xfe noise \x00" * 9)
    check_refused(run)


@pytest.mark.parametrize("name", FILES)
def test_a_single_flipped_bit_is_found_out(run, name):
    whole, rng = (run / name).read_bytes(), np.random.default_rng(0)
    for at in rng.choice(8 * len(whole), 25, replace=False).tolist():
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        (run / name).write_bytes(flipped)
        check_refused(run)
        with pytest.raises(FileError):
            seqray.open_black_box(f"wa:{run}")


def test_a_changed_file_is_one_clear_error(run):
    (run / "fidelity.csv").write_text((run / "fidelity.csv").read_text().replace("1", "2", 1))
    check_refused(run, r"run: damaged: fidelity\.csv is not what was saved .* extract again$")


def test_line_ends_of_another_system_are_no_damage(found, run):
    for name in FILES:
        if not name.endswith(".npz"):
            text = (run / name).read_bytes()
            (run / name).write_bytes(text.replace(b"\n", b"\r\n"))
    check_same(found, open_run(run))


@pytest.mark.parametrize("sums", ["delete", [], {}, {"config.json": "0"}, {"../notes": "0"}])
def test_checksums_cannot_be_left_out(run, sums):
    change(run / "config.json", checksums=sums)
    check_refused(run)


def test_a_run_without_checksums_opens(found, old_run):
    check_same(found, open_run(old_run))
    assert isinstance(seqray.open_black_box(old_run), WeightedAutomaton)


def test_checksums_are_no_setting_of_a_run(run, tmp_path):
    assert "checksums" not in open_run(run).settings
    save_run(open_run(run), tmp_path / "copy")
    open_run(tmp_path / "copy")


def test_a_run_of_a_newer_version_asks_for_a_newer_seqray(run):
    change(run / "config.json", version=3)
    check_refused(run, r"written by a newer seqray .* install a newer seqray")


def test_a_config_of_another_format_is_refused(run):
    change(run / "config.json", format="other")
    check_refused(run, "expected a file in format 'seqray.run', got 'other'")


@pytest.mark.parametrize(
    ("name", "entries", "message"),
    [
        ("config.json", {"rank": "delete"}, "damaged: it has no 'rank'"),
        ("config.json", {"rank": 99}, "damaged: rank 99 was chosen: expected 1 … 4"),
        ("config.json", {"rank": 0}, "damaged: rank 0 was chosen: expected 1 … 4"),
        ("config.json", {"rank": "3"}, "damaged: rank '3' was chosen: expected 1 … 4"),
        ("config.json", {"max_length": "x"}, "or damaged: max_length: expected a whole number"),
        ("config.json", {"max_length": -1}, "or damaged: max_length: expected a whole number"),
        ("config.json", {"words": "delete"}, "damaged: it has no 'words'"),
        ("config.json", {"words": 0}, "damaged: fidelity on 0 words: expected 1 or more"),
        ("config.json", {"counterexamples": ["x"]}, "or damaged: 'str' object has no attribute"),
        ("basis.json", {"alphabet": "delete"}, "damaged: it has no 'alphabet'"),
        ("basis.json", {"alphabet": []}, "or damaged: an alphabet needs at least one symbol"),
        ("basis.json", {"alphabet": [0]}, "or damaged: symbol . at position 1 is outside"),
        ("basis.json", {"prefixes": "delete"}, "damaged: it has no 'prefixes'"),
        ("basis.json", {"prefixes": [[0]]}, "or damaged: prefixes: the empty word is missing"),
        ("basis.json", {"suffixes": [[], [[]]]}, r"or damaged: symbol \[\] at position 1 is out"),
        ("basis.json", {"suffixes": 3}, "not a run folder, or damaged: "),
    ],
)
def test_entries_that_cannot_be_are_found_out(old_run, name, entries, message):
    change(old_run / name, **entries)
    check_refused(old_run, f"run: .*{message}")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"through": np.ones(3)}, r"through: expected shape \(4\), got \(3,\)"),
        ({"through": np.full(4, np.nan)}, "through: expected finite numbers"),
        ({"through": None}, "fitted.npz: damaged: it has no 'through'"),
        ({"header": np.array('{"format": "other"}')}, "expected a file in format 'seqray.fitted'"),
        ({"header": np.array('{"format": "seqray.fitted", "version": 9}')}, "a newer seqray"),
        ({"header": None}, "it has no 'header"),
        ({"ranks": [4]}, "it has no 'initial_4'"),
        ({"ranks": [3], "initial_3": np.ones(2)}, "transitions: expected shape"),
        ({"ranks": [3], "initial_3": np.array([object()])}, "or damaged: "),
    ],
)
def test_damaged_fitted_automata_are_found_out(old_run, entries, message):
    with np.load(old_run / "fitted.npz") as file:
        arrays = dict(file)
    rest = {f"{name}_3": np.ones((3, 3, 3)) for name in ("transitions", "final")}
    if "ranks" in entries:
        header = {"format": "seqray.fitted", "version": 1, "ranks": entries["ranks"]}
        arrays["header"] = np.array(json.dumps(header))
    arrays |= rest | {name: value for name, value in entries.items() if name != "ranks"}
    np.savez(old_run / "fitted.npz", **{k: v for k, v in arrays.items() if v is not None})
    check_refused(old_run, f"fitted.npz: .*{message}" if "fitted" not in message else message)


def test_a_fitted_automaton_has_the_states_of_its_rank(old_run):
    header = {"format": "seqray.fitted", "version": 1, "ranks": [2]}
    shapes = {"initial": 3, "transitions": (3, 3, 3), "final": 3}
    arrays = {f"{name}_2": np.ones(shape) for name, shape in shapes.items()}
    np.savez(old_run / "fitted.npz", header=json.dumps(header), through=np.ones(4), **arrays)
    check_refused(old_run, "damaged: 3 states at rank 2 of 1 … 4")


@pytest.mark.parametrize("name", ["singular_values.csv", "fidelity.csv"])
def test_tables_must_fit_the_automaton(old_run, name):
    lines = (old_run / name).read_text().splitlines()
    (old_run / name).write_text("\n".join(lines[:-1]) + "\n")
    check_refused(old_run, "expected them to fit an automaton of 4 states")


def test_an_opened_run_is_an_extraction(run):
    opened = open_run(str(run))
    assert isinstance(opened, Extraction)
    assert opened.automaton(2).n_states == 2
    with pytest.raises(RankError, match="rank 9 is outside 1 … 4"):
        opened.automaton(9)


def test_an_empty_folder_becomes_a_run(found, tmp_path):
    save_run(found, tmp_path)
    assert open_run(tmp_path).max_rank == found.max_rank


def test_a_place_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    with pytest.raises(FileError, match="cannot write here"):
        check_run_target("/proc/run")
    assert list(tmp_path.iterdir()) == []


# --- Copies ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def copied(found):
    """An extraction with two copies, one of which shares matrices."""
    grouping = Grouping(np.ones((2, 3), int), [1, 2])
    shared = PairMatrices([1, 1], [0, 2], [0.1, 0.2, 0.3, 0.1], [0, 0])
    emission = [[0.2] * 4, [0.1] * 4, [0.2] * 4]
    copies = []
    for number, matrices in enumerate((None, shared)):
        automaton = StructuredAutomaton(
            found.basis.alphabet, grouping, [1], emission, [1, 0.5, 0.5], matrices
        )
        metrics = {"ndcg5": 0.1 + number / 3, "kl_per_symbol": 1 / (7 + number)}
        fidelity = Fidelity.from_saved(metrics, found.fidelity.fidelities[0].n_words, 11)
        copies.append(Copy(automaton, fidelity))
    return replace(found, copies=tuple(copies))


@pytest.fixture
def copied_run(copied, tmp_path):
    save_run(copied, tmp_path / "copied")
    return tmp_path / "copied"


COPY_FILES = ["copies.csv", "copy-1.npz", "copy-2.npz"]


def test_copies_come_back_as_they_were(copied, copied_run):
    assert names(copied_run) == sorted(FILES + COPY_FILES)
    opened = open_run(copied_run)
    check_same(copied, opened)
    assert len(opened.copies) == 2
    for mine, other in zip(copied.copies, opened.copies, strict=True):
        assert type(other.automaton) is StructuredAutomaton
        assert mine.automaton.arrays.keys() == other.automaton.arrays.keys()
        for name, array in mine.automaton.arrays.items():
            np.testing.assert_array_equal(other.automaton.arrays[name], array)
        for name in ("ndcg5", "kl_per_symbol"):
            assert other.fidelity[name] == mine.fidelity[name]
    assert "pair_matrices" in opened.copies[1].automaton.arrays
    assert opened.best() is opened.copies[1].automaton
    assert opened.best(purpose="reading").n_states == copied.best_rank()


def test_copies_go_when_a_run_without_them_takes_its_place(found, copied, copied_run):
    save_run(replace(copied, copies=copied.copies[:1]), copied_run)
    assert names(copied_run) == sorted(FILES + COPY_FILES[:2])
    assert len(open_run(copied_run).copies) == 1
    save_run(found, copied_run)
    assert names(copied_run) == FILES
    assert open_run(copied_run).copies == ()


@pytest.mark.parametrize("name", COPY_FILES)
def test_a_missing_file_of_copies_is_named(copied_run, name):
    (copied_run / name).unlink()
    check_refused(copied_run, name)


@pytest.mark.parametrize("name", COPY_FILES)
def test_a_damaged_file_of_copies_is_found_out(copied_run, name):
    content = (copied_run / name).read_bytes()
    for damaged in (content[: len(content) // 2], b"noise", content[:-9] + b"123456789"):
        (copied_run / name).write_bytes(damaged)
        check_refused(copied_run, f"damaged: {name} is not what was saved")


def test_without_checksums_copies_that_lack_or_are_noise_are_named(copied_run):
    change(copied_run / "config.json", version=1, checksums="delete")
    assert len(open_run(copied_run).copies) == 2
    (copied_run / "copy-1.npz").write_bytes(b"noise")
    check_refused(copied_run, "copy-1.npz: not a seqray automaton")
    (copied_run / "copy-1.npz").unlink()
    check_refused(copied_run, "damaged: copy-1.npz is missing, which copies.csv names")


def test_an_old_run_has_no_copies(old_run):
    assert open_run(old_run).copies == ()


def test_a_run_folder_holds_the_objective_and_ranks_are_chosen_by_it_again(tmp_path):
    extraction = seqray.extract(
        FIGURE_1, n_prefixes=30, n_suffixes=30, objective="weights", max_rank=3
    )
    seqray.save_run(extraction, tmp_path / "run")
    saved = seqray.open_run(tmp_path / "run")
    assert saved.settings.objective is Objective.WEIGHTS
    assert saved.settings["objective"] == "weights"
    assert saved.fidelity.best.score == 1 - saved.fidelity.best["relative_error"]
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["objective"] == "weights"
    old = {name: value for name, value in config.items() if name != "objective"}
    assert ExtractionSettings.from_json(old).objective is None


@pytest.mark.parametrize("value", ["nan", "1e999"])
def test_a_singular_value_that_is_not_finite_is_refused(old_run, value):
    path = old_run / "singular_values.csv"
    *lines, last = path.read_text().splitlines()
    path.write_text("\n".join([*lines, f"{last.partition(',')[0]},{value}", ""]))
    check_refused(old_run, "run: damaged: singular values .* expected finite numbers")
