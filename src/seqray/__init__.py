"""seqray: an X-ray of black boxes on sequences.

Ask any model that gives numbers to sequences of symbols for its answers, and get a weighted
automaton that computes nearly the same function.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqray.answers import AnswerStore
    from seqray.automaton import WeightedAutomaton
    from seqray.basis import Basis, data_basis, sampled_basis, uniform_basis
    from seqray.blackbox.card import Card
    from seqray.blackbox.cmd import cmd_box
    from seqray.blackbox.function import black_box, language_model
    from seqray.blackbox.hf import hf_box
    from seqray.blackbox.http import http_box
    from seqray.blackbox.keras import keras_box
    from seqray.blackbox.onnx import onnx_box
    from seqray.blackbox.registry import open_black_box
    from seqray.blackbox.torch import torch_box
    from seqray.checking import check
    from seqray.data.words_file import read_words, write_words
    from seqray.disagreeing import disagreements
    from seqray.draw.dot import to_dot
    from seqray.draw.saving import save_drawing
    from seqray.draw.svg import to_svg
    from seqray.explain.background import Background
    from seqray.explain.changes import what_changes
    from seqray.explain.facts import facts
    from seqray.explain.naming import NamedAutomaton, name_states
    from seqray.explain.shapley import shapley_values
    from seqray.explain.word import explain_word
    from seqray.extraction import Extraction, extract
    from seqray.fidelity import Fidelity, compare
    from seqray.filling import fill
    from seqray.hankel import HankelBlocks
    from seqray.repairing import clipped, repair
    from seqray.spectral import decompose
    from seqray.stepper import sample
    from seqray.store import open_run, save_run
    from seqray.training.loop import train
    from seqray.words import Alphabet, Words

__version__ = "0.1.0"

# Public names are loaded when first used, so that `seqray --help` does not wait for numpy.
_ROOMS = {
    "Alphabet": "words",
    "AnswerStore": "answers",
    "Background": "explain.background",
    "Basis": "basis",
    "Card": "blackbox.card",
    "Extraction": "extraction",
    "Fidelity": "fidelity",
    "HankelBlocks": "hankel",
    "NamedAutomaton": "explain.naming",
    "WeightedAutomaton": "automaton",
    "Words": "words",
    "black_box": "blackbox.function",
    "check": "checking",
    "clipped": "repairing",
    "cmd_box": "blackbox.cmd",
    "compare": "fidelity",
    "data_basis": "basis",
    "decompose": "spectral",
    "disagreements": "disagreeing",
    "explain_word": "explain.word",
    "extract": "extraction",
    "facts": "explain.facts",
    "fill": "filling",
    "hf_box": "blackbox.hf",
    "http_box": "blackbox.http",
    "keras_box": "blackbox.keras",
    "language_model": "blackbox.function",
    "name_states": "explain.naming",
    "onnx_box": "blackbox.onnx",
    "open_black_box": "blackbox.registry",
    "open_run": "store",
    "read_words": "data.words_file",
    "repair": "repairing",
    "sample": "stepper",
    "sampled_basis": "basis",
    "save_drawing": "draw.saving",
    "save_run": "store",
    "shapley_values": "explain.shapley",
    "to_dot": "draw.dot",
    "to_svg": "draw.svg",
    "torch_box": "blackbox.torch",
    "train": "training.loop",
    "uniform_basis": "basis",
    "what_changes": "explain.changes",
    "write_words": "data.words_file",
}

__all__ = [
    "Alphabet",
    "AnswerStore",
    "Background",
    "Basis",
    "Card",
    "Extraction",
    "Fidelity",
    "HankelBlocks",
    "NamedAutomaton",
    "WeightedAutomaton",
    "Words",
    "black_box",
    "check",
    "clipped",
    "cmd_box",
    "compare",
    "data_basis",
    "decompose",
    "disagreements",
    "explain_word",
    "extract",
    "facts",
    "fill",
    "hf_box",
    "http_box",
    "keras_box",
    "language_model",
    "name_states",
    "onnx_box",
    "open_black_box",
    "open_run",
    "read_words",
    "repair",
    "sample",
    "sampled_basis",
    "save_drawing",
    "save_run",
    "shapley_values",
    "to_dot",
    "to_svg",
    "torch_box",
    "train",
    "uniform_basis",
    "what_changes",
    "write_words",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'seqray' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"seqray.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
