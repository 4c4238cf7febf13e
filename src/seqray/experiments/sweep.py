"""The sweep: every problem by the paper's method at every size of basis, and by seqray's own.

It is resumable, and merged into one table.

::

    RESULTS/
      pautomac.csv.gz           the table, see `seqray.experiments.table`
      pautomac.json             how it was made: settings, versions, machine, holes, time by phase,
                                and how the fidelity of seqray's own method grows with queries
      pautomac-boxes.csv        the boxes themselves, see `seqray.experiments.boxes`
      pautomac-distilled.csv    time and memory, see `seqray.experiments.distillation`
      parts/pautomac/           what is done so far, one or two files per cell, and the settings

A part is written when its cell is done, whole or not at all. What is there is not done again, so a
sweep that was stopped, however it was, loses no more than the cells it was working on. A part
whose network or words have changed since is done anew.
"""

from __future__ import annotations

import math
import platform
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_info

from seqray.experiments.boxes import BoxRow
from seqray.experiments.cells import (
    SIZES,
    Cell,
    CellResult,
    Settings,
    measure,
    measure_auto,
    measure_box,
)
from seqray.experiments.distillation import Distilled, measure_distilled
from seqray.experiments.problems import HELD_OUT_SEED, RNN_SEED, Source
from seqray.experiments.process_pool import Executor, Outcome, here
from seqray.experiments.table import (
    AUTO,
    PAPER,
    Result,
    problem_order,
    read_results,
    write_results,
)
from seqray.util.checksums import opened_json, sealed_json
from seqray.util.csv_table import write_rows
from seqray.util.errors import ArgumentError, FileError
from seqray.util.files import check_header, nulled, read_bytes, reading, writing
from seqray.util.version import __version__

FORMAT, VERSION, SETTINGS = "seqray.sweep", 1, "settings.json"
BOXES, DISTILLED = "boxes", "distilled"

OTHERS = {BOXES: BoxRow._fields, DISTILLED: Distilled._fields}
"""The tables beside the main one, and their columns."""

OWN_WORK_PER_RANK = 16_000
"""The work of seqray's own method per rank, in the units of `SweepJob.work`."""


