"""Results and sweeps that tests of several modules share."""

import pytest

import made_results
import seqray
from seqray.experiments import cells, distillation, paper
from seqray.experiments.findings import SUITES, read_findings
from seqray.experiments.problems import GeneratedSource, load
from sweeps import FEW_PREFIXES, small_sweep


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """A folder of results of some problems."""
    return made_results.write(tmp_path_factory.mktemp("results"), made_results.SOME)


@pytest.fixture(scope="session")
def findings(results):
    """What is in that folder."""
    return read_findings(results)


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """The results of all problems, bases and ranks."""
    folder = tmp_path_factory.mktemp("whole")
    sizes, ranks = paper.BASES, paper.RANKS
    return read_findings(made_results.write(folder, SUITES, sizes=sizes, ranks=ranks))


@pytest.fixture
def quick_timing(monkeypatch):
    """Take times once, and of few words."""
    monkeypatch.setattr(distillation, "N_TIMINGS", 1)
    monkeypatch.setattr(distillation, "N_ALONE", 2)


@pytest.fixture(scope="session")
def swept(tmp_path_factory):
    """A sweep that ran without a break."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distillation, "N_TIMINGS", 1)
        patch.setattr(distillation, "N_ALONE", 2)
        whole = small_sweep(tmp_path_factory.mktemp("swept"))
        whole.run()
    return whole


@pytest.fixture(scope="session")
def problem():
    """The first generated problem, with few words."""
    return load(GeneratedSource(1), n_test=60, n_rnn=50, n_held_out=40)


@pytest.fixture(scope="session")
def four_problems(tmp_path_factory):
    suites = {"pautomac": ("3", "9", "24", "37"), "spice": ("spice4",), "trucks": ("trucks",)}
    return read_findings(made_results.write(tmp_path_factory.mktemp("results"), suites))


@pytest.fixture
def frugal(monkeypatch, hasty):
    """Let the own method learn from few words, so that it takes no second."""

    def extract(box, **how):
        return seqray.extract(box, **{**how, "n_prefixes": FEW_PREFIXES})

    monkeypatch.setattr(cells, "extract", extract)
