"""What a page may do: its content security policy."""

import base64
import hashlib
from collections.abc import Iterable


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
