"""The store of answers: what a black box said is never asked again.

One SQLite file holds the answers of many boxes. A box is known by its fingerprint, an answer by its
word; what a box with states said is kept in blocks. The file is in WAL mode: several processes may
use it at once, and one that is killed loses nothing that it has written.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import TracebackType

import numpy as np

from seqray.arrays import BoolArray, FloatArray
from seqray.errors import FileError
from seqray.words import Alphabet, Words

APPLICATION, VERSION = 0x73657179, 1
"""How SQLite knows the file (``seqy``), and the version of its tables."""

AT_ONCE = 10_000
"""Words looked up in one statement; SQLite takes 32,766 at most."""

PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""

TABLES = """
CREATE TABLE boxes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, fingerprint TEXT NOT NULL, kind TEXT NOT NULL,
    alphabet TEXT NOT NULL, created REAL NOT NULL, used REAL NOT NULL,
    UNIQUE (fingerprint, kind, alphabet));
CREATE TABLE answers (
    box INTEGER NOT NULL REFERENCES boxes ON DELETE CASCADE, word BLOB NOT NULL,
    answer BLOB NOT NULL, PRIMARY KEY (box, word)) WITHOUT ROWID;
CREATE TABLE blocks (
    box INTEGER NOT NULL REFERENCES boxes ON DELETE CASCADE, name BLOB NOT NULL,
    answers BLOB NOT NULL, PRIMARY KEY (box, name));
