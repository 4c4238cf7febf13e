"""Black boxes by name: ``wa:machine.json``, ``rnn:model.safetensors``.

This is the only place that names an adapter, and it does so by string: none is loaded before a
box of its kind is opened.

To add an adapter for another kind of model:

1. Copy ``examples/adapter.py`` to a module of this package. It holds one function, which takes
   what follows the kind in a specification, and options as keyword-only parameters. It returns a
   black box, made by one of:

   - ``black_box(function, alphabet)`` or ``language_model(function, alphabet)`` of
     `seqray.blackbox.native.function`, for a model that answers whole words or prefixes;
   - ``sequence_box(forward, card)`` of `seqray.blackbox.frameworks.padded`, for a network that
     reads arrays of ids;
   - ``stepped_box(stepper, card)`` of `seqray.blackbox.frameworks.stepped`, for a network whose
     states can be stepped.

   A box with a ``fingerprint`` has its answers cached. Import packages that seqray does not need
   itself with `seqray.blackbox.frameworks.extras.load_extra`.
   Options arrive as numbers or text: check them, whole numbers with
   `seqray.util.arrays.whole_number`.
2. Add one entry to `ADAPTERS` below; with ``is_cached=False`` if it answers as fast as a cache, and
   ``reads_files_only=True`` if it starts no program and opens no connection.
3. Add the box to ``BOXES`` in tests/blackbox/test_contract.py, which tests what every box promises.

No other module needs a change.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import os
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from seqray.blackbox.box_record import BoxRecord, remember
from seqray.blackbox.protocol import BlackBox
from seqray.formats.run_files import has_file
from seqray.util.errors import ArgumentError
from seqray.util.redaction import hidden, is_secret_name, redacted


class Adapter(NamedTuple):
    """A kind of black box: the function that opens it, and its help."""

    target: str
    """``module:function``; the function takes what follows the name in a specification."""
    argument: str
    """The name of that in help; empty if nothing follows."""
    description: str
    """One line for ``--help``."""
    is_cached: bool = True
    """Whether answers are cached unless the user says otherwise; not worth it for fast boxes."""
    reads_files_only: bool = False
    """Whether opening and querying it reads the files that it names and does nothing else: starts
    no program, runs no code, opens no connection."""


ADAPTERS = {
    "cmd": Adapter(
        "seqray.blackbox.remote.cmd:cmd_box",
        "COMMAND",
        "a program that reads words and writes answers as lines of JSON (docs/boxes/cmd.md)",
    ),
    "demo": Adapter(
        "seqray.blackbox.native.demo:open_demo",
        "",
        "the small trained GRU that ships with seqray",
        is_cached=False,
        reads_files_only=True,
    ),
    "hf": Adapter(
        "seqray.blackbox.frameworks.hf:open_hf",
        "FOLDER",
        "a causal language model or classifier of Hugging Face transformers (docs/boxes/hf.md)",
        reads_files_only=True,
    ),
    "http": Adapter(
        "seqray.blackbox.remote.http:http_box",
        "//URL",
        "a server that takes queries in JSON (docs/boxes/http.md)",
    ),
    "https": Adapter(
        "seqray.blackbox.remote.http:http_box",
        "//URL",
        "the same over TLS, with the token in SEQRAY_TOKEN if it wants one",
    ),
    "keras": Adapter(
        "seqray.blackbox.frameworks.keras:open_keras",
        "PATH",
        "a Keras model in a .keras or .h5 file, with its card (docs/boxes/keras.md)",
        reads_files_only=True,
    ),
    "onnx": Adapter(
        "seqray.blackbox.frameworks.onnx:open_onnx",
        "PATH",
        "an ONNX model, with its card (docs/boxes/onnx.md)",
        reads_files_only=True,
    ),
    "openai": Adapter(
        "seqray.blackbox.remote.llm.box:openai_box",
        "URL",
        "a language model behind vLLM, SGLang, llama.cpp, Ollama or an OpenAI-compatible server "
        "(docs/boxes/openai.md)",
    ),
    "python": Adapter(
        "seqray.blackbox.native.python:open_python",
        "MODULE:OBJECT",
        "a box in a Python module of yours; this runs the module's code (docs/boxes/python.md)",
    ),
    "rnn": Adapter(
        "seqray.blackbox.native.rnn:RecurrentNetwork.load",
        "PATH",
        "a recurrent network in seqray's .safetensors form (docs/files.md)",
        is_cached=False,
        reads_files_only=True,
    ),
    "taysir": Adapter(
        "seqray.blackbox.native.taysir:load_taysir",
        "FOLDER",
        "a language model of the TAYSIR competition, converted to plain arrays by "
        "examples/taysir_convert.py (docs/files.md)",
        is_cached=False,
        reads_files_only=True,
    ),
    "torch": Adapter(
        "seqray.blackbox.frameworks.torch_file:open_torch",
        "PATH",
        "an RNN, GRU or LSTM of PyTorch: .safetensors or a state dictionary, with its card "
        "(docs/boxes/torch.md)",
        reads_files_only=True,
    ),
    "wa": Adapter(
        "seqray.formats.automaton_file:open_wa",
        "PATH",
        "an automaton: .json, .npz, .fst, .logfst, the folder of an extraction, a PAutomaC "
        "machine, or a .dot file of seqray convert or AALpy",
        is_cached=False,
        reads_files_only=True,
    ),
}

KIND_OF_SUFFIX = {
    ".safetensors": "rnn",
    ".json": "wa",
    ".npz": "wa",
    "_model.txt": "wa",
    ".dot": "wa",
    ".fst": "wa",
    ".logfst": "wa",
    ".pautomac": "wa",
    ".keras": "keras",
    ".h5": "keras",
    ".hdf5": "keras",
    ".onnx": "onnx",
    ".pt": "torch",
}
"""The kind of a path without one, by its end."""


def open_black_box(spec: str | os.PathLike[str], /, **options: Any) -> BlackBox:
    """Open a black box by its specification.

    Parameters
    ----------
    spec
        ``kind:where``; `known_black_boxes` lists the kinds. The kind may be left out before a path
        that ends in ``.safetensors`` (rnn), ``.json``, ``.npz``, ``.dot`` or ``_model.txt`` (wa),
        ``.keras`` or ``.h5`` (keras), ``.onnx`` or ``.pt`` (torch), and before the folder of an
        extraction (wa).
    options
        Options of its kind, such as ``timeout=60`` for ``http``; docs/boxes/ has a page for each.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from seqray import WeightedAutomaton
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "coin.json")
    ...     WeightedAutomaton("a", [1], [[[0.5]]], [0.5]).save(path)
    ...     open_black_box(f"wa:{path}").weights(["", "a"])
    array([0.5 , 0.25])
    """
    kind, where = split_spec(os.fspath(spec))
    module, _, attributes = ADAPTERS[kind].target.partition(":")
    opener: Any = functools.reduce(getattr, attributes.split("."), importlib.import_module(module))
    _check_options(kind, opener, options)
    try:
        box: BlackBox = opener(where, **options) if where else opener(**options)
    except TypeError as error:
        if not options:
            raise
        keys = [str(value) for name, value in options.items() if is_secret_name(name)]
        text = hidden(f"{options}: {error}", keys)
        raise ArgumentError(
            f"the {kind} adapter cannot use the options {text}: see docs/boxes/"
        ) from error
    is_bare = os.fspath(spec).partition(":")[0] != kind
    remember(box, BoxRecord.of(f"{kind}:{where}" if is_bare else os.fspath(spec), options))
    return box


def _check_options(kind: str, opener: Any, options: dict[str, Any]) -> None:
    known = _option_names(opener)
    for name in options:
        if name not in known:
            which = f"expected one of {', '.join(known)}" if known else "it takes none"
            raise ArgumentError(f"the {kind} adapter has no option {name!r}: {which}")


def _option_names(opener: Any) -> list[str]:
    """Return the keyword-only parameters of a function, and the fields of its ``**options``."""
    names: list[str] = []
    for parameter in inspect.signature(opener).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            names.append(parameter.name)
        elif parameter.kind is parameter.VAR_KEYWORD:
            (fields,) = get_args(get_type_hints(opener)[parameter.name])  # Unpack[a TypedDict]
            names += fields.__annotations__
    return names


def is_cached(spec: str) -> bool:
    """Return whether the answers of a box are cached unless the user says otherwise.

    >>> is_cached("cmd:./model"), is_cached("wa:machine.json")
    (True, False)
    """
    return ADAPTERS[split_spec(spec)[0]].is_cached


def known_black_boxes() -> dict[str, str]:
    """Return the form of each kind of specification, with one line of help.

    Examples
    --------
    >>> sorted(known_black_boxes())[-1]
    'wa:PATH'
    """
    return {
        f"{kind}:{adapter.argument}" if adapter.argument else kind: adapter.description
        for kind, adapter in ADAPTERS.items()
    }


def split_spec(spec: str) -> tuple[str, str]:
    """Return the kind of a specification, and what follows it."""
    kind, colon, where = spec.partition(":")
    if kind in ADAPTERS and not where and not ADAPTERS[kind].argument:
        return kind, ""
    if not colon or len(kind) == 1:  # a bare path, maybe on a drive C:
        if has_file(spec, "automaton.npz"):
            return "wa", spec
        for suffix, guess in KIND_OF_SUFFIX.items():
            if spec.endswith(suffix):
                return guess, spec
        hint = f"did you mean python:{Path(spec).stem}:NAME? " if spec.endswith(".py") else ""
        raise ArgumentError(
            f"black box {redacted(spec)!r}: {hint}expected KIND:WHERE, one of {_forms()}"
        )
    if kind not in ADAPTERS:
        near = difflib.get_close_matches(kind[:80].lower(), ADAPTERS, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        module = os.path.join(*(kind or "-").split("."))
        if os.path.exists(f"{module}.py") or os.path.exists(os.path.join(module, "__init__.py")):
            hint = f"did you mean python:{spec}? "
        raise ArgumentError(
            f"black box {redacted(spec)!r}: unknown kind {kind!r}: {hint}expected one of {_forms()}"
        )
    if not ADAPTERS[kind].argument:
        raise ArgumentError(
            f"black box {redacted(spec)!r}: expected nothing after {kind}: write {kind}"
        )
    if not where:
        raise ArgumentError(
            f"black box {redacted(spec)!r}: it does not say where the box is: write "
            f"{kind}:{ADAPTERS[kind].argument}"
        )
    return kind, spec if kind.startswith("http") else where


def _forms() -> str:
    return ", ".join(known_black_boxes())
