import functools
import gc
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import seqray
from children import child_command, is_there, log_of, pid_of
from seqray import open_black_box
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.blackbox.remote.cmd import cmd_box
from seqray.util.errors import ArgumentError, BlackBoxError

EXAMPLES = Path(__file__).parents[3] / "examples"
WORDS = ["a" * n for n in range(10)]


@pytest.fixture
def child(tmp_path):
    """Make commands of children that differ in what they do at the start and with a line."""
    return functools.partial(child_command, tmp_path)


# Messages ---------------------------------------------------------------------------------------


def test_a_child_is_queried_line_by_line(child):
    command = child()
    box = cmd_box(command, batch_size=4)
    assert isinstance(box, QueriedBox)
    assert box.weights(WORDS).tolist() == list(range(10))
    assert box.weights(["ab"]).tolist() == [2]
    assert log_of(command) == (1, [4, 4, 2, 1])


def test_a_command_line_is_split_as_a_shell_would(child):
    box = open_black_box(f"cmd:{shlex.join(child())}")
    assert box.weights(["aba"]).tolist() == [3]
    with pytest.raises(BlackBoxError, match=r"'echo a b '\|' cat'|echo a b"):
        cmd_box("echo a 'b' | cat")


def test_a_child_that_predicts_is_a_model(child):
    before = "about.update(answers='next', name='coin', deterministic=True, batch_size=2)"
    command = child("say({'answers': [[0.25, 0.25, 0.5]] * len(words)})", before)
    box = cmd_box(command)
    assert isinstance(box, QueriedModel)
    assert box.backend.deterministic
    assert box.weights(["", "ab"]).tolist() == [0.5, 0.03125]
    box.next_symbol(["", "a", "ab"])
    assert log_of(command)[1][-2:] == [2, 1]


def test_answers_come_batch_by_batch(child):
    box = cmd_box(child(), batch_size=4)
    pieces = box.answers(box.alphabet.words(WORDS))
    assert next(pieces)[0].tolist() == [0, 1, 2, 3]
    pieces.close()
    assert box.weights(["a"]).tolist() == [1]


def test_lines_that_no_pipe_can_hold_pass_in_both_directions(child):
    each = "sys.stdout.write(' ' * 300000); answer(words)"
    assert cmd_box(child(each), timeout=20).weights(["ab" * 200_000] * 3).tolist() == [400_000] * 3


def test_words_that_are_too_long_are_not_queried(child):
    box = cmd_box(child(before="about['max_length'] = 2"))
    with pytest.raises(BlackBoxError, match="at most 2 symbols, and 'aaaaaaaaa' has 9"):
        box.weights(WORDS)


def test_several_threads_may_query_at_once(child):
    box, answers = cmd_box(child(), batch_size=1), {}
    threads = [
        threading.Thread(
            target=lambda n=n: answers.update({n: box.weights(["a" * n] * 5).tolist()})
        )
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: [n] * 5 for n in range(4)}


def test_a_box_is_known_by_its_command_its_files_and_its_description(child):
    fingerprints = set()
    for before in ("", "about['name'] = 'x'", "about['fingerprint'] = '1'"):
        fingerprints.add(cmd_box(child(before=before)).backend.fingerprint)
    same = child()
    assert cmd_box(same).backend.fingerprint == cmd_box(same).backend.fingerprint
    assert cmd_box([*same, "more"]).backend.fingerprint not in fingerprints
    with open(same[-1], "a", encoding="utf-8") as script:
        script.write("# changed\n")
    fingerprints.add(cmd_box(same).backend.fingerprint)
    assert len(fingerprints) == 4
    named = child(before="about['fingerprint'] = '1'")
    with open(named[-1], "a", encoding="utf-8") as script:
        script.write("# changed, but it says that it is the same\n")
    assert cmd_box(named).backend.fingerprint in fingerprints


