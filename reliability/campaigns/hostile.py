"""Files of strangers: bombs, deeply nested JSON, endless numbers, and plain garbage.

Each reader of seqray opens all of them in one process, which may use 2 GB of memory and ten
minutes. It has to refuse them with an error of seqray's own, or read them for what they are.
"""

import gzip
import io
import itertools
import json
import random
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import seqray
from reliability import Row, Scale
from reliability.results import ROOT
from seqray.blackbox.card import load_card
from seqray.experiments.findings import read_findings
from seqray.formats.pautomac import read_machine, read_solution
from seqray.util.errors import SeqrayError

MAX_MEMORY_BYTES = 2**31
BOMB_BYTES = 2**27
"""What comes out of a bomb: twice as much as may come out of a small file."""

TIME_LIMIT_SECONDS = 600

FOUND = (
    "A compressed table of results (`.csv.gz`) was decompressed without a limit.",
    "Archives of Keras and PyTorch were decompressed without a limit.",
)


def run(scale: Scale, seed: int) -> Iterator[Row]:
    """Open hostile files; in the long form, each kind of reader in a process of its own."""
    names = list(READERS) if scale == "long" else list(READERS)[:3]
    n_random = 100 if scale == "long" else 5
    with tempfile.TemporaryDirectory() as folder:
        for name, content in hostile_files(n_random, random.Random(seed)):
            Path(folder, name).write_bytes(content)
        for some in [names] if scale == "short" else [[name] for name in names]:
            yield _opened_by(some, folder)


def _opened_by(readers: list[str], folder: str) -> Row:
    done = subprocess.run(
        [sys.executable, "-m", "reliability.campaigns.hostile", folder, *readers],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_SECONDS,
        check=False,
    )
    name = ", ".join(readers)
    if done.returncode:
        return Row(name, 1, [f"the process ended with {done.returncode}: {done.stderr[-500:]}"])
    n, failures, megabytes = json.loads(done.stdout.splitlines()[-1])
    return Row(name, n, failures, {"peak memory (MB)": megabytes})


# What is opened -----------------------------------------------------------------------------------


