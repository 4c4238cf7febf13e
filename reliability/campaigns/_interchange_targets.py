"""Automata in formats of other programs, their exports, and requests to a served page, to fuzz."""

import asyncio
import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import seqray
from reliability.campaigns._file_targets import automata, small_pfa
from reliability.campaigns._mutations import mutated, mutated_json
from reliability.campaigns._targets import (
    MakeTarget,
    Target,
    UnavailableError,
    check_automaton,
    expect,
    facts_of_automaton,
    in_file,
    read_back,
    saved,
    with_checks,
)
from seqray.draw.exports import EXPORTS
from seqray.explore.serve import application, load_web
from seqray.formats.automaton_file import open_wa
from seqray.formats.fst import LOG_SUFFIX, to_fst_text, write_log_fst
from seqray.formats.graph_file import COMMENT, comment_of
from seqray.formats.hmm import from_hmmlearn, to_hmmlearn
from seqray.util.checksums import CHECKSUM
from seqray.util.errors import MissingExtraError, SeqrayError
from seqray.util.files import writing

# Files --------------------------------------------------------------------------------------------


def _document(automaton: seqray.WeightedAutomaton) -> bytes:
    """Return an automaton as JSON without its checksum."""
    document = json.loads(comment_of(automaton).removeprefix(COMMENT))
    del document[CHECKSUM]
    return json.dumps(document).encode()


