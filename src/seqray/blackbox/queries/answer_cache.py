"""The answer cache: a file of answers of black boxes, so that no query is sent twice.

One SQLite file holds the answers of many boxes. A box is known by its fingerprint, an answer by its
word; the answers of a box with states are cached in blocks. The file is in WAL mode: several
processes may use it at once, and one that is killed loses nothing that it has written. Each answer
and each block has a checksum, so that damage is noticed before it is used.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from seqray.automata.words import Alphabet, Words
from seqray.util.arrays import BoolArray, FloatArray
from seqray.util.errors import FileError, SeqrayError
from seqray.util.memory import shown_bytes
from seqray.util.sqlite_file import START_ANEW, SqliteFile, number, transaction, write_ahead

logger = logging.getLogger(__name__)

APPLICATION, VERSION = 0x73657179, 2
"""How SQLite knows the file (``seqy``), and the version of its tables."""

WORDS_PER_STATEMENT = 10_000
"""Words looked up in one statement; SQLite takes 32,766 at most."""

TABLES = """
CREATE TABLE boxes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, fingerprint TEXT NOT NULL, kind TEXT NOT NULL,
    alphabet TEXT NOT NULL, created REAL NOT NULL, used REAL NOT NULL, crc INTEGER,
    UNIQUE (fingerprint, kind, alphabet));
CREATE TABLE answers (
    box INTEGER NOT NULL REFERENCES boxes ON DELETE CASCADE, word BLOB NOT NULL,
    answer BLOB NOT NULL, crc INTEGER, PRIMARY KEY (box, word)) WITHOUT ROWID;
CREATE TABLE blocks (
    box INTEGER NOT NULL REFERENCES boxes ON DELETE CASCADE, name BLOB NOT NULL,
    answers BLOB NOT NULL, crc INTEGER, PRIMARY KEY (box, name));
"""

SECOND_VERSION = (
    "ALTER TABLE answers ADD COLUMN crc INTEGER",
    "ALTER TABLE blocks ADD COLUMN crc INTEGER",
    "UPDATE answers SET crc = checksum(box, word, answer)",
    "UPDATE blocks SET crc = checksum(box, name, answers)",
)
"""What turns tables of the first version, which had no checksums, into those of the second."""


HAS_CHECKED_BOXES = "SELECT count(*) FROM pragma_table_info('boxes') WHERE name = 'crc'"
"""Whether boxes have checksums; earlier stores of the second version have none."""


@dataclass(frozen=True)
class CachedBox:
    """What the file holds of one box."""

    id: int
    fingerprint: str
    kind: str
    alphabet: Alphabet
    created: float
    used: float
    n_answers: int
    n_blocks: int


def default_store() -> Path:
    """Return the default file of answers: ``SEQRAY_STORE``, or one in the user's cache folder."""
    if chosen := os.environ.get("SEQRAY_STORE"):
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "seqray" / "answers.sqlite"


LARGE_BYTES = 10**9
"""A cache that takes more than this is large: its size is reported."""


