"""Copies of networks that were trained on natural data, and of a structured automaton.

``python benchmarks/copies.py`` extracts with defaults from the networks of SPiCe 4 and of trucks,
from a GRU of 50 units trained on each of SPiCe 0 and 4, and from a random structured automaton of
500 states. For each it prints the best rank and every copy: states, multiplications per symbol, and
bits per symbol and NDCG₅ on 2,000 words of the box that the extraction did not see. The networks
are in benchmarks/blackboxes. ``--output TABLE.csv`` saves what is there after every box.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

from common import one_thread, write_table

from seqray.automata.generators import random_structured
from seqray.blackbox.protocol import BlackBox
from seqray.blackbox.registry import open_black_box
from seqray.extraction.extract import extract
from seqray.fidelity.reference import Reference

FOLDER = Path(__file__).parent / "blackboxes"
NETWORKS = ("spice4", "trucks", "spice0-gru50", "spice4-gru50")
N_WORDS, MAX_LENGTH = 2000, 100
COLUMNS = (
    *("box", "symbols", "automaton", "states", "cost", "megabytes", "bits_per_symbol", "ndcg5"),
    *("perplexity_ratio", "queries", "seconds"),
)


def boxes(names: list[str]) -> Iterator[tuple[str, BlackBox]]:
    for name in names or [*NETWORKS, "structured"]:
        if name == "structured":
            yield name, random_structured(range(20), 25, seed=0)
        else:
            yield name, open_black_box(f"rnn:{FOLDER / name}.safetensors")


def measured(name: str, box: BlackBox) -> Iterator[tuple[object, ...]]:
    """Yield a row for the best rank, and one for each copy."""
    begin = time.process_time()
    extraction = extract(box)
    cost = extraction.settings.questions, round(time.process_time() - begin, 1)
    words = Reference.draw(box, N_WORDS, seed=12345, max_length=MAX_LENGTH)
    rank = extraction.best(purpose="reading")
    automata = [("rank", rank), *(("copy", copy.automaton) for copy in extraction.copies)]
    for kind, wa in automata:
        fidelity = words.compare(wa)
        size = wa.n_states, wa.cost_per_symbol, round(wa.n_bytes / 1e6, 2)
        metrics = (fidelity[m] for m in ("kl_per_symbol", "ndcg5", "perplexity_ratio"))
        yield name, len(box.alphabet), kind, *size, *(round(m, 6) for m in metrics), *cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("boxes", nargs="*", help="which ones; all by default")
    given = parser.parse_args()
    rows: list[tuple[object, ...]] = []
    print(*COLUMNS, sep="\t")
    for name, box in boxes(given.boxes):
        with one_thread():
            for row in measured(name, box):
                print(*row, sep="\t", flush=True)
                rows.append(row)
        if given.output:
            write_table(given.output, [dict(zip(COLUMNS, row, strict=True)) for row in rows])


if __name__ == "__main__":
    main()
