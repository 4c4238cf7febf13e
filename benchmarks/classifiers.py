"""Classifiers: one extraction of an automaton with several outputs, its decisions and its flips.

    python benchmarks/classifiers.py            # about two minutes; writes results/classifiers.json

Small LSTMs are trained here: one with three classes over four symbols, the same after few steps of
training, one that counts, and one whose second class is rare. Each is extracted once with default
settings. Decisions are compared on 5,000 new random words, and the shortest edits that change the
decision are checked on the box.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import machine, one_thread

import seqray
from seqray.automata.sampling import uniform_words
from seqray.automata.words import Alphabet
from seqray.extraction.hankel.default_cost import default_cost

RESULTS = Path(__file__).resolve().parent / "results" / "classifiers.json"
N_TEST_WORDS = 5000
N_FLIPPED_WORDS = 40


class LstmClassifier(torch.nn.Module):
    """An LSTM whose last output is classified."""

    def __init__(self, n_symbols: int, n_classes: int, n_units: int = 24) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(n_symbols + 1, 8)
        self.recurrent = torch.nn.LSTM(8, n_units, batch_first=True)
        self.dense = torch.nn.Linear(n_units, n_classes)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the scores of the classes after each id."""
        return self.dense(self.recurrent(self.embedding(ids))[0])


def remainder(word: tuple[str, ...]) -> int:
    """Return one of three classes: a counts 1, b 2, c begins anew."""
    total = 0
    for symbol in word:
        total = 0 if symbol == "c" else (total + {"a": 1, "b": 2, "d": 0}[symbol]) % 3
    return total


def counted(word: tuple[str, ...]) -> int:
    """Return whether a and b balance to at least 0, counting no further than 4 to each side."""
    total = 0
    for symbol in word:
        total = max(-4, min(4, total + (symbol == "a") - (symbol == "b")))
    return int(total >= 0)


def rare(word: tuple[str, ...]) -> int:
    """Return whether abba occurs after the last d."""
    text = "".join(word).rpartition("d")[2]
    return int("abba" in text)


RESTS = ("rest 0", "rest 1", "rest 2")

PROBLEMS: dict[str, tuple[Callable[[tuple[str, ...]], int], str, tuple[str, ...], int]] = {
    "three classes": (remainder, "abcd", RESTS, 600),
    "three classes, hardly trained": (remainder, "abcd", RESTS, 80),
    "counting": (counted, "abc", ("below", "balanced"), 600),
    "rare positives": (rare, "abcd", ("no", "yes"), 600),
}
"""The rule, the symbols, the classes, and the steps of training."""


def trained(
    function: Callable[[tuple[str, ...]], int], alphabet: Alphabet, n_classes: int, steps: int
) -> LstmClassifier:
    """Train an LSTM on the class of every prefix of random words."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    network = LstmClassifier(len(alphabet), n_classes)
    optimiser = torch.optim.Adam(network.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        codes = rng.integers(0, len(alphabet), (64, 40))
        words = [alphabet.decode(row) for row in codes]
        labels = [[function(word[:n]) for n in range(41)] for word in words]
        ids = torch.tensor(np.pad(codes, ((0, 0), (1, 0)), constant_values=len(alphabet)))
        scores = network(ids)
        target = torch.tensor(labels)
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), target.flatten())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return network


def measured(name: str) -> dict[str, Any]:
    """Train, extract, compare and flip; return the figures."""
    function, symbols, classes, steps = PROBLEMS[name]
    alphabet = Alphabet(symbols)
    network = trained(function, alphabet, len(classes), steps)
    card = seqray.Card(alphabet, "classes", start=len(alphabet), classes=classes)
    box = seqray.torch_box(network, card)
    words = uniform_words(alphabet, N_TEST_WORDS, seed=np.random.default_rng(1), max_length=30)
    target = seqray.classifier(lambda ws: [classes[function(w)] for w in ws], alphabet, classes)
    begin = time.perf_counter()
    extraction = seqray.extract(box)
    seconds = time.perf_counter() - begin
    automaton = extraction.best()
    fidelity = seqray.compare(box, automaton, words)
    settings = extraction.settings
    assert settings.question_scores is not None
    assert settings.question is not None
    return {
        "network_agrees_with_rule": seqray.compare(box, target, words)["agreement"],
        "queries": settings.questions,
        "former_default": default_cost(len(alphabet)).n_words,
        "seconds": round(seconds, 1),
        "question": settings.question.value,
        "questions": {s.question: [s.states, s.agreement] for s in settings.question_scores},
        "states": automaton.n_states,
        "validation_agreement": extraction.fidelity.at(extraction.best_rank())["agreement"],
        "test": {**fidelity.as_dict(), "interval": list(fidelity.intervals["agreement"])},
        "flips": flipped(box, automaton, words[:N_FLIPPED_WORDS]),
        "share_of_rarest_class": float(
            np.bincount(np.argmax(box.scores(words), 1), minlength=len(classes)).min() / len(words)
        ),
    }


def flipped(box: Any, automaton: seqray.ClassifierAutomaton, words: Any) -> dict[str, int]:
    """Search the shortest flips of words; count those that the box confirms when asked again."""
    counts = {"words": len(words), "suggested": 0, "confirmed": 0, "refuted": 0, "edits": 0}
    counts["automaton_alone"] = counts["automaton_alone_confirmed"] = 0
    for word in words:
        search = seqray.find_flips(automaton, word, box=box)
        counts["suggested"] += len(search.flips)
        counts["refuted"] += search.n_refuted
        for flip in search.flips:
            counts["confirmed"] += box.classes[int(np.argmax(box.scores([flip.word])))] == flip.name
            counts["edits"] += len(flip.edits)
        for flip in seqray.find_flips(automaton, word).flips:
            counts["automaton_alone"] += 1
            decided = box.classes[int(np.argmax(box.scores([flip.word])))]
            counts["automaton_alone_confirmed"] += decided == flip.name
    return {name: int(count) for name, count in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, default=RESULTS, metavar="FILE")
    options = parser.parse_args()
    results = {}
    for name in PROBLEMS:
        with one_thread():
            results[name] = measured(name)
        print(name, json.dumps(results[name], indent=1), flush=True)
    options.save.write_text(json.dumps({"machine": machine(), **results}, indent=1) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
