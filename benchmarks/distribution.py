"""Build wheel and sdist, and try both in empty environments without any extra.

    python benchmarks/distribution.py [-o dist] [--python python3.12 ...]

Each Python gets an environment with the wheel and what it needs, and nothing else. There
`seqray doctor` has to say that all works, the README's Python and the demo have to run, and the
demo's automaton is written in other formats. Then the sdist replaces the wheel, and all is tried
again. By default these are all of Python 3.11 to 3.13 that are on the path. The wheel and the
installed packages may not be larger than the limits here; else the exit code is 1.

With pyenv: PYENV_VERSION=3.11.7:3.12.1:3.13.0 python benchmarks/distribution.py
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PYTHONS = "python3.11", "python3.12", "python3.13"
MAX_WHEEL_BYTES = 2_000_000
MAX_INSTALLED_BYTES = 300_000_000
INSTALLERS = "pip", "setuptools", "_distutils_hack", "pkg_resources", "distutils-precedence.pth"
"""What an empty environment has already."""

README_CODE = """
import seqray
box = seqray.black_box(lambda words: [w.count("a") - 0.5 * w.count("b") for w in words], "ab")
wa = seqray.extract(box, seed=0).best()
assert abs(wa.weight("aab") - 1.5) < 1e-9, wa.weight("aab")
"""
DEMO_FILES = "config.json", "automaton.svg", "explorer.html", "words.txt"


def build(folder: Path) -> tuple[Path, Path]:
    """Build wheel and sdist into a folder, and return their paths."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder.resolve())]
    run(command, ROOT)
    wheels, archives = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(archives) != 1:
        raise SystemExit(f"{folder}: expected an empty folder, it holds other archives")
    return wheels[0], archives[0]


def files_of(wheel: Path) -> set[str]:
    """Return what a wheel holds, without what is about the wheel itself."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def run(command: list[str], folder: Path) -> str:
    """Run a command as a newcomer would, and return what it prints."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "SEQRAY_DATA", "VIRTUAL_ENV"}
    environment = {name: text for name, text in os.environ.items() if name not in hidden}
    environment |= {"SEQRAY_STORE": str(folder / "answers.sqlite"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def version_of(python: str) -> str | None:
    """Return the version of a Python, None where it cannot be run."""
    path = shutil.which(python)
    command = [path or python, "-c", "import platform; print(platform.python_version())"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def installed_bytes(packages: Path) -> int:
    """Return the size of all installed packages but the installers."""
    return sum(
        path.stat().st_size
        for path in packages.rglob("*")
        if path.is_file() and not path.relative_to(packages).parts[0].startswith(INSTALLERS)
    )


def smoke(binaries: Path, folder: Path) -> str:
    """Try an installation; return the version that it says it has."""
    python = str(binaries / "python")
    seqray = str(binaries / "seqray")
    report = json.loads(run([seqray, "doctor", "--json"], folder))
    extras = [name for name, each in report["extras"].items() if each["installed"]]
    if not report["ok"] or extras or not Path(report["folder"]).is_relative_to(binaries.parent):
        raise SystemExit(f"seqray doctor: {report}")
    run([python, "-c", README_CODE], folder)
    run([seqray, "demo", "-o", "demo"], folder)
    missing = [name for name in DEMO_FILES if not (folder / "demo" / name).stat().st_size]
    if missing:
        raise SystemExit(f"seqray demo wrote no {missing}")
    for ending in ("json", "fst", "dot", "c", "js"):
        run([seqray, "convert", "demo", f"demo.{ending}"], folder)
    shutil.rmtree(folder / "demo")
    return str(report["seqray"])


def tried(python: str, wheel: Path, archive: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for the wheel and one for the sdist, each installed and tried."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([shutil.which(python) or python, "-m", "venv", "empty"], folder)
        binaries = folder / "empty" / "bin"
        for package, more in ((wheel, []), (archive, ["--force-reinstall", "--no-deps"])):
            begin = time.perf_counter()
            run([str(binaries / "python"), "-m", "pip", "install", *more, str(package)], folder)
            version = smoke(binaries, folder)
            packages = next((folder / "empty" / "lib").glob("python3*")) / "site-packages"
            yield {
                "python": version_of(str(binaries / "python")),
                "package": package.name,
                "seqray": version,
                "installed_bytes": installed_bytes(packages),
                "seconds": time.perf_counter() - begin,
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist", help="emptied first")
    parser.add_argument("--python", action="append", help="a Python to try; may be repeated")
    options = parser.parse_args()
    shutil.rmtree(options.output, ignore_errors=True)
    wheel, archive = build(options.output)
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, {len(files_of(wheel))} files")
    print(f"{archive.name}: {archive.stat().st_size:,} bytes")
    rows = []
    for python in options.python or PYTHONS:
        if version_of(python) is None:
            print(f"{python}: not here, not tried")
            continue
        for row in tried(python, wheel, archive):
            print(
                f"Python {row['python']}, {row['package']}: works; "
                f"{row['installed_bytes'] / 1e6:.0f} MB installed; {row['seconds']:.0f} s"
            )
            rows.append(row)
    largest = max((row["installed_bytes"] for row in rows), default=0)
    is_small = wheel.stat().st_size < MAX_WHEEL_BYTES and largest < MAX_INSTALLED_BYTES
    print(json.dumps({"wheel_bytes": wheel.stat().st_size, "is_small": is_small, "tried": rows}))
    if not rows or not is_small:
        sys.exit(1)


if __name__ == "__main__":
    main()
