"""What learning returns may stand for its automaton."""

import seqray
from seqray import LearningEnd, StopReason
from seqray.learning.result import END_OF_STOP

BOX = seqray.language_model(lambda prefixes: [[0.5, 0.25, 0.25]] * len(prefixes), "ab")


def test_it_may_stand_for_its_automaton():
    learned = seqray.learn_pdfa(BOX)
    assert learned.best(purpose="reading") is learned.automaton
    assert seqray.compare(BOX, learned, ["", "ab"])["ndcg5"] == 1
    assert learned.is_complete
    assert "1 states" in repr(learned)
    assert "COMPLETE" in repr(learned)


def test_every_reason_to_stop_is_an_end():
    assert set(END_OF_STOP) == set(StopReason)
    assert LearningEnd.COMPLETE not in END_OF_STOP.values()
