"""Parsers of what servers and programs answer, and of texts that people write, for fuzzing."""

import fcntl
import http.client
import io
import json
import os
import random
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import seqray
from reliability.campaigns._mutations import changed, mutated, mutated_json
from reliability.campaigns._targets import (
    MakeTarget,
    Target,
    expect,
    in_file,
    text_target,
)
from seqray.automata.guide import Guide
from seqray.automata.words import Alphabet
from seqray.blackbox.box_record import BoxRecord
from seqray.blackbox.registry import ADAPTERS, is_cached, split_spec
from seqray.blackbox.remote import child, http_server
from seqray.blackbox.remote.cmd import cmd_box
from seqray.blackbox.remote.http import http_box
from seqray.blackbox.remote.llm import dialects
from seqray.util.errors import SeqrayError
from seqray.util.memory import byte_count, shown_bytes

# Servers and programs -----------------------------------------------------------------------------

DESCRIPTIONS = (
    {"seqray": 1, "alphabet": ["a", "b"], "answers": "value", "max_length": 9, "batch_size": 2},
    {"seqray": 1, "alphabet": ["a"], "answers": "next", "name": "m", "deterministic": True},
)
ANSWERS = ({"answers": [0.5, 0.25]}, {"answers": [[0.25, 0.75], [0.5, 0.5]]})


def _message(document: Any, head: str = "HTTP/1.1 200 OK") -> bytes:
    body = json.dumps(document).encode()
    return f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
BETWEEN = b"\n=====\n"


def _http(home: Path) -> Target:
    """Open a box behind HTTP and query it: the input is what the server sends, twice."""
    seeds = [
        BETWEEN.join((_message(description), _message(answers)))
        for description, answers in zip(DESCRIPTIONS, ANSWERS, strict=True)
    ]
    body = json.dumps(DESCRIPTIONS[0]).encode()
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    busy = _message({"error": "busy"}, "HTTP/1.1 503 Busy\r\nRetry-After: 1")
    moved = _message({}, "HTTP/1.1 301 Moved\r\nLocation: http://other.example/?key=a")
    seeds += [
        BETWEEN.join((CHUNKED + chunks, busy)),
        moved,
        BETWEEN.join((_message(DESCRIPTIONS[0]), moved)),
    ]
    http_server.RetryError.delay = lambda *_: 0.0  # type: ignore[method-assign]

    def read(content: bytes) -> None:
        with _replying(content.split(BETWEEN)):
            box = http_box("http://127.0.0.1:9/box", retries=0, timeout=5)
            _check_box(box)

    def mutate(seed: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
        if rng.random() < 0.5:
            return mutated(seed, seeds, rng)
        first, second = changed(DESCRIPTIONS[i := rng.randrange(2)], rng), changed(ANSWERS[i], rng)
        whole = rng.randrange(3)
        return BETWEEN.join(
            (
                _message(DESCRIPTIONS[i] if whole else first),
                _message(ANSWERS[i] if whole == 1 else second),
            )
        )

    return Target(seeds, read, mutate)


def _check_box(box: Any) -> None:
    words = box.alphabet.words([(), box.alphabet.symbols[:1]])
    with np.errstate(all="ignore"):
        answers = np.concatenate([piece for _, piece in box.answers(words)])
    expect(np.isfinite(answers).all(), "an answer is not finite")
    expect(answers.shape == (2, *box.row_shape), "answers do not fit")
    expect(isinstance(box.backend.fingerprint, str), "no fingerprint")


@contextmanager
def _replying(replies: list[bytes]) -> Iterator[None]:
    """Let each connection of HTTP get the next of some replies, whatever is sent."""
    real, left, ends = http.client.HTTPConnection.connect, iter(replies), []

    def connect(self: Any) -> None:
        reply = next(left, None)
        if reply is None:
            raise ConnectionRefusedError
        self.sock, other = socket.socketpair()
        ends.append(other)
        other.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**18)
        other.setblocking(False)
        other.send(reply)
        other.shutdown(socket.SHUT_WR)

    http.client.HTTPConnection.connect = connect  # type: ignore[method-assign]
    try:
        yield
    finally:
        http.client.HTTPConnection.connect = real  # type: ignore[method-assign]
        for end in ends:
            end.close()