def test_a_key_in_a_command_is_shown_nowhere_and_names_no_other_box(child):
    fate = "print('bad key', sys.argv[-1], file=sys.stderr, flush=True); sys.exit(1)"
    command = child(f"answer(words) if not bad else ({fate.replace('; ', ') or (')})")
    one, other = (cmd_box([*command, "--api-key", key]) for key in ("k3y-one", "k3y-two"))
    assert one.backend.fingerprint == other.backend.fingerprint
    with pytest.raises(BlackBoxError, match=r"its last error output: 'bad key \*\*\*'") as caught:
        cmd_box([*command, "--api-key", "k3y-one"], restarts=0).weights(["aaaaaa"])
    backend = one.backend
    assert "k3y" not in f"{caught.value} {backend.fingerprint} {backend.who} {one!r}"


# A child that dies ------------------------------------------------------------------------------


def test_a_child_that_dies_is_started_again_and_queried_again(child):
    command = child("answer(words) if started % 2 == 0 else sys.exit(3)")
    box = cmd_box(command, batch_size=5)
    assert box.weights(WORDS).tolist() == list(range(10))
    assert log_of(command) == (2, [5, 5, 5])


def test_a_child_that_is_killed_between_questions_is_started_again(child):
    command = child()
    box = cmd_box(command)
    box.weights(["a"])
    os.kill(pid_of(command), signal.SIGKILL)
    assert box.weights(["aa"]).tolist() == [2]
    assert log_of(command)[0] == 2


@pytest.mark.parametrize(
    ("fate", "message"),
    [
        (
            "sys.exit('out of luck')",
            "it ended with exit status 1; its last error output: 'out of luck'",
        ),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "it was killed by SIGSEGV"),
        ("say({'error': 'no sixes'})", "it answered the error 'no sixes'"),
        ("sys.stdout.close() or os.close(1) or time.sleep(3)", "it closed its output"),
    ],
)
def test_a_word_that_a_child_dies_of_is_named_and_the_others_are_answered_first(
    child, fate, message
):
    command = child(f"answer(words) if not bad else {fate}")
    box = cmd_box(command, restarts=1 if "close" not in fate else 0)
    answered = []
    pieces = box.answers(box.alphabet.words(WORDS))
    with pytest.raises(BlackBoxError, match=f"failed on the word 'aaaaaa': {message}"):
        answered.extend(i for which, _ in pieces for i in which.tolist())
    assert answered == [0, 1, 2, 3, 4, 5]
    assert box.weights(["aa"]).tolist() == [2]


def test_how_often_a_child_is_started_again_is_bounded(child):
    command = child("sys.exit(1)")
    box = cmd_box(command, restarts=2)
    with pytest.raises(BlackBoxError, match=r"'a': it ended with exit status 1 \(3 times\)"):
        box.weights(["a"])
    assert log_of(command) == (3, [1, 1, 1])


def test_a_child_that_does_not_come_back_is_given_up(child):
    box = cmd_box(child("sys.exit(1)", "started > 1 and sys.exit('no more')"), restarts=2)
    with pytest.raises(BlackBoxError, match=r"failed on the word 'a': .*no more"):
        box.weights(["a"])


def test_a_child_that_comes_back_as_another_is_refused(child):
    command = child("sys.exit(1)", "started > 1 and about.update(alphabet=['x'])")
    with pytest.raises(BlackBoxError, match="started again and describes itself differently"):
        cmd_box(command).weights(["a"])


# A child that does not do as it should ----------------------------------------------------------


def test_a_child_that_hangs_is_ended_and_named_with_the_batch(child):
    command = child("time.sleep(60 if bad else 0) or answer(words)")
    box = cmd_box(command, timeout=1.2, batch_size=5)
    begin = time.monotonic()
    with pytest.raises(
        BlackBoxError,
        match=r"no answer in 1.2 s to 5 words that begin with 'aaaaa', and was killed",
    ):
        box.weights(WORDS)
    assert time.monotonic() - begin < 10
    assert not is_there(pid_of(command))
    assert box.weights(["aa"]).tolist() == [2]


def test_a_child_that_reads_nothing_is_ended_in_time(child):
    box = cmd_box(child(before="say(about); time.sleep(60)"), timeout=1.2)
    with pytest.raises(BlackBoxError, match=r"gave no answer in 1.2 s"):
        box.weights(["ab" * 100_000])


