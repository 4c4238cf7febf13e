"""What Hankel blocks take of memory and of disk, before they are filled; and where they are put.

With a limit (``memory``), blocks that would take more are filled into a file. The SVD reads it a
few rows at a time, as often as it needs. Nothing is queried again for that.
"""

from __future__ import annotations

import logging
import os
import shutil
from dataclasses import dataclass

import numpy as np

from seqray.extraction.hankel.fill import ROWS_PER_WALK, Allocate
from seqray.extraction.hankel.sizes import Size
from seqray.extraction.job import BYTES_PER_CELL, Job
from seqray.extraction.settings import HANKEL
from seqray.extraction.svd import N_EXTRA_DIRECTIONS
from seqray.util.errors import ArgumentError
from seqray.util.memory import memory_limit, shown_bytes
from seqray.util.parameter_names import parameters
from seqray.util.row_file import RowFile, Rows, disk_folder

logger = logging.getLogger(__name__)

BYTES_PER_NUMBER = 8

COPIES_OF_BLOCK = 4
"""How many times the block H is in memory at once while it is factored there."""

COPIES_OF_FACTORS = 6
"""How many times singular vectors are in memory at once while blocks on disk are factored."""

MAX_CHUNKS_AT_ONCE = 12
"""How many copies of a chunk of rows are in memory at once, at most."""

BYTES_PER_ROW_WORD = 1000
"""About what the words of one row take, as codes and as tuples of symbols."""

BYTES_PER_COUNTED_WORD = 24
"""What it takes to remember that a word was queried, where answers are cached."""

CANDIDATE_COPIES = 6
"""How many times the table of candidates is in memory while independent rows are looked for."""


@dataclass(frozen=True)
class BlockNeeds:
    """What the blocks of a basis take, in bytes.

    Parameters
    ----------
    in_memory
        Of memory, with their SVD, if they are filled there.
    disk
        Of disk, if they are filled there.
    working
        Of memory in that case, without chunks of rows.
    row
        One row.
    """

    in_memory: int
    disk: int
    working: int
    row: int

    @property
    def least(self) -> int:
        """The least limit of memory with which they can be filled."""
        return min(self.in_memory, self.working + MAX_CHUNKS_AT_ONCE * self.row)

    def rows_per_chunk(self, memory: int) -> int:
        """Return how many rows are read at once within a limit of memory."""
        return max(1, (memory - self.working) // (MAX_CHUNKS_AT_ONCE * self.row))


def needs_of(job: Job, size: Size, *, grows: bool) -> BlockNeeds:
    """Return what the blocks of a basis of a size take."""
    (n_prefixes, n_suffixes), n_symbols = size, len(job.oracle.alphabet)
    n_rows = n_prefixes * n_symbols + 1
    n_directions = min(job.request.max_rank + N_EXTRA_DIRECTIONS, n_prefixes, n_suffixes)
    numbers = n_directions * (COPIES_OF_FACTORS * (n_prefixes + n_suffixes) + n_rows)
    numbers += 3 * ROWS_PER_WALK * n_suffixes
    automaton = job.oracle.automaton
    if automaton is not None:
        numbers += automaton.n_states * (n_rows + 2 * n_suffixes)
    if grows:
        n_candidates = HANKEL.candidates_per_prefix * max(size)
        numbers += CANDIDATE_COPIES * 2 * HANKEL.max_independent_rows * n_candidates
    others = BYTES_PER_ROW_WORD * (n_rows + n_suffixes)
    if job.oracle.caches:
        others += BYTES_PER_COUNTED_WORD * n_rows * n_suffixes
    row = BYTES_PER_NUMBER * n_suffixes
    working = BYTES_PER_NUMBER * numbers + others
    return BlockNeeds(
        in_memory=row * (n_rows + COPIES_OF_BLOCK * n_prefixes) + working,
        disk=row * n_rows,
        working=working,
        row=row,
    )


def allocator(job: Job) -> Allocate:
    """Return what makes matrices for blocks: in memory, or on disk where they would not fit."""
    memory = job.request.memory
    if memory is None:
        return np.empty
    grows = job.request.grows_basis(box_predicts=job.oracle.predicts)

    def allocate(shape: tuple[int, int]) -> Rows:
        size = (shape[0] // len(job.oracle.alphabet), shape[1])
        needs = needs_of(job, size, grows=grows)
        if needs.in_memory <= memory:
            return np.empty(shape)
        return RowFile(shape, rows_per_chunk=needs.rows_per_chunk(memory))

    return allocate


def check_memory(job: Job, size: Size, *, grows: bool) -> None:
    """Log what blocks of a size take, and refuse those that fit neither into memory nor on disk.

    Without a limit they have to fit into memory.
    """
    if (memory := job.request.memory) is None:
        _check_free_memory(job, size)
        return
    needs = needs_of(job, size, grows=grows)
    what = f"blocks of {size[0]:,} × {size[1]:,} prefixes and suffixes"
    if memory < needs.least:
        raise ArgumentError(
            f"memory: {what} at rank {job.request.max_rank} take at least "
            f"{shown_bytes(needs.least)}, and {shown_bytes(memory)} are allowed: allow more "
            f"({parameters('memory')}), or choose a smaller rank or fewer prefixes or suffixes "
            f"({parameters('max_rank', 'n_prefixes', 'n_suffixes')})"
        )
    if needs.in_memory <= memory:
        logger.info(
            "%s take about %s of memory, of %s allowed, and no disk",
            *(what, shown_bytes(needs.in_memory), shown_bytes(memory)),
        )
        return
    # Of a basis that is grown the blocks before it, a quarter, are there as well.
    disk = needs.disk * 5 // 4 if grows else needs.disk
    free = _checked_space(job, what, disk, needs.disk)
    logger.info(
        "%s take about %s of disk in %s, where %s are free, and up to %s of memory; in memory they "
        "would take %s",
        *(what, shown_bytes(disk), disk_folder(), shown_bytes(free), shown_bytes(memory)),
        shown_bytes(needs.in_memory),
    )


def _checked_space(job: Job, what: str, disk: int, cached: int) -> int:
    """Return the free space of the disk, or refuse blocks that it does not hold.

    Rows of a box with states are cached, too, perhaps on the same disk.
    """
    folder, store = disk_folder(), job.oracle.store
    path = None if job.oracle.blocks is None or store is None else store.path
    if path is not None and os.stat(path.parent).st_dev == os.stat(folder).st_dev:
        disk += cached
    free = shutil.disk_usage(folder).free
    if disk > free:
        raise ArgumentError(
            f"memory: {what} take {shown_bytes(disk)} of disk in {folder}, where "
            f"{shown_bytes(free)} are free: set TMPDIR to a folder on a larger disk, or choose "
            "fewer --prefixes or --suffixes"
        )
    return free


def _check_free_memory(job: Job, size: Size) -> None:
    """Refuse blocks that do not fit into the memory of the machine."""
    n_cells = size[0] * size[1] * len(job.oracle.alphabet)
    n_bytes, limit = BYTES_PER_CELL * n_cells, memory_limit()
    if n_bytes > limit:
        raise ArgumentError(
            f"{len(job.oracle.alphabet):,} symbols: blocks of about {n_cells:,} numbers take "
            f"{n_bytes / 1e9:,.3g} GB, expected at most {limit / 1e9:.2g} GB (half of the free "
            "memory, up to 4 GB): let them be filled on disk and say how much memory they may "
            "take (--memory 2GB, memory), query fewer prefixes and suffixes (--prefixes, "
            "--suffixes), or fewer symbols, or give a smaller budget"
        )
