"""Deterministic automata: random PDFAs, machines that look alike, networks that decide.

    python benchmarks/deterministic.py --save benchmarks/results/deterministic.json
    python benchmarks/deterministic.py --parts pdfa uhl          # without PyTorch
    python benchmarks/deterministic.py --parts peer --peer VENV/bin/python

The random PDFAs are drawn like those of the published experiments with QuaNT (Mayr, Yovine and
others): a random table whose reachable part has about so many states, and probabilities by breaking
a stick at triangular places. Published figures are in `PUBLISHED`. There one query is one number;
here it is one prefix with all its next symbols, so both units are reported. There an exact teacher
gives counterexamples; here they are searched for by queries, which are counted separately.

With ``--peer``, an interpreter that has the package pymodelextractor learns the smallest PDFA, too.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import machine, one_thread

import seqray
from seqray.automata.deterministic import breadth_first, deterministic_pfa

PUBLISHED = {
    "300 states, 2 symbols": {"numbers": 1860, "seconds": 2.7},
    "1000 states, 2 symbols": {"numbers": 6075, "seconds": 42.0},
    "100 states, 32 symbols": {"numbers": 106_755, "seconds": 2.65},
}
SIZES = {
    "300 states, 2 symbols": (300, 2, 0.0),
    "1000 states, 2 symbols": (1000, 2, 0.0),
    "100 states, 32 symbols": (100, 32, 0.0),
    "500 states, 20 symbols, 90 % zeros": (500, 20, 0.9),
}
TOLERANCE = 1e-3
PARTS = ("pdfa", "uhl", "networks", "peer")


def random_pdfa(
    n_states: int, n_symbols: int, zeros: float, seed: int
) -> seqray.StructuredAutomaton:
    """Draw a PDFA; about ``n_states`` of its states can be reached."""
    rng = np.random.default_rng(seed)
    share = 0.5
    for _ in range(100):  # the share of a random table that can be reached
        share = 1 - math.exp(-n_symbols * share)
    n_all = round(n_states / share)
    table = rng.integers(0, n_all, (n_all, n_symbols))
    order = breadth_first(table, 0)
    place = np.zeros(n_all, np.int64)
    place[order] = np.arange(len(order))
    rows = np.zeros((len(order), n_symbols + 1))
    for row in rows:
        left = 1.0
        for at in (-1, *range(n_symbols - 1)):
            row[at] = rng.triangular(0, left / 2, left)
            left -= row[at]
        row[n_symbols - 1] = left
    if zeros:
        rows = rng.random(rows.shape)
        is_zero = rng.random((len(rows), n_symbols)) < zeros  # every state can end a word
        is_zero[np.arange(len(rows)), rng.integers(0, n_symbols, len(rows))] = False  # or go on
        rows[:, :-1][is_zero] = 0
        rows /= rows.sum(axis=1, keepdims=True)
    rows = rows.round(5)  # as there: what is less is impossible
    rows[np.arange(len(rows)), rows.argmax(axis=1)] += 1 - rows.sum(axis=1)
    return deterministic_pfa(range(n_symbols), place[table[order]], rows)


def n_differing(
    a: seqray.StructuredAutomaton, b: seqray.StructuredAutomaton, tolerance: float = 1e-12
) -> int:
    """Return how many pairs of states after one word predict otherwise; 0: all words agree."""
    waiting, seen, n_wrong = [(a.start_group, b.start_group)], set(), 0
    while waiting:
        pair = waiting.pop()
        if pair in seen:
            continue
        seen.add(pair)
        rows = a.emission[pair[0]], b.emission[pair[1]]
        n_wrong += bool(np.abs(rows[0] - rows[1]).max() > tolerance)
        for code in np.flatnonzero(rows[0][:-1] > 0).tolist():
            waiting.append((int(a.next_group[pair[0], code]), int(b.next_group[pair[1], code])))
    return n_wrong


def measured_pdfa(name: str, seed: int) -> dict[str, Any]:
    n_states, n_symbols, zeros = SIZES[name]
    target = random_pdfa(n_states, n_symbols, zeros, seed)
    begin = time.process_time()
    learned = seqray.learn_pdfa(target, tolerance=TOLERANCE, max_states=3 * n_states, seed=seed)
    seconds = time.process_time() - begin
    words = target.sample(1000, seed=seed + 1, max_length=100).words
    fidelity = seqray.compare(target, learned.automaton, words)
    n_learning = learned.n_queries - learned.n_search_queries
    return {
        "seed": seed,
        "target_states": target.n_states,
        "states": learned.automaton.n_states,
        "wrong_states": n_differing(target, learned.automaton, TOLERANCE),
        "merged_states": n_differing(target, learned.automaton),
        "ndcg5": fidelity["ndcg5"],
        "disagreement": fidelity["disagreement"],
        "queries": learned.n_queries,
        "search_queries": learned.n_search_queries,
        "learning_numbers": n_learning * (n_symbols + 1),
        "seconds": round(seconds, 3),
        "end": learned.end.name,
    }


def part_pdfa(options: argparse.Namespace) -> dict[str, Any]:
    figures = {}
    for name in SIZES:
        runs = [measured_pdfa(name, seed) for seed in range(options.seeds)]
        figures[name] = {"published": PUBLISHED.get(name), "runs": runs}
        print(
            f"{name}: exact {sum(not r['wrong_states'] for r in runs)} of {len(runs)}, "
            f"states {median(runs, 'states')} of {median(runs, 'target_states')}, "
            f"queries {median(runs, 'queries')} "
            f"(numbers to learn {median(runs, 'learning_numbers')}), "
            f"{median(runs, 'seconds'):.2f} s; published {PUBLISHED.get(name)}"
        )
    return figures


def median(runs: list[dict[str, Any]], key: str) -> float:
    return float(np.median([run[key] for run in runs]))


def looking_alike(n_states: int, kind: str, seed: int) -> seqray.StructuredAutomaton:
    """Return a machine of unbounded history: a cycle of states with two or three distributions.

    ``position``: every symbol leads on. ``counter``: one symbol does, the others stay. ``mixed``:
    some symbols lead on, some stay, one leads back to the start.
    """
    rng = np.random.default_rng([seed, n_states])
    n_symbols = 4
    states = np.arange(n_states)
    on, stay, back = (states + 1) % n_states, states, np.zeros(n_states, np.int64)
    columns = {
        "position": [on] * n_symbols,
        "counter": [on] + [stay] * (n_symbols - 1),
        "mixed": [on, on, stay, back],
    }[kind]
    rows = 0.95 * rng.dirichlet(np.ones(n_symbols), 3 if kind == "mixed" else 2)
    rows = 0.5 * rows + 0.5 * 0.95 / n_symbols
    which = 1 + states % (len(rows) - 1)
    which[0] = 0
    table = np.stack(columns, axis=1)
    return deterministic_pfa(
        range(n_symbols), table, np.column_stack([rows, [0.05] * len(rows)])[which]
    )


def part_uhl(options: argparse.Namespace) -> dict[str, Any]:
    runs = []
    for kind in ("position", "counter", "mixed"):
        for n_states in range(5, 10):
            target = looking_alike(n_states, kind, options.seeds)
            learned = seqray.learn_pdfa(target, tolerance=TOLERANCE)
            runs.append(
                {
                    "kind": kind,
                    "target_states": n_states,
                    "states": learned.automaton.n_states,
                    "wrong_states": n_differing(target, learned.automaton),
                    "queries": learned.n_queries,
                }
            )
            print(runs[-1])
    return {"runs": runs, "most_queries": max(run["queries"] for run in runs)}


def part_networks(options: argparse.Namespace) -> dict[str, Any]:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import torch  # noqa: PLC0415 - only this part needs it

    from deciding_networks import (  # noqa: PLC0415
        LANGUAGES,
        MAX_STEPS,
        box_of,
        exact_dfa,
        trained,
        words_for,
    )

    torch.set_num_threads(1)
    figures = {}
    half_trained = "brackets to depth 3", 300  # a network that is not exact
    for name, n_steps in [*((each, MAX_STEPS) for each in LANGUAGES), half_trained]:
        dfa, alphabet = exact_dfa(name), LANGUAGES[name][0]
        begin = time.process_time()
        box = box_of(trained(dfa, max_steps=n_steps), alphabet)
        training = time.process_time() - begin
        words = test_words(dfa, words_for)
        decided = (box.weights(words) >= 0.5).astype(float)
        begin = time.process_time()
        learned = seqray.learn_dfa(box, budget=200_000)
        key = name if n_steps == MAX_STEPS else f"{name}, trained for {n_steps} steps"
        figures[key] = {
            "states": dfa.n_states,
            "network_agreement": float((decided == dfa.weights(words)).mean()),
            "learnt_states": learned.automaton.n_states,
            "agreement": float((decided == learned.automaton.weights(words)).mean()),
            "is_minimal_dfa": learned.automaton.allclose(dfa),
            "queries": learned.n_queries,
            "seconds": round(time.process_time() - begin, 3),
            "training_seconds": round(training, 1),
        }
        print(key, figures[key], flush=True)
    return figures


def test_words(dfa: seqray.DeterministicAutomaton, words_for: Any) -> seqray.Words:
    """Return 10,000 words of up to 30 symbols, half of which the language nearly accepts."""
    rng = np.random.default_rng(7)
    drawn, lengths = words_for(dfa, 10_000, rng), rng.integers(0, 31, 10_000)
    return dfa.alphabet.words(
        [dfa.alphabet.decode(row[:n]) for row, n in zip(drawn, lengths, strict=True)]
    )


PEER = """
import json, sys, time
from pythautomata.automata.wheighted_automaton_definition.\\
probabilistic_deterministic_finite_automaton import ProbabilisticDeterministicFiniteAutomaton as P
from pythautomata.automata.wheighted_automaton_definition.weighted_state import WeightedState
from pythautomata.base_types.alphabet import Alphabet
from pythautomata.base_types.symbol import SymbolStr
from pythautomata.model_comparators.wfa_comparison_strategy import WFAComparator
from pymodelextractor.learners.observation_table_learners.pdfa_lstar_learner import PDFALStarLearner
from pymodelextractor.teachers.pdfa_teacher import PDFATeacher

