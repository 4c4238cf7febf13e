from seqray.extraction.conditional.answer_count import AnswerCount


def test_answers_are_counted_and_the_total_is_never_less():
    calls = []
    count = AnswerCount(lambda done, total: calls.append((done, total)), 5)
    for n in (2, 3, 4):
        count(n)
    assert calls == [(2, 5), (5, 5), (9, 9)]


def test_rows_to_come_are_expected_to_take_as_many_answers_as_those_before():
    count = AnswerCount(None, 1)
    count(30)
    count.expect(3, 10)
    assert (count.done, count.total) == (30, 100)
