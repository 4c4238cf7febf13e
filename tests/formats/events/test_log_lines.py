import gzip
import time

import pytest

from seqray import read_log_lines
from seqray.formats.events.log_lines import log_template
from seqray.util.errors import ArgumentError, FileError

HDFS = """\
081109 203518 143 INFO dfs.DataNode$DataXceiver: Receiving block blk_-16 src: /10.2.1.9:54 dest: /9
081109 203519 35 INFO dfs.FSNamesystem: BLOCK* NameSystem.allocateBlock: /mnt/job/part blk_-16
081109 203520 148 INFO dfs.DataNode$DataXceiver: Receiving block blk_7 src: /10.2.1.9:54 dest: /9
081109 203521 13 INFO dfs.FSNamesystem: ask 10.2.1.9:50010 to delete  blk_7 blk_-16 blk_7

081109 203522 1 INFO dfs.DataNode: started
"""


@pytest.mark.parametrize(
    ("line", "template"),
    [
        (
            "PacketResponder 1 for block blk_38 terminating\n",
            "PacketResponder <*> for block <*> te",
        ),
        ("Nov 18 03:05:54 host sshd[81]: Failed", "host <*> Failed"),
        ("[2011-04-13T14:02:31Z] WARN  disk\tfull", "WARN disk full"),
        ("user=root size=5 id:deadbeef ok", "user=root size=<*> id:<*> ok"),
        ("deadbeef cafe facade", "cafe facade"),
        ("open /etc/passwd failed", "open <*> failed"),
        ("delete 1 2 3 now", "delete <*> now"),
        ("   ", ""),
        ("12:00", "<*>"),
    ],
)
def test_what_differs_from_line_to_line_is_masked(line, template):
    assert log_template(line).startswith(template)


def test_a_line_of_any_length_is_masked_in_no_time():
    began = time.process_time()
    log_template("a" * 100_000 + "=" * 100_000 + " /" * 10_000)
    log_template("a." * 100_000)
    assert time.process_time() - began < 1


@pytest.mark.parametrize("name", ["hdfs.log", "hdfs.log.gz"])
def test_a_session_is_a_word_of_templates(tmp_path, name):
    path = tmp_path / name
    content = HDFS.encode() + b"\xff blk_7 \n"
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    log = read_log_lines(path, r"blk_-?\d+")
    receiving = "INFO dfs.DataNode$DataXceiver: Receiving block <*> src: <*> dest: <*>"
    deleting = "INFO dfs.FSNamesystem: ask <*> to delete <*>"
    allocating = "INFO dfs.FSNamesystem: BLOCK* NameSystem.allocateBlock: <*>"
    assert log.cases == ("blk_-16", "blk_7")
    assert list(log.words) == [
        (receiving, allocating, deleting),
        (receiving, deleting, "\ufffd <*>"),
    ]
    assert log.n_left_out == 1


def test_the_first_group_names_the_session(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("job=7 a\njob= b\njob=8 c\n")
    assert read_log_lines(path, r"job=(\d+)?").cases == ("7", "8")


def test_rare_templates_are_grouped_and_stand_for_unknown_ones(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("s1 a\ns1 a\ns1 b\n")
    log = read_log_lines(path, r"s\d", rare=2)
    assert list(log.words) == [("a", "a", "(rare)")]
    path.write_text("s1 a\ns1 never seen\n")
    again = read_log_lines(path, r"s\d", alphabet=log.words.alphabet)
    assert list(again.words) == [("a", "(rare)")]


def test_a_log_without_sessions_is_refused(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("a\nb\n")
    with pytest.raises(FileError, match=r"a.log: no line names a session: .*'blk_\\\\d\+'"):
        read_log_lines(path, r"blk_\d+")
    for wrong in ("(", "(" * 5000, "a{99999999999}"):
        with pytest.raises(ArgumentError, match="expected a regular expression such as"):
            read_log_lines(path, wrong)
