import multiprocessing
import os
import sqlite3
import threading
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqray import Alphabet
from seqray.automata.words import Words
from seqray.blackbox.queries import answer_cache
from seqray.blackbox.queries.answer_cache import AnswerStore, default_store, opened_store, word_keys
from seqray.util.errors import FileError

AB = Alphabet("ab")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.sqlite"


@pytest.fixture
def store(path):
    with AnswerStore(path) as opened:
        yield opened


def box_of(store, name="model", kind="value", alphabet=AB):
    return store.box(name, kind, alphabet)


# Single answers -----------------------------------------------------------------------------------


def test_answers_come_back_bit_by_bit_in_the_order_of_the_question(store):
    words = AB.words(["", "a", "abba", "b"])
    values = np.array([0.1, -0.0, 5e-324, -1e300])
    box = box_of(store)
    store.add(box, words, values)
    known, found = store.find(box, words[[3, 0, 1, 2, 0]])
    assert known.all()
    assert found.tobytes() == values[[3, 0, 1, 2, 0]].tobytes()


def test_what_is_not_there_is_not_known(store):
    box = box_of(store)
    store.add(box, AB.words(["a"]), np.array([1.0]))
    known, found = store.find(box, AB.words(["", "a", "aa"]))
    assert known.tolist() == [False, True, False]
    assert found.tolist() == [1]


def test_rows_come_back_as_rows_even_a_single_one(store):
    box = box_of(store, kind="next")
    store.add(box, AB.words(["", "a"]), np.arange(6.0).reshape(2, 3))
    assert store.find(box, AB.words(["a", ""]))[1].tolist() == [[3, 4, 5], [0, 1, 2]]
    assert store.find(box, AB.words(["a"]))[1].shape == (1, 3)


def test_the_first_answer_stays(store):
    box, words = box_of(store), AB.words(["a"])
    store.add(box, words, np.array([1.0]))
    store.add(box, words, np.array([2.0]))
    assert store.find(box, words)[1].tolist() == [1]


def test_no_words_are_no_trouble(store):
    box = box_of(store)
    store.add(box, AB.words([]), np.empty(0))
    known, found = store.find(box, AB.words([]))
    assert len(known) == len(found) == 0


def test_more_words_than_one_statement_takes(store):
    alphabet = Alphabet(range(50_000))
    words = alphabet.words([[i] for i in range(40_000)])
    box = store.box("large", "value", alphabet)
    store.add(box, words, np.arange(40_000.0))
    known, found = store.find(box, words[::-1])
    assert known.all()
    assert found.tolist() == list(range(39_999, -1, -1))


def test_more_words_than_sqlite_takes_in_a_statement(store):
    with sqlite3.connect(":memory:") as raw:
        n_words = raw.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) + 1
    raw.close()
    words = Words(AB, np.zeros(n_words, np.int64), np.arange(n_words + 1))  # a, again and again
    known, found = store.find(box_of(store), words)
    assert (len(known), known.any(), len(found)) == (n_words, False, 0)


@given(
    st.sampled_from([1, 2, 256, 257, 70_000]).flatmap(
        lambda n: st.tuples(
            st.just(n), st.lists(st.lists(st.integers(0, n - 1), max_size=5), max_size=8)
        )
    )
)
def test_different_words_have_different_keys(case):
    n, words = case
    encoded = Alphabet(range(n)).words(words)
    keys = word_keys(encoded)
    assert len(set(keys)) == len(set(map(tuple, words)))


@pytest.mark.parametrize(
    ("n_symbols", "size"), [(2, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 4)]
)
def test_a_code_takes_as_few_bytes_as_the_alphabet_allows(store, n_symbols, size):
    alphabet = Alphabet(range(n_symbols))
    words = alphabet.words([[], [0], [n_symbols - 1, 1]])
    assert [len(key) for key in word_keys(words)] == [0, size, 2 * size]
    box = box_of(store, alphabet=alphabet)
    store.add(box, words, np.arange(3.0))
    ((found, answers),) = store.answers(store.boxes()[0])
    assert dict(zip(found, answers[:, 0].tolist(), strict=True)) == {
        (): 0,
        (0,): 1,
        (n_symbols - 1, 1): 2,
    }


# Boxes --------------------------------------------------------------------------------------------


