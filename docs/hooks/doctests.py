"""Show the examples of docstrings as code: Markdown would read ``>>>`` as three quotations."""

import re
from typing import Any

import griffe

# From a line with a prompt to the next empty line.
EXAMPLE = re.compile(r"^(?P<indent>[ ]*)>>> .*?(?=\n[ ]*\n|\Z)", re.MULTILINE | re.DOTALL)


class Doctests(griffe.Extension):
    """Put fences around the examples of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of a function, class, attribute or module."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Return a docstring with its examples as blocks of code."""

    def block(example: re.Match[str]) -> str:
        indent = example["indent"]
        return f"\n{indent}```pycon\n{example[0].rstrip()}\n{indent}```"

    return EXAMPLE.sub(block, text)
