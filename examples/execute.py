"""Execute notebooks of this folder and write them back with their outputs.

    python examples/execute.py first_steps     # this one, or several
    python examples/execute.py                 # all for which data and packages are there
    python examples/execute.py first_steps --pictures docs/images

A notebook runs in an empty folder of its own. Where public data sets are at hand, the environment
variable SEQRAY_DATA names their folder. What a notebook needs stands in its metadata:

    {"seqray": {"needs": ["cases/helpdesk.xes.gz"], "packages": ["torch"]}}

``needs`` are files in the data folder, ``packages`` what has to be importable. What differs from
machine to machine (paths, versions, times, addresses) is not written. ``--pictures`` also writes
the pictures that a notebook shows, each as NAME-NUMBER with the number of its cell, for the docs.
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import struct
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient

EXAMPLES = Path(__file__).resolve().parent
SECONDS_PER_CELL = 600
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def data_folder() -> Path | None:
    """Return the folder of public data sets, or None."""
    folder = Path(os.environ.get("SEQRAY_DATA") or EXAMPLES.parents[1] / "shared" / "data")
    return folder if folder.is_dir() else None


def what_is_missing(notebook: Any) -> list[str]:
    """Return the files and packages that a notebook needs and that are not there."""
    wanted = notebook.metadata.get("seqray", {})
    files, packages = wanted.get("needs", []), wanted.get("packages", [])
    folder = data_folder()
    absent = [each for each in files if folder is None or not (folder / each).exists()]
    return [f"{each} in SEQRAY_DATA" for each in absent] + [
        f"the package {each}" for each in packages if find_spec(each) is None
    ]


def executed(notebook: Any) -> Any:
    """Return a notebook as a new kernel of this interpreter leaves it, cleaned.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails.
    """
    fresh = nbformat.from_dict(notebook)
    folder = data_folder()
    known = {} if folder is None else {"SEQRAY_DATA": str(folder)}
    # No kernels of the user's own: the one that ipykernel has for this interpreter.
    kernels = KernelSpecManager(kernel_dirs=[])
    with tempfile.TemporaryDirectory() as empty:
        client = NotebookClient(
            fresh,
            timeout=SECONDS_PER_CELL,
            km=AsyncKernelManager(kernel_spec_manager=kernels),
            resources={"metadata": {"path": empty}},
            extra_arguments=["--log-level=40"],
        )
        client.execute(cwd=empty, env={**os.environ, "OMP_NUM_THREADS": "1", **known})
        return cleaned(fresh, {empty: "."})


def cleaned(notebook: Any, places: dict[str, str] | None = None) -> Any:
    """Return a notebook without what differs from machine to machine.

    ``places`` are paths and what to write instead of them.
    """
    folder = data_folder()
    here = {str(EXAMPLES.parent): "seqray", sys.prefix: "…", str(Path.home()): "~"}
    if folder is not None:
        here = {str(folder): "SEQRAY_DATA", **here}
    paths = {**(places or {}), **here}
    fresh = nbformat.from_dict(notebook)
    kept = {name: each for name, each in fresh.metadata.items() if name == "seqray"}
    fresh.metadata = nbformat.from_dict(
        {**kept, "kernelspec": KERNEL, "language_info": {"name": "python"}}
    )
    for number, cell in enumerate(fresh.cells):
        cell.id = f"cell-{number}"
        tags = {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
        cell.metadata = nbformat.from_dict(tags)
        if cell.cell_type == "code":
            cell.outputs = [_clean(each, paths) for each in _joined(cell.outputs)]
    return fresh


def _joined(outputs: list[Any]) -> list[Any]:
    """Join what was printed in pieces: where they are cut depends on timing."""
    whole: list[Any] = []
    for each in outputs:
        if whole and each.get("name") and whole[-1].get("name") == each.name:
            whole[-1].text += each.text
        else:
            whole.append(each)
    return whole


def _clean(value: Any, paths: dict[str, str]) -> Any:
    """Return a part of an output, cleaned."""
    if isinstance(value, str):
        for path in sorted((each for each in paths if len(each) > 1), key=len, reverse=True):
            value = value.replace(path, paths[path])
        return re.sub(r"\bat 0x[0-9a-f]{6,}", "at 0x…", value)
    if isinstance(value, list):
        return [_clean(each, paths) for each in value]
    if isinstance(value, dict):
        return nbformat.from_dict(
            {
                name: _without_texts(part) if name == "image/png" else _clean(part, paths)
                for name, part in value.items()
            }
        )
    return value


def _without_texts(picture: str) -> str:
    """Return a PNG, in base64, without its texts: they name the version of matplotlib."""
    content = base64.b64decode(picture)
    kept, at = [content[:8]], 8
    while at < len(content):
        end = at + 12 + struct.unpack(">I", content[at : at + 4])[0]
        if content[at + 4 : at + 8] != b"tEXt":
            kept.append(content[at:end])
        at = end
    return base64.b64encode(b"".join(kept)).decode("ascii")


def write_pictures(notebook: Any, folder: Path, name: str) -> None:
    """Write every drawing and plot that a notebook shows to a file of its own."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            path = folder / f"{name}-{cell.execution_count}"
            if "image/svg+xml" in data:
                path.with_suffix(".svg").write_text(data["image/svg+xml"], "utf-8")
            elif "image/png" in data:
                path.with_suffix(".png").write_bytes(base64.b64decode(data["image/png"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="notebooks of this folder, or paths of others")
    parser.add_argument("--output", type=Path, help="a folder to write to, instead of in place")
    parser.add_argument("--pictures", type=Path, help="a folder for the pictures that it shows")
    given = parser.parse_args()
    paths = [EXAMPLES / f"{each}.ipynb" if "." not in each else Path(each) for each in given.names]
    for path in paths or sorted(EXAMPLES.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if missing := what_is_missing(notebook):
            print(f"{path.name}: left out, it needs {', '.join(missing)}")
            continue
        made = executed(notebook)
        nbformat.write(made, (given.output or path.parent) / path.name)
        if given.pictures is not None:
            write_pictures(made, given.pictures, path.stem)
        print(f"{path.name}: executed")


if __name__ == "__main__":
    main()
