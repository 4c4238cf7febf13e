from itertools import product

import numpy as np
import pytest

import seqray
from seqray.explain.motifs import find_motifs
from seqray.util.errors import ArgumentError


def random_words(symbols="abc", n_words=40, length=12, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(symbols), length)) for _ in range(n_words)]


def containing(motif, symbols="abc", **options):
    """A classifier that says yes to words that contain a motif, and counts its queries."""
    counted = []

    def decide(words):
        counted.extend(words)
        return ["yes" if motif in word else "no" for word in words]

    return seqray.classifier(decide, symbols, **options), counted


def shown(search):
    return ["".join(motif.symbols) for motif in search.motifs]


@pytest.mark.parametrize("motif", ["abca", "ccb", "b"])
def test_the_motif_that_a_classifier_looks_for_comes_first(motif):
    box, _ = containing(motif)
    search = find_motifs(box, random_words(), length=len(motif))
    assert shown(search)[0] == motif
    assert search.motifs[0].share == 1.0
    assert search.class_name == "yes"


def test_effects_are_those_of_brute_force():
    box = seqray.black_box(lambda words: [w.count("ab") - w.count("cc") for w in words], "abc")
    words = [*random_words(n_words=6, length=6), "abcabca"]
    search = find_motifs(box, words, length=2, n_motifs=9)
    weight = {w: box.weights([w])[0] for w in words}
    for motif in search.motifs:
        text = "".join(motif.symbols)
        changes = {
            (w, p): box.weights([w[:p] + text + w[p + 2 :]])[0] - weight[w]
            for w in words
            for p in range(len(w) - 1)
        }
        assert motif.effect == pytest.approx(np.mean(list(changes.values())))
        for place, position in enumerate(search.positions):
            here = [change for (_, p), change in changes.items() if p == position - 1]
            assert motif.profile[place] == pytest.approx(np.mean(here))
        assert motif.share is None


def test_effects_of_both_signs_are_ordered_by_size():
    box = seqray.black_box(lambda words: [w.count("a") - 3 * w.count("c") for w in words], "abc")
    search = find_motifs(box, random_words(), length=1, n_motifs=3)
    sizes = [abs(motif.effect) for motif in search.motifs]
    assert sizes == sorted(sizes, reverse=True)
    assert shown(search)[0] == "c"
    assert search.motifs[0].effect < 0 < search.motifs[1].effect


def test_where_a_motif_counts_is_its_peak():
    def decide(words):
        return ["yes" if word[4:7] == "abc" else "no" for word in words]

    search = find_motifs(seqray.classifier(decide, "abc"), random_words(), length=3)
    first = search.motifs[0]
    assert (shown(search)[0], first.peak) == ("abc", 5)
    elsewhere = np.delete(first.profile, first.peak - 1)
    assert first.profile[first.peak - 1] > 3 * np.abs(elsewhere).max()


def test_shifted_motifs_are_left_out():
    box, _ = containing("abca")
    found = shown(find_motifs(box, random_words(), length=4, n_motifs=10))
    for one, other in product(found, found):
        assert one == other or (one[1:] != other[:-1] and one[1:] != other[1:])


def test_an_automaton_is_measured_like_its_box():
    box, _ = containing("aba", "ab")
    words = random_words("ab")
    automaton = seqray.extract(box, basis=words).best()
    on_box, on_automaton = (find_motifs(each, words, length=3) for each in (box, automaton))
    assert shown(on_automaton)[0] == shown(on_box)[0] == "aba"
    assert on_automaton.motifs[0].profile == pytest.approx(on_box.motifs[0].profile)


def test_any_class_can_be_asked_for():
    def decide(words):
        return ["x" if "aa" in w else "y" if "bb" in w else "z" for w in words]

    box = seqray.classifier(decide, "abc", ["x", "y", "z"])
    words = ["cacbcacbcacb", "cbcacbcbcaca"]
    firsts = [shown(find_motifs(box, words, length=2, class_name=name))[0] for name in "xy"]
    assert firsts == ["aa", "bb"]


def test_no_more_queries_are_made_than_the_budget():
    box, counted = containing("abcab")
    search = find_motifs(box, random_words(), length=5, n_words=20, budget=8000, n_motifs=2)
    assert len(counted) <= 8000
    assert shown(search)[0] == "abcab"
    assert search.n_words == 20


def test_a_longer_motif_grows_from_a_part_of_it_that_counts():
    def weigh(words):
        return [w.count("abca") + 0.3 * w.count("ab") for w in words]

    box = seqray.black_box(weigh, "abcdefgh")
    words = random_words("abcdefgh")
    search = find_motifs(box, words, length=4, n_words=40, budget=40_000)
    assert shown(search)[0] == "abca"
    assert search.n_measured < 8**4


def test_only_words_that_fit_motif_and_box_are_used():
    box, counted = containing("ab", max_length=5)
    search = find_motifs(box, ["a", "abc", "cccc", "abcabc"], length=2)
    assert search.n_words == 2
    assert max(map(len, counted)) <= 5
    assert search.positions.tolist() == [1, 2, 3]


def test_long_words_are_measured_at_a_hundred_positions():
    box, _ = containing("ab")
    search = find_motifs(box, random_words(length=500, n_words=2), length=2, n_motifs=1)
    assert len(search.positions) == len(search.motifs[0].profile) == 100
    assert search.positions[[0, -1]].tolist() == [1, 499]


def test_the_table_says_what_was_measured():
    box, _ = containing("ab")
    search = find_motifs(box, random_words(), length=2)
    text = repr(search)
    assert "mean change of the logit of yes" in text
    assert "9 motifs were measured" in text
    assert "yes there" in text
    facts = search.as_dict()
    assert facts["motifs"][0]["symbols"] == ["a", "b"]
    assert facts["class"] == "yes"
    numbers = find_motifs(seqray.black_box(lambda ws: [len(w) for w in ws], "ab"), ["ab"], length=1)
    assert "mean change of the weight" in repr(numbers)
    assert numbers.motifs[0].effect == 0


def test_what_cannot_be_searched_is_refused():
    box, _ = containing("ab")
    with pytest.raises(ArgumentError, match="none of 2 has at least 6 symbols"):
        find_motifs(box, ["ab", "abc"])
    with pytest.raises(ArgumentError, match="expected one of no, yes, got 'maybe'"):
        find_motifs(box, ["abcabc"], class_name="maybe")
    with pytest.raises(ArgumentError, match="too few for motifs of 6 symbols in 1 words"):
        find_motifs(box, ["abcabc"], budget=20)
    numbers = seqray.black_box(lambda words: [0] * len(words), "ab")
    with pytest.raises(ArgumentError, match="the box is no classifier"):
        find_motifs(numbers, ["ababab"], class_name="yes")


def test_profiles_are_plotted_and_effects_are_a_frame():
    pytest.importorskip("matplotlib", reason="plots need matplotlib").use("agg")
    pytest.importorskip("pandas", reason="frames need pandas")
    box, _ = containing("ab")
    search = find_motifs(box, random_words(), length=2, n_motifs=2)
    lines = {line.get_label(): line.get_ydata() for line in search.plot().get_lines()}
    assert np.array_equal(lines["ab"], search.motifs[0].profile)
    frame = search.to_frame()
    assert frame["motif"].tolist() == shown(search)
    assert frame["share"][0] == 1.0
