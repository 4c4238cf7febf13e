"""DNA promoters: a small GRU classifier, its automaton, and the motifs that both look for.

    python benchmarks/promoters.py   # five seeds, two minutes; writes results/promoters.json

As examples/dna_promoters.ipynb, with another split, network and extraction for each seed. Needs
PyTorch, and ``cases/promoters.txt`` in the folder that SEQRAY_DATA names or beside the repository.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import machine, one_thread

import seqray

RESULTS = Path(__file__).resolve().parent / "results" / "promoters.json"
DATA = Path(
    os.environ.get("SEQRAY_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
)
ALPHABET, START, LENGTH = seqray.Alphabet("ACGT"), 4, 50
EPOCHS, BATCH = 8, 256


class Network(torch.nn.Module):
    """A GRU whose last output is classified."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(5, 6)
        self.gru = torch.nn.GRU(6, 16, batch_first=True)
        self.dense = torch.nn.Linear(16, 1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the logit of a TATA box."""
        return self.dense(self.gru(self.embedding(ids))[0][:, -1])


def trained(words: seqray.Words, labels: np.ndarray, seed: int) -> Network:
    """Train on words of one length and their labels."""
    torch.manual_seed(seed)
    codes = words.codes.reshape(-1, LENGTH)
    ids = torch.tensor(np.pad(codes, ((0, 0), (1, 0)), constant_values=START))
    target = torch.tensor(labels, dtype=torch.float32)
    network, n_batches = Network(), len(ids) // BATCH
    optimiser = torch.optim.Adam(network.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.03, total_steps=EPOCHS * n_batches)
    for _ in range(EPOCHS):
        for some in torch.randperm(len(ids))[: n_batches * BATCH].view(-1, BATCH):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                network(ids[some])[:, 0], target[some]
            )
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    return network


def quality(model: Any, words: seqray.Words, truth: np.ndarray) -> dict[str, float]:
    """Return accuracy and area under the ROC curve."""
    scores = np.asarray(model.scores(words))[:, 1]
    ranks = np.argsort(np.argsort(scores, kind="stable"), kind="stable")
    n_yes = int(truth.sum())
    area = (ranks[truth == 1].sum() - n_yes * (n_yes - 1) / 2) / (n_yes * (len(truth) - n_yes))
    return {"accuracy": float(np.mean((scores > 0.5) == truth)), "auc": float(area)}


def measured(lines: list[str], seed: int) -> dict[str, Any]:
    """Split, train, extract, compare, and search motifs on both; return the figures."""
    order = np.random.default_rng(seed).permutation(len(lines))
    words = ALPHABET.words([lines[i][:LENGTH] for i in order])
    labels = np.array([int(lines[i][LENGTH]) for i in order])
    n = len(words) * 4 // 5
    network = trained(words[:n], labels[:n], seed)
    card = seqray.Card(ALPHABET, "classes", start=START, classes=("other", "TATA"))
    box = seqray.torch_box(network, card)
    begin = time.perf_counter()
    extraction = seqray.extract(box, basis=words[:n], seed=seed)
    seconds = time.perf_counter() - begin
    automaton, test, truth = extraction.best(), words[n:], labels[n:]
    fidelity = seqray.compare(box, automaton, test)
    return {
        "network": quality(box, test, truth),
        "automaton": quality(automaton, test, truth),
        "states": automaton.n_states,
        "queries": extraction.settings.questions,
        "seconds": round(seconds, 1),
        "fidelity": fidelity.as_dict(),
        "motifs": {
            name: [
                ["".join(map(str, each.symbols)), round(each.effect, 2), each.peak]
                for each in found
            ]
            for name, found in (
                ("network", seqray.find_motifs(box, test).motifs),
                ("automaton", seqray.find_motifs(automaton, test).motifs),
            )
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, default=RESULTS, metavar="FILE")
    options = parser.parse_args()
    lines = sorted(set((DATA / "cases" / "promoters.txt").read_text("utf-8").split()))
    results = {}
    for seed in range(5):
        with one_thread():
            results[f"seed {seed}"] = measured(lines, seed)
        print(seed, json.dumps(results[f"seed {seed}"]), flush=True)
    options.save.write_text(json.dumps({"machine": machine(), **results}, indent=1) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
