from dataclasses import asdict

from seqray.extraction.hankel.rounds import HankelRound


def test_a_round_has_the_fields_that_run_folders_hold():
    assert [*asdict(HankelRound(1, 2, 3, 0.5))] == ["questions", "prefixes", "suffixes", "score"]
