"""An adapter to copy: bigram models in JSON files, opened as ``bigram:PATH``.

For each last symbol (``""`` at the start) the probability of every next symbol, the end last:

    {"alphabet": ["a", "b"], "next": {"": [0.5, 0.5, 0], "a": [0.1, 0.5, 0.4], "b": [0, 0, 1]}}
"""

import json

from seqray.automata.words import Alphabet
from seqray.blackbox.native.function import language_model
from seqray.blackbox.queried import QueriedModel
from seqray.util.files import fingerprint, read_text, reading


def open_bigram(path: str, *, batch_size: int = 1024) -> QueriedModel:
    """Open a bigram model; ``batch_size`` is the most prefixes in one call."""
    text = read_text(path)  # a missing file is a FileError, and names the file
    with reading(path, "a bigram model"):  # so is a file with another content
        document = json.loads(text)
        alphabet = Alphabet(document["alphabet"])
        rows = {last: [float(p) for p in row] for last, row in document["next"].items()}
    name = f"bigram {fingerprint(path)}"  # the key of its cached answers: changes with the file
    return language_model(
        lambda prefixes: [rows[prefix[-1] if prefix else ""] for prefix in prefixes],
        alphabet,
        name=name,
        batch_size=batch_size,
    )
