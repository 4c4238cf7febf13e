"""The files of a run folder, read and written as one.

A run folder may be a link, a mount point or the current folder, so the folder itself is never
replaced. New files are written to a folder of their own inside it. One rename, to `SAVED`, makes
them the run; then they are moved to their places. A reader takes each file from `SAVED` if it is
still there. So a kill at any moment leaves the old run or the new one, and the next save moves
what is left.

``config.json`` holds a checksum of every file, itself included. They show damage, and they show a
reader that a save came between two of its files: then it reads again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

from seqray.util.errors import ArgumentError, FileError, MissingFileError, StopReason
from seqray.util.files import DAMAGE, check_header, keep_mode, read_bytes, reading, why

FORMAT, VERSION = "seqray.run", 2
"""Version 1 had no checksums."""

CONFIG = "config.json"
COPY_FILES = ("copy-1.npz", "copy-2.npz", "copy-3.npz", "copy-4.npz")
"""The files of copies, smaller ones first."""

RUN_FILES = (
    *("basis.json", "singular_values.csv", "fidelity.csv", "automaton.npz", "fitted.npz"),
    *("copies.csv", *COPY_FILES),
    CONFIG,
)
"""The files of a run, in the order in which they are moved; all else is the user's."""

SAVED, FRESH = ".saved", ".fresh."
"""Folder of a save that is complete, and beginning of the name of one that is not."""

MAX_FRESH_SECONDS = 3600
"""A save that began longer ago than this was killed, and its files can go."""

MAX_WAIT_SECONDS = 30.0
"""How long to wait for another process that saves in the same folder."""

MAX_READS = 100
"""How many times a run is read again while another process saves."""


class RunFiles(NamedTuple):
    """The content of ``config.json``, and of the other files by name."""

    config: dict[str, Any]
    contents: dict[str, bytes]


@contextmanager
def opened_run(folder: str | os.PathLike[str]) -> Iterator[RunFiles]:
    """Yield the files of a run folder.

    Whatever is wrong with them, in this block too, raises a `FileError` that names the folder.
    """
    if not os.path.exists(folder):
        raise MissingFileError(f"{folder}: there is no such folder")
    if not has_file(folder, CONFIG):
        raise FileError(
            f"{folder}: expected a run folder that `seqray extract` wrote, and it has no {CONFIG}"
        )
    with reading(folder, "a run folder"):
        yield read_run(folder)


def read_run(folder: str | os.PathLike[str]) -> RunFiles:
    """Return the files of one run, even while another process saves one in the same folder."""
    last = ""
    for _ in range(MAX_READS):
        try:
            return _read_once(Path(folder))
        except FileError as error:
            # Between two steps of a save a folder is whole: what fails twice alike is damaged.
            if str(error) == last:
                raise
            last = str(error)
    raise FileError("another process saves runs here all the time: read again when it has ended")


def has_file(folder: str | os.PathLike[str], name: str) -> bool:
    """Whether a folder has this file of a run."""
    return any(os.path.isfile(path) for path in _places(Path(folder), name))


def is_run(folder: Path) -> bool:
    """Whether a folder is a run, damaged or not: many another kind has a config.json too."""
    return _config_of(folder) is not None


def is_finished_run(folder: Path) -> bool:
    """Whether a folder is a run, damaged or not, that was not interrupted."""
    config = _config_of(folder)
    return config is not None and config.get("stop_reason") != StopReason.INTERRUPTED.value


def _config_of(folder: Path) -> dict[str, Any] | None:
    """Return what ``config.json`` says, unchecked; None where a folder is no run."""
    try:
        config = json.loads(_content(folder, CONFIG))
    except (FileError, *DAMAGE):
        return None
    is_ours = isinstance(config, dict) and config.get("format") == FORMAT
    return config if is_ours else None


def write_run(
    folder: str | os.PathLike[str], config: Mapping[str, Any], contents: Mapping[str, bytes]
) -> None:
    """Write a run to a folder, whole or not at all; all other files there stay.

    Parameters
    ----------
    folder
        A folder that `check_run_target` accepts.
    config
        What ``config.json`` is to hold, without its format and the checksums.
    contents
        The other files by name.
    """
    check_run_target(folder)
    files = {**contents, CONFIG: _sealed(config, contents)}
    with _opened(folder) as home, _alone(home):
        _move_saved(home)
        with _fresh_folder(home) as fresh:
            for name, content in files.items():
                (fresh / name).write_bytes(content)
            os.rename(fresh, home / SAVED)
        _move_saved(home)


