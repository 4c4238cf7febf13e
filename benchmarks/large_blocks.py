"""Hankel blocks that do not fit into memory: an extraction with ``--memory``, and what it costs.

    python benchmarks/large_blocks.py [--size 20000] [--rank 200] [--memory 2GB] [--seed 0]
    python benchmarks/large_blocks.py --storage    # files of rows beside zarr (pip install zarr)

The box is an automaton over two symbols, the sum of 26 automata of 10 states each, every one
10^-0.4 times as heavy as the one before: the singular values of its blocks span ten decades. The
extraction is a command in a process of its own, whose largest resident memory the system reports.
With forward states F and backward states B the block is H = F Bᵀ, so that its singular values
follow from the QR factorisations of F and B, without H.

Two more extractions, of a quarter of the size, run on disk and in memory, to compare times.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import machine, one_thread

import seqray
from seqray.automata.algebra import reverse
from seqray.automata.sampling import uniform_words
from seqray.automata.stepper import collect
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Words
from seqray.util.memory import byte_count
from seqray.util.row_file import RowFile, row_chunks

RESULTS = Path(__file__).parent / "results" / "large_blocks.json"
N_PARTS, STATES_PER_PART, DECADES_PER_PART = 26, 10, 0.4
SMALLEST = 1e-8
N_TEST_WORDS = 2000


def box_of_many_sizes(seed: int) -> seqray.WeightedAutomaton:
    """Return an automaton whose Hankel matrix has singular values of very different sizes."""
    rng = np.random.default_rng(seed)
    n_states = N_PARTS * STATES_PER_PART
    initial, final = np.zeros(n_states), np.zeros(n_states)
    transitions = np.zeros((2, n_states, n_states))
    for part in range(N_PARTS):
        own = slice(part * STATES_PER_PART, (part + 1) * STATES_PER_PART)
        initial[own] = rng.standard_normal(STATES_PER_PART)
        final[own] = 10 ** (-DECADES_PER_PART * part) * rng.standard_normal(STATES_PER_PART)
        for matrix in transitions:
            square = rng.standard_normal((STATES_PER_PART, STATES_PER_PART))
            matrix[own, own] = np.linalg.qr(square)[0] / np.sqrt(2)
    return seqray.WeightedAutomaton("ab", initial, transitions, final)


def known_singular_values(box: seqray.WeightedAutomaton, basis: seqray.Basis) -> np.ndarray:
    """Return the singular values of the block of a basis, from forward and backward states."""

    def triangle(stepper: seqray.WeightedAutomaton, words: Words) -> np.ndarray:
        tree = PrefixTree.of(words)
        states = collect(stepper, tree, stepper.state_vectors)[tree.node_of_word]
        return np.linalg.qr(states, mode="r")

    forward = triangle(box, basis.prefixes)
    backward = triangle(reverse(box), basis.suffixes.reversed())
    return np.linalg.svd(forward @ backward.T, compute_uv=False)


def extract(options: argparse.Namespace, size: int, memory: str | None) -> dict[str, Any]:
    """Extract in a process of its own; return what it took, and how right it is."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        file, run = Path(folder, "box.npz"), Path(folder, "run")
        box = box_of_many_sizes(options.seed)
        box.save(file)
        command = [sys.executable, "-m", "seqray", "extract", f"wa:{file}", "-o", str(run)]
        command += ["--method", "paper", "--prefixes", str(size), "--suffixes", str(size)]
        command += ["--max-rank", str(options.rank), "--rank", str(options.rank)]
        command += ["--memory", memory] if memory else []
        begin = time.perf_counter()
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        child = subprocess.Popen(command, env=os.environ | threads)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        if status:
            raise SystemExit(f"failed with {os.waitstatus_to_exitcode(status)}: {command}")
        extraction = seqray.open_run(run)
        figures = accuracy(box, extraction, options.seed)
        phases = dict(extraction.settings.seconds)
    n_rows = 2 * size + 1
    return {
        "size": size,
        "rank": options.rank,
        "memory": memory,
        "block_bytes": 8 * n_rows * size,
        "peak_bytes": 1024 * used.ru_maxrss,
        "seconds": round(seconds, 1),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "seconds_by_phase": phases,
        **figures,
    }


