import os
from pathlib import Path

import pytest
from hypothesis import settings

from seqray.extraction.conditional import method
from seqray.extraction.settings import ConditionalSettings

# Examples are small; on a busy machine even these are slow now and then. Every run tries the same
# ones; HYPOTHESIS_PROFILE=explore tries others.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit next to nothing, where it is not the fitted automata that are tested."""
    monkeypatch.setattr(method, "SETTINGS", ConditionalSettings(n_epochs=1, min_steps=2))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public data sets, which are not part of the project."""
    folder = Path(os.environ.get("SEQRAY_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no data at {folder}: set SEQRAY_DATA to the folder that holds pautomac/")
    return folder