def check_run_target(folder: str | os.PathLike[str]) -> None:
    """Refuse a place where a run cannot be saved, by doing there what saving does."""
    try:
        target = Path(os.path.realpath(folder))
        if target.exists() and not is_run(target) and not _is_empty(target):
            raise ArgumentError(
                f"{folder}: is there already and is no run folder: choose another name"
            )
        if not target.parent.is_dir():
            parent = (target if os.path.islink(folder) else Path(folder)).parent
            raise ArgumentError(f"{folder}: there is no folder {parent} to put it in")
        odd = [name for name in RUN_FILES if (target / name).is_dir()]
    except (OSError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise FileError(f"{folder}: cannot write here: {why(error)}") from error
    if odd:
        raise FileError(f"{folder}: cannot write here: {odd[0]} is a folder: remove it first")
    with _opened(folder, and_stay=False) as home, _fresh_folder(home) as fresh:
        (fresh / CONFIG).write_bytes(b"seqray")


def _sealed(config: Mapping[str, Any], contents: Mapping[str, bytes]) -> bytes:
    """Return ``config.json`` with the checksums of all files, its own as if it were empty."""
    checksums = {name: _checksum(name, content) for name, content in contents.items()}
    document = {"format": FORMAT, "version": VERSION, **config}
    text = json.dumps({**document, "checksums": {**checksums, CONFIG: ""}}, indent=1)
    head, _, tail = text.rpartition('""')
    return f'{head}"{_checksum(CONFIG, text.encode())}"{tail}'.encode()


def _checksum(name: str, content: bytes) -> str:
    """Return a checksum that does not mind how lines of text end."""
    if not name.endswith(".npz"):
        content = content.replace(b"\r\n", b"\n")
    return hashlib.sha256(content).hexdigest()


# Reading ------------------------------------------------------------------------------------------


def _read_once(home: Path) -> RunFiles:
    config, checksums = _read_config(_content(home, CONFIG))
    if checksums is None:
        present = [name for name in RUN_FILES if name != CONFIG and has_file(home, name)]
        return RunFiles(config, {name: _content(home, name) for name in present})
    contents = {name: _content(home, name) for name in checksums}
    for name, content in contents.items():
        _check(name, content, checksums[name])
    return RunFiles(config, contents)


def _read_config(text: bytes) -> tuple[dict[str, Any], dict[str, str] | None]:
    """Return what ``config.json`` says, and the checksums of the other files: none in version 1."""
    with reading(CONFIG, "the description of a run"):
        config = json.loads(text)
        check_header(config, FORMAT, VERSION)
        if config["version"] == 1 and "checksums" not in config:
            return config, None
        checksums = config.pop("checksums")
        if not isinstance(checksums, dict) or not set(checksums) <= set(RUN_FILES):
            raise FileError("damaged: 'checksums' do not name the files of a run")
        own = str(checksums.pop(CONFIG))
    _check(CONFIG, text.replace(own.encode(), b""), own)
    return config, checksums


def _check(name: str, content: bytes, expected: object) -> None:
    if (checksum := _checksum(name, content)) != expected:
        raise FileError(
            f"damaged: {name} is not what was saved (its checksum begins with {checksum[:8]}, "
            f"expected {str(expected)[:8]!r}): restore it from a copy, or extract again"
        )


def _content(home: Path, name: str) -> bytes:
    pending, place = _places(home, name)
    try:
        return pending.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return read_bytes(place)


def _places(home: Path, name: str) -> tuple[Path, Path]:
    """Return where a file of the run may be, the newest first."""
    return home / SAVED / name, home / name


# Writing ------------------------------------------------------------------------------------------


def _is_empty(folder: Path) -> bool:
    """Whether nothing is in a folder but what a killed save left."""
    return folder.is_dir() and all(entry.name.startswith(FRESH) for entry in folder.iterdir())


@contextmanager
def _opened(folder: str | os.PathLike[str], *, and_stay: bool = True) -> Iterator[Path]:
    """Yield the folder that a name or link stands for; a new one stays if the block succeeds."""
    home, is_new, is_wanted = Path(os.path.realpath(folder)), False, False
    try:
        is_new = not home.is_dir()
        if is_new:
            home.mkdir()
        yield home
        is_wanted = and_stay
    except OSError as error:
        what = "cannot be written" if and_stay else "cannot write here"
        raise FileError(f"{folder}: {what}: {why(error)}") from error
    finally:
        if is_new and not is_wanted:
            with suppress(OSError):
                home.rmdir()


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Wait until no other process saves to a folder; where there are no such locks, go on."""
    handle = os.open(home, os.O_RDONLY) if fcntl is not None else -1
    try:
        deadline = time.monotonic() + MAX_WAIT_SECONDS
        while fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if not isinstance(error, BlockingIOError) or time.monotonic() > deadline:
                    break
            time.sleep(0.01)
        yield
    finally:
        if handle >= 0:
            os.close(handle)  # which ends the lock


@contextmanager
def _fresh_folder(home: Path) -> Iterator[Path]:
    """Yield a new folder for files that are not the run yet; remove what is left of it."""
    for left in home.glob(f"{FRESH}*"):
        with suppress(FileNotFoundError):  # another process has just ended
            if time.time() - left.stat().st_mtime > MAX_FRESH_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    fresh = Path(tempfile.mkdtemp(prefix=FRESH, dir=home))
    try:
        shutil.copymode(home, fresh)  # whoever may read the run may read it at every moment
        yield fresh
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _move_saved(home: Path) -> None:
    """Move the files of a save to their places; a save that was killed is finished by the next."""
    saved = home / SAVED
    if not saved.is_dir():
        return
    named = RUN_FILES
    with suppress(*DAMAGE):
        named = json.loads((saved / CONFIG).read_bytes())["checksums"]
    for name in RUN_FILES:
        if (saved / name).exists():
            keep_mode(home / name, saved / name)
            os.replace(saved / name, home / name)
        elif name not in named:
            (home / name).unlink(missing_ok=True)
    shutil.rmtree(saved)
