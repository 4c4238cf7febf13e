"""Shapes of PyTorch networks that several tests share."""

from seqray.blackbox.frameworks.torch_stack import Dense, Stack


def stack_of(cell="gru", **changes):
    """Return a network of one layer, with some of its settings changed."""
    fields = {
        "n_ids": 4,
        "embedding": 3,
        "hidden": 5,
        "layers": 1,
        "bidirectional": False,
        "bias": True,
        "dense": (Dense(4, "identity", True),),
        "read": "last",
    }
    fields |= changes
    sizes = (fields.pop("hidden"),) * fields.pop("layers")
    return Stack(cell, **{"sizes": sizes, **fields})
