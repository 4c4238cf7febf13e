"""A SQLite file that several threads, processes and forks of a process may use at once.

A connection must not be used on both sides of a fork. So no connection is in use while a process
forks, and the forked process opens its own. It first closes its copy of the old connection:
otherwise SQLite would believe that it holds locks which only the other process holds.
"""

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
from seqray.util.forks import reset_in_forks

MAX_LOCK_WAIT_SECONDS = 60.0
"""How long to wait for another process that is writing."""

START_ANEW = "move it away, and a new one will be made"
"""Advice in errors about a file that cannot be repaired."""

HINTS = {
    sqlite3.SQLITE_CANTOPEN: "does the folder exist, and may you write there?",
    sqlite3.SQLITE_READONLY: "may you write there?",
    sqlite3.SQLITE_FULL: "free some space, or choose another file",
    sqlite3.SQLITE_BUSY: "another process is writing: try again later",
}
"""Advice by SQLite's error code."""


BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
"""Error codes of a file that another process or connection is using."""


class SqliteFile(ABC):
    """A database with one connection per process, which threads use one after the other.

    Parameters
    ----------
    path
        The file; it is created if it does not exist. None: a temporary file, deleted on closing.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._closing: weakref.finalize[..., SqliteFile] | None = None
        self._is_open = True
        self._is_forked = False
        with self._using():
            pass
        reset_in_forks(self, self._lock)

    def _connect(self) -> sqlite3.Connection:
        """Open the file, and create or update its tables."""
        db = sqlite3.connect(
            self.path or "",
            timeout=MAX_LOCK_WAIT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
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
        with self._lock, self._translated_errors():
            if self._db is None:
                if not self._is_open:
                    raise sqlite3.ProgrammingError("Cannot operate on a closed store.")
                if self.path is None and self._is_forked:
                    raise FileError(
                        "a temporary store belongs to the process that made it: give the store a "
                        "path to use it after a fork"
                    )
                self._db = self._connect()
            yield self._db

    @abstractmethod
    def _prepare(self, db: sqlite3.Connection) -> None:
        """Create the tables, or update those of an older version."""

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._is_open = False
            self._disconnect()

    def _disconnect(self) -> None:
        if self._closing is not None:
            self._closing()
        self._db = self._closing = None

    def reset_after_fork(self) -> None:
        """Close, in a forked process, the connection of the process before the fork."""
        self._is_forked = True
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
    def _translated_errors(self) -> Iterator[None]:
        """Turn errors of SQLite into a `FileError` that says what is wrong with the file."""
        where = self.path or "the temporary store"
        try:
            yield
        except sqlite3.OperationalError as error:
            hint = HINTS.get(_code(error), f"if nothing else helps, {START_ANEW}")
            raise FileError(f"{where}: cannot be used as a store: {error}; {hint}") from error
        except sqlite3.IntegrityError as error:
            raise FileError(
                f"{where}: another process deleted this box's answers: run the command again"
            ) from error
        except sqlite3.ProgrammingError:  # closed already
            raise
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a message may quote bytes
            raise FileError(
                f"{where}: no store of seqray, or a damaged one: {error}; {START_ANEW}"
            ) from error
        except OSError as error:
            raise FileError(f"{where}: cannot be used as a store: {error.strerror}") from error


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's primary error code; 0 where the error has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def number(db: sqlite3.Connection, statement: str) -> int:
    """Return the one number that a statement selects."""
    return int(db.execute(statement).fetchone()[0])


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Make the changes of a block all together, or none of them."""
    try:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def write_ahead(db: sqlite3.Connection) -> None:
    """Turn on the write-ahead log; wait where another process does so at the same time."""
    deadline = time.monotonic() + MAX_LOCK_WAIT_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if _code(error) not in BUSY_CODES or time.monotonic() > deadline:
                raise
            time.sleep(0.02)  # SQLite itself does not wait for this
        else:
            return