given = json.load(open(sys.argv[1]))
symbols = [SymbolStr(str(i)) for i in range(len(given["table"][0]))]
states = [WeightedState(str(q), int(q == 0), row[-1]) for q, row in enumerate(given["rows"])]
for state, targets, row in zip(states, given["table"], given["rows"]):
    for symbol, target, weight in zip(symbols, targets, row):
        state.add_transition(symbol, states[target], weight)
target = P(Alphabet(frozenset(symbols)), set(states), SymbolStr("$"), WFAComparator())
teacher = PDFATeacher(target, given["tolerance"], WFAComparator())
begin = time.process_time()
result = PDFALStarLearner().learn(teacher)
print(json.dumps({
    "seconds": round(time.process_time() - begin, 2),
    "states": len(result.model.weighted_states),
    "numbers": teacher._last_token_weight_queries_count,
}))
"""


def part_peer(options: argparse.Namespace) -> dict[str, Any]:
    if options.peer is None:
        print("peer: skipped; --peer PYTHON names an interpreter with pymodelextractor")
        return {}
    figures = {}
    for n_states in (100, 300):
        target = random_pdfa(n_states, 2, 0.0, 0)
        given = {"table": target.next_group.tolist(), "rows": target.emission.tolist()}
        begin = time.process_time()
        learned = seqray.learn_pdfa(target, tolerance=TOLERANCE)
        own = {"seconds": round(time.process_time() - begin, 2), "queries": learned.n_queries}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "pdfa.json")
            path.write_text(json.dumps({**given, "tolerance": TOLERANCE}))
            command = [options.peer, "-c", PEER, str(path)]
            try:
                out = subprocess.run(
                    command, capture_output=True, text=True, timeout=600, check=True
                )
                peer = json.loads(out.stdout.splitlines()[-1])
            except subprocess.TimeoutExpired:
                peer = {"seconds": "more than 600"}
        figures[f"{target.n_states} states"] = {"pymodelextractor": peer, "seqray": own}
        print(figures)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seeds", type=int, default=5, help="random PDFAs of each size")
    parser.add_argument("--peer", help="interpreter with pymodelextractor")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    logging.getLogger("seqray").setLevel(logging.ERROR)
    figures: dict[str, Any] = {}
    if options.save and options.save.exists():
        figures = json.loads(options.save.read_text())
    parts = {"pdfa": part_pdfa, "uhl": part_uhl, "networks": part_networks, "peer": part_peer}
    with one_thread():
        for name in options.parts:
            if measured := parts[name](options):
                figures[name] = measured
    figures["machine"] = machine()
    if options.save:
        options.save.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
