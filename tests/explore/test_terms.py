import re

from seqray.explore.frame import static_text
from seqray.explore.page import SCRIPTS
from seqray.explore.terms import term, terms


def test_every_sentence_has_the_same_gaps_for_everyone_or_is_only_shorter():
    for name, (everyone, experts) in terms().items():
        gaps = [set(re.findall(r"{(\w+)}", text)) for text in (everyone, experts)]
        assert gaps[0] <= {"ratio", "spread", "length", "usual", "sum"} | gaps[1], name


def test_every_sentence_that_a_script_shows_is_there():
    used = {
        name
        for script in SCRIPTS
        for name in re.findall(
            r'"((?:graph|word|sizes|changes|facts|lede)\.[a-z.]+)"', static_text(script)
        )
    }
    assert used
    assert used <= set(terms())


def test_what_is_filled_in_is_text():
    said = term("facts.spread", {"spread": "<1 %"})
    assert "&lt;1\u00a0%" in said
    assert "<1" not in said
