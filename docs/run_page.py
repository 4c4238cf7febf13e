"""Run the code of a page, and write what it prints and draws back to the page.

    python docs/run_page.py docs/tutorials/pytorch.md

A block of Python, or of seqray's commands, may be followed by a block ``text``: that is what it
prints. All blocks of a page run in one namespace and in one temporary folder. Pictures that the
page shows and that are in the folder afterwards are copied to their place.
"""

import argparse
import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Any

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")
COMMAND_LANGUAGES = ("", "console", "sh")
WIDTH = 100


@dataclass(frozen=True)
class Block:
    """A block of code in a page, and what the page says that it prints (None: nothing is said)."""

    language: str
    text: str
    line: int
    output: str | None
    output_at: slice

    @property
    def is_example(self) -> bool:
        """Whether it is a session with prompts, which says itself what is printed."""
        return self.language == "python" and self.text.lstrip().startswith(">>>")


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page, those of outputs with what prints them."""
    fences = list(FENCE.finditer(page))
    result = []
    for fence, following in zip_longest(fences, fences[1:]):
        if fence[1] == "text":
            continue
        behind = following and following[1] == "text" and page[fence.end() : following.start()]
        printed = following if behind and not behind.strip() else None
        where = slice(printed.start(2), printed.end(2)) if printed else slice(0)
        line = page.count("\n", 0, fence.start()) + 2
        result.append(Block(fence[1], fence[2], line, printed[2] if printed else None, where))
    return result


def commands(text: str) -> list[list[str]]:
    """Return the commands of a block as lists of arguments, without comments and prompts."""
    lines, so_far = [], ""
    for part in text.replace("\\\n", " ").splitlines():
        so_far += part if so_far else part.removeprefix("$ ")
        try:
            lines.append(shlex.split(so_far, comments=True))
            so_far = ""
        except ValueError:  # a quotation goes on in the next line
            so_far += "\n"
    return [command for command in lines if command]


def run(
    path: Path,
    folder: Path,
    names: dict[str, Any],
    replaced: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in a folder; yield each with what it prints.

    ``replaced`` has texts of the page and what stands for them here, such as a server's address.
    """
    page = path.read_text("utf-8")
    for text, other in replaced.items():
        page = page.replace(text, other)
    with contextlib.chdir(folder):
        for block in blocks(page):
            if block.is_example:
                yield block, run_example(block, path, names)
            elif block.language == "python":
                yield block, run_python(block, path, names)
            elif block.language in COMMAND_LANGUAGES and block.output is not None:
                yield block, run_commands(block)


def run_python(block: Block, path: Path, names: dict[str, Any]) -> str:
    """Run a block of Python, and return what it prints."""
    printed = io.StringIO()
    code = compile("\n" * (block.line - 1) + block.text, str(path), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def run_example(block: Block, path: Path, names: dict[str, Any]) -> str:
    """Run a session with prompts; what is printed has to be what stands there."""
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest(block.text, names, path.name, str(path), block.line)
    runner = doctest.DebugRunner(optionflags=flags, verbose=False)
    runner.run(test, clear_globs=False)
    names.update(test.globs)
    return ""


def run_commands(block: Block) -> str:
    """Run the commands of a block in this process, and return what they print."""
    from click.testing import CliRunner  # noqa: PLC0415

    from seqray.cli import cli  # noqa: PLC0415

    printed = []
    for program, *arguments in commands(block.text):
        if program != "seqray":
            raise ValueError(f"line {block.line}: expected a command of seqray, got {program!r}")
        done = CliRunner().invoke(cli, arguments, prog_name="seqray", env={"COLUMNS": str(WIDTH)})
        if done.exception:
            raise done.exception
        printed.append(done.stdout)
    return "".join(printed)


def written_back(page: str, outputs: list[tuple[Block, str]]) -> str:
    """Return the page with what its blocks print."""
    for block, printed in reversed(outputs):
        if block.output is not None:
            lines = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
            page = page[: block.output_at.start] + lines + "\n" + page[block.output_at.stop :]
    return page


def main() -> None:
    """Run the pages that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path, nargs="+")
    for path in [page.resolve() for page in parser.parse_args().pages]:
        with tempfile.TemporaryDirectory() as name:
            os.environ["XDG_CACHE_HOME"] = name  # answers that were cached earlier do not count
            folder = Path(name)
            page = path.read_text("utf-8")
            outputs = list(run(path, folder, {"__name__": "__main__"}))
            path.write_text(written_back(page, outputs), "utf-8")
            for picture in PICTURE.findall(page):
                if (made := folder / Path(picture).name).is_file():
                    shutil.copyfile(made, path.parent / picture)


if __name__ == "__main__":
    main()