def test_boxes_are_told_apart_by_name_kind_and_alphabet(store):
    ids = [
        box_of(store),
        box_of(store, name="other"),
        box_of(store, kind="next"),
        box_of(store, alphabet=Alphabet("ba")),
        box_of(store, alphabet=Alphabet([0, 1])),
    ]
    assert len(set(ids)) == len(ids)
    assert box_of(store) == ids[0]


def test_boxes_are_listed_with_counts_the_last_used_first(store):
    first, second = box_of(store, "first"), box_of(store, "second", alphabet=Alphabet([2.5, 1]))
    store.add(first, AB.words(["", "a"]), np.zeros(2))
    store.add_block(first, b"rows", np.zeros(3))
    box_of(store, "first")
    listed = store.boxes()
    assert [(b.fingerprint, b.n_answers, b.n_blocks) for b in listed] == [
        ("first", 2, 1),
        ("second", 0, 0),
    ]
    assert listed[1].id == second
    assert listed[1].alphabet == Alphabet([2.5, 1])
    assert listed[0].used >= listed[0].created


def test_all_answers_of_a_box_can_be_read(store):
    box = box_of(store)
    store.add(box, AB.words(["b", "", "ab"]), np.array([1.0, 2, 3]))
    store.add(box_of(store, "other"), AB.words(["a"]), np.zeros(1))
    kept = next(b for b in store.boxes() if b.fingerprint == "model")
    ((words, answers),) = store.answers(kept)
    assert dict(zip(words, answers[:, 0].tolist(), strict=True)) == {
        (): 2,
        ("a", "b"): 3,
        ("b",): 1,
    }


def test_rows_of_a_box_are_read_as_rows(store):
    box, rows = box_of(store, kind="next"), np.arange(6.0).reshape(2, 3)
    store.add(box, AB.words(["", "a"]), rows)
    ((_, answers),) = store.answers(store.boxes()[0])
    np.testing.assert_array_equal(answers, rows)


def test_a_box_can_be_forgotten(store, path):
    for name in ("first", "second"):
        box = box_of(store, name)
        store.add(box, AB.words(["a"]), np.ones(1))
        store.add_block(box, b"rows", np.zeros(100_000))
    large = path.stat().st_size
    store.forget([b for b in store.boxes() if b.fingerprint == "first"])
    store.shrink()
    assert [b.fingerprint for b in store.boxes()] == ["second"]
    assert not store.find(box_of(store, "first"), AB.words(["a"]))[0].any()
    assert path.stat().st_size < max(large, 1_200_000)
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT count(*) FROM answers").fetchone() == (1,)
        assert raw.execute("SELECT count(*) FROM blocks").fetchone() == (1,)
    raw.close()


# Blocks -------------------------------------------------------------------------------------------


def test_blocks_come_back_flat_and_the_first_stays(store):
    box = box_of(store)
    assert store.find_block(box, b"rows") is None
    store.add_block(box, b"rows", np.arange(6.0).reshape(2, 3))
    store.add_block(box, b"rows", np.zeros(6))
    assert store.find_block(box, b"rows").tolist() == [0, 1, 2, 3, 4, 5]


def test_many_answers_are_read_in_batches_each_once(store, monkeypatch):
    monkeypatch.setattr(answer_cache, "WORDS_PER_STATEMENT", 3)
    words = AB.words(["", "a", "aa", "ab", "b", "ba", "bb"])
    box = box_of(store)
    store.add(box, words, np.arange(7.0))
    store.add(box_of(store, "other"), words, np.zeros(7))
    (kept,) = (each for each in store.boxes() if each.id == box)
    batches = [*store.answers(kept)]
    assert [len(some) for some, _ in batches] == [3, 3, 1]
    assert [word for some, _ in batches for word in some] == [*words]
    assert np.concatenate([answers for _, answers in batches])[:, 0].tolist() == [*range(7)]
    known, found = store.find(box, words[::-1])
    assert known.all()
    assert found.tolist() == [*range(6, -1, -1)]


def test_a_block_of_one_box_or_name_is_not_that_of_another(store):
    box, other = box_of(store), box_of(store, "other")
    store.add_block(box, b"rows", np.ones(2))
    store.add_block(box, b"more", np.zeros(3))
    assert store.find_block(other, b"rows") is None
    assert store.find_block(box, b"rows").tolist() == [1, 1]
    assert store.find_block(box, b"more").tolist() == [0, 0, 0]


# The file -----------------------------------------------------------------------------------------


