"""An environment of its own for every peer, made once, outside the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

SEQRAY_NEEDS = ("numpy", "scipy", "threadpoolctl", "safetensors", "click", "rich")
"""What a peer that queries boxes needs beside it, to open them with seqray's source."""

PACKAGES = {
    "hmmlearn": ("hmmlearn==0.3.3",),
    "pomegranate": ("torch==2.13.0", "pomegranate==1.1.2"),
    "splearn": ("scikit-splearn==1.2.1", "numpy==1.26.4", "scipy==1.13.1", "scikit-learn==1.5.2"),
    "aalpy": ("aalpy==2.0.0", "numpy"),
    "pymodelextractor": ("pymodelextractor==0.5.3", *SEQRAY_NEEDS),
}
OWN = "seqray"
"""The environment that runs this: seqray, and what is written here."""


def default_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "seqray-peers"


def python_of(name: str, folder: Path) -> str:
    """Return the interpreter of an environment, which is made if it is not there."""
    if name == OWN:
        return sys.executable
    home = folder / name
    python, ready = home / "bin" / "python", home / "ready"
    wanted = "\n".join(PACKAGES[name])
    if not ready.exists() or ready.read_text() != wanted:
        print(f"{name}: installing {' '.join(PACKAGES[name])} into {home}", flush=True)
        venv.create(home, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES[name]], check=True)
        ready.write_text(wanted)
    return str(python)
