import numpy as np
import pytest

import seqray
from seqray import Alphabet, ArgumentError, BlackBoxError, SymbolError, WeightedAutomaton, surprise
from seqray.notebook.shown import bundle

# After a comes b or the end, after b comes a or the end.
ALTERNATING = WeightedAutomaton(
    "ab",
    [1, 0, 0],
    [[[0, 0.75, 0], [0, 0, 0], [0, 0.5, 0]], [[0, 0, 0.25], [0, 0, 0.5], [0, 0, 0]]],
    [0, 0.5, 0.5],
)


def test_each_symbol_and_the_end_have_their_probability_after_what_was_before():
    steps = surprise(ALTERNATING, ["ab"])[0]
    assert [each.symbol for each in steps] == ["a", "b", None]
    assert [each.probability for each in steps] == pytest.approx([0.75, 0.5, 0.5])
    assert [each.place for each in steps] == [1, 1, 1]
    assert steps[1].bits == pytest.approx(1)


def test_probabilities_multiply_to_the_weight_of_the_word():
    rng = np.random.default_rng(0)
    words = ALTERNATING.alphabet.words(
        ["", *("".join(rng.choice(["a", "b"], 6)) for _ in range(9))]
    )
    found = surprise(ALTERNATING, words)
    products = [np.prod([step.probability for step in steps]) for steps in found]
    assert products == pytest.approx(ALTERNATING.weights(words))
    assert len(found) == len(words) == len(products)


def test_what_is_impossible_stands_first_and_where_it_is():
    found = surprise(ALTERNATING, ["ab", "abba", "b", ""])
    assert found.lowest == pytest.approx([0.5, 0, 0.25, 0])
    assert found.position.tolist() == [1, 2, 0, 0]
    assert found.worst_place.tolist() == [1, 3, 2, 3]
    assert np.isinf(found.bits_per_symbol[[1, 3]]).all()
    assert found.bits_per_symbol[0] == pytest.approx((np.log2(4 / 3) + 1 + 1) / 3)
    assert str(found).splitlines()[2].split() == ["ab[b]a", "0", "3"]
    assert "[end]" in str(found)


def test_a_symbol_that_the_model_does_not_know_has_probability_0_and_is_passed_over():
    steps = surprise(ALTERNATING, ["axb"])[0]
    assert [each.probability for each in steps] == pytest.approx([0.75, 0, 0.5, 0.5])
    assert steps[1].place == 4  # behind a, b and the end


def test_words_over_another_alphabet_are_read_symbol_by_symbol():
    words = Alphabet("xba").words(["ab", "x", "ba"])
    expected = surprise(ALTERNATING, ["ab", "x", "ba"])
    assert surprise(ALTERNATING, words).probabilities == pytest.approx(expected.probabilities)


def test_an_event_log_or_a_sample_counts_as_its_words():
    log = seqray.read_events({"case": [1, 1, 2], "activity": ["a", "b", "a"]}, time="none")
    assert repr(surprise(ALTERNATING, log)) == repr(surprise(ALTERNATING, ["ab", "a"]))
    sample = seqray.sample(ALTERNATING, 5, seed=0)
    assert surprise(ALTERNATING, sample).words == sample.words


def test_box_automaton_and_extraction_are_read_alike():
    box = seqray.language_model(lambda prefixes: [[0.5, 0.25, 0.25] for _ in prefixes], "ab")
    extraction = seqray.extract(box, max_rank=2)
    words = ["", "ab", "bbb"]
    expected = [0.25, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25]
    for model in (box, extraction, extraction.best()):
        assert surprise(model, words).probabilities == pytest.approx(expected, abs=1e-6)


def test_long_words_are_shown_around_their_least_probable_symbol():
    text = str(surprise(ALTERNATING, ["ab" * 20 + "b" + "ab" * 20]))
    assert "…babababa[b]abababab…" in text.replace(" ", "") or "…abababab[b]" in text


def test_models_that_do_not_predict_are_refused():
    numbers = seqray.black_box(lambda words: [float(len(word)) for word in words], "ab")
    with pytest.raises(ArgumentError, match="does not predict"):
        surprise(numbers, ["ab"])
    with pytest.raises(ArgumentError, match="does not predict"):
        surprise(WeightedAutomaton("a", [1], [[[3]]], [2]), ["a"])


def test_words_of_another_kind_are_refused():
    with pytest.raises(SymbolError, match="no symbol of the words"):
        surprise(ALTERNATING, [(1, 2), (3,)])
    with pytest.raises(ArgumentError, match="at least one word"):
        surprise(ALTERNATING, [])


def test_words_longer_than_the_box_reads_are_refused_before_it_is_queried():
    def never(prefixes):
        raise AssertionError("queried")

    box = seqray.language_model(never, "ab", max_length=3)
    with pytest.raises(BlackBoxError, match="at most 3"):
        surprise(box, ["abab"])


def test_a_frame_has_one_row_per_word():
    pytest.importorskip("pandas")
    frame = surprise(ALTERNATING, ["ab", "b"]).to_frame()
    assert frame["word"].tolist() == [("a", "b"), ("b",)]
    assert frame["lowest"].tolist() == pytest.approx([0.5, 0.25])
    assert frame["position"].tolist() == [1, 0]
    assert set(frame) == {"word", "position", "lowest", "worst_place", "bits_per_symbol"}


def test_a_notebook_shows_the_table_and_escapes_symbols():
    html = bundle(surprise(ALTERNATING, [("a", "<b>")]))["text/html"]
    assert "&lt;b&gt;" in html
    assert "<b>]" not in html
