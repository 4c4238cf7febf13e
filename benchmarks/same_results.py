"""Whether a change of the code leaves results as they are: automata bit by bit, and query counts.

    python benchmarks/same_results.py --save before.json     # on the commit before
    python benchmarks/same_results.py --compare before.json  # on the commit after

Boxes: the demo network, three networks trained on PAutomaC problems, one of them as a box that
only gives weights of words, and a server over HTTP whose answers are cached, first with an empty
cache and then with a full one. Both runs have to be on the same machine: another processor rounds
differently. `--quick` takes small bases, for use while one works.
"""

import argparse
import hashlib
import importlib.util
import json
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import Numbers, one_thread

import seqray

HERE = Path(__file__).resolve().parent
NETWORKS = (1, 13, 24)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small bases: half a minute in all")
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--save", type=Path, metavar="FILE", help="write the results there")
    choice.add_argument("--compare", type=Path, metavar="FILE", help="compare with saved results")
    options = parser.parse_args()
    results = {}
    before = json.loads(options.compare.read_text()) if options.compare else {}
    differ = []
    for name, run in cases(options.quick).items():
        with one_thread():
            results[name] = run()
        print(f"{name:<24} {results[name]}", flush=True)
        if options.save:
            options.save.write_text(json.dumps(results, indent=2) + "\n")
        elif before.get(name) != results[name]:
            print(f"{'':<24} {before.get(name)} before")
            differ.append(name)
    if options.compare:
        print(f"different: {', '.join(differ)}" if differ else f"all {len(results)} are the same")
        raise SystemExit(bool(differ))


def cases(quick: bool) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what to run, by name."""
    sizes = {"prefixes": 60, "suffixes": 60, "max_rank": 20} if quick else {}
    smaller = sizes or {"prefixes": 200, "suffixes": 200, "max_rank": 50}
    networks = {n: HERE / "blackboxes" / f"{n}.safetensors" for n in NETWORKS}

    def extracted(box: Any, **options: Any) -> dict[str, Any]:
        return summary(seqray.extract(box, **options))

    def weights_only() -> dict[str, Any]:
        return extracted(Numbers(seqray.open_black_box(networks[NETWORKS[0]])), **smaller)

    each: dict[str, Callable[[], dict[str, Any]]] = {
        "demo": lambda: extracted(seqray.open_black_box("demo"), **sizes)
    }
    for n, path in networks.items():
        each[f"network {n}"] = lambda path=path: extracted(seqray.open_black_box(path), **sizes)
    each["weights only"] = weights_only
    small = {"prefixes": 60, "suffixes": 60, "max_rank": 20}
    demo = seqray.open_black_box("demo")
    return each | {
        "budget": lambda: extracted(demo, budget=20_000, max_rank=20),
        "target": lambda: extracted(demo, target=0.98, max_rank=20),
        "counterexamples": lambda: extracted(demo, counterexamples=2, **small),
        "weights within a budget": lambda: extracted(Numbers(demo), budget=30_000, max_rank=20),
        "repeated": lambda: extracted(demo, repeat=2, **small),
        "weights to a target": lambda: extracted(Numbers(demo), target=0.9, max_rank=20),
        "paper's method": lambda: extracted(
            seqray.open_black_box("demo"), method="paper", **smaller
        ),
        "cached HTTP": over_http,
    }


def over_http() -> dict[str, Any]:
    """Extract twice from a server: the second time, all answers are cached."""
    server = example_server()
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder, "answers.sqlite")
        box = seqray.http_box(server.url)
        first, second = (
            summary(seqray.extract(box, n_prefixes=40, n_suffixes=40, max_rank=20, store=cache))
            for _ in range(2)
        )
    server.shutdown()
    return {"first": first, "second": second}


def example_server() -> Any:
    """Serve the demo network as `examples/http_server.py` does."""
    path = HERE.parent / "examples" / "http_server.py"
    spec = importlib.util.spec_from_file_location("http_server", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    server = module.Server(seqray.open_black_box("demo"))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server


def summary(extraction: seqray.Extraction) -> dict[str, Any]:
    """Return hashes of all automata and of the table, and what was counted."""
    automata, table = hashlib.sha256(), hashlib.sha256()
    for rank in range(1, extraction.max_rank + 1):
        automaton = extraction.automaton(rank)
        for array in (automaton.initial, automaton.transitions, automaton.final):
            automata.update(np.ascontiguousarray(array).tobytes())
    for fidelity in extraction.fidelity.fidelities:
        table.update(repr(sorted(fidelity.values())).encode())
    counts = ("questions", "validation_questions", "queries_sent")
    return {
        "automata": automata.hexdigest()[:16],
        "fidelity": table.hexdigest()[:16],
        "rank": extraction.best_rank(),
        **{name: extraction.settings.get(name) for name in counts},
    }


if __name__ == "__main__":
    main()
