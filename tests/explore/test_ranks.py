import numpy as np
import pytest

from explore.subjects import machine, probabilities, signed
from seqray import Alphabet, WeightedAutomaton
from seqray.automata.ranks import MIN_ENDING, RankedAutomata
from seqray.explore.packing import pack, unpack
from seqray.explore.ranks import ShownRank, pack_ranks, show_ranks, spelt
from seqray.util.errors import ArgumentError, RankError


def random_automata(n_states, n_symbols, fitted=()):
    rng = np.random.default_rng(0)
    parts = rng.random(n_states), rng.random((n_symbols, n_states, n_states)), rng.random(n_states)
    largest = WeightedAutomaton(range(n_symbols), *parts)
    shapes = {r: (n_symbols, r, r) for r in fitted}
    own = {
        r: WeightedAutomaton(range(n_symbols), np.ones(r), rng.random(shape), np.ones(r))
        for r, shape in shapes.items()
    }
    return RankedAutomata(largest, None, own)


def unnamed(automata, ranks):
    return [
        ShownRank(r, automata.automaton(r), None if r in automata.fitted else 1.0, None)
        for r in ranks
    ]


def rebuilt(packed, shown):
    """What a page computes with: the transitions of a rank."""
    own = packed.arrays.get(f"own_{shown.rank}")
    if own is not None:
        return unpack(own)
    n = shown.rank
    return shown.kept * unpack(packed.arrays["block"])[:, :n, :n]


def test_every_rank_of_an_extraction_can_be_rebuilt_exactly():
    automata = probabilities().automata
    shown = show_ranks(automata, range(1, 7), 5)
    packed = pack_ranks(automata, shown, 5, 10**7)
    assert [each.rank for each in packed.ranks] == [1, 2, 3, 4, 5, 6]
    assert packed.n_bytes == 8
    words = machine().sample(50, seed=np.random.default_rng(0)).words
    for each in packed.ranks:
        a = each.automaton
        found = WeightedAutomaton(a.alphabet, a.initial, rebuilt(packed, each), a.final)
        expected = automata.automaton(each.rank).weights(words)
        assert found.weights(words) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_fitted_ranks_are_drawn_as_they_are_and_others_in_named_coordinates():
    automata = probabilities().automata
    for each in show_ranks(automata, range(1, 7), 5):
        document = each.to_json()
        assert len(document["names"]) == each.named.automaton.n_states
        assert document["drawn"] == (each.rank not in automata.fitted)
        assert (each.kept is None) == (each.rank in automata.fitted)
        assert document["loss"] < 1e-9


def test_an_automaton_that_never_ends_is_rebuilt_with_what_it_leaves_to_the_end():
    endless = WeightedAutomaton("ab", [1, 0], [[[0.5, 0], [0, 0.5]], [[0.5, 0], [0, 0.4]]], [0, 0])
    automata = RankedAutomata(endless, np.ones(2))
    shown = show_ranks(automata, [1, 2], 1)
    assert shown[0].kept == 1 - MIN_ENDING
    assert np.array_equal(shown[0].kept * endless.transitions[:, :1, :1],
                          shown[0].automaton.transitions)  # fmt: skip


def test_only_so_many_states_get_names():
    automata = random_automata(70, 2, fitted=(25, 65))
    ranks = [3, 22, 25, 30, 65]
    named = {each.rank for each in show_ranks(automata, ranks, 30) if each.named is not None}
    assert named == {3, 25, 30}
    with pytest.raises(RankError, match="rank 4 is outside 3 … 65"):
        show_ranks(automata, ranks, 4)


def test_probabilities_without_names_still_have_their_mass():
    wa = machine()
    shown = ShownRank(4, wa, None, None)
    mass = shown.to_json()["mass"]
    assert sum(mass) == pytest.approx(1, abs=1e-5)
    visits = sum(wa.state_after(w) * wa.prefix_final for w in map("".join, all_words(6)))
    assert mass == pytest.approx(visits / visits.sum(), abs=0.1)
    assert "mass" not in ShownRank(5, signed(), None, None).to_json()


