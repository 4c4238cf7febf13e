"""Give each term of the glossary an address: ``glossary.md#weighted-automaton``."""

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

TERM = re.compile(r"^\*\*([^*]+)\.\*\*", re.MULTILINE)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Add the addresses."""
    if page.file.src_uri != "glossary.md":
        return markdown
    return TERM.sub(lambda term: f"{term[0]}{{#{address(term[1])}}}", markdown)


def address(term: str) -> str:
    """Return the address of an entry, made of its first term without what stands in brackets."""
    first = re.split(r",| \(", term, maxsplit=1)[0]
    return re.sub(r"[^\w]+", "-", first.lower()).strip("-")
