"""Parsers of files of words, events and automata, for fuzzing."""

import gzip
import io
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import seqray
from reliability.campaigns._mutations import changed, mutated, mutated_json
from reliability.campaigns._targets import (
    MakeTarget,
    Target,
    UnavailableError,
    check_automaton,
    check_words,
    either,
    expect,
    facts_of_automaton,
    facts_of_words,
    in_file,
    read_back,
    saved,
    text_target,
    with_checks,
)
from seqray.automata.words import Alphabet, Words
from seqray.extraction.result import Extraction
from seqray.formats.aalpy_dot import from_model_text, read_model, to_model_text
from seqray.formats.automaton_file import open_wa
from seqray.formats.fst import from_fst_text, to_fst_text
from seqray.formats.graph_file import comment_of, read_graph_file
from seqray.formats.pautomac import read_machine, read_solution, write_machine, write_solution
from seqray.formats.spice import read_prefixes_and_targets
from seqray.util.checksums import CHECKSUM
from seqray.util.npz import npz_bytes

# Words --------------------------------------------------------------------------------------------

WORDS = {
    "pautomac": ("3 2\n2 0 1\n0\n3 1 1 0\n", "2 3\n3 1 2 3\n1 3\n"),
    "text": ("a b\n\nlogin 12 logout\nb b b\n", "x\ny z\n"),
    "characters": ("ab\n\nabba\nb\n", "äöü\nü\n"),
    "jsonl": ('["a", 1, 2.5]\n[]\n"abc"\n', '["x"]\n[true, false, -3]\n'),
}


def _words(layout: str) -> MakeTarget:
    def make(home: Path) -> Target:
        copy = home / "copy.jsonl"
        read = in_file(home / "words.txt", lambda path: seqray.read_words(path, layout=layout))
        return Target([each.encode() for each in WORDS[layout]], with_checks(read, _kept(copy)))

    return make


def _kept(path: Path) -> Callable[[Words], None]:
    """Return what checks words, and that they are the same after a stay in a file."""

    def check(words: Words) -> None:
        check_words(words)
        read_back(
            words,
            lambda words: saved(path, lambda at: seqray.write_words(words, at, layout="jsonl")),
            in_file(
                path, lambda at: seqray.read_words(at, layout="jsonl", alphabet=words.alphabet)
            ),
            facts_of_words,
        )

    return check


def _any_words(home: Path) -> Target:
    """Read words of any layout, compressed or not, with an alphabet or without."""
    plain = [each.encode() for layout in WORDS.values() for each in layout]
    alphabet = Alphabet(["a", "b", 0, 1, "(rare)"])

    def read(path: Path) -> None:
        check_words(seqray.read_words(path))
        check_words(seqray.read_words(path, alphabet=alphabet))

    seeds = [*plain, *map(gzip.compress, plain[::2])]
    return Target(seeds, in_file(home / "words.txt", read))


# Events -------------------------------------------------------------------------------------------

CSV = """case,activity,timestamp,note
1,ask,2020-01-01T10:00:00+01:00,"a, b"
2,pay,2020-01-02 11:00,
1,pay,2020-01-01T10:00:01Z,x
"""
XES = """<?xml version="1.0" encoding="UTF-8" ?>
<log xes.version="1.0" xmlns="http://www.xes-standard.org/"><trace>
<string key="concept:name" value="c1"/><event><string key="concept:name" value="ask"/>
<date key="time:timestamp" value="2020-01-01T10:00:00.000+01:00"/></event>
<event><string key="concept:name" value="pay &amp; go"/>
<date key="time:timestamp" value="2020-01-01T09:00:00"/></event></trace><trace/></log>
"""
JSON_LINES = """{"case": 1, "activity": "ask", "time": 5}
{"case": "2", "activity": "pay", "time": 1.5}
{"activity": "ask", "case": 1, "time": 3}
"""
FASTA = ";old\n>one first\nACgt\nNNA\n>two\nA-*\n"
FASTQ = "@one\nAC\nGT\n+\n!!\n@!\n@two\nA\n+two\n~\n"
LOG = """081109 203518 143 INFO Receiving block blk_-16 src: /10.2.1.9:54106
Nov 18 03:05:54 sshd[814]: job 7 begins user=root42
job 8 begins deadbeef00 blk_7 blk_8
"""


def _events(name: str, *seeds: str, **options: Any) -> MakeTarget:
    def make(home: Path) -> Target:
        read = in_file(home / name, lambda path: seqray.read_events(path, **options))
        check = with_checks(read, _check_log, lambda log: _kept(home / "copy.jsonl")(log.words))
        return Target([each.encode() for each in seeds], check)

    return make


