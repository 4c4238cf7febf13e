"""seqray: an X-ray of black boxes on sequences.

Query any model that gives numbers to sequences of symbols, and get a weighted automaton that
computes nearly the same function.
"""

import importlib
from typing import TYPE_CHECKING, Any

from seqray.util.display import connect
from seqray.util.version import __version__ as __version__

if TYPE_CHECKING:
    from seqray.automata.automaton import WeightedAutomaton
    from seqray.automata.classifier import ClassifierAutomaton
    from seqray.automata.deterministic import (
        DeterministicAutomaton,
        deterministic_pfa,
        separating_word,
    )
    from seqray.automata.grouping import Grouping, PairMatrices
    from seqray.automata.regex import regex_dfa
    from seqray.automata.sampling import Sample
    from seqray.automata.stepper import PredictingStepper, Stepper
    from seqray.automata.structured import StructuredAutomaton
    from seqray.automata.words import Alphabet, Words
    from seqray.blackbox.card import Card
    from seqray.blackbox.frameworks.hf import hf_box
    from seqray.blackbox.frameworks.keras import keras_box
    from seqray.blackbox.frameworks.onnx import onnx_box
    from seqray.blackbox.frameworks.torch import torch_box
    from seqray.blackbox.guided import guided
    from seqray.blackbox.native.classifier import classifier
    from seqray.blackbox.native.clipped import clipped
    from seqray.blackbox.native.function import black_box, language_model
    from seqray.blackbox.protocol import BlackBox, Classifier
    from seqray.blackbox.queries.answer_cache import AnswerStore
    from seqray.blackbox.registry import open_black_box
    from seqray.blackbox.remote.cmd import cmd_box
    from seqray.blackbox.remote.http import http_box
    from seqray.blackbox.remote.llm.box import openai_box
    from seqray.draw.dot import to_dot
    from seqray.draw.exports import save_automaton
    from seqray.draw.saving import save_drawing
    from seqray.draw.svg import to_svg
    from seqray.explain.background import Background
    from seqray.explain.changes import what_changes
    from seqray.explain.decision import explain_decision
    from seqray.explain.difference.diff import diff
    from seqray.explain.difference.record import Difference
    from seqray.explain.facts import facts
    from seqray.explain.flips import find_flips
    from seqray.explain.motifs import find_motifs
    from seqray.explain.named_automaton import NamedAutomaton
    from seqray.explain.naming import name_states
    from seqray.explain.shapley import shapley_values
    from seqray.explain.surprise import surprise
    from seqray.explain.word import explain_word
    from seqray.explore.page import to_html
    from seqray.extraction.basis import Basis, data_basis, sampled_basis, uniform_basis
    from seqray.extraction.blind_spots import find_blind_spots
    from seqray.extraction.data_fit import fit_automaton
    from seqray.extraction.extract import extract
    from seqray.extraction.hankel.blocks import HankelBlocks
    from seqray.extraction.hankel.decomposition import decompose
    from seqray.extraction.hankel.fill import fill
    from seqray.extraction.repair import repair
    from seqray.extraction.result import Extraction
    from seqray.extraction.run_folder import open_run, save_run
    from seqray.extraction.self_check import check
    from seqray.fidelity.compare import compare
    from seqray.fidelity.disagreements import disagreements
    from seqray.fidelity.reference import Reference
    from seqray.fidelity.table import Fidelity, FidelityTable
    from seqray.formats.aalpy_models import from_aalpy, to_aalpy
    from seqray.formats.automaton_arguments import (
        add,
        approximate,
        change_basis,
        distance,
        equivalent,
        gramians,
        inner_product,
        minimise,
        multiply,
        restricted,
        reverse,
        sample,
        scale,
        singular_values,
    )
    from seqray.formats.events.event_log import EventLog, read_events, read_log_lines
    from seqray.formats.hmm import from_hmmlearn, to_hmmlearn
    from seqray.formats.rare_symbols import group_rare
    from seqray.formats.words_file import read_words, write_words
    from seqray.learning.determinise import Determinised, determinise
    from seqray.learning.dfa import learn_dfa
    from seqray.learning.pdfa import learn_pdfa
    from seqray.learning.result import Learned, LearningEnd
    from seqray.training.loop import train
    from seqray.util.errors import (
        ArgumentError,
        BasisError,
        BlackBoxError,
        FileError,
        MissingExtraError,
        MissingFileError,
        MissingMetricError,
        MissingRankError,
        RankError,
        SeqrayError,
        Stopped,
        StopReason,
        SymbolError,
    )

