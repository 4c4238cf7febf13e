import json
import zlib

from seqray.explore.frame import filled_frame, policy, script_json, static_text


def test_nothing_is_allowed_but_the_given_parts():
    rules = policy(["run()"], ["p {}"], False)
    assert rules.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src 'none'" in rules
    assert "style-src 'sha256-" in rules


def test_a_live_page_may_talk_to_its_server():
    assert "connect-src 'self'" in policy([], [], True)
    assert "style-src 'none'" in policy([], [], True)


def test_json_cannot_leave_its_element():
    text = script_json({"name": "</script><b>"})
    assert "<" not in text
    assert json.loads(text) == {"name": "</script><b>"}


def test_a_frame_is_filled_once():
    frame = static_text("classes.html").replace("%%HEAD%%", static_text("head.html"))
    names = frame.split("%%")[1::2]
    page = filled_frame("classes.html", dict.fromkeys(names, "%%TITLE%%"))
    assert page.count("%%TITLE%%") == len(names) - 1  # the checksum is no part that is given
    assert f'data-checksum="{zlib.crc32(b"%%TITLE%%")}"' in page