def test_answers_outlive_the_store(path):
    with AnswerStore(path) as store:
        store.add(box_of(store), AB.words(["a"]), np.ones(1))
    with AnswerStore(path) as store:
        assert store.find(box_of(store), AB.words(["a"]))[0].all()


def test_a_temporary_store_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with AnswerStore() as store:
        store.add(box_of(store), AB.words(["a"]), np.ones(1))
    assert not list(tmp_path.iterdir())


def _write(path, begin):
    with AnswerStore(path) as store:
        box = store.box("model", "value", Alphabet(range(1000)))
        for i in range(begin, begin + 300):
            store.add(box, Alphabet(range(1000)).words([[i]]), np.array([float(i)]))


@pytest.mark.slow(reason="starts processes")
def test_several_processes_may_write_at_once(path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write, args=(path, n)) for n in (0, 200, 400)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    with AnswerStore(path) as store:
        words = Alphabet(range(1000)).words([[i] for i in range(700)])
        known, found = store.find(store.box("model", "value", words.alphabet), words)
    assert known.all()
    assert found.tolist() == list(range(700))


def test_a_file_that_is_no_database_is_refused(path):
    path.write_text("no database at all, but long enough to look at" * 100)
    with pytest.raises(FileError, match=r"no store of seqray, or a damaged one.*move it away"):
        AnswerStore(path)


