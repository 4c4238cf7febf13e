"""Which executor a user means: nothing, a number, a text, a Dask client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from seqray.parallel.executor import Executor
from seqray.util.errors import ArgumentError

ExecutorLike: TypeAlias = int | str | Executor | Any | None
"""None, a number of processes, a text (see `FORMS`), a ``distributed.Client``, or an `Executor`."""

FORMS = "N, processes:N, dask, dask://HOST:PORT or tcp://HOST:PORT"
"""How an executor is written."""


@contextmanager
def opened_executor(given: ExecutorLike) -> Iterator[Executor | None]:
    """Yield the executor that is meant, None for this process; what was opened is closed.

    Parameters
    ----------
    given
        None: this process. A number or ``"processes:N"``: so many processes of this machine.
        ``"dask"``: a Dask cluster on this machine. ``"dask://HOST:PORT"`` or
        ``"tcp://HOST:PORT"``: a Dask scheduler. Or a ``distributed.Client``, or an executor that
        is open.

    Examples
    --------
    >>> with opened_executor("processes:2") as executor:
    ...     executor.n_workers
    2
    >>> with opened_executor("threads:2") as executor:
    ...     pass
    Traceback (most recent call last):
    ...
    seqray.ArgumentError: executor: expected N, processes:N, dask, ...
    """
    if given is None or isinstance(given, Executor):
        yield given
        return
    executor = _made(given)
    try:
        yield executor
    finally:
        executor.close()


def _made(given: object) -> Executor:
    from seqray.parallel.dask_cluster import DaskCluster, connected, is_client  # noqa: PLC0415
    from seqray.parallel.process_pool import ProcessPool  # noqa: PLC0415 - none is always needed

    if is_client(given):
        return DaskCluster(given)
    text = str(given).strip() if isinstance(given, int | str) and given is not True else ""
    if number := re.fullmatch(r"(?:processes:)?([0-9]{1,6})", text):
        if int(number[1]) > 0:
            return ProcessPool(int(number[1]))
    elif text == "dask":
        return connected(None)
    elif where := re.fullmatch(r"(dask|tcp|tls)://(.+:[0-9]{1,5})", text):
        return connected(f"{where[1].replace('dask', 'tcp')}://{where[2]}")
    raise ArgumentError(f"executor: expected {FORMS}, got {given!r}. N is 1 or more")
