"""The public data sets that seqray knows: where their files belong, and whether they are whole.

Nothing is downloaded. A data folder holds a folder for each set, named as `DataSet.folder` says;
the environment variable ``SEQRAY_DATA`` or an option names the data folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from seqray.formats.pautomac import read_machine, read_solution
from seqray.formats.spice import read_targets
from seqray.formats.words_file import PathLike, read_words
from seqray.util.errors import ArgumentError, FileError
from seqray.util.files import read_bytes

State: TypeAlias = Literal["whole", "other", "damaged", "absent"]


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Examples
    --------
    >>> find("pautomac").files[1].name, find("pautomac").files[1].n_words
    ('1.pautomac.train', 20000)
    """

    name: str
    """Its path in the folder of its set."""
    n_words: int | None
    """How many words or rows it holds; None where it holds something else."""
    n_symbols: int | None
    """The size of the alphabet of a file of words; None where it holds something else."""
    sha256: str
    """Of its content; of text with LF at the ends of lines."""
    note: str = ""
    """What is peculiar about it."""
    official: bool = True
    """Whether this is the file as it was published. If not, another version is no damage."""


class KnownMachine(NamedTuple):
    """The target machine of a problem.

    Examples
    --------
    >>> find("pautomac").machines[23]
    KnownMachine(kind='dpfa', n_states=6, n_symbols=5)
    """

    kind: str
    n_states: int
    n_symbols: int


@dataclass(frozen=True)
class DataSet:
    """A public data set.

    Examples
    --------
    >>> spice = find("spice")
    >>> spice.folder, len(spice.files), spice.terms
    ('spice', 8, 'free to use; cite Balle et al.')
    """

    name: str
    title: str
    folder: str
    """Where its files belong, in the data folder."""
    url: str
    """Where it was published."""
    cite: tuple[str, ...]
    """The papers to cite."""
    terms: str
    notes: tuple[str, ...]
    """What is peculiar about the whole set."""
    machines: tuple[KnownMachine, ...]
    """The target machines of PAutomaC's problems, in their order; empty for other sets."""
    files: tuple[DataFile, ...]
    layout: str = "pautomac"
    """Of its files of words, see `seqray.formats.words_file`."""


class FileCheck(NamedTuple):
    """The state of one file of a data set: whole, another version, damaged or absent.

    Examples
    --------
    >>> FileCheck(find("spice").files[0], "absent", "").state
    'absent'
    """

    file: DataFile
    state: State
    detail: str


@cache
def catalogue() -> tuple[DataSet, ...]:
    """Return every data set that seqray knows.

    Examples
    --------
    >>> [known.name for known in catalogue()]
    ['pautomac', 'trucks', 'spice', 'logs', 'taysir']
    """
    text = (files("seqray.experiments") / "catalogue.json").read_text("utf-8")
    return tuple(_data_set(**known) for known in json.loads(text)["sets"])


def find(name: str) -> DataSet:
    """Return one data set by its name.

    Examples
    --------
    >>> find("trucks").folder
    'pautomac-real'
    """
    sets = {known.name: known for known in catalogue()}
    if name not in sets:
        raise ArgumentError(f"data set {name!r} is not one of {', '.join(sets)}")
    return sets[name]


def check(known: DataSet, folder: PathLike) -> Iterator[FileCheck]:
    """Compare the files of a data set with what they should be.

    Parameters
    ----------
    known
        The data set.
    folder
        The data folder, which holds ``known.folder``.

    Yields
    ------
    finding
        For each file. One with the right checksum is whole; where it differs, the detail says
        what is wrong as far as reading the file tells. A file that is not there is absent, which
        is no damage. Another version of a file that is not the official one is ``"other"``.

    Examples
    --------
    >>> [finding.state for finding in check(find("trucks"), "no such folder")]
    ['absent', 'absent']
    """
    for file in known.files:
        path = Path(folder, known.folder, file.name)
        if not path.is_file():
            yield FileCheck(file, "absent", "")
            continue
        try:
            right = _sha256(path) == file.sha256
            detail = "" if right else _difference(path, file, known.layout)
        except FileError as error:
            right, detail = False, str(error)
        if right or (not detail and not file.official):
            yield FileCheck(file, "whole" if right else "other", "")
        else:
            yield FileCheck(
                file, "damaged", detail or f"{path}: reads well, but its content differs"
            )


def _data_set(
    notes: list[tuple[str, str]],
    files: list[tuple[str, int | None, int | None, str]],
    cite: list[str],
    machines: Sequence[tuple[str, int, int]] = (),
    unofficial: Sequence[str] = (),
    **texts: str,
) -> DataSet:
    about = dict(notes)
    return DataSet(
        **texts,
        cite=tuple(cite),
        notes=tuple(note for name, note in notes if not name),
        machines=tuple(KnownMachine(*machine) for machine in machines),
        files=tuple(
            DataFile(*row, about.get(row[0], ""), row[0] not in unofficial) for row in files
        ),
    )


def _sha256(path: Path) -> str:
    content = read_bytes(path)
    if path.suffix != ".npz":
        content = content.replace(b"\r\n", b"\n")
    return hashlib.sha256(content).hexdigest()


def _difference(path: Path, file: DataFile, layout: str) -> str:
    """Read a file whose checksum is wrong, and say what else is; nothing where it reads well."""
    n_words, n_symbols = None, None
    if file.n_symbols is not None:
        words = read_words(path, layout=layout)
        n_words, n_symbols = len(words), len(words.alphabet)
    elif "target" in file.name:
        n_words = len(read_targets(path))
    elif file.n_words is not None:
        n_words = len(read_solution(path))
    elif file.name.endswith("_model.txt"):
        read_machine(path)
    for what, actual, expected in (
        ("words", n_words, file.n_words),
        ("symbols", n_symbols, file.n_symbols),
    ):
        if actual != expected:
            return f"{path}: expected {expected:,} {what}, got {actual:,}"
    return ""
