import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import seqray
from same_gru import native
from seqray.extraction.blind_spots import BlindSpotKind, find_blind_spots


def value(codes):
    """A number to which every code at every position adds something of its own."""
    return sum(np.cos(1.7 * at + 2.3 * code) for at, code in enumerate(codes))


def network(alphabet, ids, *, reads=lambda ids: ids, **options):
    """A box of numbers that sees nothing of a word but what ``reads`` makes of its ids."""
    number = dict(zip(alphabet, ids, strict=True))

    def weigh(words):
        return [2.0 + value(reads([number[symbol] for symbol in word])) for word in words]

    return seqray.black_box(weigh, alphabet, **options)


def padded(side, width=110):
    """What a network reads that fills words up with id 0."""

    def reads(ids):
        fill = [0] * (width - len(ids))
        return [*ids, *fill] if side == "end" else [*fill, *ids]

    return reads


def found(box, **options):
    return {(spot.kind.name, spot.symbols) for spot in find_blind_spots(box, **options)}


def test_a_box_that_sees_everything_has_no_blind_spots():
    assert find_blind_spots(network("abcde", range(5))) == ()
    assert find_blind_spots(native()) == ()


def test_a_symbol_with_the_padding_id_is_not_seen_at_the_padded_end():
    box = network("-abc", range(4), reads=padded("end"))
    (spot,) = find_blind_spots(box)
    assert (spot.kind, spot.symbols) == (BlindSpotKind.END, ("-",))
    longer, word = spot.pair
    assert longer == (*word, "-")
    assert box.weights([longer]) == box.weights([word])
    assert '"-" at the end never changes the answer' in str(spot)
    assert spot.advice == "is its id also the padding id?"


def test_padding_in_front_hides_the_symbol_at_the_beginning():
    assert found(network("abc-", [1, 2, 3, 0], reads=padded("start"))) == {("BEGINNING", ("-",))}


def test_a_masked_symbol_is_not_seen_anywhere_and_reported_once():
    box = network("ab_-", range(4), reads=lambda ids: [i for i in ids if i < 2])
    assert found(box) == {("ANYWHERE", ("_", "-"))}


def test_symbols_with_one_id_are_one_to_the_box():
    box = network("aAbBc", [0, 0, 1, 1, 2])
    assert found(box) == {("EXCHANGED", ("a", "A")), ("EXCHANGED", ("b", "B"))}
    spot = find_blind_spots(box)[0]
    assert str(spot).startswith('"a" and "A" are one symbol to the box')
    assert len(np.unique(box.weights([*spot.pair]))) == 1


def test_a_box_that_only_counts_symbols_cannot_distinguish_them():
    box = seqray.black_box(lambda words: [len(word) for word in words], "abc")
    assert found(box) == {("EXCHANGED", ("a", "b", "c"))}


@pytest.mark.parametrize(
    ("cut", "kind", "side"),
    [
        (lambda ids: ids[:17], BlindSpotKind.TAIL, "first"),
        (lambda ids: ids[-17:], BlindSpotKind.HEAD, "last"),
    ],
)
def test_where_words_are_cut_is_found(cut, kind, side):
    (spot,) = find_blind_spots(network("abc", range(3), reads=cut))
    assert (spot.kind, spot.length) == (kind, 17)
    assert f"of words of 100 symbols nothing but the {side} 17 symbols counts" in str(spot)


def test_what_a_classifier_does_not_see_is_found():
    def scores(words):
        return [1 / (1 + np.exp(-value(map(ord, word.rstrip("-"))))) for word in words]

    assert found(seqray.classifier(scores, "ab-")) == {("END", ("-",))}


def test_of_a_language_model_the_next_symbols_count():
    def after(prefixes):
        first = [1 / (2 + np.exp(value(map(ord, p.replace("_", ""))))) for p in prefixes]
        return [[p, 0.2, 0.3 - p / 2, 0.5 - p / 2] for p in first]

    assert found(seqray.language_model(after, "ab_")) == {("ANYWHERE", ("_",))}


def test_the_states_of_a_markov_chain_forget_all_but_the_last_symbol():
    chain = seqray.WeightedAutomaton(
        *("ab", [0.5, 0.5], [[[0.5, 0], [0.2, 0]], [[0, 0.25], [0, 0.6]]], [0.25, 0.2])
    )
    (spot,) = find_blind_spots(chain)
    assert (spot.kind, spot.length) == (BlindSpotKind.HEAD, 1)
    assert "nothing but the last 1 symbol counts" in str(spot)


def test_a_box_that_always_answers_alike_shows_nothing():
    assert find_blind_spots(seqray.black_box(lambda words: [1.0] * len(words), "abc")) == ()


def test_a_symbol_that_rarely_counts_is_no_blind_spot():
    def weigh(words):
        return [value(map(ord, word)) if "ca" in word else word.count("a") for word in words]

    assert ("ANYWHERE", ("b",)) not in found(seqray.black_box(weigh, "abc"))


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_box_is_queried_only_about_words_that_it_can_read(limit):
    assert find_blind_spots(network("abcd", range(4), max_length=limit)) == ()


def test_few_queries_are_enough():
    counted = []
    ids = {symbol: number for number, symbol in enumerate("-.0123456789abcdefghijklmnopqrstuvwxyz")}

    def weigh(words):
        counted.extend(words)
        return [value(padded("end")([ids[symbol] for symbol in word])) for word in words]

    assert found(seqray.black_box(weigh, list(ids))) == {("END", ("-",))}
    assert len(counted) < 1400


def test_words_of_ones_own_can_be_used():
    box = network("-abc", range(4), reads=padded("end"))
    words = ["abc", "bca", "cab", "aab", "bbc"]
    (spot,) = find_blind_spots(box, words)
    assert spot.n_words == 5
    assert "".join(spot.pair[1]) in words


def test_of_a_large_alphabet_some_symbols_are_tried():
    symbols = [f"s{number}" for number in range(500)]
    counted = []

    def weigh(words):
        counted.extend(words)
        return [value(int(symbol[1:]) for symbol in word) for word in words]

    assert find_blind_spots(seqray.black_box(weigh, symbols)) == ()
    assert len(counted) < 4500


def test_the_hyphen_that_a_published_classifier_of_domain_names_cannot_see_is_found(tmp_path):
    package = find_spec("dgaintel")
    if package is None:
        pytest.skip("needs the model of dgaintel: pip install --no-deps dgaintel")
    model = Path(package.submodule_search_locations[0]) / "domain_classifier_model.h5"
    shutil.copy(model, tmp_path / "domains.h5")
    card = seqray.Card(
        *("-.0123456789_abcdefghijklmnopqrstuvwxyz", "classes", "probabilities"),
        classes=["genuine", "generated"],
        pad=0,
        limit=82,
    )
    card.save(tmp_path / "domains.seqray.json")
    box = seqray.open_black_box(f"keras:{tmp_path / 'domains.h5'}")
    assert found(box) == {("END", ("-",))}
