"""The tidy table of results: one row for each automaton on each set of evaluation words.

A row is a `Result`. ``selection`` says why it is there: ``"all"`` is the plain row of a rank;
``"best-ndcg"`` and ``"best-ratio"`` repeat the rank that is best on these very words, as the paper
chooses; ``"held-out"`` repeats the rank that was chosen on other words. All three are of one
problem, method and size of basis.

Three methods share a table. The paper's is there at every size of basis. Seqray's own chooses for
itself what to query: its rows are of the contexts and columns that it took, and ``"held-out"`` is
the rank that it chose. The rows of its copies have their number of states as rank; of these
``"held-out"`` is the copy that it chose.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Collection, Iterable
from typing import NamedTuple

from seqray.formats.words_file import PathLike
from seqray.util.csv_table import csv_bytes, read_rows
from seqray.util.errors import ArgumentError, FileError
from seqray.util.files import reading, writing

PAPER, AUTO, COPY = "paper", "auto", "copy"
"""The methods: the paper's, what `seqray.extract` takes by itself, and its copies."""
SETS = {"test": "S_test", "rnn": "S_RNN"}
SELECTIONS = ("all", "best-ndcg", "best-ratio", "held-out")
TABLE_METRICS = ("ndcg1", "ndcg5", "perplexity_ratio", "kl", "wer", "zeros", "kl_per_symbol")
"""The metrics that are columns of the table, in their order."""
LESS_IS_BETTER = ("kl", "wer", "zeros", "kl_per_symbol")


class Result(NamedTuple):
    """How faithful one automaton is on one set of words.

    ``perplexity_ratio`` and ``kl`` are the paper's, both sides normalised over these words.

    Examples
    --------
    >>> Result("3", "paper", 300, 300, 20, "test", "all", 0.9, 0.95, 0.99, 0.1, 0.3, 0.02).rank
    20
    """

    problem: str
    method: str
    prefixes: int
    suffixes: int
    rank: int
    set: str
    selection: str
    ndcg1: float = math.nan
    ndcg5: float = math.nan
    perplexity_ratio: float = math.nan
    kl: float = math.nan
    wer: float = math.nan
    zeros: float = math.nan
    kl_per_symbol: float = math.nan
    steps: int = 0
    seconds: float = math.nan
    seed: int = 0


COLUMNS = Result._fields


def write_results(results: Iterable[Result], path: PathLike) -> None:
    """Write a table as CSV, compressed; the same rows always give the same bytes.

    Parameters
    ----------
    results
        The rows, in any order: they are written sorted.
    path
        A file that ends in ``.csv.gz``. An existing one is replaced.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> row = Result("3", "paper", 300, 300, 20, "test", "all", ndcg5=0.95)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_results([row], Path(folder, "new.csv.gz"))
    ...     read_results(Path(folder, "new.csv.gz"))[0].ndcg5
    0.95
    """
    rows = sorted(results, key=_order)
    with writing(path) as fresh:
        fresh.write_bytes(gzip.compress(csv_bytes(COLUMNS, rows), mtime=0))


def read_results(path: PathLike) -> list[Result]:
    """Read a table.

    Parameters
    ----------
    path
        The file, compressed or not.

    Returns
    -------
    results
        In the order of the file. What is empty is not a number.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_results([], Path(folder, "none.csv.gz"))
    ...     read_results(Path(folder, "none.csv.gz"))
    []
    """
    results = read_rows(path, Result)
    with reading(path, "a table of results"):
        for at, result in enumerate(results, 2):
            for name, known in (("set", tuple(SETS)), ("selection", SELECTIONS)):
                if getattr(result, name) not in known:
                    raise FileError(
                        f"line {at}: {name} {getattr(result, name)!r} is not one of "
                        f"{', '.join(known)}"
                    )
    return results


