"""What every page has: static files, a frame to be filled, JSON for its script, and a policy."""

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def static_text(path: str) -> str:
    """Return the text of a static file.

    >>> static_text("head.html")[:15]
    '<!DOCTYPE html>'
    """
    return files("seqray.explore").joinpath("static", path).read_text("utf-8")


def filled_frame(path: str, parts: Mapping[str, str]) -> str:
    """Return a static file with its parts filled in; what is filled in is not looked at again.

    All pages begin with the same head. The script of the page compares its content with the
    checksum.
    """
    parts = {**parts, "CHECKSUM": str(zlib.crc32(parts["CONTENT"].encode()))}
    pieces = static_text(path).replace("%%HEAD%%", static_text("head.html")).split("%%")
    # Every second piece is the name of a part.
    return "".join(parts[piece] if at % 2 else piece for at, piece in enumerate(pieces))


def script_json(document: dict[str, Any]) -> str:
    """Return JSON that a script element can hold: no ``<`` of it can end the element.

    >>> "<" in script_json({"a": "</script>"})
    False
    """
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def policy(scripts: Iterable[str], styles: Iterable[str], is_live: bool) -> str:
    """Return a content security policy that allows the given inline parts, and no request.

    Graphviz runs in a worker that the page makes of its own text, hence ``blob:``.

    >>> policy(["run()"], [], False)[:43]
    "default-src 'none'; script-src 'sha256-Avyu"
    """
    rules = {
        "default-src": ["'none'"],
        "script-src": [*map(_digest, scripts), "'wasm-unsafe-eval'"],
        "style-src": list(map(_digest, styles)) or ["'none'"],
        "worker-src": ["blob:"],
        "img-src": ["data:"],
        "connect-src": ["'self'" if is_live else "'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    return "; ".join(" ".join([rule, *values]) for rule, values in rules.items())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
