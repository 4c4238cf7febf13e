"""Make the reference: the public names from their docstrings, the commands from their options.

No page of it is a file, so that none can be out of date.
"""

import inspect
import re
from collections.abc import Iterator

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import seqray
from seqray.cli import cli

# The pages of the reference: title, introduction, and the modules whose public names it has.
ROOMS = {
    "boxes": (
        "Black boxes",
        "Make a [box](../glossary.md#box) of a function, a network, a server or a program.",
        ("blackbox",),
    ),
    "extraction": (
        "Extraction",
        "Query a box, and get [weighted automata](../glossary.md#weighted-automaton).",
        ("extraction", "training"),
    ),
    "fidelity": (
        "Fidelity",
        "Measure how near an automaton is to its box.",
        ("fidelity",),
    ),
    "explanations": (
        "Explanations",
        "Name states, explain words and decisions, make pages.",
        ("explain", "explore"),
    ),
    "drawings": ("Drawings", "Draw an automaton.", ("draw",)),
    "automata": (
        "Automata",
        "Automata, words and alphabets; sums, products, distances.",
        ("automata", "formats.automaton_arguments"),
    ),
    "learning": (
        "Deterministic automata",
        "Learn a [deterministic automaton](../glossary.md#deterministic-automaton) from a box.",
        ("learning",),
    ),
    "files": (
        "Words, events and exports",
        "Read and write words, event logs and automata.",
        ("formats", "draw.exports"),
    ),
    "errors": ("Errors", "What seqray raises, and why it stopped.", ("util",)),
}
ESTIMATORS = ("AutomatonModel", "AutomatonClassifier", "StateFeatures")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the reference."""
    for uri, text in pages().items():
        files.append(File.generated(config, uri, content=text))
    return files


def pages() -> dict[str, str]:
    """Return the text of each page of the reference."""
    texts = {f"reference/{page}.md": names_page(page) for page in ROOMS}
    estimators = [f"::: seqray.sklearn.{name}" for name in ESTIMATORS]
    head = ["# Estimators of scikit-learn", "See [how to use them](../sklearn.md)."]
    texts["reference/sklearn.md"] = "\n\n".join([*head, *estimators])
    texts["reference/commands.md"] = "\n\n".join(["# Commands", *command_sections(cli, "seqray")])
    return texts


def names_page(page: str) -> str:
    """Return the page with all public names of some rooms."""
    title, introduction, _ = ROOMS[page]
    names = [name for name in seqray.__all__ if page_of(name) == page]
    return "\n\n".join([f"# {title}", introduction, *(f"::: seqray.{name}" for name in names)])


def page_of(name: str) -> str:
    """Return the page that a public name is on: that of the longest module path that fits."""
    module = seqray._ROOMS[name]  # the module itself may need a package that is not installed
    fits = [
        (len(room), page)
        for page, (_, _, rooms) in ROOMS.items()
        for room in rooms
        if module == room or module.startswith(f"{room}.")
    ]
    if not fits:
        raise ValueError(f"seqray.{name} is in {module}: name that room in docs/hooks/reference.py")
    return max(fits)[1]


def command_sections(command: click.Command, path: str) -> Iterator[str]:
    """Yield the text about a command and those in it."""
    context = click.Context(command, info_name=path, **cli.context_settings)
    level = "#" * min(path.count(" ") + 2, 4)
    yield f"{level} {path}"
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
    yield from paragraphs(command.help or "")
    yield options_table(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from command_sections(inner, f"{path} {name}")


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; those that click does not wrap are code."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if paragraph.startswith("\b"):
            lines = paragraph.removeprefix("\b").strip("\n")
            yield f"```text\n{lines}\n```"
        else:
            yield plain(paragraph)


def options_table(command: click.Command, context: click.Context) -> str:
    """Return the table of a command's options."""
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    records = [option.get_help_record(context) for option in options]
    rows = [f"| `{cell(name)}` | {cell(plain(text))} |" for name, text in filter(None, records)]
    return "\n".join(["| option | |", "| --- | --- |", *rows])


def cell(text: str) -> str:
    """Return a text that a cell of a table can hold."""
    return " ".join(text.split()).replace("|", "\\|")


def plain(text: str) -> str:
    """Return a text of which Markdown shows every character, but for code in backquotes."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([*_<\[\]])", r"\\\1", part) for part in parts
    )
