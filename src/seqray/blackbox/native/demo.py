"""The network that ships with seqray; `examples/train_demo_box.py` made it."""

from importlib.resources import as_file, files

from seqray.blackbox.native.rnn import RecurrentLanguageModel, RecurrentNetwork


def open_demo() -> RecurrentLanguageModel:
    """Open the network that `seqray demo` extracts.

    >>> open_demo().alphabet
    Alphabet(['a', 'b', 'c', 'd'])
    """
    with as_file(files("seqray.blackbox.native") / "demo.safetensors") as path:
        box = RecurrentNetwork.load(path)
    assert isinstance(box, RecurrentLanguageModel)
    return box
