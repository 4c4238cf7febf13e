"""The whole default extraction, copies included, against an earlier version: time and fidelity.

    git worktree add FOLDER 72e4444
    python benchmarks/extraction.py --source FOLDER [--boxes NAME …] [--one-thread]

Every box is a network in benchmarks/blackboxes. The version in FOLDER and this one run one after
the other, each in a process of its own. Both may use all cores, unless one thread is wanted.
Seconds are the wall time of `seqray.extract(box)` alone, so that nothing else may run meanwhile.
Bits lost per symbol are measured on 2,000 words of the box that no extraction saw. Boxes that are
in the results are not run again: the benchmark can be interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import machine, report
from queries import NETWORKS, RESULTS, new_words, opened

from seqray.formats.automaton_file import open_wa
from seqray.parallel.executor import THREAD_VARIABLES

HERE = Path(__file__).resolve().parent
SAVED = RESULTS / "extraction.json"

BOXES = ("14", "30", "16", "10", "spice0-gru50", "36", "hdfs", "trucks")
"""The first four have 10 to 12 symbols; settings were chosen on 14, 16 and 30 alone."""

EXTRACT = """
import sys, time, seqray
box = seqray.open_black_box(sys.argv[1])
begin = time.perf_counter()
extraction = seqray.extract(box)
seconds = time.perf_counter() - begin
extraction.best().save(sys.argv[2])
print(seconds, extraction.settings.questions)
"""


def extracted(name: str, source: Path, limits: dict[str, str]) -> dict[str, Any]:
    """Extract with the version in a checkout; return its time, its queries and its fidelity."""
    environment = {key: of for key, of in os.environ.items() if key not in THREAD_VARIABLES}
    environment |= {"PYTHONPATH": str(source / "src"), **limits}
    with tempfile.TemporaryDirectory() as folder:
        best = f"{folder}/best.npz"
        command = [sys.executable, "-c", EXTRACT, f"rnn:{NETWORKS / name}.safetensors", best]
        answer = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
        seconds, queries = answer.stdout.split()
        automaton = open_wa(best)
        metrics = new_words(opened(name)).compare(automaton)
    return {
        "seconds": float(seconds),
        "queries": int(queries),
        "states": automaton.n_states,
        "bits_per_symbol": metrics["kl_per_symbol"],
        "ndcg5": metrics["ndcg5"],
    }


def compared(name: str, source: Path, limits: dict[str, str]) -> dict[str, Any]:
    """Return what both versions make of a box, and the ratios."""
    before, now = (extracted(name, each, limits) for each in (source, HERE.parent))
    return {
        "before": before,
        "now": now,
        "speedup": before["seconds"] / now["seconds"],
        "bits_ratio": now["bits_per_symbol"] / before["bits_per_symbol"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True, help="checkout of the other version")
    parser.add_argument("--boxes", nargs="*", default=BOXES, metavar="NAME")
    parser.add_argument("--one-thread", action="store_true", help="let neither use more cores")
    options = parser.parse_args()
    limits = dict.fromkeys(THREAD_VARIABLES, "1") if options.one_thread else {}
    saved = json.loads(SAVED.read_text()) if SAVED.exists() else {}
    part = saved.setdefault("one thread" if options.one_thread else "all cores", {"boxes": {}})
    boxes = part["boxes"]
    for name in options.boxes:
        if name not in boxes:
            boxes[name] = compared(name, options.source, limits)
            for figure in ("speedup", "bits_ratio"):
                part[f"{figure}_geometric_mean"] = geometric_mean(boxes, figure)
            saved["machine"] = machine() | {"cores": os.cpu_count()}
            SAVED.write_text(json.dumps(saved, indent=2) + "\n")
    rows = [
        (name, f"{each['speedup']:5.2f} × faster, {each['bits_ratio']:.3f} × the bits lost")
        for name, each in boxes.items()
    ]
    report(rows, part)


def geometric_mean(boxes: dict[str, Any], figure: str) -> float:
    return float(np.exp(np.mean([np.log(each[figure]) for each in boxes.values()])))


if __name__ == "__main__":
    main()
