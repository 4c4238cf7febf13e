from seqray.explore.policy import policy


def test_nothing_is_allowed_but_the_given_parts():
    rules = policy(["run()"], ["p {}"], False)
    assert rules.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src 'none'" in rules
    assert "style-src 'sha256-" in rules


def test_a_live_page_may_talk_to_its_server():
    assert "connect-src 'self'" in policy([], [], True)
    assert "style-src 'none'" in policy([], [], True)
