"""What a notebook would show of a value."""

from html.parser import HTMLParser

import pytest

NASTY = ("<script>window.hit=1</script>", '"><img src=x onerror=hit()>', "$x^$", "_a & b", "a b")
"""Names of symbols that try to be something else."""


def shown(value) -> dict[str, str]:
    """Return what IPython shows of a value, by media type."""
    formatters = pytest.importorskip("IPython.core.formatters", reason="needs IPython")
    data, _ = formatters.DisplayFormatter().format(value)
    return data


class _Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.names, self.attributes, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


def elements(html: str) -> _Elements:
    """Return the names of all elements, their attributes, and the texts between them."""
    parser = _Elements()
    parser.feed(html)
    return parser


def text_of(value) -> str:
    """Return the text that a notebook shows of a value, which has to be harmless HTML."""
    parsed = elements(shown(value)["text/html"])
    assert not {"script", "img", "style", "link", "iframe"} & set(parsed.names)
    names = {name for name, _ in parsed.attributes}
    assert not {name for name in names if name.startswith("on") or name in ("id", "href", "src")}
    return "\n".join(parsed.texts)