def test_a_database_of_another_program_is_refused(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(FileError, match="a database of another program"):
        AnswerStore(path)


def test_a_store_of_a_newer_version_is_refused(path):
    AnswerStore(path).close()
    with sqlite3.connect(path) as later:
        later.execute("PRAGMA user_version = 7")
    later.close()
    with pytest.raises(FileError, match="version 7 of the store, this seqray knows 2: update"):
        AnswerStore(path)


def test_a_damaged_store_says_so(path):
    with AnswerStore(path) as store:
        box = box_of(store)
        words = Alphabet(range(256)).words([[i, j] for i in range(256) for j in range(40)])
        store.add(box, words, np.zeros(len(words)))
    content = bytearray(path.read_bytes())
    content[5000:-2000] = bytes(len(content) - 7000)
    path.write_bytes(content)
    with AnswerStore(path) as store, pytest.raises(FileError, match="damaged"):
        store.find(1, words)


DAMAGE = {
    "an answer with a flipped bit": "UPDATE answers SET answer = x'0000000000000840'",
    "a short answer": "UPDATE answers SET answer = x'00000840'",
    "an answer that is text": "UPDATE answers SET answer = 'three'",
    "an answer of another word": "UPDATE answers SET word = x'01'",
    "no checksum": "UPDATE answers SET crc = NULL",
    "an answer of another box": "UPDATE answers SET box = 2",
    "a block with a flipped bit": "UPDATE blocks SET answers = x'0000000000000840'",
    "a block that is a number": "UPDATE blocks SET answers = 3",
    "another alphabet": 'UPDATE boxes SET alphabet = \'["a", "c"]\' WHERE id = 1',
    "another name": "UPDATE boxes SET fingerprint = 'modem' WHERE id = 1",
    "an alphabet that is no JSON": "UPDATE boxes SET alphabet = '[' WHERE id = 1",
    "an alphabet of many brackets": (
        f"UPDATE boxes SET crc = NULL, alphabet = '{'[' * 100_000}' WHERE id = 1"
    ),
    "an alphabet of twins": "UPDATE boxes SET alphabet = '[1, 1]' WHERE id = 1",
    "an alphabet that is a number": "UPDATE boxes SET alphabet = 7 WHERE id = 1",
    "a name that is bytes": "UPDATE boxes SET fingerprint = x'ff' WHERE id = 1",
    "a time that is text": "UPDATE boxes SET used = 'noon' WHERE id = 1",
}


@pytest.mark.parametrize("answer", [b"", bytes(7), bytes(16)])
def test_an_answer_of_another_size_is_refused_though_its_checksum_is_right(path, answer):
    words = AB.words(["a", "b"])
    with AnswerStore(path) as store:
        box = box_of(store)
        store.add(box, words, np.array([2.0, 3.0]))
    crc = zlib.crc32(answer, zlib.crc32(b"\0", box))
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE answers SET answer = ?, crc = ? WHERE word = x'00'", (answer, crc))
    raw.close()
    with AnswerStore(path) as store:
        for read in (lambda: store.find(box, words), lambda: [*store.answers(store.boxes()[0])]):
            with pytest.raises(FileError, match="a cached answer does not match"):
                read()


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_row_is_refused_with_what_to_do(path, damage):
    with AnswerStore(path) as store:
        box, other = box_of(store), box_of(store, "other")
        store.add(box, AB.words(["a"]), np.array([2.0]))
        store.add_block(box, b"rows", np.array([2.0]))
    with sqlite3.connect(path) as raw:
        raw.execute(damage)
    raw.close()

    def use(store):
        for number in (box, other):
            store.find(number, AB.words(["a", "b"]))
            store.some(number, 3, AB)
            store.find_block(number, b"rows")
        for each in store.boxes():
            list(store.answers(each))

    with (
        AnswerStore(path) as store,
        pytest.raises(FileError, match=r"damaged: .*move it away, and a new one will be made"),
    ):
        use(store)


def test_a_store_whose_boxes_have_no_checksums_opens_and_gets_them(path):
    with AnswerStore(path) as store:
        store.add(box_of(store), AB.words(["a"]), np.array([2.0]))
    with sqlite3.connect(path) as raw:
        raw.execute("ALTER TABLE boxes DROP COLUMN crc")
    raw.close()
    with AnswerStore(path) as store:
        assert [each.n_answers for each in store.boxes()] == [1]
        assert store.find(box_of(store), AB.words(["a"]))[0].all()
    with sqlite3.connect(path) as raw:
        raw.execute(DAMAGE["another alphabet"])
    raw.close()
    with AnswerStore(path) as store, pytest.raises(FileError, match="damaged"):
        store.boxes()


def test_what_a_damaged_answer_s_error_says_helps(path):
    with AnswerStore(path) as store:
        box = box_of(store)
        store.add(box, AB.words(["a"]), np.array([2.0]))
        with sqlite3.connect(path) as raw:
            raw.execute(DAMAGE["a short answer"])
        raw.close()
        with pytest.raises(FileError, match=f"seqray store prune --store '{path}' --box 'model'"):
            store.find(box, AB.words(["a"]))
        store.forget(store.boxes())
        assert not store.find(box_of(store), AB.words(["a"]))[0].any()


def first_version(path):
    """Write a store as it was before there were checksums."""
    with sqlite3.connect(path) as db:
        for statement in (
            """CREATE TABLE boxes (
                id INTEGER PRIMARY KEY AUTOINCREMENT, fingerprint TEXT NOT NULL,
                kind TEXT NOT NULL, alphabet TEXT NOT NULL, created REAL NOT NULL,
                used REAL NOT NULL, UNIQUE (fingerprint, kind, alphabet))""",
            """CREATE TABLE answers (
                box INTEGER NOT NULL REFERENCES boxes ON DELETE CASCADE, word BLOB NOT NULL,
                answer BLOB NOT NULL, PRIMARY KEY (box, word)) WITHOUT ROWID""",
            """CREATE TABLE blocks (
                box INTEGER NOT NULL REFERENCES boxes ON DELETE CASCADE, name BLOB NOT NULL,
                answers BLOB NOT NULL, PRIMARY KEY (box, name))""",
            """INSERT INTO boxes VALUES (1, 'model', 'value', '["a", "b"]', 0, 0)""",
            "INSERT INTO answers VALUES (1, x'00', x'0000000000000840')",
            "INSERT INTO blocks VALUES (1, x'01', x'0000000000000840')",
            "PRAGMA application_id = 0x73657179",
            "PRAGMA user_version = 1",
        ):
            db.execute(statement)
    db.close()


def test_a_store_without_checksums_gets_them(path):
    first_version(path)
    for _ in range(2):
        with AnswerStore(path) as store:
            box = box_of(store)
            assert store.find(box, AB.words(["a"]))[1].tolist() == [3]
            assert store.find_block(box, b"\x01").tolist() == [3]
            store.add(box, AB.words(["b"]), np.ones(1))
    with sqlite3.connect(path) as raw:
        raw.execute(DAMAGE["a short answer"])
    raw.close()
    with AnswerStore(path) as store, pytest.raises(FileError, match="damaged"):
        store.find(box_of(store), AB.words(["a"]))


def test_the_command_that_prunes_names_the_store_unless_it_is_the_default(monkeypatch, path):
    with AnswerStore(path) as store:
        named = f"seqray store prune --store '{path}' --box 'my model'"
        assert store.prune_command("my model") == named
        monkeypatch.setenv("SEQRAY_STORE", str(path))
        assert store.prune_command("my model") == "seqray store prune --box 'my model'"


def test_a_file_says_whose_it_is_and_is_written_ahead(path):
    AnswerStore(path).close()
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA application_id").fetchone() == (0x73657179,)
        assert raw.execute("PRAGMA user_version").fetchone() == (2,)
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    raw.close()


def test_an_alphabet_is_written_as_in_earlier_stores(path):
    with AnswerStore(path) as store:
        box_of(store, alphabet=Alphabet(["é", "ß"]))
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT alphabet FROM boxes").fetchone() == ('["é", "ß"]',)
    raw.close()


def test_a_box_knows_when_it_was_made_and_used(store, monkeypatch):
    for now in (100.0, 250.0):
        monkeypatch.setattr(answer_cache.time, "time", lambda now=now: now)
        box_of(store)
    (box,) = store.boxes()
    assert (box.created, box.used) == (100, 250)


def test_a_version_that_never_was_is_damage(path):
    AnswerStore(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA user_version = -3")
    raw.close()
    with pytest.raises(FileError, match=r"damaged: -3 is not a version.*move it away"):
        AnswerStore(path)


def test_some_words_are_from_all_over_the_store(store):
    words = AB.words([[*f"{i:010b}".replace("0", "a").replace("1", "b")] for i in range(1024)])
    box = box_of(store)
    store.add(box, words, np.arange(1024.0))
    found, answers = store.some(box, 8, AB)
    assert len(found) == len(set(found)) == 8
    assert len({answer // 128 for answer in answers}) >= 4  # of eight
    assert len(store.some(box, 2000, AB)[0]) == 1024
    index = {word: i for i, word in enumerate(words)}
    assert [index[word] for word in found] == answers.tolist()
    again, same = store.some(box, 8, AB)
    assert (again, same.tolist()) == (found, answers.tolist())
    few = box_of(store, "few")
    store.add(few, AB.words(["", "b" * 30]), np.array([3.0, 4.0]))
    assert sorted(store.some(few, 5, AB)[1].tolist()) == [3, 4]
    assert len(store.some(few, 1, AB)[0]) == 1


# Threads and processes ----------------------------------------------------------------------------


@pytest.mark.parametrize("temporary", [False, True])
def test_several_threads_may_use_one_store(path, temporary):
    alphabet = Alphabet(range(1000))
    errors = []

    def use(store, begin):
        try:
            box = store.box("model", "value", alphabet)
            for i in range(begin, begin + 50):
                words = alphabet.words([[i]])
                store.add(box, words, np.array([float(i)]))
                assert store.find(box, words)[1].tolist() == [i]
        except Exception as error:
            errors.append(error)

    with AnswerStore(None if temporary else path) as store:
        threads = [threading.Thread(target=use, args=(store, 50 * n)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        (kept,) = store.boxes()
        assert kept.n_answers == 300


def in_a_fork(work):
    """Run a function in a forked process; return whether it came to its end."""
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@needs_fork
def test_a_forked_process_has_a_connection_of_its_own(path):
    with AnswerStore(path) as store:
        box = box_of(store)
        store.add(box, AB.words(["a"]), np.ones(1))
        begin, end = os.pipe()

        def work():
            os.close(end)
            os.read(begin, 1)  # until the parent has closed the store
            assert store.find(box, AB.words(["a"]))[1].tolist() == [1]
            store.add(box, AB.words(["b"]), np.array([2.0]))
            store.close()

        child = os.fork()
        if not child:
            try:
                work()
                os._exit(0)
            finally:
                os._exit(1)
        os.close(begin)
        store.add(box, AB.words([""]), np.zeros(1))
        store.close()
        os.close(end)
        assert os.waitpid(child, 0)[1] == 0
    with AnswerStore(path) as store:
        assert store.find(box, AB.words(["", "a", "b"]))[1].tolist() == [0, 1, 2]


@needs_fork
def test_a_fork_while_other_threads_write_does_not_hang(path):
    done = threading.Event()
    with AnswerStore(path) as store:
        box, many = box_of(store), AB.words(["ab" * n for n in range(300)])

        def write():
            while not done.is_set():
                store.add(box, many, np.ones(300))

        thread = threading.Thread(target=write)
        thread.start()
        try:
            for _ in range(5):
                assert in_a_fork(lambda: store.add(box, many, np.ones(300)))
        finally:
            done.set()
            thread.join()
        assert store.find(box, many)[0].all()


@needs_fork
def test_a_temporary_store_says_that_it_cannot_be_used_after_a_fork():
    with AnswerStore() as store:
        box = box_of(store)

        def work():
            with pytest.raises(FileError, match=r"belongs to the process that made it.*a path"):
                store.find(box, AB.words(["a"]))

        assert in_a_fork(work)
        store.add(box, AB.words(["a"]), np.ones(1))


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(
        FileError, match=r"nowhere.*cannot be used as a store.*does the folder exist"
    ):
        AnswerStore(tmp_path / "nowhere" / "answers.sqlite")


def test_the_default_is_in_the_users_cache_and_can_be_moved(monkeypatch, tmp_path):
    monkeypatch.delenv("SEQRAY_STORE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert default_store() == tmp_path / "cache" / "seqray" / "answers.sqlite"
    for _ in range(2):
        AnswerStore(default_store()).close()  # its folder is made
    assert default_store().exists()
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_store().parts[-3:] == (".cache", "seqray", "answers.sqlite")
    monkeypatch.setenv("SEQRAY_STORE", str(tmp_path / "mine"))
    assert default_store() == tmp_path / "mine"


def test_a_cache_that_cannot_be_made_is_named(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SEQRAY_STORE", str(tmp_path / "file" / "answers.sqlite"))
    with pytest.raises(FileError, match="cannot be used as a store"):
        AnswerStore(default_store())


def test_a_store_is_opened_by_path_and_used_as_it_is(path, store):
    with opened_store(None) as nothing, opened_store(store) as same:
        assert nothing is None
        assert same is store
    with opened_store(path) as other:
        assert other.path == path
    store.box("still open", "value", AB)


def test_a_damaged_table_is_refused_though_sqlite_quotes_its_bytes(path):
    AnswerStore(path).close()
    content = path.read_bytes()
    assert b"CREATE TABLE blocks" in content
    path.write_bytes(content.replace(b"CREATE TABLE blocks", b"CREATE\xacTABLE blocks"))
    with pytest.raises(FileError, match="damaged"), AnswerStore(path) as store:
        store.boxes()


def test_a_table_of_boxes_that_forgets_what_is_written_is_damaged(path):
    AnswerStore(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TRIGGER lost AFTER INSERT ON boxes BEGIN DELETE FROM boxes; END")
    raw.close()
    with AnswerStore(path) as store, pytest.raises(FileError, match="damaged: its boxes cannot"):
        box_of(store)


@pytest.mark.parametrize("column", ["fingerprint", "kind"])
def test_a_box_of_an_earlier_version_whose_name_is_no_text_is_damaged(path, column):
    with AnswerStore(path) as store:
        box_of(store)
    with sqlite3.connect(path) as raw:
        raw.execute(f"UPDATE boxes SET crc = NULL, {column} = x'05'")
    raw.close()
    with AnswerStore(path) as store, pytest.raises(FileError, match=r"damaged: .* makes no sense"):
        store.boxes()


def test_a_large_cache_of_blocks_says_its_size(tmp_path, caplog):
    with AnswerStore(tmp_path / "answers.sqlite") as store:
        store.reported_bytes = 100_000
        box = box_of(store)
        store.add_block(box, b"small", np.ones(10))
        assert caplog.records == []
        store.add_block(box, b"large", np.ones(20_000))
    assert "answers.sqlite takes " in caplog.text


def test_a_large_cache_says_its_size_and_again_when_it_has_doubled(tmp_path, caplog):
    words = Alphabet("ab").words([[code] * n for n in range(60) for code in "ab"]).unique()[0]
    path = tmp_path / "answers.sqlite"
    with AnswerStore(path) as store:
        store.reported_bytes = 50_000
        box = store.box("model", "next", words.alphabet)
        for at in range(100):
            store.add(box, words[at : at + 1], np.ones((1, 500)))
    sizes = [record.getMessage() for record in caplog.records]
    assert 1 <= len(sizes) <= 5
    assert f"the answer cache {path} takes " in sizes[0]
    assert "seqray store prune deletes them; --store none caches nothing" in sizes[0]
