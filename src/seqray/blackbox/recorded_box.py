"""Opening the box that a run folder remembers.

A run folder may come from anybody. So without the user's own word only plain files that lie below
the current folder, or beside the run folder, are opened, by adapters that read files and nothing
else: no program is started, no connection is opened, no link is followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from seqray.blackbox.box_record import BoxRecord
from seqray.blackbox.card import card_path
from seqray.blackbox.protocol import BlackBox
from seqray.blackbox.registry import ADAPTERS, open_black_box
from seqray.util.errors import ArgumentError

MAX_FILES = 10_000
"""The most files of a model in a folder that is opened without the user's word."""


def open_recorded(
    record: BoxRecord,
    run: str | os.PathLike[str],
    *,
    is_trusted: bool = False,
    options: Mapping[str, Any] | None = None,
) -> tuple[str, BlackBox]:
    """Open the box that a run folder remembers; return its specification too.

    Parameters
    ----------
    record
        What the run folder holds.
    run
        The run folder.
    is_trusted
        Whether the user said that whatever is recorded may be opened, programs and connections
        included.
    options
        Options of the box that go before the recorded ones, such as secrets, which no run folder
        holds.
    """
    options = options or {}
    missing = [name for name in record.left_out if name not in options]
    if record.has_secrets or missing:
        what = f"the option {missing[0]}" if missing else "a part of its specification"
        raise ArgumentError(
            f"{run} says that its box is {record.spec}, without {what}, which may be a secret and "
            "was not written: name the box, --against BOX"
        )
    if record.kind not in ADAPTERS:
        raise ArgumentError(
            f"{run} says that its box is {record.spec}: expected one of {', '.join(ADAPTERS)}: "
            "name the box, --against BOX"
        )
    spec = record.spec
    if not ADAPTERS[record.kind].reads_files_only:
        if not is_trusted:
            raise _refusal(
                record,
                run,
                "is more than a file: opening it runs code, starts a program or a connection",
            )
    elif ADAPTERS[record.kind].argument:
        spec = f"{record.kind}:{_path(record, run, is_trusted=is_trusted)}"
    return spec, open_black_box(spec, **{**record.options, **options})


def _refusal(record: BoxRecord, run: str | os.PathLike[str], problem: str) -> ArgumentError:
    return ArgumentError(
        f"{run} says that its box is {record.spec}, which {problem}. A run folder may come from "
        "anybody: name the box, --against BOX, or add --trust-run if you trust the folder"
    )


def _path(record: BoxRecord, run: str | os.PathLike[str], *, is_trusted: bool) -> str:
    """Return the path of a box in a file: as seen from the run folder, or as it was written."""
    places = [record.spec.partition(":")[2]]
    if record.path_from_run is not None:
        places.insert(0, os.path.normpath(os.path.join(run, record.path_from_run)))
    if not is_trusted:  # before anything looks there: that alone may open a connection
        places = [each for each in places if _home(each, run) is not None]
        if not places:
            where = "lies neither below the current folder nor beside the run folder"
            raise _refusal(record, run, where)
    path = next(filter(os.path.lexists, places), None)
    if path is None:
        raise ArgumentError(
            f"{run} says that its box is {record.spec}, and there is no such file: name the box, "
            "--against BOX"
        )
    if not is_trusted and (problem := _problem(path, run)):
        raise _refusal(record, run, problem)
    return path


def _home(path: str, run: str | os.PathLike[str]) -> str | None:
    """Return the folder below which a path may be opened: the current one, or the run's parent."""
    homes = [os.getcwd(), os.path.dirname(os.path.abspath(run))]
    return next((each for each in homes if _is_inside(os.path.abspath(path), each)), None)


def _problem(path: str, run: str | os.PathLike[str]) -> str | None:
    """Return why what lies at a path may not be opened, or None."""
    home = _home(path, run)
    assert home is not None
    for each in _places(os.path.abspath(path), home):
        mode = os.lstat(each).st_mode
        if stat.S_ISLNK(mode):
            return f"is reached by a link ({os.path.relpath(each)})"
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return f"is no plain file ({os.path.relpath(each)})"
    return None


def _is_inside(path: str, home: str) -> bool:
    return os.path.splitdrive(path)[0] == os.path.splitdrive(home)[0] and path.startswith(
        home.rstrip(os.sep) + os.sep
    )


def _places(path: str, home: str) -> Iterator[str]:
    """Yield what opening a model looks at: folders above it, its card, all files of a folder."""
    model = Path(path)
    for parent in reversed(model.relative_to(home).parents[:-1]):
        yield os.path.join(home, parent)
    yield path
    if not model.is_dir():
        if os.path.lexists(card_path(path)):
            yield os.fspath(card_path(path))
        return
    for n, each in enumerate(_files(path)):
        if n >= MAX_FILES:
            raise ArgumentError(f"{path}: has more than {MAX_FILES:,} files")
        yield each


def _files(folder: str) -> Iterator[str]:
    for home, folders, files in os.walk(folder, followlinks=False):
        for name in (*folders, *files):
            yield os.path.join(home, name)
