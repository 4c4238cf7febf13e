"""seqray: an X-ray of black boxes on sequences.

Ask any model that gives numbers to sequences of symbols for its answers, and get a weighted
automaton that computes nearly the same function.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqray.automaton import WeightedAutomaton
    from seqray.basis import Basis, data_basis, sampled_basis, uniform_basis
    from seqray.blackbox.function import black_box, language_model
    from seqray.blackbox.registry import open_black_box
    from seqray.data.words_file import read_words, write_words
    from seqray.draw.dot import to_dot
    from seqray.draw.svg import to_svg
    from seqray.extraction import Extraction, extract
    from seqray.fidelity import Fidelity, compare
    from seqray.filling import fill
    from seqray.hankel import HankelBlocks
    from seqray.spectral import decompose
    from seqray.stepper import sample
    from seqray.store import open_run, save_run
    from seqray.words import Alphabet, Words

__version__ = "0.1.0"

# Public names are loaded when first used, so that `seqray --help` does not wait for numpy.
_ROOMS = {
    "Alphabet": "words",
    "Basis": "basis",
    "Extraction": "extraction",
    "Fidelity": "fidelity",
    "HankelBlocks": "hankel",
    "WeightedAutomaton": "automaton",
    "Words": "words",
    "black_box": "blackbox.function",
    "compare": "fidelity",
    "data_basis": "basis",
    "decompose": "spectral",
    "extract": "extraction",
    "fill": "filling",
    "language_model": "blackbox.function",
    "open_black_box": "blackbox.registry",
    "open_run": "store",
    "read_words": "data.words_file",
    "sample": "stepper",
    "sampled_basis": "basis",
    "save_run": "store",
    "to_dot": "draw.dot",
    "to_svg": "draw.svg",
    "uniform_basis": "basis",
    "write_words": "data.words_file",
}

__all__ = [
    "Alphabet",
    "Basis",
    "Extraction",
    "Fidelity",
    "HankelBlocks",
    "WeightedAutomaton",
    "Words",
    "black_box",
    "compare",
    "data_basis",
    "decompose",
    "extract",
    "fill",
    "language_model",
    "open_black_box",
    "open_run",
    "read_words",
    "sample",
    "sampled_basis",
    "save_run",
    "to_dot",
    "to_svg",
    "uniform_basis",
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
