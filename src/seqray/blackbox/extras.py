"""Packages that only some black boxes need."""

import importlib
from typing import Any

from seqray.errors import MissingExtraError


def load_extra(module: str, extra: str) -> Any:
    """Import a package, or say which extra of seqray brings it.

    Examples
    --------
    >>> load_extra("json", "onnx").dumps([1])
    '[1]'
    >>> load_extra("no_such_package", "onnx")
    Traceback (most recent call last):
    seqray.errors.MissingExtraError: the onnx adapter needs no_such_package: \
pip install 'seqray[onnx]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"the {extra} adapter needs {module}: pip install 'seqray[{extra}]'"
        ) from error
