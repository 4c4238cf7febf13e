"""All that a folder of results holds, read once: what tables, figures and reports are made from.

The folder is one that `seqray.experiments.sweep` writes. Beside it there may be a folder of
networks with a table ``trained.csv``, which says how each was trained.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from seqray.experiments.boxes import BoxRow, read_boxes
from seqray.experiments.distillation import Distilled
from seqray.experiments.natural import NATURAL
from seqray.experiments.table import (
    AUTO,
    COPY,
    PAPER,
    Result,
    choose,
    held_out,
    read_results,
)
from seqray.formats.words_file import PathLike
from seqray.util.checksums import opened_json
from seqray.util.csv_table import read_rows
from seqray.util.errors import MissingFileError
from seqray.util.files import check_header, read_bytes, reading

SUITES = {
    "pautomac": tuple(str(number) for number in range(1, 49)),
    **{suite: tuple(one.name for one in known.values()) for suite, known in NATURAL.items()},
}
"""The problems that each table should have."""
TITLES = {one.name: one.title for known in NATURAL.values() for one in known.values()}


class Trained(NamedTuple):
    """How a network was trained: the size and epoch that were chosen.

    Examples
    --------
    >>> Trained("3", 50, 10, 1.1478).hidden
    50
    """

    problem: str
    hidden: int
    epoch: int
    validation: float
    """The cross-entropy on words held out from the training, in nats per symbol."""
    perplexity_target: float = math.nan
    """Of the target machine on the test words, where there is one."""
    perplexity: float = math.nan
    """Of the network, as the target weights these words."""
    ratio: float = math.nan
    """The first over the second."""


class RoundReached(NamedTuple):
    """What seqray's own method reaches with so many queries, those of earlier rounds included.

    Examples
    --------
    >>> RoundReached(20_000, 0.97).questions
    20000
    """

    questions: int
    """Steps of the network."""
    ndcg5: float
    """Of the automaton of the largest rank, on words that were held out."""


@dataclass(frozen=True, eq=False)
class Findings:
    """The results of the experiments.

    Parameters
    ----------
    rows
        The tidy table of the paper's method, of all suites.
    boxes
        The networks themselves, by problem.
    trained
        How they were trained, by problem, where that is known.
    distilled
        Time and memory.
    about
        How each suite was swept: settings, versions, holes and notes.
    own
        The tidy table of seqray's own method, of all suites.
    copies
        The same for its copies.

    Examples
    --------
    >>> Findings([Result("3", "paper", 300, 300, 1, "test", "all")]).pautomac("test")[0].rank
    1
    """

    rows: Sequence[Result]
    boxes: Mapping[str, BoxRow] = field(default_factory=dict)
    trained: Mapping[str, Trained] = field(default_factory=dict)
    distilled: Sequence[Distilled] = ()
    about: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    own: Sequence[Result] = ()
    copies: Sequence[Result] = ()

    def pautomac(self, which: str) -> list[Result]:
        """Return the rows of PAutomaC's problems on one set of words."""
        return [row for row in self.rows if row.set == which and row.problem.isdecimal()]

    def curve(self, problem: str, which: str) -> list[Result]:
        """Return the plain rows of one problem on one set, by size of basis and rank."""
        rows = choose(self.rows, problem=problem, set=which, selection="all")
        return sorted(rows, key=lambda row: (row.prefixes, row.rank))

    def own_choices(self, which: str) -> dict[str, Result]:
        """Return each problem's row of seqray's own method on one set, of what it chose.

        That is its largest copy, or the rank where no copy is nearer to the box.
        """
        return self.dense_choices(which) | held_out(choose(self.copies, set=which))

    def dense_choices(self, which: str) -> dict[str, Result]:
        """Return each problem's row of seqray's own method on one set, at the rank it chose."""
        return held_out(choose(self.own, set=which))

    @property
    def rounds(self) -> dict[str, list[RoundReached]]:
        """How the fidelity of seqray's own method grows with its queries, by problem."""
        return {
            problem: [
                RoundReached(each["questions"], _number(each.get("ndcg5"))) for each in rounds
            ]
            for about in self.about.values()
            for problem, rounds in about.get("rounds", {}).items()
        }


def read_findings(folder: PathLike, *, boxes: PathLike | None = None) -> Findings:
    """Read a folder of results.

    Parameters
    ----------
    folder
        What ``seqray bench`` wrote: ``pautomac.csv.gz`` and, with the same beginning, ``.json``,
        ``-boxes.csv`` and ``-distilled.csv``; the same for the other suites. Suites that are
        not there are left out.
    boxes
        The folder of networks; its ``trained.csv`` is read if there is one.

    Examples
    --------
    >>> import tempfile
    >>> from seqray.experiments.table import write_results
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_results([], Path(folder, "pautomac.csv.gz"))
    ...     list(read_findings(folder).about)
    ['pautomac']
    """
    where = Path(folder)
    rows: list[Result] = []
    distilled: list[Distilled] = []
    networks: dict[str, BoxRow] = {}
    about: dict[str, Mapping[str, Any]] = {}
    for suite in SUITES:
        if not (where / f"{suite}.csv.gz").exists():
            continue
        rows += read_results(where / f"{suite}.csv.gz")
        if (path := where / f"{suite}-boxes.csv").exists():
            networks |= read_boxes(path)
        if (path := where / f"{suite}-distilled.csv").exists():
            distilled += read_rows(path, Distilled)
        about[suite] = _read_about(where / f"{suite}.json")
    if not about:
        raise MissingFileError(
            f"{where}: there is no table of results ({', '.join(f'{s}.csv.gz' for s in SUITES)}): "
            "make one with `seqray bench`"
        )
    trained: dict[str, Trained] = {}
    if boxes is not None and (path := Path(boxes, "trained.csv")).exists():
        trained = {row.problem: row for row in read_rows(path, Trained)}
    theirs, own, copies = (choose(rows, method=method) for method in (PAPER, AUTO, COPY))
    return Findings(theirs, networks, trained, distilled, about, own, copies)


def title_of(problem: str) -> str:
    """Return the name of a problem in texts.

    Examples
    --------
    >>> title_of("3"), title_of("trucks")
    ('PAutomaC 3', 'trucks (PAutomaC natural 2)')
    """
    return f"PAutomaC {problem}" if problem.isdecimal() else TITLES.get(problem, problem)


def _number(value: float | None) -> float:
    return math.nan if value is None else value  # JSON has no nan


def _read_about(path: Path) -> Mapping[str, Any]:
    """Read how a suite was swept; an empty mapping where there is no such file."""
    if not path.exists():
        return {}
    with reading(path, "a description of results"):
        document: dict[str, Any] = opened_json(read_bytes(path))
        check_header(document, "seqray.results", 1)
        return document
