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
        broken = "" if is_absent(module, error) else f", which cannot be loaded ({error})"
        raise MissingExtraError(
            f"the {extra} adapter needs {module}{broken}: pip install 'seqray[{extra}]'"
        ) from error


def is_absent(module: str, error: BaseException | None) -> bool:
    """Whether an import failed because the package is not there, and not because it is broken."""
    names = (module, module.partition(".")[0])
    return isinstance(error, ModuleNotFoundError) and error.name in names
