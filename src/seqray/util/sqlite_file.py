"""A SQLite file that several threads, processes and forks of a process may use at once."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from seqray.util.errors import FileError

PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""

AWAY = "move it away, and a new one will be made"
"""What to do with a file that cannot be mended."""


class SqliteFile(ABC):
    """A database with one connection a process, which threads use one after the other.

    Parameters
    ----------
    path
        The file, made where there is none. None: a temporary one, gone when it is closed.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._closing: weakref.finalize[..., SqliteFile] | None = None
        self._is_open = True
        self._is_foreign = False  # it was inherited by a fork
        with self._using():
            pass
        _OPEN.add(self)

    def _connect(self) -> sqlite3.Connection:
        """Open the file, and make or bring up to date its tables."""
        db = sqlite3.connect(
            self.path or "", timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(db)
        except BaseException:
            db.close()
            raise
        self._closing = weakref.finalize(self, db.close)
        return db

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection of this process, to one thread at a time."""
        with self._lock, self._telling():
            if self._db is None:
                if not self._is_open:
                    raise sqlite3.ProgrammingError("Cannot operate on a closed store.")
                if self.path is None and self._is_foreign:
                    raise FileError(
                        "a temporary store belongs to the process that made it: give the store a "
                        "path to use it after a fork"
                    )
                self._db = self._connect()
            yield self._db

    @abstractmethod
    def _prepare(self, db: sqlite3.Connection) -> None:
        """Make the tables, or bring them up to date."""

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._is_open = False
            self._disconnect()

    def _disconnect(self) -> None:
        if self._closing is not None:
            self._closing()
        self._db = self._closing = None

    def _leave_behind(self) -> None:
        """In a forked process: let go of the connection, which is the parent's."""
        self._lock = threading.RLock()
        self._is_foreign = True
        self._disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Say in a `FileError` what is wrong with the file."""
        where = self.path or "the temporary store"
        try:
            yield
        except sqlite3.OperationalError as error:
            hint = {
                "unable to open database file": "; is there such a folder, may you write there?",
                "attempt to write a readonly database": "; may you write there?",
                "database or disk is full": "; make room, or keep answers elsewhere",
                "database is locked": "; another process holds it",
            }.get(str(error), f"; if nothing else helps, {AWAY}")
            raise FileError(f"{where}: cannot be used as a store: {error}{hint}") from error
        except sqlite3.IntegrityError as error:
            raise FileError(
                f"{where}: another process has forgotten this box meanwhile: start again"
            ) from error
        except sqlite3.ProgrammingError:  # closed already
            raise
        except sqlite3.DatabaseError as error:
            raise FileError(
                f"{where}: no store of seqray, or a damaged one: {error}; {AWAY}"
            ) from error
        except OSError as error:
            raise FileError(f"{where}: cannot be used as a store: {error.strerror}") from error


def number(db: sqlite3.Connection, query: str) -> int:
    """Return the one number that a query answers."""
    return int(db.execute(query).fetchone()[0])


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Do what a block does as a whole, or not at all."""
    try:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def write_ahead(db: sqlite3.Connection) -> None:
    """Choose the journal; where another process does so right now, SQLite does not wait."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


# A connection must not be used on both sides of a fork. So nothing is under way while a process
# forks, and the child opens a connection of its own. It closes its copy of the parent's first:
# otherwise SQLite would believe to hold locks that only the parent holds.

_OPEN: weakref.WeakSet[SqliteFile] = weakref.WeakSet()
_FORKING = threading.Lock()
_held: list[SqliteFile] = []


def _before_fork() -> None:
    _FORKING.acquire()
    _held[:] = _OPEN
    for file in _held:
        file._lock.acquire()


def _after_fork_in_parent() -> None:
    for file in _held:
        file._lock.release()
    _held.clear()
    _FORKING.release()


def _after_fork_in_child() -> None:
    for file in _held:
        file._leave_behind()
    _held.clear()
    _FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