def accuracy(box: seqray.WeightedAutomaton, extraction: Any, seed: int) -> dict[str, Any]:
    """Compare singular values with the known ones, and weights of new words with the box."""
    values = extraction.automata.singular_values
    known = known_singular_values(box, extraction.basis)
    wanted = np.flatnonzero(known[: len(values)] >= SMALLEST * known[0])
    errors = np.abs(values[wanted] / known[wanted] - 1)
    words = uniform_words(box.alphabet, N_TEST_WORDS, seed=seed + 1, max_length=30)
    weights = box.weights(words)
    error = np.abs(extraction.automata.automaton(len(values)).weights(words) - weights)
    return {
        "n_values": len(values),
        "n_values_compared": len(wanted),
        "smallest_value_compared": float(known[wanted[-1]] / known[0]),
        "next_value": float(known[len(values)] / known[0]),
        "largest_relative_error": float(errors.max()),
        "word_error_of_largest_weight": float(error.max() / np.abs(weights).max()),
        "median_relative_word_error": float(np.median(error / np.abs(weights))),
    }


def storage(options: argparse.Namespace) -> dict[str, Any]:
    """Time how rows of real blocks are written and read: in a file of rows, and by zarr."""
    import zarr  # noqa: PLC0415 - for this comparison alone
    from zarr.codecs import BloscCodec  # noqa: PLC0415

    n_rows, chunk = options.rows, options.chunk_rows
    box = box_of_many_sizes(options.seed)
    basis = seqray.uniform_basis(box.alphabet, n_rows // 2, options.size, seed=options.seed)
    values = np.asarray(seqray.fill(box, basis).values)
    figures: dict[str, Any] = {"shape": values.shape, "chunk_rows": chunk}

    def timed(name: str, matrix: Any, n_bytes: Callable[[], int]) -> None:
        times = []
        for _ in range(options.repeats):
            begin = time.process_time()
            for at in range(0, len(values), chunk):
                matrix[at : at + chunk] = values[at : at + chunk]
            middle = time.process_time()
            for at in range(0, len(values), chunk):
                np.asarray(matrix[at : at + chunk])
            times.append((middle - begin, time.process_time() - middle))
        write, read = (values.nbytes / 1e9 / min(each) for each in zip(*times, strict=True))
        figures[name] = {
            "write_gb_per_second": write,
            "read_gb_per_second": read,
            "share_of_bytes": n_bytes() / values.nbytes,
        }
        print(name, figures[name], flush=True)

    rows = RowFile(values.shape, rows_per_chunk=chunk)
    timed("file of rows", rows, lambda: rows.nbytes)
    assert all(np.array_equal(part, values[some]) for some, part in row_chunks(rows))
    codecs = {
        "zarr, not compressed": None,
        "zarr, lz4": BloscCodec(cname="lz4", clevel=1),
        "zarr, zstd": BloscCodec(cname="zstd", clevel=1),
    }
    for name, codec in codecs.items():
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            chunks = (chunk, values.shape[1])
            matrix = zarr.create_array(
                folder, shape=values.shape, chunks=chunks, dtype="f8", compressors=codec
            )
            timed(name, matrix, lambda folder=folder: folder_bytes(Path(folder)))
    return figures


def folder_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def record(name: str, figures: dict[str, Any]) -> None:
    """Add figures to the file of results."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results[name] = figures | {"machine": machine()}
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    print(json.dumps(figures), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=20_000, help="prefixes, and suffixes")
    parser.add_argument("--rank", type=int, default=200)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", help="where files are written")
    parser.add_argument("--storage", action="store_true", help="compare files of rows with zarr")
    parser.add_argument("--rows", type=int, default=2000, help="of --storage")
    parser.add_argument("--chunk-rows", type=int, default=500, help="of --storage")
    parser.add_argument("--repeats", type=int, default=3, help="of --storage")
    options = parser.parse_args()
    if options.storage:
        record("storage", storage(options))
        return
    record("large", extract(options, options.size, options.memory))
    quarter = options.size // 4
    share = byte_count("memory", options.memory) // 8
    record("quarter_on_disk", extract(options, quarter, f"{share}B"))
    record("quarter_in_memory", extract(options, quarter, None))


if __name__ == "__main__":
    with one_thread():
        main()
