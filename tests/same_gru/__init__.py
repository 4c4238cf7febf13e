"""One small GRU language model, to be had through every adapter: all must say the same."""

import numpy as np

from seqray.blackbox.native.cells import DenseLayer, RecurrentLayer
from seqray.blackbox.native.rnn import RecurrentLanguageModel

ALPHABET, N_HIDDEN, N_EMBEDDED = "abc", 8, 4
START, END = 3, 3
"""The input id of the start marker, and the output column of the end."""
WORDS = ["", "a", "c", "ab", "bca", "abcabcabcabccbaabcab"]


def arrays():
    """Return the weights, in PyTorch's names, shapes and order of gates (r, z, n)."""
    rng = np.random.default_rng(7)
    shapes = {
        "embedding.weight": (4, N_EMBEDDED),
        "recurrent.weight_ih_l0": (3 * N_HIDDEN, N_EMBEDDED),
        "recurrent.weight_hh_l0": (3 * N_HIDDEN, N_HIDDEN),
        "recurrent.bias_ih_l0": (3 * N_HIDDEN,),
        "recurrent.bias_hh_l0": (3 * N_HIDDEN,),
        "output.weight": (4, N_HIDDEN),
        "output.bias": (4,),
    }
    return {name: rng.normal(size=s).astype(np.float32) for name, s in shapes.items()}


def native():
    """Return the network as seqray runs it itself."""
    w = arrays()
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    layer = RecurrentLayer("gru", *(w[f"recurrent.{name}"] for name in names))
    head = DenseLayer(w["output.weight"], w["output.bias"])
    return RecurrentLanguageModel(ALPHABET, [layer], [head], w["embedding.weight"], start_id=START)


def assert_same_as_native(box, words=WORDS):
    """Check that a box says what the network says that seqray runs itself."""
    np.testing.assert_allclose(box.next_symbol(words), native().next_symbol(words), atol=1e-5)
    np.testing.assert_allclose(box.weights(words), native().weights(words), rtol=1e-5)
