"""The GRU as ONNX models: one that reads whole sequences, and one that is stepped."""

import warnings

import pytest

from same_gru.torch import CARD, gru_module
from seqray.blackbox.card import card_path
from seqray.blackbox.frameworks.onnx import open_onnx


def export(module, example, path, *, card=CARD, **options):
    """Export a module, put its card beside it, and return the path."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the plain exporter, which needs least, is deprecated
        torch.onnx.export(module.eval(), example, path, dynamo=False, **options)
    if card is not None:
        card.save(card_path(path))
    return path


def sequence_graph(path, **options):
    """Export the GRU as ids (batch, time) -> scores (batch, time, 4)."""
    torch = pytest.importorskip("torch")
    axes = {0: "batch", 1: "time"}
    options = {"dynamic_axes": {"ids": axes, "scores": axes}, **options}
    names = {"input_names": ["ids"], "output_names": ["scores"]}
    return export(gru_module(), torch.zeros(2, 3, dtype=torch.int64), path, **names, **options)


def step_graph(path, **options):
    """Export the GRU as ids (batch,), h_in (1, batch, 8) -> scores (batch, 4), h_out."""
    torch = pytest.importorskip("torch")
    module = gru_module()
    module.forward = module.step
    first, second = {0: "batch"}, {1: "batch"}
    free = {"ids": first, "h_in": second, "scores": first, "h_out": second}
    options = {
        "dynamic_axes": free,
        "input_names": ["ids", "h_in"],
        "output_names": ["scores", "h_out"],
        **options,
    }
    example = (torch.zeros(2, dtype=torch.int64), torch.zeros(1, 2, 8))
    return export(module, example, path, **options)


def onnx_sequences(folder):
    return open_onnx(sequence_graph(folder / "sequences.onnx"))


def onnx_steps(folder):
    return open_onnx(step_graph(folder / "steps.onnx"))
