import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from hasty_settings import HASTY, TINY_COPIES
from kinds import NoFrameworks, is_measured, left_out_of_fast, mark_of
from seqray.extraction.conditional import method

# Examples are small; on a busy machine even these are slow now and then. Every run tries the same
# ones; HYPOTHESIS_PROFILE=explore tries others.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("fast", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="no browser, no frameworks, nothing slow")


def pytest_configure(config: pytest.Config) -> None:
    # A shell that starts the suite in the background ignores Ctrl-C in it, and in its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("fast"):
        settings.load_profile("fast")
        NoFrameworks().install()
        left_out = [ROOT / "src" / "seqray" / "training", *map(TESTS.joinpath, left_out_of_fast())]
        config.option.ignore = [*(config.option.ignore or []), *map(str, left_out)]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by `kinds`, and leave the slow ones out where only fast ones are run."""
    fast, slow = [], []
    for item in items:
        if item.path.is_relative_to(TESTS):
            path = item.path.relative_to(TESTS).as_posix()
            test = f"{path}::{getattr(item, 'originalname', item.name)}"
            if mark := mark_of(test):
                item.add_marker(getattr(pytest.mark, mark[0])(reason=mark[1]))
            if not is_measured(test):
                item.add_marker(pytest.mark.no_cover)
        (slow if item.get_closest_marker("slow") else fast).append(item)
    if config.getoption("fast"):
        config.hook.pytest_deselected(items=slow)
        items[:] = fast


@pytest.fixture
def tiny_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit two tiny copies, in a tenth of the time, where it is not the copies that are tested."""
    monkeypatch.setattr(method, "STRUCTURED", TINY_COPIES)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch, tiny_copies: None) -> None:
    """Fit next to nothing, where it is not the fitted automata that are tested."""
    monkeypatch.setattr(method, "SETTINGS", HASTY)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public data sets, which are not part of the project."""
    folder = Path(os.environ.get("SEQRAY_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no data at {folder}: set SEQRAY_DATA to the folder that holds pautomac/")
    return folder


@pytest.fixture
def pyplot():
    """What draws without a screen; no figure is left open."""
    pytest.importorskip("matplotlib", reason="plots need matplotlib").use("Agg")
    drawing = pytest.importorskip("matplotlib.pyplot")
    yield drawing
    drawing.close("all")