def hostile_files(n_random: int, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of files."""
    nested = 200_000
    yield "nested lists", b"[" * nested + b"]" * nested
    yield "nested objects", b'{"a":' * nested + b"1" + b"}" * nested
    yield "half nested", b"[" * nested
    yield "a huge integer", b"1" * 200_000
    yield "a huge exponent", b"[1e99999999999999]"
    yield "nothing", b""
    yield "zeros", bytes(2**20)
    yield "a gzip bomb", gzip.compress(bytes(BOMB_BYTES))
    yield "a gzip bomb of lines", gzip.compress(b"0 1\n" * (BOMB_BYTES // 4))
    yield "gzip in gzip", gzip.compress(gzip.compress(bytes(2**24)))
    yield "a zip bomb", _zip({f"{name}.npy": bytes(BOMB_BYTES) for name in ("header", "initial")})
    yield (
        "an npz that promises",
        _zip({"header.npy": _npy((2**40,)), "initial.npy": _npy((2**40,))}),
    )
    yield "a zip that leads elsewhere", _zip({"../../../../tmp/owned": b"x", "config.json": b"{}"})
    yield "XML entities", _entities()
    yield "nested XML", b"<log>" + b"<trace>" * nested
    yield "a document type", b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><log/>'
    yield "a promising header", b"999999999999 65536\n1 0\n"
    yield "a promising safetensors", (2**62).to_bytes(8, "little") + b"{}"
    yield "many promised states", b"I: (state)\n\t(999999999) 1.0\n"
    yield (
        "a promising automaton",
        json.dumps(
            {
                "format": "seqray.automaton",
                "version": 2,
                "kind": "structured",
                "alphabet": ["a"],
                "group_sizes": [2**31 - 1],
            }
        ).encode(),
    )
    for i in range(n_random):
        yield f"random bytes {i}", rng.randbytes(rng.randrange(2000))


def _zip(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _npy(shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return file.getvalue()


def _entities() -> bytes:
    lines = [f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10)]
    return f'<!DOCTYPE log [<!ENTITY a0 "ha">{"".join(lines)}]><log>&a9;</log>'.encode()


def _in(file: str, read: Callable[[Path], Any]) -> Callable[[Path, bytes], Any]:
    """Return what writes content to a file of this name, and reads it."""

    def opened(folder: Path, content: bytes) -> Any:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
        return read(folder / file)

    return opened


READERS: dict[str, Callable[[Path, bytes], Any]] = {
    "automaton, .json": _in("wa.json", seqray.WeightedAutomaton.load),
    "automaton, .npz": _in("wa.npz", seqray.WeightedAutomaton.load),
    "run folder": _in("run/config.json", lambda path: seqray.open_run(path.parent)),
    "words": _in("words.txt", seqray.read_words),
    "words, JSON lines": _in("words.jsonl", seqray.read_words),
    "events, XES": _in("log.xes", seqray.read_events),
    "events, CSV": _in("log.csv", seqray.read_events),
    "events, Parquet": _in("log.parquet", seqray.read_events),
    "sequences, FASTA": _in("a.fasta", seqray.read_events),
    "network": _in("net.safetensors", lambda path: seqray.open_black_box(f"rnn:{path}")),
    "PAutomaC machine": _in("m.txt", read_machine),
    "PAutomaC solution": _in("s.txt", read_solution),
    "AALpy model": _in("m.dot", lambda path: seqray.open_black_box(f"wa:{path}")),
    "card": _in("m.seqray.json", lambda path: load_card(_model(path))),
    "results": _in("pautomac.csv.gz", lambda path: read_findings(path.parent)),
    "description of results": _in("pautomac.json", lambda path: read_findings(_table(path))),
    "TAYSIR model": _in("config.json", lambda path: seqray.open_black_box(f"taysir:{path.parent}")),
    "Keras file, .h5": _in("m.h5", lambda path: seqray.open_black_box(f"keras:{_carded(path)}")),
    "Keras file": _in("m.keras", lambda path: seqray.open_black_box(f"keras:{_carded(path)}")),
    "PyTorch file": _in("m.pt", lambda path: seqray.open_black_box(f"torch:{_carded(path)}")),
    "answer cache": _in("answers.sqlite", lambda path: seqray.AnswerStore(path).close()),
}


def _table(path: Path) -> Path:
    table = path.with_name("pautomac.csv.gz")
    table.write_bytes((ROOT / "benchmarks" / "results" / "trucks.csv.gz").read_bytes())
    return path.parent


def _model(card: Path) -> Path:
    card.with_name("m.onnx").touch()
    return card.with_name("m.onnx")


def _carded(path: Path) -> Path:
    path.with_suffix(".seqray.json").write_text(
        '{"alphabet": ["a"], "answers": "next", "start": 1}'
    )
    return path


def main(files: str, *readers: str) -> None:
    """Open all files by each reader; print how many, what went wrong, and the memory."""
    resource.setrlimit(resource.RLIMIT_AS, (4 * MAX_MEMORY_BYTES, 4 * MAX_MEMORY_BYTES))
    failures, hostile = [], sorted(Path(files).iterdir())
    with tempfile.TemporaryDirectory() as folder:
        for reader, file in itertools.product(readers, hostile):
            try:
                READERS[reader](Path(folder), file.read_bytes())
            except SeqrayError:
                pass
            except BaseException as error:
                failures.append(f"{file.name}: {type(error).__name__}: {str(error)[:200]}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if peak > MAX_MEMORY_BYTES:
        failures.append(f"{peak / 2**20:,.0f} MB of memory")
    print(json.dumps([len(readers) * len(hostile), failures, round(peak / 2**20)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
