"""Black boxes that can be imported: ``python:module:object``. This runs the module's code."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import importlib
import inspect
import os
import pkgutil
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from seqray.automata.words import Alphabet
from seqray.blackbox.classifier_box import QueriedClassifier
from seqray.blackbox.guarded import described
from seqray.blackbox.protocol import BlackBox
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.util.errors import ArgumentError, BlackBoxError, SeqrayError
from seqray.util.files import fingerprint


def open_python(where: str) -> BlackBox:
    """Import a module, which runs it, and return the black box in it.

    Parameters
    ----------
    where
        ``module:object``. The object is a black box, or a function without arguments that returns
        one. Modules are looked for in the current folder too.

    Examples
    --------
    >>> open_python("seqray.blackbox.native.demo:open_demo").alphabet
    Alphabet(['a', 'b', 'c', 'd'])
    """
    name, colon, attributes = where.partition(":")
    if not colon or not name or not attributes:
        raise ArgumentError(
            f"python:{where}: expected python:MODULE:OBJECT, as in python:my_model:box"
        )
    module = _module(name)
    with _placed(f"python:{where}"):
        box = _made(_object(module, attributes), f"python:{where}")
        return _named(box, module, f"python:{where}")


def _module(name: str) -> ModuleType:
    """Import a module by its name."""
    here = os.getcwd()
    if not {"", here} & set(sys.path):
        sys.path.insert(0, here)
    importlib.invalidate_caches()  # it may have been written just now
    with _placed(f"importing the module {name!r}"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and f"{name}.".startswith(f"{error.name}."):
                raise ArgumentError(_missing(name, here)) from error
            raise


def _missing(name: str, here: str) -> str:
    """Return an error text that names the modules there are instead."""
    if name.endswith(".py") or "/" in name or os.sep in name:
        path = Path(name)
        return (
            f"there is no module {name!r}: expected a module's name, not a file's: in the folder "
            f"{str(path.parent)!r} write python:{path.stem}:OBJECT"
        )
    near = difflib.get_close_matches(name, [module.name for module in pkgutil.iter_modules([here])])
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return (
        f"there is no module {name!r}: {hint}expected one in the current folder {here}, or one "
        "that is installed or in a folder of the environment variable PYTHONPATH"
    )


@contextmanager
def _placed(what: str) -> Iterator[None]:
    """Turn whatever the user's code raises into an error that says what failed, and where."""
    try:
        yield
    except (SeqrayError, KeyboardInterrupt):
        raise
    except BaseException as error:
        own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
        own = [f for f in own if "importlib" not in f.filename]
        place = f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""
        raise BlackBoxError(f"{what} failed: {described(error)}{place}") from error


def _object(module: ModuleType, attributes: str) -> Any:
    """Return an object of a module."""
    value: Any = module
    for name in attributes.split("."):
        try:
            value = getattr(value, name)
        except AttributeError as error:
            public = [other for other in dir(value) if not other.startswith("_")]
            near = difflib.get_close_matches(name, public) or public[:10]
            raise ArgumentError(
                f"the module {module.__name__!r} has no {attributes!r}: expected one of "
                f"{', '.join(near) or 'its names, and it has none'}"
            ) from error
    return value


def _made(value: Any, spec: str) -> BlackBox:
    """Return a black box as it is, or the one that a function or class makes."""
    if isinstance(value, BlackBox) and not isinstance(value, type):
        return _checked(value, spec)
    if not callable(value):
        raise ArgumentError(_no_box(spec, value))
    try:
        inspect.signature(value).bind()
    except TypeError as error:
        raise ArgumentError(f"{_no_box(spec, value)} ({error})") from error
    except ValueError:
        pass  # it has no signature
    made = value()
    if not isinstance(made, BlackBox) or isinstance(made, type):
        raise ArgumentError(_no_box(f"what {spec} returned", made))
    return _checked(made, spec)


def _no_box(what: str, value: object) -> str:
    return (
        f"{what} is no black box but {value!r}: expected one, or a function without arguments that "
        "returns one; write box = seqray.black_box(function, alphabet) in the module, or "
        "seqray.language_model(function, alphabet)"
    )


def _checked(box: BlackBox, spec: str) -> BlackBox:
    if not isinstance(box.alphabet, Alphabet):
        raise ArgumentError(
            f"{spec}: its alphabet is {type(box.alphabet).__name__}: expected a seqray.Alphabet, "
            "write Alphabet([...])"
        )
    return box


def _named(box: BlackBox, module: ModuleType, spec: str) -> BlackBox:
    """Give a box without a fingerprint one: its specification and the source of its module."""
    queried = box if isinstance(box, QueriedBox | QueriedModel | QueriedClassifier) else None
    holder: Any = queried.backend if queried else box
    source = getattr(module, "__file__", None)
    if getattr(holder, "fingerprint", "") is not None or not source:
        return box
    about = hashlib.sha256(f"{spec} {fingerprint(source)}".encode()).hexdigest()
    try:
        named = dataclasses.replace(holder, fingerprint=f"{spec} {about}")
    except (TypeError, ValueError):  # it cannot take one
        return box
    named_box: BlackBox = dataclasses.replace(queried, backend=named) if queried else named
    return named_box
