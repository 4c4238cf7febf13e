"""One vocabulary: words that the project does not use, in code, docs and messages.

docs/glossary.md says what to write instead.
"""

import builtins
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from source_rules import ROOT, SOURCES

# Words that do not stand anywhere: not in names, comments, messages or docs.
NOWHERE = frozenset(
    (
        "chance",
        "chances",
        "apart",
        "telling",
        "besides",
        "judged",
        "heard",
        "told",
        "asked",
        "asker",
        "attended",
        "way",
        "ways",
        "futures",
        "closeness",
    )
)

# Words that are fine in a sentence, but not as a part of a name in the code.
NOT_IN_NAMES = NOWHERE | {"found", "through", "ask", "asks", "asking"}

PHRASES = [
    r"hardly ever",
    r"(kept answers?|answers? (that are )?kept)",
    r"(row|rows|bits|bit) a (rank|word|symbol|prefix)",
    r"(source|share|automat\w+) of (all )?(chance|randomness)",
]

# What really means what it says.
ALLOWED_PHRASES = [
    r"either way",
    r"other way (a)?round",
    r"under way",
]

# Names that users, files or other programs know; each with the place that says so.
ALLOWED_NAMES = {"futures": "concurrent.futures of the standard library"}

# Keys in files that earlier versions saved; only as whole strings in the code.
SAVED_KEYS = {"apart", "asked"}

IN_SENTENCES = re.compile(rf"\b({'|'.join([*sorted(NOWHERE), *PHRASES])})\b", re.IGNORECASE)
ALLOWED = re.compile(rf"\b({'|'.join(ALLOWED_PHRASES)})\b", re.IGNORECASE)
PARTS_OF_NAMES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
NAMES_IN_SCRIPTS = re.compile(r"\b(?:const|let|var|function|class)\s+(\w+)")
NAMES_IN_EXAMPLES = re.compile(r"^\s*(?:(?:>>>|\.\.\.) )?([\w, ]+) = ", re.MULTILINE)


def in_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the word of whatever a text should not say."""
    text = ALLOWED.sub(lambda phrase: " " * len(phrase[0]), text)
    for hit in IN_SENTENCES.finditer(text):
        yield line_of(hit, 0), hit[0]
    for hit in NAMES_IN_EXAMPLES.finditer(text):
        yield from (
            (line_of(hit, 1), name) for name in re.findall(r"\w+", hit[1]) if in_names(name)
        )


def line_of(hit: re.Match[str], group: int) -> int:
    return hit.string.count("\n", 0, hit.start(group)) + 1


def in_names(name: str) -> bool:
    """Say whether a part of a name is a word that names should not have."""
    if name in ALLOWED_NAMES or hasattr(builtins, name):
        return False
    return any(part.lower() in NOT_IN_NAMES for part in PARTS_OF_NAMES.findall(name))


def in_python(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        if token.type == tokenize.NAME:
            if in_names(token.string):
                yield line, token.string
        elif token.string.strip("\"'") in SAVED_KEYS:
            continue
        elif tokenize.tok_name[token.type] in ("STRING", "FSTRING_MIDDLE", "COMMENT"):
            for later, word in in_sentences(token.string):
                yield line + later - 1, word


def in_scripts(text: str) -> Iterator[tuple[int, str]]:
    declared = {
        (line_of(hit, 1), hit[1]) for hit in NAMES_IN_SCRIPTS.finditer(text) if in_names(hit[1])
    }
    yield from sorted(declared.union(in_sentences(text)))


READERS = {".py": in_python, ".js": in_scripts}


def files() -> list[Path]:
    shown = (".py", ".js", ".html", ".css", ".md", ".json")
    rooms = sorted(each for each in SOURCES.iterdir() if each.name != "__pycache__")
    folders = [each for each in rooms if each.is_dir()]
    return [
        *(each for each in rooms if each.suffix in shown),
        *(
            each
            for folder in [*folders, ROOT / "docs"]
            for each in sorted(folder.rglob("*"))
            if each.suffix in shown and "vendor" not in each.parts
        ),
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
    ]


@pytest.mark.parametrize("file", files(), ids=lambda file: str(file.relative_to(ROOT)))
def test_only_words_of_the_vocabulary_are_used(file):
    text = file.read_text("utf-8")
    lines = text.splitlines()
    hits = [
        f"{file.relative_to(ROOT)}:{line} {word!r} in: {lines[line - 1].strip()[:100]}"
        for line, word in READERS.get(file.suffix, in_sentences)(text)
    ]
    assert not hits, "\n".join(["Write these in the words of docs/glossary.md:", *hits])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("found = 1", ["found"]),
        ("n_asked = AskedBox(1)", ["n_asked", "AskedBox"]),
        ("'''Two lines,\nfar apart.'''", ["apart"]),
        ("x = 1  # the Ways of it", ["Ways"]),
        ("f'{x} by chance'", ["chance"]),
        ("'no file was found'", []),
        ("foundation = task = wayward = 1", []),
        ("# either way, or the other way round", []),
        ("'bits a word'", ["bits a word"]),
        ("except FileNotFoundError: ...", []),
        ("'''Text.\n\n>>> found, n = 1, 2\n'''", ["found"]),
    ],
)
def test_words_are_noticed_in_python(text, words):
    assert [word for _, word in in_python(text)] == words


def test_names_in_examples_are_noticed():
    assert list(in_sentences("text\n```python\nfound = extract(box)\n```")) == [(3, "found")]


def test_words_are_noticed_in_scripts():
    text = "const found = 1;\n// It was found in two ways.\nlet askedFor = found;"
    assert list(in_scripts(text)) == [(1, "found"), (2, "ways"), (3, "askedFor")]


def test_the_line_of_a_word_is_said():
    assert list(in_python("'''a\nb\nchance'''")) == [(3, "chance")]
