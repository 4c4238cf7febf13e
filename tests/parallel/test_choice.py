import sys

import pytest

from seqray.parallel.choice import opened_executor
from seqray.parallel.executor import Here
from seqray.parallel.process_pool import ProcessPool
from seqray.util.errors import ArgumentError, MissingExtraError


@pytest.mark.parametrize("given", [2, "2", "processes:2"])
def test_a_number_means_processes(given):
    with opened_executor(given) as executor:
        assert isinstance(executor, ProcessPool)
        assert executor.n_workers == 2


def test_nothing_means_this_process():
    with opened_executor(None) as executor:
        assert executor is None


def test_an_executor_is_taken_as_it_is():
    here = Here()
    with opened_executor(here) as executor:
        assert executor is here


@pytest.mark.parametrize(
    "given", [0, -1, True, "0", "processes:", "threads:2", "dask:4", "tcp://host", 2.5, object()]
)
def test_anything_else_is_refused_with_the_forms_there_are(given):
    message = "executor: expected N, processes:N, dask, dask://HOST:PORT or tcp://HOST:PORT, got"
    with pytest.raises(ArgumentError, match=message), opened_executor(given):
        pass


def test_without_dask_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"'\.\[dist\]'.*or choose processes:N"):  # noqa: SIM117
        with opened_executor("dask"):
            pass