def _check_log(log: seqray.EventLog) -> None:
    check_words(log.words)
    expect(len(log.cases) == len(log.words), "not as many cases as words")
    expect(all(isinstance(case, str) and case for case in log.cases), "a case without a name")


def _logs(home: Path) -> Target:
    read = in_file(
        home / "server.log", lambda path: seqray.read_log_lines(path, r"job (\d+)|blk_-?\d+")
    )
    return Target([LOG.encode()], with_checks(read, _check_log))


def _sessions(home: Path) -> Target:
    """Read a log by regular expressions of any kind."""
    path = home / "server.log"
    path.write_text(LOG)
    seeds = (r"blk_-?[0-9]+", r"job (\d+)", r"(?P<name>\w+)=(\S+)")
    return text_target(seeds, lambda text: _check_log(seqray.read_log_lines(path, text)))


def _time_formats(home: Path) -> Target:
    events = {"case": [1, 1], "activity": ["a", "b"], "time": ["03/01/2020 10:05", "1/2/1999 1:1"]}
    seeds = ("%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d/%m/%Y %I:%M")
    return text_target(seeds, lambda text: _check_log(seqray.read_events(events, time_format=text)))


def _times(home: Path) -> Target:
    seeds = (
        "2020-01-01T10:00:00+01:00",
        "2020/01/01 10:00",
        "1322150400000000001",
        "0.5",
        "20200101",
    )

    def read(text: str) -> None:
        first, _, second = text.partition("\n")
        events = {"case": [1, 1], "activity": ["a", "b"], "time": [first, second or first]}
        _check_log(seqray.read_events(events))

    return text_target([*seeds, "\n".join(seeds[:2]), "\n".join(seeds[2:4])], read)


def _parquet(home: Path) -> Target:
    try:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        raise UnavailableError("pyarrow is not installed") from None
    columns = {"case": ["1", "2", "1"], "activity": ["a", "b", "c"], "time": [3.0, 2.0, 1.0]}
    dates = {**columns, "time": np.array([3, 2, 1], "M8[ms]"), "case": [1, 2, 1]}
    seeds = []
    for table in (columns, dates):
        for compression in ("none", "snappy"):
            file = io.BytesIO()
            pq.write_table(pa.table(table), file, compression=compression)
            seeds.append(file.getvalue())
    return Target(seeds, with_checks(in_file(home / "log.parquet", seqray.read_events), _check_log))


# Automata -----------------------------------------------------------------------------------------


def small_pfa(symbols: Sequence[Any] = "ab") -> seqray.WeightedAutomaton:
    return seqray.WeightedAutomaton(
        symbols, [1, 0], [[[0.2, 0.3], [0.1, 0.2]], [[0.1, 0.1], [0.3, 0.1]]], [0.3, 0.3]
    )


def automata() -> list[seqray.WeightedAutomaton]:
    """Return one automaton of each kind."""
    leaking = seqray.WeightedAutomaton(["a", 1], [1], [[[0.5]], [[0.2]]], [0.25], elsewhere=[0.05])
    even = seqray.DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    moore = seqray.DeterministicAutomaton("ab", [[1, 0], [0, 1]], [2, 0], ("x", "y", "z"))
    return [small_pfa(), leaking, even, moore, even.to_classifier(), _structured()]


def _structured() -> seqray.WeightedAutomaton:
    return seqray.deterministic_pfa("ab", [[1, 0], [0, 1]], [[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]])


def _automaton_json(home: Path) -> Target:
    seeds = []
    for automaton in automata():
        document = json.loads(saved(home / "seed.json", automaton.save))
        del document[CHECKSUM]  # as in files of earlier versions: damage is not noticed by it
        seeds.append(json.dumps(document).encode())
    read = in_file(home / "wa.json", seqray.WeightedAutomaton.load)
    check = _kept_automaton(home / "copy.json")
    return Target(seeds, with_checks(read, check_automaton, check), mutated_json)


def _kept_automaton(path: Path) -> Callable[[seqray.WeightedAutomaton], None]:
    def check(automaton: seqray.WeightedAutomaton) -> None:
        read = in_file(path, open_wa)
        read_back(automaton, lambda each: saved(path, each.save), read, facts_of_automaton)

    return check


def unsealed(content: bytes) -> bytes:
    """Return an automaton's npz file without its checksum."""
    arrays = dict(np.load(io.BytesIO(content)))
    header = json.loads(str(arrays["header"]))
    header.pop(CHECKSUM, None)
    return npz_bytes({**arrays, "header": np.array(json.dumps(header))})


