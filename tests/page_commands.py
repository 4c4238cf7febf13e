"""Run the commands of seqray that a page shows."""

import re
from pathlib import Path

from click.testing import CliRunner

from docs.run_page import COMMAND_LANGUAGES, blocks, commands
from seqray.cli import cli

DOCS = Path(__file__).parents[1] / "docs"

NOT_RUN = {
    r"--serve": "serves until it is stopped",
    r"device=cuda": "needs a GPU",
    r"dask://": "needs a cluster",
    r"^bench ": "takes hours",
}
"""Commands that cannot run in a test, and why."""


def page_commands(path, replaced=()):
    """Return the arguments of the commands in a page; ``replaced`` are pairs of texts."""
    page = path.read_text("utf-8")
    for text, other in replaced:
        assert text in page
        page = page.replace(text, other)
    shown = [block for block in blocks(page) if block.language in COMMAND_LANGUAGES]
    lines = [line for block in shown for line in commands(first_line(block.text))]
    lines = [[part for part in line if not re.match(r"[A-Z_]+=", part)] for line in lines]
    return [line[1:] for line in lines if line[:1] == ["seqray"] and not reason(line)]


def first_line(text):
    """Return the command of a session, without what it prints; other texts as they are."""
    return text.splitlines()[0] if text.startswith("$ ") else text


def reason(line):
    """Return why a command is not run, or an empty text."""
    text = " ".join(line[1:])
    return "".join(why for pattern, why in NOT_RUN.items() if re.search(pattern, text))


def run_page_commands(path, replaced=()):
    """Run the commands of a page in this folder, one after the other; return what they print."""
    printed = []
    for arguments in page_commands(path, replaced):
        target = arguments.index(">") if ">" in arguments else len(arguments)
        done = CliRunner().invoke(cli, arguments[:target], prog_name="seqray")
        assert done.exit_code == 0, f"seqray {' '.join(arguments)}\n{done.output}"
        printed.append(done.stdout)
    return printed
