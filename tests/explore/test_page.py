import base64
import hashlib
import json
import re
import zlib

import numpy as np
import pytest

import seqray
from explore.subjects import NASTY, large, machine, probabilities
from seqray.automata.ranks import RankedAutomata
from seqray.explore.packing import pack, unpack
from seqray.explore.page import to_html
from seqray.extraction.result import ExtractionSettings
from seqray.util.errors import ArgumentError, RankError


def part(page, element):
    """Return the text of a script or style element."""
    return re.search(rf"<{element}>(.*?)</{element.split()[0]}>", page, re.DOTALL)[1]


def content(page):
    return json.loads(part(page, 'script type="application/json" id="content"'))


@pytest.fixture(scope="module")
def page():
    return to_html(probabilities(), rank=3)


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
    document = content(page)
    assert document["alphabet"]["texts"] == list(NASTY)
    assert document["name"] == "</script><script>alert(1)</script>"


def test_the_rank_that_is_shown_first_is_the_best_or_the_given_one(page):
    assert content(page)["chosen"] == 3
    assert content(to_html(probabilities()))["chosen"] == probabilities().best_rank()
    with pytest.raises(RankError, match="rank 7 is outside 1 … 6"):
        to_html(probabilities(), rank=7)


def test_the_same_extraction_gives_the_same_page(page):
    assert to_html(probabilities(), rank=3) == page


def test_words_without_a_box_are_refused():
    with pytest.raises(ArgumentError, match="box is None"):
        to_html(probabilities(), words=["ab"])


def test_a_hundred_states_and_twenty_symbols_fit_with_all_ranks():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(100, 100)))[0]
    dense = seqray.automata.algebra.change_basis(large(), turn)
    found = extraction_of(dense)
    page = to_html(found, rank=20)
    assert len(page.encode()) < 3_000_000
    document = content(page)
    assert [entry["rank"] for entry in document["ranks"]] == list(range(1, 101))
    assert document["bytes"] >= 6


def test_larger_alphabets_get_as_many_ranks_as_fit():
    rng = np.random.default_rng(0)
    shape = (300, 60, 60)
    wide = seqray.WeightedAutomaton(
        range(300), rng.normal(size=60), rng.normal(size=shape) / 99, rng.normal(size=60)
    )
    page = to_html(extraction_of(wide), rank=12)
    assert 2_500_000 < len(page.encode()) < 3_000_000
    document = content(page)
    ranks = [entry["rank"] for entry in document["ranks"]]
    assert 12 in ranks
    assert len(ranks) < 60
    assert document["largest"] == 60


def extraction_of(automaton):
    """An extraction with ranks that are cut from an automaton, as if the box had been asked."""
    n = automaton.n_states
    automata = RankedAutomata(automaton, singular_values=np.arange(n, 0, -1.0))
    reference = seqray.fidelity.reference.Reference.query(
        automaton, automaton.alphabet.words([(), (0, 1)])
    )
    table = seqray.fidelity.compare.compare_ranks(reference, automaton, range(1, n + 1))
    basis = probabilities().basis
    settings = ExtractionSettings(rank=1, method="weighted")
    return seqray.Extraction(automata, basis, table, settings)


# Pages that are too large -------------------------------------------------------------------------


class Counting:
    """A box that counts how often it is asked."""

    def __init__(self, automaton):
        self.alphabet, self.n_calls, self._automaton = automaton.alphabet, 0, automaton

    def weights(self, words):
        self.n_calls += 1
        return self._automaton.weights(words)


def dense(n_states, n_symbols):
    rng = np.random.default_rng(0)
    transitions = rng.normal(size=(n_symbols, n_states, n_states)) / n_states / n_symbols
    return seqray.WeightedAutomaton(
        range(n_symbols), rng.normal(size=n_states), transitions, rng.normal(size=n_states)
    )


def test_what_no_page_can_hold_is_refused_before_the_first_query(monkeypatch):
    monkeypatch.setattr("seqray.explore.page.MAX_PAGE_BYTES", 1_200_000)
    wide = dense(64, 40)
    box = Counting(wide)
    with pytest.raises(ArgumentError, match="64 states and 40 symbols are too many for one page"):
        to_html(wide, box=box)
    assert box.n_calls == 0
    with pytest.raises(ArgumentError, match=r"choose a smaller rank, up to \d+ \(--rank\)"):
        to_html(extraction_of(wide), box=box, rank=64)
    assert box.n_calls == 0


def test_where_the_best_rank_is_too_large_a_smaller_one_is_shown_first(monkeypatch, caplog):
    monkeypatch.setattr("seqray.explore.page.MAX_PAGE_BYTES", 1_200_000)
    found = extraction_of(dense(64, 40))
    monkeypatch.setattr(seqray.Extraction, "best_rank", lambda self: 64)
    page = to_html(found)
    assert len(page.encode()) < 1_200_000
    assert 10 < content(page)["chosen"] < 64
    assert "64 states and 40 symbols are too many for one page: it shows" in caplog.text


def test_what_is_least_useful_is_left_out_and_the_page_says_so(monkeypatch, caplog):
    wide = dense(50, 20)
    full = to_html(wide, box=wide)
    arrays = content(full)["arrays"]
    least = sum(len(pack(unpack(each), 4)["data"]) for each in arrays.values())
    limit = len(full.encode()) - sum(len(each["data"]) for each in arrays.values()) + least - 9_000
    monkeypatch.setattr("seqray.explore.page.MAX_PAGE_BYTES", limit)
    monkeypatch.setattr("seqray.explore.page.RESERVED", 50_000, raising=False)
    page = to_html(wide, box=wide)
    assert len(page.encode()) < limit + 10_000
    document = content(page)
    assert "words that both were compared on" in document["left_out"]
    assert document["left_out"] in caplog.text
    assert len(document["recorded"]["words"]) < 1500
    assert document["bytes"] == 4


def test_a_page_carries_its_first_graph_as_a_picture(page):
    picture = page.split("<svg class=")[1].split("</svg>")[0]
    assert picture.count('class="state"') == 3
    assert "style=" not in picture
    document = content(page)["first"]
    assert len(document["states"]) == 6
    assert len(document["arrows"]) == picture.count('class="line"')
    assert f"<title>{'black box in 3 states · seqray'}</title>" in page