class AnswerStore(SqliteFile):
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

    reported_bytes = LARGE_BYTES

    def _connect(self) -> sqlite3.Connection:
        if self.path is not None and self.path == default_store():
            self.path.parent.mkdir(parents=True, exist_ok=True)
        return super()._connect()

    def _prepare(self, db: sqlite3.Connection) -> None:
        db.execute("PRAGMA foreign_keys = ON")
        if number(db, "PRAGMA application_id") != APPLICATION:
            if not number(db, "SELECT count(*) FROM sqlite_master"):
                write_ahead(db)
            with transaction(db):  # another process may make the tables at the same time
                if not number(db, "SELECT count(*) FROM sqlite_master"):
                    for statement in TABLES.split(";"):
                        db.execute(statement)
                    db.execute(f"PRAGMA application_id = {APPLICATION}")
                    db.execute(f"PRAGMA user_version = {VERSION}")
        if number(db, "PRAGMA application_id") != APPLICATION:
            raise FileError(f"{self.path}: a database of another program: choose another name")
        if (version := number(db, "PRAGMA user_version")) > VERSION:
            raise FileError(
                f"{self.path}: version {version} of the store, this seqray knows {VERSION}: "
                "update seqray or choose another file"
            )
        if version < VERSION:
            self._add_checksums(db)
        if not number(db, HAS_CHECKED_BOXES):
            with transaction(db):
                if not number(db, HAS_CHECKED_BOXES):  # or another process was faster
                    db.execute("ALTER TABLE boxes ADD COLUMN crc INTEGER")
        db.execute("PRAGMA synchronous = NORMAL")  # in WAL mode a killed process loses nothing

    def _add_checksums(self, db: sqlite3.Connection) -> None:
        """Bring a store of the first version up to date."""
        db.create_function("checksum", 3, _checksum, deterministic=True)
        with transaction(db):
            version = number(db, "PRAGMA user_version")
            if version == VERSION:  # another process was faster
                return
            if version != 1:
                raise FileError(
                    f"{self.path}: damaged: {version} is not a version of the store; {START_ANEW}"
                )
            for statement in SECOND_VERSION:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {VERSION}")

    def prune_command(self, fingerprint: str) -> str:
        """Return the command that deletes what is cached of a box."""
        where = f" --store '{self.path}'" if self.path != default_store() else ""
        return f"seqray store prune{where} --box '{fingerprint}'"

    def _damaged(self, db: sqlite3.Connection, box: int, what: str) -> FileError:
        """Return what to raise where a checksum does not match: what is damaged, what to do."""
        row = db.execute("SELECT fingerprint FROM boxes WHERE id = ?", (box,)).fetchone()
        where = self.path or "the temporary store"
        prune = "" if row is None else f"{self.prune_command(row[0])}, or "
        return FileError(
            f"{where}: damaged: {what} does not match its checksum. Delete what is cached of this "
            f"box ({prune}{START_ANEW}); it will be queried again"
        )

    def _sound(
        self, db: sqlite3.Connection, box: int, rows: list[tuple[Any, Any, Any]], what: str
    ) -> dict[bytes, bytes]:
        """Return rows of a name, content and checksum as a dictionary, or say that one is bad."""
        n_bytes = {len(content) for _, content, _ in rows if isinstance(content, bytes)}
        if len(n_bytes) > 1 or any(n % 8 for n in n_bytes):  # all hold as many numbers
            raise self._damaged(db, box, what)
        for name, content, crc in rows:
            if not isinstance(name, bytes) or not isinstance(content, bytes):
                raise self._damaged(db, box, what)
            if crc != _checksum(box, name, content):
                raise self._damaged(db, box, what)
        return {name: content for name, content, _ in rows}

    def box(self, fingerprint: str, kind: str, alphabet: Alphabet) -> int:
        """Return the number under which the store knows a box; it is used now."""
        key = (fingerprint, kind, json.dumps(alphabet.to_json(), ensure_ascii=False))
        now = time.time()
        with self._using() as db, transaction(db):
            db.execute(
                "INSERT INTO boxes (fingerprint, kind, alphabet, created, used, crc) VALUES "
                "(?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET used = excluded.used, "
                "crc = excluded.crc",
                (*key, now, now, _checksum_of_box(*key)),
            )
            find = "SELECT id FROM boxes WHERE fingerprint = ? AND kind = ? AND alphabet = ?"
            row = db.execute(find, key).fetchone()
            if row is None:
                raise FileError(f"{self.path}: damaged: its boxes cannot be found; {START_ANEW}")
            return int(row[0])

    def find(self, box: int, words: Words) -> tuple[BoolArray, FloatArray]:
        """Return which words have an answer, and those answers in the order of the words."""
        keys = word_keys(words)
        contents: dict[bytes, bytes] = {}
        with self._using() as db:
            for begin in range(0, len(keys), WORDS_PER_STATEMENT):
                some = keys[begin : begin + WORDS_PER_STATEMENT]
                marks = ",".join("?" * len(some))
                query = f"SELECT word, answer, crc FROM answers WHERE box = ? AND word IN ({marks})"
                rows = db.execute(query, (box, *some)).fetchall()
                contents.update(self._sound(db, box, rows, A_CACHED_ANSWER))
        known = np.fromiter((key in contents for key in keys), bool, len(keys))
        return known, join_answers([contents[key] for key in keys if key in contents])

    def add(self, box: int, words: Words, answers: FloatArray) -> None:
        """Add answers, one entry or row per word; what is there already stays as it is."""
        rows = [
            (box, key, answer, _checksum(box, key, answer))
            for key, answer in zip(word_keys(words), split_answers(answers), strict=True)
        ]
        with self._using() as db, transaction(db):
            db.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)", rows)
        self._report_size()

    def find_block(self, box: int, name: bytes) -> FloatArray | None:
        """Return the answers cached under a name, flat, or None."""
        query = "SELECT name, answers, crc FROM blocks WHERE box = ? AND name = ?"
        with self._using() as db:
            rows = db.execute(query, (box, name)).fetchall()
            blocks = self._sound(db, box, rows, "a cached block of answers")
        return np.frombuffer(blocks[name], "<f8").astype(float) if blocks else None

    def add_block(self, box: int, name: bytes, answers: FloatArray) -> None:
        """Add many answers together under one name."""
        data = np.ascontiguousarray(answers, "<f8").tobytes()
        row = (box, name, data, _checksum(box, name, data))
        with self._using() as db, transaction(db):
            db.execute("INSERT OR IGNORE INTO blocks VALUES (?, ?, ?, ?)", row)
        self._report_size()

    def _report_size(self) -> None:
        """Warn where the file is large, and again each time it has doubled."""
        if self.path is None:
            return
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        n_bytes = sum(os.path.getsize(file) for file in files if os.path.exists(file))
        if n_bytes > self.reported_bytes:
            self.reported_bytes = 2 * n_bytes
            logger.warning(
                "the answer cache %s takes %s now: seqray store info shows whose answers they are, "
                "seqray store prune deletes them; --store none caches nothing",
                *(self.path, shown_bytes(n_bytes)),
            )

    def boxes(self) -> list[CachedBox]:
        """Return what the store holds, the box that was used last first."""
        query = """
            SELECT id, crc, fingerprint, kind, alphabet, created, used,
                (SELECT count(*) FROM answers WHERE box = id),
                (SELECT count(*) FROM blocks WHERE box = id)
            FROM boxes ORDER BY used DESC"""
        with self._using() as db:
            rows = db.execute(query).fetchall()
        return [self._read_box(*row) for row in rows]

    def _read_box(
        self, key: Any, crc: Any, name: Any, kind: Any, alphabet: Any, *rest: Any
    ) -> CachedBox:
        """Return a row of the table of boxes, if it is one that a store writes."""
        try:
            if crc not in (None, _checksum_of_box(name, kind, alphabet)):
                raise ValueError
            created, used = map(float, rest[:2])
            symbols = Alphabet(json.loads(alphabet))
            if isinstance(name, str) and isinstance(kind, str):
                return CachedBox(key, name, kind, symbols, created, used, *rest[2:])
        except (TypeError, ValueError, RecursionError, SeqrayError):
            pass
        raise FileError(
            f"{self.path}: damaged: what it says of box {key} makes no sense; {START_ANEW}"
        )

    def some(self, box: int, n: int, alphabet: Alphabet) -> tuple[Words, FloatArray]:
        """Return up to ``n`` words of a box with their answers, from all over the store."""
        rng, kind = np.random.default_rng(0), _code_type(len(alphabet))
        query = (
            "SELECT word, answer, crc FROM answers WHERE box = ? AND word >= ? ORDER BY word LIMIT "
        )
        contents: dict[bytes, bytes] = {}
        with self._using() as db:
            for _ in range(4 * n):  # words at random places, and at last the first ones
                codes = rng.integers(0, len(alphabet), rng.integers(1, 12))
                row = db.execute(query + "1", (box, codes.astype(kind).tobytes())).fetchall()
                contents |= self._sound(db, box, row, A_CACHED_ANSWER)
                if len(contents) >= n:
                    break
            rows = db.execute(f"{query}{n}", (box, b"")).fetchall()
            first = self._sound(db, box, rows, A_CACHED_ANSWER)
        contents = dict(islice({**contents, **first}.items(), n))
        return _words_of_keys(alphabet, [*contents]), join_answers([*contents.values()])

    def answers(self, box: CachedBox) -> Iterator[tuple[Words, FloatArray]]:
        """Yield all words of a box with their answers, in batches, in the order of their codes."""
        query = (
            "SELECT word, answer, crc FROM answers WHERE box = ? AND word {} ? ORDER BY word "
            f"LIMIT {WORDS_PER_STATEMENT}"
        )
        last, compared = b"", ">="
        while True:
            with self._using() as db:
                rows = db.execute(query.format(compared), (box.id, last)).fetchall()
                contents = self._sound(db, box.id, rows, A_CACHED_ANSWER)
            if not contents:
                return
            last, compared = [*contents][-1], ">"
            answers = join_answers([*contents.values()]).reshape(len(contents), -1)
            yield _words_of_keys(box.alphabet, [*contents]), answers

    def forget(self, boxes: list[CachedBox]) -> None:
        """Delete all that is cached of some boxes."""
        with self._using() as db, transaction(db):
            db.executemany("DELETE FROM boxes WHERE id = ?", [(b.id,) for b in boxes])

    def shrink(self) -> None:
        """Give the disk space of what was deleted back; large files take minutes."""
        with self._using() as db:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


A_CACHED_ANSWER = "a cached answer"


def _checksum_of_box(fingerprint: str, kind: str, alphabet: str) -> int:
    return zlib.crc32("\0".join((fingerprint, kind, alphabet)).encode())


def _checksum(box: int, name: bytes, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(name, box))


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


def join_answers(contents: list[bytes]) -> FloatArray:
    """Return cached answers as an array: one number per word, or one row."""
    answers = np.frombuffer(b"".join(contents), "<f8").astype(float)
    is_flat = len(answers) == len(contents)
    return answers if is_flat else answers.reshape(len(contents), -1)


def split_answers(answers: FloatArray) -> list[bytes]:
    """Return the bytes of each answer, one entry or row per word."""
    data = np.ascontiguousarray(answers, "<f8").tobytes()
    size = len(data) // max(1, len(answers))
    return [data[i * size : (i + 1) * size] for i in range(len(answers))]


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
