"""Networks that decide a regular language: AALpy's L* and KV beside seqray's tree."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from boxes import BENCHMARKS
from environments import OWN
from gru import Decider
from job import Drawn

LANGUAGES = {
    "tomita5": "tomita 5",
    "brackets": "two kinds of brackets to depth 2",
}
"""Boxes: small GRUs, trained on these languages in seconds."""

N_WORDS, MAX_LENGTH = 2000, 30


def network_file(box: str, folder: Path) -> tuple[Path, Any]:
    """Return where a network is, which is trained if it is not there, and its language's DFA."""
    sys.path.insert(0, str(BENCHMARKS.parent / "tests"))
    from deciding_networks import exact_dfa, trained  # noqa: PLC0415 - needs PyTorch

    dfa, path = exact_dfa(LANGUAGES[box]), folder / f"{box}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {name: value.numpy() for name, value in trained(dfa).state_dict().items()}
        np.savez(path, **arrays)
    return path, dfa


def decided_words(dfa: Any) -> list[tuple[int, ...]]:
    """Return words of up to 30 symbols, half of which the language nearly accepts."""
    from deciding_networks import words_for  # noqa: PLC0415 - needs PyTorch

    rng = np.random.default_rng(7)
    drawn, lengths = words_for(dfa, N_WORDS, rng), rng.integers(0, MAX_LENGTH + 1, N_WORDS)
    return [tuple(row[:n].tolist()) for row, n in zip(drawn, lengths, strict=True)]


def agreement(model: dict[str, np.ndarray], network: Path, words: list[tuple[int, ...]]) -> float:
    """Return the share of words that network and DFA decide alike."""
    decider = Decider.load(str(network))
    start = int(model.get("start", 0))
    same = 0
    for word in words:
        state = start
        for code in word:
            state = int(model["next_state"][state, code])
        same += bool(model["outputs"][state]) == (decider.probability(word) >= 0.5)
    return same / len(words)


def no_words(n_symbols: int) -> Drawn:
    """Return what a fit is given that queries words itself."""
    empty = np.zeros(0, int)
    return Drawn(n_symbols, empty, np.zeros(1, int), 0, np.zeros((1, 1)), empty, empty, empty)


def decider_rows(runner: Any, box: str) -> None:
    """Make the rows of a network that decides: AALpy's, and seqray's at as many queries."""
    path, dfa = network_file(box, runner.environments)
    words = decided_words(dfa)

    def made(key: dict[str, Any], environment: str, module: str, settings: dict[str, Any]) -> Any:
        def make() -> dict[str, Any]:
            drawn, given = no_words(len(dfa.alphabet)), {"network": str(path)} | settings
            row, model, _ = runner.fitted(environment, module, given, drawn)
            if not model:
                return row
            n_states = len(model["outputs"])
            share = agreement(model, path, words)
            sizes = {"states": n_states, "numbers": model["next_state"].size + n_states}
            return row | sizes | {"agreement": f"{share:.5f}"}

        return runner.saved.made({"box": box} | key, make)

    for learner in ("KV", "L*"):
        for search in ("random W", "random words"):
            settings = {"learner": learner, "search": search}
            key = {"peer": f"AALpy {learner}", "setting": search}
            row = made(key, "aalpy", "dfa_aalpy", settings)
            if queries := row["queries"]:
                key = {"peer": "seqray", "setting": "learn_dfa", "budget": queries}
                made(key, OWN, "dfa_seqray", {"budget": int(queries)})