@dataclass(frozen=True)
class Sweep:
    """What to sweep, and where the results go.

    Parameters
    ----------
    name
        Of the table: ``pautomac`` makes ``pautomac.csv.gz``.
    folder
        The folder of results.
    sources
        The problems.
    sizes
        The sizes of bases, in the order in which they are taken.
    settings
        What all cells have in common.
    methods
        Which methods: the paper's, seqray's own, or both. What is left out can be added later.

    Examples
    --------
    >>> import tempfile
    >>> from seqray.experiments.problems import sources
    >>> small = Settings(max_rank=5, n_test=50, n_rnn=50, n_held_out=50)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     problem = sources("generated", problems=[1])
    ...     sweep = Sweep("tiny", Path(folder), problem, (20, 30), small, methods=["paper"])
    ...     summary = sweep.run()
    ...     summary.n_done, len(read_results(sweep.table))
    (4, 32)
    """

    name: str
    folder: Path
    sources: Iterable[Source]
    sizes: tuple[int, ...] = SIZES
    settings: Settings = field(default_factory=Settings)
    methods: Collection[str] = (PAPER, AUTO)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", tuple(self.sources))
        if not self.sizes or min(self.sizes) < 1:
            raise ArgumentError(f"sizes: expected numbers from 1, got {self.sizes}")
        if not self.methods or not {PAPER, AUTO}.issuperset(self.methods):
            known = f"{PAPER!r}, {AUTO!r} or both"
            raise ArgumentError(f"methods: expected {known}, got {tuple(self.methods)}")

    @property
    def table(self) -> Path:
        """Where the table goes."""
        return self.folder / f"{self.name}.csv.gz"

    @property
    def parts(self) -> Path:
        """Where the parts are."""
        return self.folder / "parts" / self.name

    @cached_property
    def holes(self) -> dict[str, str]:
        """Which problems cannot be swept, and why."""
        return {source.name: source.hole for source in self.sources if source.hole}

    def run(
        self,
        *,
        executor: Executor = here,
        on_step: Callable[[SweepStep], None] = lambda step: None,
    ) -> SweepSummary:
        """Do what is missing, and write the table of all there is.

        Parameters
        ----------
        executor
            Where the work is done; times of distillation are always taken in this process, when
            the others are done.
        on_step
            Called after each cell.
        """
        self.prepare()
        jobs = self._jobs()
        self._drop_outdated(jobs.values())
        missing = {name: job for name, job in jobs.items() if not self._is_there(job)}
        failed: dict[str, str] = {}
        done: list[int] = []  # how much work each was

        def finish(outcome: Outcome[CellResult]) -> None:
            job = missing[outcome.job]
            done.append(job.work)
            if outcome.result is None:
                failed[outcome.job] = outcome.error
            else:
                self._save(job, outcome.result)
            on_step(SweepStep(job, outcome, len(done), len(missing), sum(done) / (work_all or 1)))

        work_all = sum(job.work for job in missing.values())
        alone = {name: job for name, job in missing.items() if job.kind == DISTILLED}
        executor({name: job for name, job in missing.items() if name not in alone}, work, finish)
        here(alone, work, finish)
        self.merge(failed)
        n_done = len(missing) - len(failed)
        return SweepSummary(self.table, self.holes, failed, n_done, len(jobs) - len(missing))

    def prepare(self) -> None:
        """Make the folder, or refuse one whose parts are of a sweep with other settings."""
        wanted = {"format": FORMAT, "version": VERSION, **asdict(self.settings)}
        path = self.parts / SETTINGS
        if path.exists():
            with reading(path, "settings of a sweep"):
                saved = opened_json(read_bytes(path))
                check_header(saved, FORMAT, VERSION)
            changed = [
                f"{name} was {saved.get(name)!r}, is {value!r}"
                for name, value in wanted.items()
                if saved.get(name) != value
            ]
            if changed:
                raise ArgumentError(
                    f"{self.parts}: these parts are of a sweep with other settings "
                    f"({'; '.join(changed)}): choose another folder for the results, or begin anew"
                )
            return
        if self.table.exists():
            raise ArgumentError(
                f"{self.table}: there is a table already, but not its parts, so that nothing can "
                "be added to it: choose another folder for the results, or begin anew"
            )
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{self.parts}: cannot be made: {error.strerror or error}") from error
        _write_json(path, wanted)

    def begin_anew(self) -> None:
        """Remove the table and its parts, if they are a sweep's."""
        if (self.parts / SETTINGS).exists():
            shutil.rmtree(self.parts)
        self.table.unlink(missing_ok=True)

    def _jobs(self) -> dict[str, SweepJob]:
        """Return all there is to do, by name."""
        jobs: dict[str, SweepJob] = {}
        for source in self.sources:
            if source.name in self.holes:
                continue
            mark = source.fingerprint()
            small = Cell(source, mark, min(self.sizes), self.settings)
            cells = [Cell(source, mark, size, self.settings) for size in self.sizes]
            of_source = [SweepJob(BOXES, small)]
            if PAPER in self.methods:
                of_source += [SweepJob(str(cell.size), cell) for cell in cells]
                of_source.append(SweepJob(DISTILLED, small))
            if AUTO in self.methods:
                of_source.append(SweepJob(AUTO, small))
            jobs |= {job.name: job for job in of_source}
        return jobs

    def _drop_outdated(self, jobs: Iterable[SweepJob]) -> None:
        """Remove parts of another network or other words, so that a table never mixes them."""
        now = {job.cell.source.name: job.cell.fingerprint for job in jobs}
        for name, part in self._read_parts().items():
            if part["fingerprint"] != now.get(part["problem"], part["fingerprint"]):
                (self.parts / f"{name}.json").unlink()

    def _is_there(self, job: SweepJob) -> bool:
        paths = [self.parts / f"{job.name}.json"]
        if job.kind not in OTHERS:
            paths.append(self.parts / f"{job.name}.csv.gz")
        return all(path.exists() for path in paths)

    def _save(self, job: SweepJob, part: CellResult) -> None:
        """Write the result of a job; the JSON file comes last and says that it is done."""
        if job.kind not in OTHERS:
            write_results(part.results, self.parts / f"{job.name}.csv.gz")
        about = {
            "problem": job.cell.source.name,
            "kind": job.kind,
            "fingerprint": job.cell.fingerprint,
            **part.about,
            "rows": part.others,
        }
        _write_json(self.parts / f"{job.name}.json", about)

    def merge(self, failed: Mapping[str, str]) -> None:
        """Write the tables of all parts there are, and how they came about."""
        parts = self._read_parts()
        results = [
            result
            for name, part in parts.items()
            if part["kind"] not in OTHERS
            for result in _read_part(self.parts / f"{name}.csv.gz")
        ]
        write_results(results, self.table)
        for kind, columns in OTHERS.items():
            rows = [row for part in parts.values() if part["kind"] == kind for row in part["rows"]]
            write_rows(self.folder / f"{self.name}-{kind}.csv", columns, rows)
        about = {
            "format": "seqray.results",
            "version": VERSION,
            "settings": asdict(self.settings),
            "seeds": {"basis": self.settings.seed, "rnn": RNN_SEED, "held_out": HELD_OUT_SEED},
            "holes": self.holes,
            "failed": dict(failed),
            "notes": {name: part["notes"] for name, part in parts.items() if part["notes"]},
            "seconds": _phases(parts.values()),
            "rounds": {p["problem"]: p["rounds"] for p in parts.values() if "rounds" in p},
            "copies": {p["problem"]: p["copies"] for p in parts.values() if "copies" in p},
            "fingerprints": {part["problem"]: part["fingerprint"] for part in parts.values()},
            **machine(),
        }
        _write_json(self.folder / f"{self.name}.json", about)

    def _read_parts(self) -> dict[str, dict[str, Any]]:
        """Return what is known of each part, in the order of problems and sizes."""
        parts: dict[str, dict[str, Any]] = {}
        for path in self.parts.glob("*.json"):
            if path.name != SETTINGS:
                with reading(path, "a part of a sweep (remove it to have it done again)"):
                    parts[path.stem] = opened_json(read_bytes(path))
                    _part_order(parts[path.stem])
        return dict(sorted(parts.items(), key=lambda item: _part_order(item[1])))


