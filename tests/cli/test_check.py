import json

import numpy as np
import pytest

import seqray

SMALL = ("--prefixes", "30", "--suffixes", "30")


def test_check_shows_its_results(folder, run):
    text = " ".join(run("check", "machine.json").split())
    for part in ("batch = single", "padded = unpadded", "Σp = 1", "words per second", "✓"):
        assert part in text


def test_check_fails_where_a_box_does(folder, capsys, monkeypatch):
    rng = np.random.default_rng(0)
    noisy = seqray.black_box(lambda words: rng.random(len(words)), "ab")
    monkeypatch.setattr(seqray, "open_black_box", lambda spec: noisy)
    with pytest.raises(SystemExit) as stopped:
        seqray.cli.main(["check", "machine.json", "--json"])
    assert stopped.value.code == 1
    findings = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert findings["deterministic"]["ok"] is False
    assert findings["empty word"]["ok"] is True