def mutated_npz(seed: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """Return an npz file of which one array or the header is another."""
    arrays = dict(np.load(io.BytesIO(seed)))
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(list(arrays))
        if arrays[name].dtype.kind == "U" and not arrays[name].shape:
            arrays[name] = np.array(json.dumps(changed(json.loads(str(arrays[name])), rng)))
        else:
            arrays[name] = _other_array(arrays[name], rng)
        if rng.random() < 0.05 and len(arrays) > 1:
            del arrays[name]
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _other_array(array: Any, rng: random.Random) -> Any:
    match rng.randrange(7):
        case 0:
            return rng.choice((array.reshape(-1), array[None], array[..., None], np.zeros(0)))
        case 1 if array.dtype.kind in "fiub":
            with np.errstate(all="ignore"):
                return array.astype(rng.choice(("f4", "f2", "i8", "u1", "?", "U5", "c16", ">f8")))
        case 2:
            return array[:-1] if array.ndim and len(array) else array
        case 3:
            return np.concatenate([array, array[-1:]]) if array.ndim else array
    if array.dtype.kind not in "fiu" or not array.size:
        return array
    other = array.copy()
    values = (np.nan, np.inf, -np.inf, 1e308, -1e308, -1.0, 0.0, 2**31, 2**53, -(2.0**63), 1e-320)
    with np.errstate(all="ignore"):
        other.reshape(-1)[rng.randrange(other.size)] = np.array(rng.choice(values)).astype(
            other.dtype
        )
    return other


def _automaton_npz(home: Path) -> Target:
    seeds = [unsealed(each.to_npz()) for each in automata()]
    read = in_file(home / "wa.npz", seqray.WeightedAutomaton.load)
    check = _kept_automaton(home / "copy.npz")
    return Target(seeds, with_checks(read, check_automaton, check), either(mutated_npz))


def _machine(home: Path) -> Target:
    seeds = [saved(home / "seed", lambda path: write_machine(small_pfa(range(2)), path))]
    coin = seqray.WeightedAutomaton(range(1), [1], [[[0.5]]], [0.5])
    seeds.append(saved(home / "seed", lambda path: write_machine(coin, path)))
    read = in_file(home / "m_model.txt", read_machine)

    def check(automaton: seqray.WeightedAutomaton) -> None:
        again = in_file(home / "copy", read_machine)
        read_back(
            automaton,
            lambda each: saved(home / "copy", lambda path: write_machine(each, path)),
            again,
            lambda each: (each.n_states, len(each.alphabet)),
        )

    return Target(seeds, with_checks(read, check_automaton, check))


def _solution(home: Path) -> Target:
    seed = saved(home / "seed", lambda path: write_solution(np.array([0.1, 0.2, 0.7]), path))

    def check(probabilities: Any) -> None:
        expect(np.isfinite(probabilities).all(), "a probability is not finite")
        expect(probabilities.ndim == 1, "not one probability per word")

    return Target([seed], with_checks(in_file(home / "s.txt", read_solution), check))


def _spice(home: Path) -> Target:
    """Read prefixes and targets, which stand in one input with a line between them."""
    prefixes, targets = home / "9.spice.prefix", home / "9.spice.target"
    seeds = [b"2 2\n1 1\n0\n===\n1.0 -1 1.0\n0.815465 0 0.5 -1 0.5\n"]

    def read(content: bytes) -> None:
        first, _, second = content.partition(b"===\n")
        prefixes.write_bytes(first)
        targets.write_bytes(second)
        words, probabilities = read_prefixes_and_targets(prefixes, targets)
        check_words(words)
        expect(probabilities.shape == (len(words), len(words.alphabet) + 1), "rows do not fit")
        expect(((probabilities >= 0) & (probabilities <= 1)).all(), "no probabilities")

    return Target(seeds, read)


def _fst(home: Path) -> Target:
    """Read the AT&T format; the symbol table comes first."""
    seeds = []
    for automaton in (
        small_pfa(),
        small_pfa(["a b", "%20"]),
        seqray.WeightedAutomaton("a", [0], [[[2]]], [0]),
    ):
        text, table = to_fst_text(automaton)
        seeds.append(f"{table}===\n{text}")

    def read(text: str) -> None:
        table, _, lines = text.partition("===\n")
        automaton = from_fst_text(lines, table)
        check_automaton(automaton)
        weights = automaton.transitions
        expect(np.isfinite(weights).all(), "a weight is not finite")
        read_back(
            automaton,
            to_fst_text,
            lambda texts: from_fst_text(*texts),
            lambda each: (each.alphabet.symbols, each.n_states),
        )

    return text_target(seeds, read)


def _log_fst(home: Path) -> Target:
    """Read the AT&T format with logarithms; the symbol table comes first."""
    table = "<eps> 0\na 1\n"
    seeds = [f"{table}===\n0 1 <eps> <eps> 0.7\n1 1 a a 1e-3\n1 1 a a Infinity\n1 2.5\n"]

    def read(text: str) -> None:
        symbols, _, lines = text.partition("===\n")
        automaton = from_fst_text(lines, symbols, is_log=True)
        check_automaton(automaton)
        expect(automaton.is_nonnegative, "a weight is negative")

    return text_target(seeds, read)


def _graph(home: Path) -> Target:
    """Read Graphviz text whose last line is a comment with the automaton."""
    seeds = [b"digraph {\n}\n" + comment_of(each) for each in automata()]
    return Target(seeds, with_checks(in_file(home / "g.dot", read_graph_file), check_automaton))


def _dot(home: Path) -> Target:
    def check(automaton: Any) -> None:
        read_back(
            automaton,
            to_model_text,
            from_model_text,
            lambda each: (tuple(map(str, each.alphabet)), each.n_states, each.start_group),
        )

    seeds = [to_model_text(each).encode() for each in automata() if hasattr(each, "start_group")]
    read = in_file(home / "m.dot", read_model)
    return Target(seeds, with_checks(read, check_automaton, check))


def _run_folder(method: str) -> MakeTarget:
    """Return what opens a run folder, of which one file is another: its name, and its content."""

    def make(home: Path) -> Target:
        folder = home / "run"
        seqray.save_run(
            seqray.extract(small_pfa(), method=method, n_prefixes=8, n_suffixes=8, budget=5000),
            folder,
        )
        files = {file.name: file.read_bytes() for file in folder.iterdir()}
        config = json.loads(files["config.json"])
        config["version"] = 1  # which had no checksums
        del config["checksums"]
        files["config.json"] = json.dumps(config).encode()
        files |= {name: unsealed(each) for name, each in files.items() if name.endswith(".npz")}
        for name, content in files.items():
            (folder / name).write_bytes(content)
        seeds = [name.encode() + b"\n" + content for name, content in files.items()]

        def read(content: bytes) -> None:
            name, _, rest = content.partition(b"\n")
            file = folder / (
                name.decode("latin-1") if name.decode("latin-1") in files else "config.json"
            )
            file.write_bytes(rest)
            try:
                _check_run(seqray.open_run(folder))
            finally:
                file.write_bytes(files[file.name])

        return Target(seeds, read, _mutated_run)

    return make


def _check_run(extraction: Extraction) -> None:
    for rank in range(1, extraction.max_rank + 1):
        check_automaton(extraction.automaton(rank))
    check_automaton(extraction.best())
    expect(np.isfinite(extraction.singular_values).all(), "a singular value is not finite")
    check_words(extraction.basis.prefixes)
    check_words(extraction.basis.suffixes)
    repr(extraction)
    extraction.fidelity.rows()


def _mutated_run(seed: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    name, _, content = seed.partition(b"\n")
    mutate: Any = mutated
    if rng.random() < 0.7:
        mutate = mutated_json if name.endswith(b".json") else mutate
        mutate = mutated_npz if name.endswith(b".npz") else mutate
    return name + b"\n" + mutate(content, [content], rng)


FILES: Mapping[str, MakeTarget] = {
    **{f"words: {layout}": _words(layout) for layout in WORDS},
    "words: any layout, .gz": _any_words,
    "events: CSV": _events("log.csv", CSV, CSV.replace(",", ";"), "case\tevent\n1\ta\n2\tb\n"),
    "events: CSV, complete only": _events(
        "log.csv", CSV.replace("note", "lifecycle"), complete_only=True, rare=1
    ),
    "events: XES": _events("log.xes", XES, XES.replace("\n", "").replace("UTF-8", "ISO-8859-1")),
    "events: JSON lines": _events("log.jsonl", JSON_LINES),
    "events: Parquet": _parquet,
    "events: plain log": _logs,
    "events: sessions of a log": _sessions,
    "events: time formats": _time_formats,
    "events: times": _times,
    "sequences: FASTA": _events("a.fasta", FASTA),
    "sequences: FASTQ": _events("a.fastq", FASTQ),
    "automaton: .json": _automaton_json,
    "automaton: .npz": _automaton_npz,
    "automaton: OpenFst text": _fst,
    "automaton: OpenFst text with logarithms": _log_fst,
    "automaton: Graphviz with a comment": _graph,
    "automaton: AALpy .dot": _dot,
    "PAutomaC machine": _machine,
    "PAutomaC solution": _solution,
    "SPiCe prefixes and targets": _spice,
    "run folder: weighted": _run_folder("weighted"),
    "run folder: conditional": _run_folder("conditional"),
}
