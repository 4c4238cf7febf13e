"""An extraction that is killed again and again loses nothing; benchmarks/kills.py does the work."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "kills.py"


def test_what_was_answered_before_a_kill_is_never_queried_again():
    command = [sys.executable, str(SCRIPT), "--kills", "4", "--size", "30", "--seed", "1"]
    environment = {name: text for name, text in os.environ.items() if name != "SEQRAY_TOKEN"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["kills"] == 4
    assert figures["every_answer_kept"]
    assert figures["bit_identical"]
    assert figures["distinct_words"] == figures["quiet_words"]
    assert figures["asked_again_though_kept"] == figures["asked_twice_by_one_worker"] == 0
    assert figures["asked_again"] <= figures["under_way_at_kills"]
    assert figures["most_under_way_at_a_kill"] <= figures["limit_at_a_kill"]
    assert figures["most_requests_under_way_at_a_kill"] <= 4