@pytest.mark.parametrize(
    ("each", "message"),
    [
        ("print('loading …', flush=True)", "wrote a line .*'loading …' is no JSON.*standard error"),
        ("print(flush=True)", "wrote a line that cannot be used: '' is no JSON"),
        ("say([1])", r'answered \[1\]: expected \{"answers": \[\.\.\.\]\}'),
        ("say({'answers': [1] * (len(words) - 1)})", r"returned shape \(1,\): expected \(2,\)"),
        ("say({'answers': [float('nan'), 1]})", "returned nan for the word 'a'"),
        ("say({'answers': ['1', '2']})", "returned strings"),
        ("answer(words); answer(words)", r"a line .*\{\"answers.* answers no query; expected"),
    ],
)
def test_answers_that_cannot_be_used_are_refused(child, each, message):
    box = cmd_box(child(each))

    def query():
        box.weights(["a", "bb"])
        time.sleep(0.3)
        box.weights(["a", "bb"])

    with pytest.raises(BlackBoxError, match=message):
        query()


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (
            "sys.exit('no model')",
            "ended with exit status 1; its last error output: 'no model': expected",
        ),
        ("print('hello', flush=True)", "wrote a line that cannot be used: 'hello' is no JSON"),
        ("say({'seqray': 7})", "speaks version 7 of the protocol"),
        ("say({})", 'that is no JSON object with "seqray": 1'),
        ("time.sleep(60)", r"wrote nothing in 1.2 s: expected its description as a line of JSON"),
    ],
)
def test_a_child_that_does_not_describe_itself_is_not_opened(child, before, message):
    command = child(before=before)
    with pytest.raises(BlackBoxError, match=message):
        cmd_box(command, timeout=1.2 if "sleep" in before else 20)
    assert not is_there(pid_of(command))


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("no-such-program --x", {}, "there is no program 'no-such-program'"),
        ("'unbalanced", {}, "cannot be read: No closing quotation"),
        ("   ", {}, "expected a program and its arguments, got nothing"),
        ([], {}, "expected a program"),
        ("/", {}, "cannot be started"),
        (["a\0b"], {}, "cannot be started"),
        ("x", {"timeout": 0}, "timeout: expected seconds"),
        ("x", {"batch_size": 0}, "batch_size: expected a whole number from 1"),
        ("x", {"restarts": -1}, "restarts: expected a whole number from 0"),
    ],
)
def test_what_cannot_be_started_is_refused(command, options, message):
    with pytest.raises(ArgumentError, match=message):
        cmd_box(command, **options)


# The end ----------------------------------------------------------------------------------------


def test_a_child_ends_with_its_box(child):
    command = child()
    box = cmd_box(command)
    box.weights(["a"])
    pid = pid_of(command)
    assert is_there(pid)
    del box
    gc.collect()
    assert not is_there(pid)


@pytest.mark.parametrize("ending", ["", "; import os; os.kill(os.getpid(), 9)"])
def test_a_child_ends_with_the_process_that_queried_it(child, ending):
    command = child()
    code = f"from seqray.blackbox.remote.cmd import cmd_box; box = cmd_box({command!r}){ending}"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (-9 if ending else 0, b"")
    deadline = time.monotonic() + 5
    while is_there(pid_of(command)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_there(pid_of(command))


def test_an_interrupt_ends_the_child_at_once(child):
    command = child("time.sleep(60)")
    box = cmd_box(command)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        box.weights(["a"])
    assert time.monotonic() - begin < 5
    assert not is_there(pid_of(command))


def test_the_example_extracts_from_its_child():
    script = EXAMPLES / "cmd_box.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "the child became WeightedAutomaton(2 states, 2 symbols)" in done.stdout


def test_an_extraction_may_be_cached(child, tmp_path):
    command = child(before="about.update(deterministic=True, fingerprint='one model')")
    results = []
    for _ in range(2):
        extraction = seqray.extract(
            cmd_box(command), prefixes=20, suffixes=20, store=tmp_path / "answers.sqlite"
        )
        results.append((extraction.singular_values.tobytes(), sum(log_of(command)[1])))
    assert results[0] == results[1]