def _graph_file(home: Path) -> Target:
    """Read Graphviz files, in whose last line an automaton is."""
    seeds = [b"digraph {\n0 -> 1;\n}\n" + COMMENT + _document(each) + b"\n" for each in automata()]

    def mutate(seed: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
        graph, sign, document = seed.partition(COMMENT)
        if not sign or rng.random() < 0.2:
            return mutated(seed, seeds, rng)
        every = [each.partition(COMMENT)[2] for each in seeds]
        return graph + sign + mutated_json(document, every, rng) + b"\n"

    copy = home / "copy.dot"

    def written(automaton: seqray.WeightedAutomaton) -> Path:
        with writing(copy) as fresh:
            fresh.write_bytes(comment_of(automaton))
        return copy

    def check(automaton: seqray.WeightedAutomaton) -> None:
        read_back(automaton, written, open_wa, facts_of_automaton)

    read = in_file(home / "m.dot", open_wa)
    return Target(seeds, with_checks(read, check_automaton, check), mutate)


def _fst_files(ending: str) -> MakeTarget:
    """Return what reads a file of OpenFst and its symbols, which come first in the input."""

    def make(home: Path) -> Target:
        path = home / f"m{ending}"
        seeds = []
        for automaton in (small_pfa(), small_pfa(["a b", "%20"]), automata()[-1]):
            if ending == LOG_SUFFIX:
                text = saved(path, lambda at, each=automaton: write_log_fst(each, at))
                table = path.with_suffix(".syms").read_bytes()
            else:
                text, table = (each.encode() for each in to_fst_text(automaton))
            seeds.append(table + b"===\n" + text)

        def read(content: bytes) -> None:
            table, _, text = content.partition(b"===\n")
            path.with_suffix(".syms").write_bytes(table)
            path.write_bytes(text)
            automaton = open_wa(path)
            check_automaton(automaton)
            _kept_by_export(automaton, ending, home)

        return Target(seeds, read)

    return make


def _kept_by_export(automaton: seqray.WeightedAutomaton, ending: str, home: Path) -> None:
    """Expect that an export is read again with the same symbols and states."""
    copy = home / f"copy{ending}"

    def written(each: seqray.WeightedAutomaton) -> Path:
        EXPORTS[ending].write(each, copy)
        return copy

    read_back(
        automaton,
        written,
        open_wa,
        lambda each: (tuple(map(str, each.alphabet)), each.n_states),
    )


def _hmm(home: Path) -> Target:
    """Read the arrays of a hidden Markov model: an object of JSON with its end and its symbols."""
    try:
        model = to_hmmlearn(small_pfa())
    except MissingExtraError:
        raise UnavailableError("hmmlearn is not installed") from None
    arrays = {
        f"{name}_": getattr(model, f"{name}_").tolist()
        for name in ("startprob", "transmat", "emissionprob")
    }
    seeds = [
        {**arrays, "end": 2, "alphabet": ["a", "b"]},
        {**arrays, "end": None, "alphabet": None},
        {"startprob_": [1.0], "transmat_": [[1.0]], "emissionprob_": [[0.25, 0.75]], "end": 0},
    ]

    def read(content: bytes) -> None:
        try:
            document = json.loads(content)
            end, alphabet = document.pop("end", None), document.pop("alphabet", None)
        except (ValueError, AttributeError, TypeError, RecursionError):
            return  # no model: objects of Python are what is read
        fields = {str(name): each for name, each in document.items()}
        with np.errstate(all="ignore"):
            automaton = from_hmmlearn(SimpleNamespace(**fields), alphabet, end=end)
            check_automaton(automaton)
            if end is not None:
                _check_model(automaton)

    return Target([json.dumps(each).encode() for each in seeds], read, mutated_json)


def _check_model(automaton: seqray.WeightedAutomaton) -> None:
    """Expect that a model of an automaton gives its words the same weights."""
    try:
        model = to_hmmlearn(automaton)
    except SeqrayError:
        return
    again = from_hmmlearn(model, automaton.alphabet, end=len(automaton.alphabet))
    words = [(), automaton.alphabet.symbols[:1], automaton.alphabet.symbols * 2]
    same = np.allclose(again.weights(words), automaton.weights(words), 1e-6, 1e-9)
    expect(same, "a model gives its words other weights")


# Exports ------------------------------------------------------------------------------------------

STRINGS = {
    ".c": re.compile(r'"(?:[A-Za-z0-9 ]|\\[0-7]{3})*"'),
    ".js": re.compile(r'"(?:[ !#-\[\]-~]|\\["\\bfnrt]|\\u[0-9a-f]{4})*"'),
}
"""What a text may look like in a program."""

TABLE = re.compile(
    r"\w* ?(?:const )?\w+ (?:\*const )?\w+(?:\[\])? = .*?;$", re.DOTALL | re.MULTILINE
)
ODD_NUMBER = re.compile(r"\b(?:nan|inf)\b")


def _check_program(program: str, string: re.Pattern[str]) -> None:
    for table in TABLE.findall(program):
        bare = string.sub("", table)
        expect('"' not in bare, "a text that ends early")
        expect(not ODD_NUMBER.search(bare), "a number that the language has no word for")


def _exports(home: Path) -> Target:
    """Read an automaton and write it in every format: a file that can be read, or an error."""

    def check(automaton: seqray.WeightedAutomaton) -> None:
        for ending, export in EXPORTS.items():
            path = home / f"out{ending}"
            try:
                export.write(automaton, path)
            except SeqrayError as error:
                expect("\n" not in str(error), "an error of several lines")
                continue
            if ending in STRINGS:
                _check_program(path.read_text("utf-8"), STRINGS[ending])

    read = in_file(home / "wa.json", seqray.WeightedAutomaton.load)
    return Target([_document(each) for each in automata()], with_checks(read, check), mutated_json)


# Requests -----------------------------------------------------------------------------------------

STATUSES = (200, 400, 403, 404, 405, 413, 415, 421)


def _requests(home: Path) -> Target:
    """Send requests to a served page: the first line, headers, an empty line and a body."""
    try:
        load_web()
    except MissingExtraError:
        raise UnavailableError("starlette is not installed") from None
    box = small_pfa()
    app = application("<p>page</p>", box)
    head = "POST /query\nhost: 127.0.0.1:8000\ncontent-type: application/json\n"
    seeds = [
        (head + '\n{"word": [0, 1, 1]}').encode(),
        (head + 'origin: http://127.0.0.1:8000\n\n{"word": []}').encode(),
        b"GET /\nhost: localhost\n\n",
    ]

    def read(content: bytes) -> None:
        lines, _, body = content.partition(b"\n\n")
        first, *rest = lines.split(b"\n") if lines else [b""]
        method, _, path = first.decode("latin-1").partition(" ")
        pairs = [each.partition(b":") for each in rest]
        headers = [(name.strip().lower(), value.strip()) for name, _, value in pairs]
        status, answer = asyncio.run(_answer(app, method, path, headers, body))
        expect(status in STATUSES, f"status {status}")
        if status == 200 and answer[:1] == b"{":
            word = [box.alphabet.symbols[code] for code in json.loads(body)["word"]]
            expect(np.allclose(json.loads(answer)["weight"], box.weights([word])), "a wrong weight")

    def mutate(seed: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
        lines, sign, body = seed.partition(b"\n\n")
        if not body or rng.random() < 0.5:
            return mutated(seed, seeds, rng)
        return lines + sign + mutated_json(body, [body], rng)

    return Target(seeds, read, mutate)


async def _answer(
    app: Any, method: str, path: str, headers: list[tuple[bytes, bytes]], body: bytes
) -> tuple[int, bytes]:
    """Return the status and the body that an application answers."""
    sent: list[Any] = []
    parts = iter(
        [{"type": "http.request", "body": body, "more_body": False}, {"type": "http.disconnect"}]
    )

    async def receive() -> Any:
        return next(parts)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": headers}
    scope |= {"query_string": b"", "scheme": "http", "root_path": "", "http_version": "1.1"}
    await app(scope, receive, send)
    return sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:])


INTERCHANGE: Mapping[str, MakeTarget] = {
    "automaton: Graphviz with a comment": _graph_file,
    "automaton: .fst and .syms": _fst_files(".fst"),
    "automaton: .logfst and .syms": _fst_files(LOG_SUFFIX),
    "automaton: hidden Markov model": _hmm,
    "exports of automata": _exports,
    "requests to a served page": _requests,
}