class SweepJob(NamedTuple):
    """A cell, and what is wanted of it: its box, its times, or else rows of a method."""

    kind: str
    cell: Cell

    @property
    def name(self) -> str:
        """Its name, also that of its files."""
        return f"{self.cell.source.name}-{self.kind}"

    @property
    def work(self) -> int:
        """How much there is to do, roughly: filling blocks, and then measuring every rank."""
        if self.kind == BOXES:
            return 0
        if self.kind == AUTO:
            return OWN_WORK_PER_RANK * self.cell.settings.max_rank
        return self.cell.size**2 + 2000 * self.cell.settings.max_rank

    def __str__(self) -> str:
        name, size = self.cell.source.name, self.cell.size
        what = {BOXES: "the box", DISTILLED: "time and memory", AUTO: "seqray's own method"}
        return f"problem {name}: {what.get(self.kind, f'{size} × {size}')}"


class SweepStep(NamedTuple):
    """A cell is done, or has failed."""

    job: SweepJob
    outcome: Outcome[CellResult]
    n_done: int
    n_all: int
    share: float  # of all the work of this run that is done now


class SweepSummary(NamedTuple):
    """The outcome of a sweep."""

    table: Path
    holes: Mapping[str, str]
    failed: Mapping[str, str]
    n_done: int
    n_there: int  # cells that were there already


def work(job: SweepJob) -> CellResult:
    """Do a job, in whatever process."""
    if job.kind == BOXES:
        return measure_box(job.cell)
    if job.kind == DISTILLED:
        return measure_distilled(job.cell)
    if job.kind == AUTO:
        return measure_auto(job.cell)
    return measure(job.cell)


def machine() -> dict[str, Any]:
    """Return what the figures were made with: versions, and the processor."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        pass
    blas = {f"{lib['internal_api']} {lib['version']}" for lib in threadpool_info()}
    return {
        "seqray": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": sorted(blas),
        "processor": name,
    }


def _part_order(part: Mapping[str, Any]) -> tuple[Any, ...]:
    kind = part["kind"]
    return (
        problem_order(part["problem"]),
        not kind.isdecimal(),
        int(kind) if kind.isdecimal() else 0,
        kind,
    )


def _phases(parts: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Sum the processor seconds of each phase, by problem."""
    phases: dict[str, dict[str, float]] = {}
    for part in parts:
        spent = phases.setdefault(part["problem"], {})
        for name, seconds in part["seconds"].items():
            phase = DISTILLED if part["kind"] == DISTILLED else name
            spent[phase] = round(spent.get(phase, 0) + seconds, 3)
    return phases


def _read_part(path: Path) -> list[Result]:
    try:
        return read_results(path)
    except FileError as error:
        raise FileError(f"{error}: remove this file and run the same sweep again") from error


def _write_json(path: Path, document: Mapping[str, Any]) -> None:
    with writing(path) as fresh:
        fresh.write_bytes(sealed_json(nulled(document, math.isnan), indent=1))
