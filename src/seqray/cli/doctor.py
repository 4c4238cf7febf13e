"""``seqray doctor``.

It has to run where NumPy does not, so parts of seqray that need it are imported late.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import click

import seqray
from seqray.util.errors import install_hint
from seqray.util.memory import memory_limit, shown_bytes

EXTRAS = {
    "torch": "PyTorch models as boxes, and seqray train",
    "onnx": "ONNX models as boxes, and writing .onnx",
    "keras": "Keras models as boxes",
    "hf": "Hugging Face models as boxes",
    "web": "explore --serve",
    "plots": "figures, PNG and PDF",
    "aalpy": "learn --method kv or lstar, and AALpy's objects",
    "hmmlearn": "hidden Markov models of hmmlearn",
    "events": "event logs in Parquet",
    "notebook": "tables in notebooks",
    "sklearn": "estimators of scikit-learn",
    "dist": "Dask clusters",
}
"""The extras of seqray, and what each is for."""

REQUIREMENT = re.compile(r"([\w.-]+)>=([\d.]+)(?:\s*;\s*extra == ['\"](\w+)['\"])?")
KERAS_BACKENDS = "torch", "jax", "tensorflow"


@dataclass(frozen=True)
class Requirement:
    """A package that seqray needs, for everything or for an extra; its version if it is there."""

    package: str
    min_version: str
    extra: str | None
    version: str | None

    @property
    def is_met(self) -> bool:
        """Whether the package is there and new enough."""
        return self.version is not None and _numbers(self.version) >= _numbers(self.min_version)

    @property
    def command(self) -> str:
        """The command that installs it."""
        return f"pip install '{self.package}>={self.min_version}'"

    @property
    def shown(self) -> str:
        """The package, with what is wrong about it."""
        if self.version is None:
            return f"{self.package} is missing"
        old = "" if self.is_met else f", older than {self.min_version}"
        return f"{self.package} {self.version}{old}"


def _numbers(version: str) -> list[int]:
    """Return the numbers at the start of a version, to compare it."""
    start = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in start[0].split(".")] if start else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON instead.")
def command(as_json: bool) -> None:
    """Show what is installed, what is missing, and what seqray may use here.

    Exit code 1 if seqray itself does not work: a package that it always needs is missing, too old
    or broken, or a small extraction fails. Missing extras are only reported, each with the command
    that installs it.

    \b
    Examples:
      seqray doctor
      seqray doctor --json
    """
    requirements = _requirements()
    problems = list(_problems(requirements))
    report: dict[str, Any] = {"ok": not problems, "problems": problems, **_versions()}
    report["base"] = {each.package: each.version for each in requirements if each.extra is None}
    report["extras"] = {name: _extra(name, requirements) for name in EXTRAS}
    if not problems:
        report |= {"threads": _threads(), "memory": _memory(), **_folders()}
    if as_json:
        click.echo(json.dumps(report))
    else:
        click.echo("\n".join(_lines(report)))
    if problems:
        click.get_current_context().exit(1)


# What is installed --------------------------------------------------------------------------------


def _requirements() -> list[Requirement]:
    """Return what the installed package says that it needs; nothing if it is not installed."""
    try:
        lines = metadata.requires("seqray") or []
    except ImportError:
        return []
    parts = [match.groups() for line in lines if (match := REQUIREMENT.fullmatch(line))]
    return [Requirement(name, least, extra, _version(name)) for name, least, extra in parts]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except ImportError:
        return None


def _problems(requirements: list[Requirement]) -> Iterator[str]:
    """Yield why seqray does not work here."""
    if not requirements:
        yield "seqray runs from a folder, and is not installed: pip install . in seqray's folder"
    base = [each for each in requirements if each.extra is None]
    unmet = [each for each in base if not each.is_met]
    yield from (f"{each.shown}: {each.command}" for each in unmet)
    for each in base:
        if each.is_met and (error := _import_error(each.package)):
            again = f"pip install --force-reinstall '{each.package}>={each.min_version}'"
            yield f"{each.package} {each.version} cannot be imported ({error}): {again}"
            return
    if not unmet and (error := _extraction_error()):
        yield f"a small extraction fails ({error}): install seqray again"


def _import_error(package: str) -> str | None:
    try:
        importlib.import_module(package)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _extraction_error() -> str | None:
    """Return why a small extraction does not give the right automaton, if it does not."""
    try:
        box = seqray.black_box(lambda words: [0.5 ** len(word) for word in words], "ab")
        weight = seqray.extract(box, seed=0).best().weight("abba")
        return None if abs(weight - 0.0625) < 1e-9 else f"a weight of {weight!r}, not 0.0625"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _versions() -> dict[str, str]:
    return {
        "seqray": seqray.__version__,
        "folder": str(Path(seqray.__file__).parent),
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
    }


def _extra(name: str, requirements: list[Requirement]) -> dict[str, Any]:
    """Return what an extra is for, its packages, and what installs those that are missing."""
    packages = [each for each in requirements if each.extra == name]
    command = install_hint(name)
    is_met = bool(packages) and all(each.is_met for each in packages)
    note = None
    if name == "keras" and is_met and not any(map(_version, KERAS_BACKENDS)):
        is_met, note, command = False, "Keras has no backend", f"pip install '{KERAS_BACKENDS[0]}'"
    return {
        "for": EXTRAS[name],
        "installed": is_met,
        "packages": {each.package: each.version for each in packages},
        "found": ", ".join([each.shown for each in packages] + ([note] if note else [])),
        "command": None if is_met else command,
    }


# What seqray may use ------------------------------------------------------------------------------


def _threads() -> dict[str, Any]:
    from threadpoolctl import threadpool_info  # noqa: PLC0415 - it may be broken

    from seqray.parallel.executor import THREAD_VARIABLES  # noqa: PLC0415 - needs NumPy

    has_affinity = hasattr(os, "sched_getaffinity")
    usable = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count()
    pools = threadpool_info()
    return {
        "cores": os.cpu_count(),
        "usable": usable,
        "variables": {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ},
        "pools": {each["prefix"]: each["num_threads"] for each in pools},
    }


def _memory() -> dict[str, int]:
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if _knows_memory() else 0
    return {"total": total, "for_tables": memory_limit()}


def _knows_memory() -> bool:
    return hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names


def _folders() -> dict[str, dict[str, Any]]:
    """Return where cached answers, data and large temporary files are."""
    from seqray.blackbox.queries.answer_cache import default_store  # noqa: PLC0415 - needs NumPy
    from seqray.experiments.catalogue import catalogue  # noqa: PLC0415 - needs NumPy
    from seqray.util.row_file import disk_folder  # noqa: PLC0415 - needs NumPy

    store, data = default_store(), os.environ.get("SEQRAY_DATA")
    size = store.stat().st_size if store.is_file() else None
    sets = [each.name for each in catalogue() if data and Path(data, each.folder).is_dir()]
    large = disk_folder()
    return {
        "cache": {"file": str(store), "bytes": size},
        "data": {"folder": data, "sets": sets},
        "temporary": {"folder": str(large), "free": shutil.disk_usage(large).free},
    }


# What people read ---------------------------------------------------------------------------------


def _lines(report: dict[str, Any]) -> Iterator[str]:
    yield f"seqray {report['seqray']} in {report['folder']}"
    yield f"Python {report['python']}, {report['executable']}"
    yield report["platform"]
    yield ", ".join(f"{name} {version or 'missing'}" for name, version in report["base"].items())
    yield ""
    yield from _aligned(_extra_rows(report["extras"]))
    if "threads" in report:
        yield ""
        yield from _aligned(_resource_rows(report))
    yield ""
    missing = sum(not each["installed"] for each in report["extras"].values())
    if report["ok"]:
        yield f"seqray works. Extras that are missing: {missing} of {len(report['extras'])}."
    yield from (f"Problem: {problem}" for problem in report["problems"])


def _extra_rows(extras: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    for name, each in extras.items():
        yield (
            "✓" if each["installed"] else "–",
            name,
            f"{each['for']}: {each['found'] or 'unknown'}",
        )
        if each["command"] and each["packages"]:
            yield "", "", f"  {each['command']}"
        if "torch" in each["packages"] and each["packages"]["torch"] is None:
            yield "", "", "  (on Linux more than 6 GB; the README says how to get the CPU build)"


def _resource_rows(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    threads, memory, cache = report["threads"], report["memory"], report["cache"]
    pools = ", ".join(f"{name} {number}" for name, number in threads["pools"].items())
    variables = ", ".join(f"{name}={value}" for name, value in threads["variables"].items())
    yield "cores", f"{threads['usable']} of {threads['cores']}"
    yield "threads", "; ".join(filter(None, (pools, variables))) or "unknown"
    total = f" of {shown_bytes(memory['total'])}" if memory["total"] else ""
    yield "memory", f"large tables may take {shown_bytes(memory['for_tables'])}{total} (--memory)"
    size = "none yet" if cache["bytes"] is None else shown_bytes(cache["bytes"])
    yield "cached answers", f"{cache['file']}: {size} (SEQRAY_STORE, seqray store info)"
    data = report["data"]
    sets = ", ".join(data["sets"]) or "no data set that seqray knows"
    where = f"{data['folder']}: {sets}" if data["folder"] else "no folder is named"
    yield "data", f"{where} (SEQRAY_DATA, seqray data check)"
    large = report["temporary"]
    yield "large files", f"{large['folder']}: {shown_bytes(large['free'])} free (TMPDIR)"


def _aligned(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield rows as lines; every column but the last is as wide as its widest entry."""
    listed = list(rows)
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    for *first, last in listed:
        cells = [cell.ljust(width) for cell, width in zip(first, widths, strict=False)]
        yield "  ".join([*cells, last])