# Public names are loaded when first used, so that `seqray --help` does not wait for numpy.
_ROOMS = {
    "Alphabet": "automata.words",
    "AnswerStore": "blackbox.queries.answer_cache",
    "ArgumentError": "util.errors",
    "Background": "explain.background",
    "Basis": "extraction.basis",
    "BasisError": "util.errors",
    "BlackBox": "blackbox.protocol",
    "BlackBoxError": "util.errors",
    "Card": "blackbox.card",
    "Classifier": "blackbox.protocol",
    "ClassifierAutomaton": "automata.classifier",
    "Determinised": "learning.determinise",
    "DeterministicAutomaton": "automata.deterministic",
    "Difference": "explain.difference.record",
    "EventLog": "formats.events.event_log",
    "Extraction": "extraction.result",
    "Fidelity": "fidelity.table",
    "FidelityTable": "fidelity.table",
    "FileError": "util.errors",
    "Grouping": "automata.grouping",
    "HankelBlocks": "extraction.hankel.blocks",
    "Learned": "learning.result",
    "LearningEnd": "learning.result",
    "MissingExtraError": "util.errors",
    "MissingFileError": "util.errors",
    "MissingMetricError": "util.errors",
    "MissingRankError": "util.errors",
    "NamedAutomaton": "explain.named_automaton",
    "PairMatrices": "automata.grouping",
    "PredictingStepper": "automata.stepper",
    "RankError": "util.errors",
    "Reference": "fidelity.reference",
    "Sample": "automata.sampling",
    "SeqrayError": "util.errors",
    "Stepper": "automata.stepper",
    "StopReason": "util.errors",
    "Stopped": "util.errors",
    "StructuredAutomaton": "automata.structured",
    "SymbolError": "util.errors",
    "WeightedAutomaton": "automata.automaton",
    "Words": "automata.words",
    "add": "formats.automaton_arguments",
    "approximate": "formats.automaton_arguments",
    "black_box": "blackbox.native.function",
    "change_basis": "formats.automaton_arguments",
    "check": "extraction.self_check",
    "classifier": "blackbox.native.classifier",
    "clipped": "blackbox.native.clipped",
    "cmd_box": "blackbox.remote.cmd",
    "compare": "fidelity.compare",
    "data_basis": "extraction.basis",
    "decompose": "extraction.hankel.decomposition",
    "determinise": "learning.determinise",
    "deterministic_pfa": "automata.deterministic",
    "diff": "explain.difference.diff",
    "disagreements": "fidelity.disagreements",
    "distance": "formats.automaton_arguments",
    "equivalent": "formats.automaton_arguments",
    "explain_decision": "explain.decision",
    "explain_word": "explain.word",
    "extract": "extraction.extract",
    "facts": "explain.facts",
    "fill": "extraction.hankel.fill",
    "find_blind_spots": "extraction.blind_spots",
    "find_flips": "explain.flips",
    "find_motifs": "explain.motifs",
    "fit_automaton": "extraction.data_fit",
    "from_aalpy": "formats.aalpy_models",
    "from_hmmlearn": "formats.hmm",
    "gramians": "formats.automaton_arguments",
    "guided": "blackbox.guided",
    "group_rare": "formats.rare_symbols",
    "hf_box": "blackbox.frameworks.hf",
    "http_box": "blackbox.remote.http",
    "inner_product": "formats.automaton_arguments",
    "keras_box": "blackbox.frameworks.keras",
    "language_model": "blackbox.native.function",
    "learn_dfa": "learning.dfa",
    "learn_pdfa": "learning.pdfa",
    "minimise": "formats.automaton_arguments",
    "multiply": "formats.automaton_arguments",
    "name_states": "explain.naming",
    "onnx_box": "blackbox.frameworks.onnx",
    "open_black_box": "blackbox.registry",
    "open_run": "extraction.run_folder",
    "openai_box": "blackbox.remote.llm.box",
    "read_events": "formats.events.event_log",
    "read_log_lines": "formats.events.event_log",
    "read_words": "formats.words_file",
    "regex_dfa": "automata.regex",
    "repair": "extraction.repair",
    "restricted": "formats.automaton_arguments",
    "reverse": "formats.automaton_arguments",
    "sample": "formats.automaton_arguments",
    "sampled_basis": "extraction.basis",
    "save_automaton": "draw.exports",
    "save_drawing": "draw.saving",
    "save_run": "extraction.run_folder",
    "scale": "formats.automaton_arguments",
    "separating_word": "automata.deterministic",
    "shapley_values": "explain.shapley",
    "singular_values": "formats.automaton_arguments",
    "surprise": "explain.surprise",
    "to_aalpy": "formats.aalpy_models",
    "to_dot": "draw.dot",
    "to_hmmlearn": "formats.hmm",
    "to_html": "explore.page",
    "to_svg": "draw.svg",
    "torch_box": "blackbox.frameworks.torch",
    "train": "training.loop",
    "uniform_basis": "extraction.basis",
    "what_changes": "explain.changes",
    "write_words": "formats.words_file",
}

