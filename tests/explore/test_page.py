import base64
import hashlib
import json
import re
import zlib

import numpy as np
import pytest

import seqray
from explore.subjects import NASTY, chances, large, machine
from seqray.errors import ArgumentError, RankError
from seqray.explore import to_html
from seqray.ranked import RankedAutomata


def part(page, element):
    """Return the text of a script or style element."""
    return re.search(rf"<{element}>(.*?)</{element.split()[0]}>", page, re.DOTALL)[1]


def content(page):
    return json.loads(part(page, 'script type="application/json" id="content"'))


@pytest.fixture(scope="module")
def page():
    return to_html(chances(), rank=3)


def test_the_policy_allows_what_is_in_the_page_and_nothing_else(page):
    policy = re.search(r'Security-Policy" content="([^"]*)"', page)[1]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["connect-src"] == "'none'"
    for element, rule in (("script", "script-src"), ("style", "style-src")):
        digest = hashlib.sha256(part(page, element).encode()).digest()
        assert f"'sha256-{base64.b64encode(digest).decode()}'" in rules[rule]
    assert "unsafe-inline" not in policy
    assert "'unsafe-eval'" not in policy
    live = to_html(machine(), is_live=True)
    assert "connect-src 'self'" in live
    assert content(live)["live"] is True


def test_a_page_refers_to_nothing_outside(page):
    head = page.split('<script type="application/json"')[0]
    head = head.split('<pre class="licences">')[0]
    found = re.findall(r'(?:src|href|action)="([^"]*)"', head)
    assert all(link.startswith(("#", "data:image/svg+xml")) for link in found)
    assert "@import" not in part(page, "style")
    assert "url(" not in part(page, "style")


def test_a_page_carries_graphviz_and_all_licences(page):
    packed = part(page, 'script type="text/plain" id="graphviz"')
    assert b"Graphviz https://www.graphviz.org" in zlib.decompress(base64.b64decode(packed))
    for owner in ("Leon Sorokin", "Michael Daines", "Eclipse Public License", "Expat"):
        assert owner in page


def test_no_name_can_end_the_element_it_stands_in():
    rng = np.random.default_rng(0)
    transitions = rng.random((len(NASTY), 1, 1)) / 9
    box = seqray.WeightedAutomaton(NASTY, [1], transitions, [1 - transitions.sum()])
    page = to_html(box, name="</script><script>alert(1)</script>")
    assert "<" not in part(page, 'script type="application/json" id="content"')
    assert page.count("<script") == to_html(machine()).count("<script")
    told = content(page)
    assert told["alphabet"]["texts"] == list(NASTY)
    assert told["name"] == "</script><script>alert(1)</script>"


def test_the_rank_that_is_shown_first_is_the_best_or_the_given_one(page):
    assert content(page)["chosen"] == 3
    assert content(to_html(chances()))["chosen"] == chances().best_rank()
    with pytest.raises(RankError, match="rank 7 is outside 1 … 6"):
        to_html(chances(), rank=7)


def test_the_same_extraction_gives_the_same_page(page):
    assert to_html(chances(), rank=3) == page


def test_words_without_a_box_are_refused():
    with pytest.raises(ArgumentError, match="box is None"):
        to_html(chances(), words=["ab"])


def test_a_hundred_states_and_twenty_symbols_fit_with_all_ranks():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(100, 100)))[0]
    dense = seqray.algebra.change_basis(large(), turn)
    found = extraction_of(dense)
    page = to_html(found, rank=20)
    assert len(page.encode()) < 3_000_000
    told = content(page)
    assert [entry["rank"] for entry in told["ranks"]] == list(range(1, 101))
    assert told["bytes"] >= 6


def test_larger_alphabets_get_as_many_ranks_as_fit():
    rng = np.random.default_rng(0)
    shape = (300, 60, 60)
    wide = seqray.WeightedAutomaton(
        range(300), rng.normal(size=60), rng.normal(size=shape) / 99, rng.normal(size=60)
    )
    page = to_html(extraction_of(wide), rank=12)
    assert 2_500_000 < len(page.encode()) < 3_000_000
    told = content(page)
    ranks = [entry["rank"] for entry in told["ranks"]]
    assert 12 in ranks
    assert len(ranks) < 60
    assert told["largest"] == 60


def extraction_of(automaton):
    """An extraction with ranks that are cut from an automaton, as if the box had been asked."""
    n = automaton.n_states
    decomposition = seqray.spectral.Decomposition(np.arange(n, 0, -1.0), automaton)
    reference = seqray.fidelity.Reference.ask(automaton, automaton.alphabet.words([(), (0, 1)]))
    table = seqray.fidelity.compare_ranks(reference, automaton, range(1, n + 1))
    basis = chances().basis
    found = seqray.Extraction(decomposition, basis, table, {"rank": 1, "method": "weighted"})
    assert isinstance(found.automata, RankedAutomata)
    return found
