import os
import signal

import numpy as np
import psutil
import pytest

from core_jobs import Adder
from seqray.parallel.team import HelperDied, Team

SHAPES = [(2, 3), (0, 4), (5,)]


def children():
    """Return the helpers that are not waited for."""
    others = psutil.Process().children()
    return [each for each in others if any("parallel.team" in part for part in command(each))]


def command(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.parametrize("n_processes", [1, 2, 3, 8])
def test_members_work_on_the_same_arrays_in_any_number_of_processes(n_processes):
    members = [Adder(number) for number in range(5)]
    with Team(members, SHAPES, n_processes) as team:
        assert [each.shape for each in team.arrays] == SHAPES
        assert not any(each.any() for each in team.arrays)
        team.arrays[0][:] = 1
        team.run("write", 10)
        team.run("double")
        np.testing.assert_array_equal(team.arrays[2], [20, 22, 24, 26, 28])
        assert (team.arrays[0] == 1).all()
    assert children() == []


def test_members_keep_what_they_compute():
    with Team([Adder(0), Adder(1)], SHAPES, 2) as team:
        for _ in range(3):
            team.run("count")
        np.testing.assert_array_equal(team.arrays[2][:2], [3, 3])


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="no memory to share here")
def test_other_members_work_in_other_processes():
    with Team([Adder(0), Adder(1)], SHAPES, 2) as team:
        assert len(children()) == 1
        team.run("write_process")
        assert team.arrays[2].tolist()[:2] == [1, 0]


def test_where_no_memory_can_be_shared_all_members_work_here(monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    with Team([Adder(0), Adder(1)], SHAPES, 2) as team:
        assert children() == []
        team.run("write_process")
        assert team.arrays[2].tolist()[:2] == [1, 1]


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="no memory to share here")
class TestHelpers:
    def test_that_die_are_noticed(self):
        with Team([Adder(0), Adder(1)], SHAPES, 2) as team:
            children()[0].send_signal(signal.SIGKILL)
            with pytest.raises(HelperDied):
                team.run("double")
        assert children() == []

    def test_whose_member_fails_count_as_dead(self, capfd):
        with Team([Adder(0), Adder(1)], SHAPES, 2) as team, pytest.raises(HelperDied):
            team.run("fail_elsewhere", os.getpid())

    def test_that_cannot_be_started_are_noticed(self, monkeypatch):
        def refuse(name):
            raise OSError("no memory")

        monkeypatch.setattr(os, "memfd_create", refuse)
        with pytest.raises(HelperDied):
            Team([Adder(0), Adder(1)], SHAPES, 2)
        assert children() == []

    def test_end_where_the_caller_is_interrupted(self):
        with pytest.raises(KeyboardInterrupt), Team([Adder(0), Adder(1)], SHAPES, 2):
            raise KeyboardInterrupt
        assert children() == []

    def test_that_are_sent_what_no_file_can_hold_end(self):
        with pytest.raises(AttributeError):
            Team([Adder(0), Adder(lambda: 1)], SHAPES, 2)
        assert children() == []
