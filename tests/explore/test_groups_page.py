import pytest

from explore.test_groups import structured
from seqray.explore.groups_page import groups_html, groups_section
from seqray.explore.page import to_html
from seqray.util.errors import ArgumentError


def test_every_circle_of_the_map_leads_to_a_group_that_opens():
    section = groups_section(structured(5), "A map")
    for place in range(6):
        assert f'href="#group-{place}"' in section
        assert f'id="group-{place}"' in section


def test_a_large_structured_automaton_is_shown_as_a_map():
    page = to_html(structured(20, 20), name="<large>")
    assert "401 states in 21 groups" in page
    assert "&lt;large&gt;, seen as 401 states" in page.replace("</span>", "")
    assert len(page.encode()) < 3_000_000


def test_it_is_compared_with_a_box():
    wa = structured(3, 30)
    page = to_html(wa, box=wa)
    assert "practically the same" in page
    assert "100 %" in page
    own = to_html(wa, box=wa, words=[[0, 1], [2]])
    assert "2 given words" in own


def test_it_refuses_other_symbols_and_a_live_page():
    with pytest.raises(ArgumentError, match="same symbols"):
        groups_html(structured(3, 30), box=structured(2))
    with pytest.raises(ArgumentError, match="queries no box"):
        to_html(structured(3, 30), box=structured(3), is_live=True)
