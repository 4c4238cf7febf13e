"""How long it takes to read an event log: XES, CSV and Parquet of the same events.

    python benchmarks/events.py [--events 250000]

A log of random cases is made, with 14 activities whose names hold spaces and with four attributes
per event (activity, time, resource, lifecycle transition), and written in each format, XES also
compressed. Every reading has to give the same words. `seconds` is processor time, the best of
three; `pandas` is the time that pandas takes for the same table, without making words of it, and
`pm4py` the time of its reader of XES, where these packages are installed.
"""

import argparse
import csv
import gzip
import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
from common import best_of_each, report

import seqray

COLUMNS = ("case", "activity", "time", "resource", "lifecycle:transition")
N_ACTIVITIES, MEAN_LENGTH, N_RUNS = 14, 5, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=250_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = write_log(list(random_events(options.events)), Path(folder))
        logs = [seqray.read_events(file) for file in files]
        assert all(log.words == logs[0].words for log in logs)
        assert all(log.cases == logs[0].cases for log in logs)
        assert logs[0].words.lengths.sum() == options.events
        works = {file.name: reading(file) for file in files} | others(files)
        seconds = dict(zip(works, best_of_each(N_RUNS, *works.values()), strict=True))
        sizes = {file.name: file.stat().st_size for file in files}
    figures = {
        "events": options.events,
        "cases": len(logs[0].cases),
        "bytes": sizes,
        "seconds": {name: round(took, 3) for name, took in seconds.items()},
    }
    report([(name, f"{took:.2f} s") for name, took in seconds.items()], figures)


def reading(file: Path) -> Callable[[], object]:
    return lambda: seqray.read_events(file)


def others(files: list[Path]) -> dict[str, Callable[[], object]]:
    """Return what other packages do with the same files, if they are installed."""
    by_ending = {file.suffix: file for file in files}
    works: dict[str, Callable[[], object]] = {}
    if importlib.util.find_spec("pandas"):
        import pandas  # noqa: PLC0415

        works["pandas, CSV"] = lambda: pandas.read_csv(by_ending[".csv"], parse_dates=["time"])
        if ".parquet" in by_ending:
            works["pandas, Parquet"] = lambda: pandas.read_parquet(by_ending[".parquet"])
    if importlib.util.find_spec("pm4py"):
        import pm4py  # noqa: PLC0415

        works["pm4py, XES"] = lambda: pm4py.read_xes(str(by_ending[".xes"]))
    return works


def random_events(n_events: int) -> Iterator[tuple[str, ...]]:
    """Yield events of cases one after the other, each later than the one before."""
    rng = np.random.default_rng(0)
    starts = rng.random(n_events) < 1 / MEAN_LENGTH
    activities, resources = (
        rng.integers(N_ACTIVITIES, size=n_events),
        rng.integers(20, size=n_events),
    )
    times = np.datetime64("2020-01-01", "ms") + np.cumsum(rng.integers(1, 10**6, n_events))
    for case, activity, time, resource in zip(
        np.cumsum(starts), activities, times, resources, strict=True
    ):
        name = f"Do step {activity} of the process"
        yield f"Case {case}", name, f"{time}+00:00", f"Person {resource}", "complete"


def write_log(rows: list[tuple[str, ...]], folder: Path) -> list[Path]:
    """Write a log in every format that can be written here."""
    xes = "\n".join(xes_lines(rows))
    (folder / "log.xes").write_text(xes)
    (folder / "log.xes.gz").write_bytes(gzip.compress(xes.encode()))
    with open(folder / "log.csv", "w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    files = [folder / name for name in ("log.xes", "log.xes.gz", "log.csv")]
    if importlib.util.find_spec("pyarrow"):
        import pyarrow  # noqa: PLC0415
        from pyarrow import parquet  # noqa: PLC0415

        table = pyarrow.table(dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)))
        parquet.write_table(table, folder / "log.parquet")
        files.append(folder / "log.parquet")
    return files


def xes_lines(rows: list[tuple[str, ...]]) -> Iterator[str]:
    keys = ("concept:name", "time:timestamp", "org:resource", "lifecycle:transition")
    kinds = ("string", "date", "string", "string")
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<log xes.version="1.0">'
    last = None
    for case, *values in rows:
        if case != last:
            if last is not None:
                yield "  </trace>"
            yield f'  <trace>\n    <string key="concept:name" value={quoteattr(case)}/>'
            last = case
        yield "    <event>"
        for kind, key, value in zip(kinds, keys, values, strict=True):
            yield f'      <{kind} key="{key}" value={quoteattr(value)}/>'
        yield "    </event>"
    yield "  </trace>\n</log>"


if __name__ == "__main__":
    main()
