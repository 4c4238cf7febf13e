from seqray.experiments.findings import Findings
from seqray.experiments.statements import listed, statements


def test_without_results_nothing_is_said_to_agree():
    made = statements(Findings([]))
    assert len(made) > 3
    assert all(statement.agrees is None for statement in made)


def test_problems_are_listed_by_number():
    assert listed(["18", "9", "100"]) == "9, 18, 100"
    assert listed([]) == "none"
