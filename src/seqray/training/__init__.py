"""The paper's network and its training (sections 4 and 4.2), on prefix trees.

`network` holds the network, `recurrence` runs recurrent layers along prefix trees of words,
`learner` takes steps. `recipe` says how to train, `run` does it, `clock` and `reports` know the
time, `checkpoint` saves what a run needs to resume, and `loop` has `train`, for users. Nothing else
in seqray imports PyTorch for training, and nothing here runs without it.
"""

from seqray.util.errors import MissingExtraError, install_hint

try:
    import torch as _torch  # noqa: F401
except ImportError:
    raise MissingExtraError(f"training needs PyTorch: {install_hint('torch')}") from None
