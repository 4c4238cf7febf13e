"""Extract an automaton from an ONNX model, read whole or symbol by symbol.

    pip install '.[onnx]' torch onnx
    python examples/onnx_box.py

A GRU that predicts the next letter is exported from PyTorch twice: as a graph that reads whole
sequences, and as one that reads a letter and a state and returns scores and the next state. Both
say the same; the second one reads no prefix twice, and needs less time for the same automaton.
"""

import json
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import nn

import seqray

N_LETTERS, START = 3, 3
CARD = {"alphabet": ["a", "b", "c"], "answers": "next", "start": START}


class Network(nn.Module):
    """Scores the next letter, or the end, at every position."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(N_LETTERS + 1, 6)
        self.gru = nn.GRU(6, 8, batch_first=True)
        self.output = nn.Linear(8, N_LETTERS + 1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Read ids (batch, time)."""
        return self.output(self.gru(self.embedding(ids))[0])


class Step(nn.Module):
    """One step of the same network."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, ids: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Read one id each, (batch,), in the state h, (1, batch, 8)."""
        hidden, h = self.network.gru(self.network.embedding(ids[:, None]), h)
        return self.network.output(hidden[:, 0]), h


def export_both(network: Network, folder: Path) -> None:
    whole, batch, second = {0: "batch", 1: "time"}, {0: "batch"}, {1: "batch"}
    torch.onnx.export(
        network,
        torch.zeros(2, 3, dtype=torch.int64),
        folder / "whole.onnx",
        input_names=["ids"],
        output_names=["scores"],
        dynamic_axes={"ids": whole, "scores": whole},  # without this, batch and time are fixed
        dynamo=False,
    )
    torch.onnx.export(
        Step(network),
        (torch.zeros(2, dtype=torch.int64), torch.zeros(1, 2, 8)),
        folder / "step.onnx",
        input_names=["ids", "h_in"],
        output_names=["scores", "h_out"],
        dynamic_axes={"ids": batch, "h_in": second, "scores": batch, "h_out": second},
        dynamo=False,
    )
    for name in ("whole", "step"):
        (folder / f"{name}.seqray.json").write_text(json.dumps(CARD))


def main() -> None:
    torch.manual_seed(4)
    network = Network().eval()
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=1.0)
    nn.init.constant_(network.output.bias[-1], 0.5)  # so that words end
    with tempfile.TemporaryDirectory() as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the exporter of before torch 2.9 needs least
            export_both(network, Path(folder))
        for name in ("whole", "step"):
            box = seqray.open_black_box(f"onnx:{folder}/{name}.onnx")
            began = time.perf_counter()
            extraction = seqray.extract(
                box, n_prefixes=80, n_suffixes=80, max_rank=16, max_length=30
            )
            wa, seconds = extraction.best(), time.perf_counter() - began
            words = seqray.sample(wa, 200, seed=np.random.default_rng(0), max_length=30)[0]
            fidelity = seqray.compare(box, wa, words)
            lost = fidelity["kl_per_symbol"]
            print(f"{name + '.onnx':>10}: {wa}, {seconds:.1f} s, {lost:.2g} bits lost per symbol")


if __name__ == "__main__":
    main()
