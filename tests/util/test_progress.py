from seqray.util.progress import PhasedProgress


def test_what_takes_phases_is_recognised():
    class Bar:
        def __call__(self, done, total): ...

        def phase(self, name, unit): ...

    assert isinstance(Bar(), PhasedProgress)
    assert not isinstance(print, PhasedProgress)