def choose(results: Iterable[Result], **wanted: object) -> list[Result]:
    """Return the rows whose columns have the wanted values.

    Parameters
    ----------
    results
        The rows.
    wanted
        A value for each column that matters, or a collection of values (a list, set or range).

    Examples
    --------
    >>> rows = [Result("3", "paper", 300, 300, rank, "test", "all") for rank in (1, 2, 3)]
    >>> [row.rank for row in choose(rows, set="test", rank=range(2, 10))]
    [2, 3]
    """
    if odd := [name for name in wanted if name not in COLUMNS]:
        raise ArgumentError(f"column {odd[0]!r} is not one of {', '.join(COLUMNS)}")
    rules = [(COLUMNS.index(name), _values_of(value)) for name, value in wanted.items()]
    return [row for row in results if all(row[at] in values for at, values in rules)]


def best(results: Iterable[Result], metric: str = "ndcg5") -> dict[str, Result]:
    """Return each problem's best row, by the number of the problem.

    Parameters
    ----------
    results
        Rows of one method and one set of words; only the plain ones are looked at.
    metric
        Which column decides: the largest value wins, or the smallest where less is better. Of
        equal rows the one of the smallest basis and rank is taken.

    Examples
    --------
    >>> rows = [Result("3", "paper", 300, 300, r, "test", "all", ndcg5=r / 10) for r in (1, 2)]
    >>> best(rows)["3"].rank
    2
    """
    if metric not in TABLE_METRICS:
        raise ArgumentError(f"metric {metric!r} is not one of {', '.join(TABLE_METRICS)}")
    sign = -1 if metric in LESS_IS_BETTER else 1
    rows: dict[str, Result] = {}
    tops: dict[str, float] = {}
    for row in choose(results, selection="all"):
        value, top = sign * float(getattr(row, metric)), tops.get(row.problem, -math.inf)
        # What is not a number is neither larger nor equal.
        if value > top or (value == top > -math.inf and _order(row) < _order(rows[row.problem])):
            rows[row.problem], tops[row.problem] = row, value
    return dict(sorted(rows.items(), key=lambda item: problem_order(item[0])))


def held_out(results: Iterable[Result]) -> dict[str, Result]:
    """Return each problem's row at the rank chosen on held-out words, of the largest basis.

    The evaluation words have no part in this choice.

    Examples
    --------
    >>> rows = [Result("3", "paper", n, n, 7, "test", "held-out") for n in (300, 1400, 800)]
    >>> held_out(rows)["3"].prefixes
    1400
    """
    chosen = sorted(choose(results, selection="held-out"), key=_order)
    return {row.problem: row for row in chosen}


def matching(rows: Iterable[Result], results: Iterable[Result]) -> dict[str, Result]:
    """Return the plain rows of ``results`` at the parameters of ``rows``, by problem.

    So the parameters that are best on one set of words can be looked up on the other.

    Examples
    --------
    >>> rows = [Result("3", "paper", 300, 300, 5, which, "all") for which in ("test", "rnn")]
    >>> matching(rows[:1], choose(rows, set="rnn"))["3"].set
    'rnn'
    """
    places = {_place(row) for row in rows}
    return {row.problem: row for row in choose(results, selection="all") if _place(row) in places}


def problem_order(problem: str) -> tuple[bool, int, str]:
    """Sort problems as people count them: by number, then those with names.

    Examples
    --------
    >>> sorted(["spice4", "10", "9"], key=problem_order)
    ['9', '10', 'spice4']
    """
    return not problem.isdecimal(), int(problem) if problem.isdecimal() else 0, problem


def _order(row: Result) -> tuple[object, ...]:
    return (problem_order(row.problem), row.method, row.prefixes, row.suffixes, row.rank, *row[5:7])


def _place(row: Result) -> tuple[object, ...]:
    return row[:5]


def _values_of(wanted: object) -> Collection[object]:
    if isinstance(wanted, Collection) and not isinstance(wanted, str):
        return wanted
    return (wanted,)
