"""The mutants of small modules, one change at a time."""

import ast

import pytest

from reliability.campaigns import mutants as campaign
from reliability.mutator import mutants

SOURCE = '''
"""A text 1 < 2."""
from __future__ import annotations
LIMIT: int = 7
class Box:
    """Another text."""
    def __repr__(self):
        return "1" + "2"
    @cached(maxsize=3)
    def run(self, n: Literal[1] = 2):
        if n < 3 and not self.done:
            raise ValueError(f"{n + 1} is too much")
        assert n > 0
        self.count += 1
        self.report(n, flush=True)
        return max(values[1:n])
'''

CHANGES = {
    "module: LIMIT: int = 7 → LIMIT: int = 8",
    "Box.run: default 2 → 3",
    "Box.run: if n < 3 and (not self.done): → if not (n < 3 and (not self.done)):",
    "Box.run: n < 3 and (not self.done) → n < 3 or not self.done",
    "Box.run: n < 3 and (not self.done) → n <= 3 and (not self.done)",
    "Box.run: n < 3 and (not self.done) → n < 4 and (not self.done)",
    "Box.run: n < 3 and (not self.done) → n < 3 and self.done",
    "Box.run: raise ValueError(f'{n + 1} is too much') → pass",
    "Box.run: self.count += 1 → pass",
    "Box.run: self.count += 1 → self.count -= 1",
    "Box.run: self.count += 1 → self.count += 2",
    "Box.run: self.report(n, flush=True) → pass",
    "Box.run: self.report(n, flush=True) → self.report(n)",
    "Box.run: self.report(n, flush=True) → self.report(n, flush=False)",
    "Box.run: return max(values[1:n]) → return None",
    "Box.run: max(values[1:n]) → min(values[1:n])",
    "Box.run: max(values[1:n]) → max(values[2:n])",
    "Box.run: max(values[1:n]) → max(values[:n])",
    "Box.run: max(values[1:n]) → max(values[1:])",
}


def test_mutants_are_small_changes_of_what_runs_and_of_nothing_else():
    found = mutants(SOURCE)
    assert {each.change for each in found} == CHANGES
    assert len(found) == len(CHANGES)
    lines = SOURCE.splitlines()
    assert "LIMIT" in lines[found[0].line - 1]
    assert "return max" in lines[found[-1].line - 1]


def test_the_code_of_a_mutant_has_its_change_and_no_other():
    found = mutants("def f(x):\n    return x * 2 + 1\n")
    values = {}
    for each in found:
        names = {}
        exec(each.code("f.py"), names)
        values[each.change] = names["f"](6)
    assert values == {
        "f: return x * 2 + 1 → return None": None,
        "f: return x * 2 + 1 → return x / 2 + 1": 4,
        "f: return x * 2 + 1 → return x * 3 + 1": 19,
        "f: return x * 2 + 1 → return x * 2 - 1": 11,
        "f: return x * 2 + 1 → return x * 2 + 2": 14,
    }
    assert ast.unparse(found[0].tree) == "def f(x):\n    return x * 2 + 1"


def test_equal_changes_have_numbers():
    found = mutants("if a:\n    f()\nelse:\n    f()\n")
    assert [each.change for each in found][1:] == ["module: f() → pass", "module: f() → pass (2)"]


@pytest.mark.parametrize("name", campaign.EQUIVALENT)
def test_equivalent_mutants_are_of_modules_as_they_are(name):
    source = (campaign.SOURCE / f"{name}.py").read_text("utf-8")
    assert set(campaign.EQUIVALENT[name]) <= {each.change for each in mutants(source)}
    assert name in campaign.TESTS
