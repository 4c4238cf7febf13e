import pytest

import seqray
from seqray import ArgumentError

WA = seqray.WeightedAutomaton(
    "ab", [1, 0], [[[0, 0.5], [0.2, 0]], [[0.25, 0], [0, 0.3]]], [0.25, 0.5]
)
WORDS = ["", "a", "ab"]


@pytest.mark.parametrize(
    "function",
    [
        lambda box: seqray.compare(box, WA, WORDS),
        lambda box: seqray.disagreements(box, WA),
        lambda box: seqray.explain_word(WA, "ab", box=box),
        lambda box: seqray.to_html(WA, box=box),
        seqray.check,
        seqray.extract,
    ],
)
def test_a_box_is_no_string_and_no_function(function):
    with pytest.raises(ArgumentError, match=r"'demo': open it with open_black_box\('demo'\)"):
        function("demo")
    with pytest.raises(ArgumentError, match=r"make it one with black_box\(function, alphabet\)"):
        function(len)
    with pytest.raises(ArgumentError, match=r"expected `alphabet` and `weights\(words\)`, got 3"):
        function(3)


def test_what_holds_an_automaton_may_be_the_box():
    extraction = seqray.extract(WA, n_prefixes=9, n_suffixes=9)
    for box in (extraction, seqray.name_states(WA)):
        assert seqray.compare(box, WA, WORDS)["relative_error"] < 1e-6