def all_words(longest):
    words = [()]
    for _ in range(longest):
        words += [(*w, s) for w in words if len(w) == len(words[-1]) for s in "abcd"]
    return words


def test_less_room_means_fewer_digits_then_fewer_ranks():
    automata = random_automata(24, 10)
    shown = unnamed(automata, range(1, 25))
    full = pack_ranks(automata, shown, 4, 10**7)
    size = len(full.arrays["block"]["data"])
    assert full.n_bytes == 8
    ends = sum(90 + 33 * each.automaton.n_states for each in shown)
    assert pack_ranks(automata, shown, 4, ends + size - 100).n_bytes == 7
    little = pack_ranks(automata, shown, 4, ends + size // 4)
    assert little.n_bytes == 6
    ranks = [each.rank for each in little.ranks]
    assert ranks == list(range(1, len(ranks) + 1))
    assert 4 < len(ranks) < 24
    assert len(little.arrays["block"]["data"]) <= size // 4


@pytest.mark.parametrize("chosen", [3, 9, 12, 20])
def test_the_chosen_rank_is_always_there(chosen):
    automata = random_automata(20, 30, fitted=(3, 12))
    shown = unnamed(automata, range(1, 21))
    for room in (70_000, 90_000, 130_000, 10**6):
        packed = pack_ranks(automata, shown, chosen, room + 20 * 90 + 33 * 210)
        ranks = {each.rank: each for each in packed.ranks}
        found, expected = rebuilt(packed, ranks[chosen]), automata.automaton(chosen).transitions
        assert found == pytest.approx(expected, rel=1e-5)
        assert sum(len(each["data"]) for each in packed.arrays.values()) <= room
        for each in packed.ranks:
            assert rebuilt(packed, each).shape == (30, each.rank, each.rank)


def test_where_only_the_chosen_rank_fits_there_is_no_block():
    automata = random_automata(20, 30, fitted=(12,))
    shown = unnamed(automata, range(1, 21))
    ends = sum(90 + 33 * each.automaton.n_states for each in shown)
    size = len(pack(automata.automaton(12).transitions, 6)["data"])
    packed = pack_ranks(automata, shown, 12, ends + size + 100)
    assert [each.rank for each in packed.ranks] == [12]
    assert set(packed.arrays) == {"own_12"}


def test_numbers_that_deflate_badly_still_fit():
    rng = np.random.default_rng(0)
    wild = rng.normal(size=(30, 20, 20)) * 10 ** rng.uniform(-200, 200, size=(30, 20, 20))
    automata = RankedAutomata(WeightedAutomaton(range(30), np.ones(20), wild, np.ones(20)))
    shown = [ShownRank(r, machine(), 1.0, None) for r in range(1, 21)]
    packed = pack_ranks(automata, shown, 2, 60_000)
    assert 2 < len(packed.ranks) < 20
    assert len(packed.arrays["block"]["data"]) < 60_000


def test_what_no_page_can_hold_is_refused():
    automata = random_automata(20, 30)
    with pytest.raises(ArgumentError, match="choose a smaller rank"):
        pack_ranks(automata, unnamed(automata, range(1, 21)), 20, 20_000)


def test_a_rank_loses_its_names_before_the_page_grows_too_large():
    automata = random_automata(20, 30)
    shown = show_ranks(automata, range(1, 21), 2)
    packed = pack_ranks(automata, shown, 2, 90_000)
    listed = {entry["rank"]: entry for entry in packed.to_json()["ranks"]}
    assert "names" in listed[2]
    assert any("names" not in entry for entry in listed.values())
    n_numbers = sum(3 * e["states"] + 2 * len(e.get("names", ())) for e in listed.values())
    assert unpack(packed.to_json()["arrays"]["ends"]).shape == (n_numbers,)


def test_words_are_spelt_so_that_every_symbol_can_be_seen():
    assert spelt(Alphabet(["a b", " ", "\n"]), [" ", "a b", "\n"]) == "' ' | a b | '\\n'"
    assert spelt(Alphabet("ab"), "") == "λ"
