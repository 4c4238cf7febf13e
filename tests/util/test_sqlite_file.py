"""A SQLite file that threads, processes and forks may use at once."""

import sqlite3
import threading

import pytest

from forks import forked
from seqray.util.errors import FileError
from seqray.util.sqlite_file import SqliteFile, number, transaction, write_ahead


class Counter(SqliteFile):
    """A file that counts."""

    def _prepare(self, db):
        write_ahead(db)
        db.execute("CREATE TABLE IF NOT EXISTS numbers (number INTEGER)")

    def add(self):
        with self._using() as db, transaction(db):
            db.execute("INSERT INTO numbers VALUES (1)")

    def fail(self):
        with self._using() as db, transaction(db):
            db.execute("INSERT INTO numbers VALUES (1)")
            raise KeyError

    def count(self):
        with self._using() as db:
            return number(db, "SELECT count(*) FROM numbers")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "numbers.sqlite"


def test_several_threads_write_to_one_file(path):
    with Counter(path) as counter:
        threads = [threading.Thread(target=counter.add) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counter.count() == 8


def test_a_fork_and_the_process_before_it_write_to_one_file(path):
    with Counter(path) as counter:
        counter.add()
        assert forked(lambda: counter.add() or counter.count() == 2)
        counter.add()
        assert counter.count() == 3


def test_a_temporary_file_cannot_be_used_after_a_fork():
    def work():
        with pytest.raises(FileError, match="belongs to the process that made it"):
            counter.add()
        return True

    with Counter() as counter:
        assert forked(work)
        counter.add()
        assert counter.count() == 1


def test_a_transaction_that_fails_changes_nothing(path):
    with Counter(path) as counter:
        with pytest.raises(KeyError):
            counter.fail()
        assert counter.count() == 0


def test_a_closed_file_cannot_be_used(path):
    counter = Counter(path)
    counter.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        counter.add()


def test_a_file_that_is_no_database_is_named(path):
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(FileError, match=r"numbers\.sqlite: no store of seqray, or a damaged one"):
        Counter(path)