SAYS = 'head -n 1 "$0"; read query; tail -n +2 "$0"'
"""A program that describes itself by the first line of a file, and answers by the others."""


def _cmd(home: Path) -> Target:
    """Open a box that is a program and query it: the input is what the program writes."""

    def read(path: Path) -> None:
        _query_command(["sh", "-c", SAYS, os.fspath(path)])

    return Target(_output_seeds(), in_file(home / "said", read), _mutated_output)


def _cmd_lines(home: Path) -> Target:
    """Do the same with pipes of this process in place of a program: a hundred times as fast."""

    def read(content: bytes) -> None:
        with _saying(content):
            _query_command(["program"])

    return Target(_output_seeds(), read, _mutated_output)


def _query_command(command: list[str]) -> None:
    box = cmd_box(command, timeout=0.5, restarts=0)
    try:
        _check_box(box)
    finally:
        box.backend.supervisor.close(grace=0)  # type: ignore[union-attr, attr-defined]


def _output_seeds() -> list[bytes]:
    return [
        b"".join(json.dumps(each).encode() + b"\n" for each in both)
        for both in zip(DESCRIPTIONS, ANSWERS, strict=True)
    ]


def _mutated_output(seed: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    first, _, second = seed.partition(b"\n")
    match rng.randrange(4):
        case 0 | 1:
            return mutated(seed, seeds, rng)
        case 2:  # a description that can be used, so that the answers count
            return first + b"\n" + mutated_json(second, [second], rng) + b"\n"
    return mutated_json(first, seeds, rng) + b"\n" + mutated_json(second, seeds, rng) + b"\n"


class _Program:
    """Stands for a process that writes a line, and the rest of its output after a query."""

    pid = 2**22 + 1  # no process has it: Linux ends before
    returncode = 0

    def __init__(self, content: bytes) -> None:
        first, end, self.rest = content.partition(b"\n")
        read, self.output = os.pipe()
        fcntl.fcntl(self.output, fcntl.F_SETPIPE_SZ, 2**20)  # whole outputs fit, without waiting
        self.stdin, self.stdout, self.stderr = self, os.fdopen(read, "rb", 0), io.BytesIO()
        os.write(self.output, first + end)
        if not end:
            self.close()

    def write(self, message: bytes) -> int:
        if self.output is not None:
            os.write(self.output, self.rest)
        self.close()
        return len(message)

    def close(self) -> None:
        if self.output is not None:
            os.close(self.output)
        self.output = None

    def poll(self) -> int | None:
        return None if self.output is not None else 0

    def wait(self, timeout: float | None = None) -> int:
        self.close()
        return 0


@contextmanager
def _saying(content: bytes) -> Iterator[None]:
    """Let a program that is started write an input; there is no process."""

    def started(arguments: Sequence[str], **_: object) -> _Program:
        if arguments[0] == "/bin/sh":
            raise OSError  # the guard, which may be missing
        return _Program(content)

    real = child.subprocess
    child.subprocess = SimpleNamespace(  # type: ignore[assignment]
        Popen=started, PIPE=-1, DEVNULL=-1, TimeoutExpired=real.TimeoutExpired
    )
    try:
        yield
    finally:
        child.subprocess = real  # type: ignore[assignment]


LISTED = {"token": "a", "id": 5, "logprob": -0.5}
REPLIES: dict[type[dialects.Dialect], Any] = {
    dialects.VllmIds: {
        "choices": [{"index": 0, "logprobs": {"top_logprobs": [{"token_id:5": -0.5}]}}]
    },
    dialects.Sglang: [{"meta_info": {"output_token_ids_logprobs": [[[-0.5, 5, "a"]]]}}],
    dialects.LlamaCpp: {"index": 0, "completion_probabilities": [{"top_logprobs": [LISTED]}]},
    dialects.Ollama: {"response": "a", "logprobs": [{"top_logprobs": [LISTED]}]},
    dialects.Completions: {"choices": [{"logprobs": {"content": [{"top_logprobs": [LISTED]}]}}]},
}


UNREAD = (dialects.UnexpectedError, LookupError, TypeError, ValueError, AttributeError)
"""What the readers of dialects may raise: whoever calls them makes a `BlackBoxError` of it."""


def _dialects(home: Path) -> Target:
    """Read answers of language models; the first byte of an input says which server it is."""
    seeds = [b"%d" % i + json.dumps(reply).encode() for i, reply in enumerate(REPLIES.values())]
    readers = [kind("model", 5) for kind in REPLIES]

    def read(content: bytes) -> None:
        try:
            document = json.loads(content[1:])
        except (ValueError, RecursionError):
            return  # as by `read_json`, which other targets call
        try:
            answers = readers[content[0] % 5].read(document, 1)
        except UNREAD:
            return
        for each in answers:
            if each is not None:
                expect(all(log <= 0 for log in each.logs.values()), "no log-probability")
                expect(0 <= each.rest <= 1, "no rest")

    def mutate(seed: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
        return seed[:1] + mutated_json(seed[1:], [each[1:] for each in seeds], rng)

    return Target(seeds, read, mutate)


# Texts that people write --------------------------------------------------------------------------

SAFE_KINDS = ("wa", "rnn", "taysir", "demo")
"""Those whose boxes are opened: others start programs, or need a framework."""


def _specs(home: Path) -> Target:
    seeds = [
        "demo",
        "wa:a.json",
        "a.npz",
        "rnn:/tmp/a.safetensors",
        "cmd:./model -k 'a b'",
        "C:x.pt",
    ]
    seeds += ["http://127.0.0.1:80/a?key=b#c", "https://user:pass@host/", "python:mod:Box", "x:y"]

    def read(text: str) -> None:
        kind, where = split_spec(text)
        expect(kind in ADAPTERS, f"{kind!r} is no kind")
        is_cached(text)
        BoxRecord.of(text, {"timeout": 3})
        if kind.startswith("http"):
            http_server.Address.of(where)
        if kind in SAFE_KINDS:
            seqray.open_black_box(text)

    return text_target(seeds, read)


def _regexes(home: Path) -> Target:
    alphabet = Alphabet(["a", "b", "login now", 3])
    seeds = ["a (b | 'login now')* 3+", "[a b]{2,5} [^a]? . \\3", "(a{3,}|b{,4})((a))", "ab"]

    def read(text: str) -> None:
        for each in (alphabet, Alphabet("ab")):
            try:
                guide = Guide.of_regex(text, each)
            except SeqrayError:
                if each is not alphabet:
                    raise
                continue
            expect(guide.dfa.alphabet == each, "another alphabet")
            expect(guide.dfa.next_state.shape[1] == len(each), "states do not fit")

    return text_target(seeds, read)


def _sizes(home: Path) -> Target:
    def read(text: str) -> None:
        n_bytes = byte_count("memory", text)
        expect(type(n_bytes) is int and n_bytes > 0, f"{n_bytes!r} bytes")
        shown_bytes(n_bytes)

    return text_target(["500MB", "2 GB", "1.5GiB", "4096", "7tib", "3 k"], read)


ANSWERS_AND_TEXTS: Mapping[str, MakeTarget] = {
    "HTTP replies": _http,
    "replies of language models": _dialects,
    "output of cmd: boxes": _cmd_lines,
    "output of cmd: boxes, with processes": _cmd,
    "specifications of boxes": _specs,
    "regular expressions of guides": _regexes,
    "sizes of memory": _sizes,
}
