"""Packages that only some black boxes need."""

import importlib
import re
from typing import Any

from seqray.util.errors import MissingExtraError, install_hint


def load_extra(module: str, extra: str) -> Any:
    """Import a package; raise an error that names the extra of seqray that installs it.

    Examples
    --------
    >>> load_extra("json", "onnx").dumps([1])
    '[1]'
    >>> load_extra("no_such_package", "onnx")
    Traceback (most recent call last):
    seqray.MissingExtraError: the onnx adapter needs no_such_package: \
pip install '.[onnx]' in seqray's folder
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        broken = "" if is_absent(module, error) else f", which cannot be loaded ({error})"
        raise MissingExtraError(
            f"the {extra} adapter needs {module}{broken}: {install_hint(extra)}"
        ) from error


SAFE_VERSIONS = {"torch": (2, 10), "keras": (3, 15), "transformers": (5, 3)}
"""The first version of each package with which no file is known to run code when it is opened.

Before, there are CVE-2025-32434 and CVE-2026-24747 (torch), CVE-2025-1550, CVE-2025-9906 and
CVE-2026-1462 (keras), CVE-2026-4372 and CVE-2026-5241 (transformers). As in pyproject.toml.
"""


def check_safe(package: Any, what: str) -> None:
    """Refuse to open a file with a version of a package that lets files run code.

    Parameters
    ----------
    package
        The package that opens the file.
    what
        The kind of file.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> check_safe(SimpleNamespace(__name__="torch", __version__="2.5.1"), "a file of torch.save")
    Traceback (most recent call last):
    seqray.MissingExtraError: torch 2.5.1 lets a file of torch.save run code when it is \
opened: expected version 2.10 or newer: pip install --upgrade 'torch>=2.10'
    """
    name, safe = package.__name__, SAFE_VERSIONS[package.__name__]
    installed = tuple(int(n) for n in re.findall(r"\d+", package.__version__)[: len(safe)])
    if installed < safe:
        wanted = ".".join(map(str, safe))
        raise MissingExtraError(
            f"{name} {package.__version__} lets {what} run code when it is opened: expected "
            f"version {wanted} or newer: pip install --upgrade '{name}>={wanted}'"
        )


def is_absent(module: str, error: BaseException | None) -> bool:
    """Return whether an import failed because the package is missing, not because it is broken."""
    names = (module, module.partition(".")[0])
    return isinstance(error, ModuleNotFoundError) and error.name in names