__all__ = [
    "Alphabet",
    "AnswerStore",
    "ArgumentError",
    "Background",
    "Basis",
    "BasisError",
    "BlackBox",
    "BlackBoxError",
    "Card",
    "Classifier",
    "ClassifierAutomaton",
    "Determinised",
    "DeterministicAutomaton",
    "Difference",
    "EventLog",
    "Extraction",
    "Fidelity",
    "FidelityTable",
    "FileError",
    "Grouping",
    "HankelBlocks",
    "Learned",
    "LearningEnd",
    "MissingExtraError",
    "MissingFileError",
    "MissingMetricError",
    "MissingRankError",
    "NamedAutomaton",
    "PairMatrices",
    "PredictingStepper",
    "RankError",
    "Reference",
    "Sample",
    "SeqrayError",
    "Stepper",
    "StopReason",
    "Stopped",
    "StructuredAutomaton",
    "SymbolError",
    "WeightedAutomaton",
    "Words",
    "add",
    "approximate",
    "black_box",
    "change_basis",
    "check",
    "classifier",
    "clipped",
    "cmd_box",
    "compare",
    "data_basis",
    "decompose",
    "determinise",
    "deterministic_pfa",
    "diff",
    "disagreements",
    "distance",
    "equivalent",
    "explain_decision",
    "explain_word",
    "extract",
    "facts",
    "fill",
    "find_blind_spots",
    "find_flips",
    "find_motifs",
    "fit_automaton",
    "from_aalpy",
    "from_hmmlearn",
    "gramians",
    "group_rare",
    "guided",
    "hf_box",
    "http_box",
    "inner_product",
    "keras_box",
    "language_model",
    "learn_dfa",
    "learn_pdfa",
    "minimise",
    "multiply",
    "name_states",
    "onnx_box",
    "open_black_box",
    "open_run",
    "openai_box",
    "read_events",
    "read_log_lines",
    "read_words",
    "regex_dfa",
    "repair",
    "restricted",
    "reverse",
    "sample",
    "sampled_basis",
    "save_automaton",
    "save_drawing",
    "save_run",
    "scale",
    "separating_word",
    "shapley_values",
    "singular_values",
    "surprise",
    "to_aalpy",
    "to_dot",
    "to_hmmlearn",
    "to_html",
    "to_svg",
    "torch_box",
    "train",
    "uniform_basis",
    "what_changes",
    "write_words",
]


def _display() -> Any:
    return importlib.import_module("seqray.notebook.shown")


# Values show themselves in notebooks; what makes that is loaded when the first one is shown.
connect(_display)


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'seqray' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"seqray.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
