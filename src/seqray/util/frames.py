"""Tables as pandas data frames, where pandas is installed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seqray.util.errors import MissingExtraError, install_hint

if TYPE_CHECKING:
    import pandas as pd


def data_frame(rows: Sequence[Mapping[str, Any]], index: str | None = None) -> pd.DataFrame:
    """Return rows as a data frame; what a row lacks is nan there.

    Parameters
    ----------
    rows
        One mapping from column names to values per row.
    index
        The column that becomes the index; None: rows are numbered.

    Raises
    ------
    MissingExtraError
        If there is no pandas.
    """
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise MissingExtraError(f"to_frame needs pandas: {install_hint('notebook')}") from error
    frame: pd.DataFrame = pandas.DataFrame(list(rows))
    return frame if index is None else frame.set_index(index)
