"""Publish files outside docs/, and turn links between files into links of the site.

README.md is the first page. What a page links to outside docs/, such as a table of results or a
notebook, is copied. So pages are written for readers of the repository, and every link of theirs
also works in the site.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
SOURCES = {page: source for source, page in PAGES.items()}
COPIES = "repository"
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)((?:#[^)\s]*)?)(?=\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/, and copies of all files that a page links to."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    sources = [source_of(file.src_uri) for file in files.documentation_pages()]
    for target in sorted({at for source in sources for at in outside(source)}):
        files.append(File.generated(config, uri_of(target), abs_src_path=str(ROOT / target)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links between files by links between pages."""
    here = page.file.src_uri
    if not (ROOT / source_of(here)).is_file():
        return markdown

    def linked(link: re.Match[str]) -> str:
        uri = uri_of(target_of(source_of(here), link[1]))
        return posixpath.relpath(uri, posixpath.dirname(here)) + link[2]

    return LINK.sub(linked, markdown)


def source_of(uri: str) -> str:
    """Return the path in the repository of a page of the site."""
    return SOURCES.get(uri, f"docs/{uri}")


def uri_of(path: str) -> str:
    """Return where the site has a file of the repository."""
    if path in PAGES:
        return PAGES[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else f"{COPIES}/{path}"


def target_of(source: str, link: str) -> str:
    """Return the path in the repository that a link in a source leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def outside(source: str) -> list[str]:
    """Return the files that a source links to and that are neither pages nor in docs/."""
    if not (ROOT / source).is_file():
        return []
    text = (ROOT / source).read_text("utf-8")
    targets = [target_of(source, link[1]) for link in LINK.finditer(text)]
    return [
        target
        for target in targets
        if target not in PAGES and not target.startswith("docs/") and (ROOT / target).is_file()
    ]