"""


@dataclass(frozen=True)
class KeptBox:
    """What a store holds of one box."""

    id: int
    fingerprint: str
    kind: str
    alphabet: Alphabet
    created: float
    used: float
    n_answers: int
    n_blocks: int


def default_store() -> Path:
    """Return where answers are kept unless one says otherwise: ``SEQRAY_STORE``, or a cache."""
    if chosen := os.environ.get("SEQRAY_STORE"):
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "seqray" / "answers.sqlite"


class AnswerStore:
    """A file of answers. Use it in a ``with`` block, or `close` it.

    Parameters
    ----------
    path
        The file, made where there is none. None: a temporary one, gone when it is closed.

    Examples
    --------
    >>> words = Alphabet("ab").words(["", "a", "ab"])
    >>> with AnswerStore() as store:
    ...     box = store.box("my model", "value", words.alphabet)
    ...     store.add(box, words[:2], np.array([0.5, 0.25]))
    ...     store.find(box, words)
    (array([ True,  True, False]), array([0.5 , 0.25]))
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        with self._telling():
            if self.path is not None and self.path == default_store():
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(
                self.path or "", timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
        weakref.finalize(self, self._db.close)
        try:
            with self._telling():
                self._prepare()
        except FileError:
            self._db.close()
            raise

    def _prepare(self) -> None:
        db = self._db
        db.execute("PRAGMA foreign_keys = ON")
        if self._number("PRAGMA application_id") != APPLICATION:
            if not self._number("SELECT count(*) FROM sqlite_master"):
                self._write_ahead()
            with self._transaction():  # another process may make the tables at the same time
                if not self._number("SELECT count(*) FROM sqlite_master"):
                    for statement in TABLES.split(";"):
                        db.execute(statement)
                    db.execute(f"PRAGMA application_id = {APPLICATION}")
                    db.execute(f"PRAGMA user_version = {VERSION}")
        if self._number("PRAGMA application_id") != APPLICATION:
            raise FileError(f"{self.path}: a database of another program: choose another name")
        if (version := self._number("PRAGMA user_version")) > VERSION:
            raise FileError(
                f"{self.path}: version {version} of the store, this seqray knows {VERSION}: "
                "update seqray or keep answers elsewhere"
            )
        db.execute("PRAGMA synchronous = NORMAL")  # in WAL mode a killed process loses nothing

    def _write_ahead(self) -> None:
        """Choose the journal; where another process does so right now, SQLite does not wait."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.02)
            else:
                return

    def _number(self, query: str) -> int:
        return int(self._db.execute(query).fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> AnswerStore:
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
        try:
            yield
        except sqlite3.OperationalError as error:
            hint = {
                "unable to open database file": "; is there such a folder, may you write there?",
                "database is locked": "; another process holds it",
            }.get(str(error), "")
            where = self.path or "the temporary store"
            raise FileError(f"{where}: cannot be used as a store: {error}{hint}") from error
        except sqlite3.IntegrityError as error:
            raise FileError(
                f"{self.path}: another process has forgotten this box meanwhile: start again"
            ) from error
        except sqlite3.ProgrammingError:  # closed already
            raise
        except sqlite3.DatabaseError as error:
            raise FileError(
                f"{self.path}: no store of seqray, or a damaged one: {error}; move it away, and "
                "a new one will be made"
            ) from error
        except OSError as error:
            raise FileError(f"{self.path}: cannot be used as a store: {error.strerror}") from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def box(self, fingerprint: str, kind: str, alphabet: Alphabet) -> int:
        """Return the number under which the store knows a box; it is used now."""
        key = (fingerprint, kind, json.dumps(alphabet.to_json(), ensure_ascii=False))
        now = time.time()
        with self._telling(), self._transaction():
            self._db.execute(
                "INSERT INTO boxes (fingerprint, kind, alphabet, created, used) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET used = excluded.used",
                (*key, now, now),
            )
            find = "SELECT id FROM boxes WHERE fingerprint = ? AND kind = ? AND alphabet = ?"
            return int(self._db.execute(find, key).fetchone()[0])

    def find(self, box: int, words: Words) -> tuple[BoolArray, FloatArray]:
        """Return which words have an answer, and those answers in the order of the words."""
        keys = word_keys(words)
        found: dict[bytes, bytes] = {}
        with self._telling():
            for begin in range(0, len(keys), AT_ONCE):
                some = keys[begin : begin + AT_ONCE]
                marks = ",".join("?" * len(some))
                query = f"SELECT word, answer FROM answers WHERE box = ? AND word IN ({marks})"
                found.update(self._db.execute(query, (box, *some)))
        known = np.fromiter((key in found for key in keys), bool, len(keys))
        joined = b"".join(found[key] for key in keys if key in found)
        answers = np.frombuffer(joined, "<f8").astype(float)
        n_known = int(known.sum())
        if n_known and len(answers) != n_known:
            answers = answers.reshape(n_known, -1)
        return known, answers

    def add(self, box: int, words: Words, answers: FloatArray) -> None:
        """Keep answers, an entry or a row a word; what is there already stays as it is."""
        data = np.ascontiguousarray(answers, "<f8").tobytes()
        size = len(data) // max(1, len(words))
        rows = (
            (box, key, data[i * size : (i + 1) * size]) for i, key in enumerate(word_keys(words))
        )
        with self._telling(), self._transaction():
            self._db.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", rows)

    def find_block(self, box: int, name: bytes) -> FloatArray | None:
        """Return the answers kept under a name, flat, or None."""
        query = "SELECT answers FROM blocks WHERE box = ? AND name = ?"
        with self._telling():
            row = self._db.execute(query, (box, name)).fetchone()
        return None if row is None else np.frombuffer(row[0], "<f8").astype(float)

    def add_block(self, box: int, name: bytes, answers: FloatArray) -> None:
        """Keep many answers together under one name."""
        data = np.ascontiguousarray(answers, "<f8").tobytes()
        with self._telling(), self._transaction():
            self._db.execute("INSERT OR IGNORE INTO blocks VALUES (?, ?, ?)", (box, name, data))

    def boxes(self) -> list[KeptBox]:
        """Return what the store holds, the box that was used last first."""
        query = """
            SELECT id, fingerprint, kind, alphabet, created, used,
                (SELECT count(*) FROM answers WHERE box = id),
                (SELECT count(*) FROM blocks WHERE box = id)
            FROM boxes ORDER BY used DESC"""
        with self._telling():
            rows = self._db.execute(query).fetchall()
        return [
            KeptBox(number, name, kind, Alphabet(json.loads(alphabet)), *rest)
            for number, name, kind, alphabet, *rest in rows
        ]

    def some(self, box: int, n: int, alphabet: Alphabet) -> tuple[Words, FloatArray]:
        """Return up to ``n`` words of a box with their answers."""
        query = "SELECT word, answer FROM answers WHERE box = ? ORDER BY word LIMIT ?"
        with self._telling():
            rows = self._db.execute(query, (box, n)).fetchall()
        answers = np.frombuffer(b"".join(answer for _, answer in rows), "<f8").astype(float)
        if len(answers) != len(rows):
            answers = answers.reshape(len(rows), -1)
        return _words_of_keys(alphabet, [key for key, _ in rows]), answers

    def answers(self, box: KeptBox) -> Iterator[tuple[Words, FloatArray]]:
        """Yield all words of a box with their answers, in batches, in the order of their codes."""
        query = "SELECT word, answer FROM answers WHERE box = ? ORDER BY word"
        with self._telling():
            cursor = self._db.execute(query, (box.id,))
            while rows := cursor.fetchmany(AT_ONCE):
                keys = [key for key, _ in rows]
                answers = np.frombuffer(b"".join(answer for _, answer in rows), "<f8")
                words = _words_of_keys(box.alphabet, keys)
                yield words, answers.reshape(len(words), -1)

    def forget(self, boxes: list[KeptBox]) -> None:
        """Remove all that is kept of some boxes, and give the room back."""
        with self._telling():
            with self._transaction():
                self._db.executemany("DELETE FROM boxes WHERE id = ?", [(b.id,) for b in boxes])
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def opened_store(
    store: AnswerStore | str | os.PathLike[str] | None,
) -> Iterator[AnswerStore | None]:
    """Yield a store as it is, the one at a path, closed afterwards, or None."""
    if store is None or isinstance(store, AnswerStore):
        yield store
        return
    with AnswerStore(store) as opened:
        yield opened


def word_keys(words: Words) -> list[bytes]:
    """Return the codes of each word as bytes, as few as the alphabet allows."""
    kind = _code_type(len(words.alphabet))
    data = words.codes.astype(kind).tobytes()
    ends = (words.offsets * kind.itemsize).tolist()
    return [data[begin:end] for begin, end in pairwise(ends)]


def _words_of_keys(alphabet: Alphabet, keys: list[bytes]) -> Words:
    kind = _code_type(len(alphabet))
    codes = np.frombuffer(b"".join(keys), kind).astype(np.int32)
    lengths = [len(key) // kind.itemsize for key in keys]
    return Words(alphabet, codes, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))


def _code_type(n_symbols: int) -> np.dtype[np.unsignedinteger]:
    for name in ("<u1", "<u2"):
        if n_symbols <= np.iinfo(name).max + 1:
            return np.dtype(name)
    return np.dtype("<u4")
