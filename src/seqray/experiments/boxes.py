"""The table of boxes: how good each network is, before anything is extracted from it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from seqray.formats.words_file import PathLike
from seqray.util.csv_table import read_rows, write_rows


class BoxRow(NamedTuple):
    """One box, with its target where that is known; all about the target is else not a number.

    Perplexities are those of `metrics`. On S_test, with words weighted as by the target:
    ``perplexity_target`` is that of the target itself, ``perplexity_box`` that of the box, and
    ``quality`` the first over the second. With the box itself as the reference:
    ``perplexity_test`` and ``perplexity_rnn``, on S_test and on S_RNN. ``ndcg1``, ``ndcg5`` and
    ``kl``, the paper's, compare the box with the target on S_test. ``wer_target`` is the target's
    word error rate on S_test, ``wer_box_test`` and ``wer_box_rnn`` are the box's on either set.

    Examples
    --------
    >>> BoxRow("3", 4, quality=0.98).quality
    0.98
    """

    problem: str
    symbols: int = 0
    states: int = 0  # of the target; 0 where there is none
    box: str = ""
    parameters: int = 0
    perplexity_target: float = math.nan
    perplexity_box: float = math.nan
    quality: float = math.nan
    kl: float = math.nan
    ndcg1: float = math.nan
    ndcg5: float = math.nan
    wer_target: float = math.nan
    wer_box_test: float = math.nan
    wer_box_rnn: float = math.nan
    perplexity_test: float = math.nan
    perplexity_rnn: float = math.nan
    test_words: int = 0
    test_length: float = math.nan
    rnn_words: int = 0
    rnn_length: float = math.nan


def read_boxes(path: PathLike) -> dict[str, BoxRow]:
    """Read a table of boxes, by problem.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_boxes([BoxRow("3", 4, quality=0.98)], Path(folder, "boxes.csv"))
    ...     read_boxes(Path(folder, "boxes.csv"))["3"].quality
    0.98
    """
    return {row.problem: row for row in read_rows(path, BoxRow)}


def write_boxes(boxes: Iterable[BoxRow], path: PathLike) -> None:
    """Write a table of boxes as CSV, in the order given."""
    write_rows(path, BoxRow._fields, boxes)
