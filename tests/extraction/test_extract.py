import dataclasses
import math

import numpy as np
import pytest

import seqray
from copied import copied
from seqray import Basis, WeightedAutomaton, extract
from seqray.automata.generators import random_automaton, random_machine
from seqray.extraction.conditional import method as conditional_method
from seqray.extraction.hankel.candidates import WEIGHTINGS
from seqray.extraction.request import METHODS
from seqray.extraction.settings import StructuredSettings
from seqray.util.errors import ArgumentError, RankError, SymbolError

pytestmark = pytest.mark.usefixtures("hasty")


def rng(seed=0):
    return np.random.default_rng(seed)


def machine():
    return random_machine("pfa", 4, 3, seed=rng(1))


def difference_box():
    """As minus bs: two states, and values of both signs."""
    return seqray.black_box(lambda words: [w.count("a") - w.count("b") for w in words], "ab")


SMALL = {"n_prefixes": 60, "n_suffixes": 50}
BLOCKS = ("paper", "weighted")
ANY_BOX = ("auto", *BLOCKS)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_recovers_a_machine(method):
    wa = machine()
    found = extract(wa, method=method, **SMALL)
    assert found.max_rank == 4
    words = wa.sample(200, seed=rng(2)).words
    np.testing.assert_allclose(found.automaton(4).weights(words), wa.weights(words), atol=1e-10)
    assert found.best_rank() <= 4
    assert seqray.compare(wa, found.best(), words)["ndcg5"] > 0.998


def test_every_method_asks_its_own_words():
    settings = {
        method: extract(machine(), method=method, max_rank=2, **SMALL).settings
        for method in METHODS
    }
    assert settings["paper"]["basis"].startswith("uniform up to length")
    assert settings["paper"]["weighting"] == "none"
    assert settings["weighted"]["basis"] == "sampled from the box"
    assert settings["weighted"]["weighting"] in WEIGHTINGS
    for method in ("conditional", "auto"):
        assert settings[method]["basis"] == "contexts of 800 words drawn from the box"
        assert settings[method]["method"] == "conditional"


def test_a_box_that_does_not_predict_gets_a_grown_basis_unless_it_is_small():
    for n_prefixes, source in ((90, "grown"), (60, "uniform up to length 7")):
        extraction = extract(difference_box(), n_prefixes=n_prefixes, n_suffixes=50)
        assert extraction.settings["basis"] == source
        assert not extraction.predicts


def test_an_unknown_method_is_refused():
    with pytest.raises(
        ArgumentError, match="expected one of auto, paper, weighted, conditional, got 'best'"
    ):
        extract(machine(), method="best")


@pytest.mark.parametrize(
    ("box", "basis"),
    [
        (difference_box(), None),
        (machine(), "uniform"),
        (machine(), seqray.uniform_basis(machine().alphabet, 9, 9, seed=rng())),
    ],
)
def test_contexts_are_drawn_from_what_predicts(box, basis):
    with pytest.raises(ArgumentError, match=r"method: conditional needs .*: use 'weighted'"):
        extract(box, method="conditional", basis=basis)
    assert extract(box, basis=basis, **SMALL).settings["method"] == "weighted"


def test_a_basis_of_ones_own_is_used_as_it_is():
    wa = machine()
    basis = seqray.uniform_basis(wa.alphabet, 30, 31, seed=rng(3))
    found = extract(wa, basis=basis, n_prefixes=5)
    assert found.basis is basis
    assert (found.settings["prefixes"], found.settings["suffixes"]) == (30, 31)


@pytest.mark.parametrize("method", METHODS)
def test_a_data_set_is_a_basis(method):
    wa = machine()
    data = wa.sample(400, seed=rng(4)).words
    for words in (data, list(data)):
        found = extract(wa, basis=words, method=method, max_rank=2, **SMALL)
        sources = ("from a data set", "contexts of 400 words of a data set")
        assert found.settings["basis"] == sources[method not in BLOCKS]
        pieces = {word[:n] for word in data for n in range(len(word) + 1)}
        assert set(found.basis.prefixes) <= pieces


@pytest.mark.parametrize("basis", ["uniform", "sampled", "grown"])
def test_a_basis_is_chosen_by_name(basis):
    for method in BLOCKS:
        found = extract(machine(), basis=basis, method=method, n_prefixes=90, n_suffixes=80)
        assert found.settings["basis"].startswith(basis)


def test_an_unknown_basis_is_refused():
    with pytest.raises(ArgumentError, match="expected sampled, grown, uniform or words, got 'box'"):
        extract(machine(), basis="box")


def test_a_box_without_predictions_cannot_be_sampled():
    with pytest.raises(ArgumentError, match="does not predict next symbols: use 'grown'"):
        extract(difference_box(), basis="sampled")


def test_a_basis_over_another_alphabet_is_refused():
    words = seqray.Alphabet("xy").words(["", "x"])
    for basis in (Basis(words, words), words, [("x",)]):
        with pytest.raises(SymbolError):
            extract(machine(), basis=basis)


@pytest.mark.parametrize("basis", ["uniform", "sampled", "grown"])
def test_the_longest_word_has_a_symbol(basis):
    with pytest.raises(ArgumentError, match="max_length: expected a whole number from 1, got 0"):
        extract(machine(), basis=basis, max_length=0)


@pytest.mark.parametrize("basis", ["uniform", "sampled", "grown"])
@pytest.mark.parametrize("method", ANY_BOX)
def test_the_longest_word_is_kept_to(method, basis):
    sizes = {"prefixes": 15, "suffixes": 15, "max_rank": 2}
    found = extract(machine(), basis=basis, method=method, max_length=3, **sizes)
    assert found.basis.prefixes.lengths.max() <= 3
    assert found.settings["max_length"] == 3


@pytest.mark.parametrize("method", ANY_BOX)
def test_a_box_with_values_of_both_signs_is_recovered_exactly(method):
    found = extract(difference_box(), method=method, **SMALL)
    assert found.max_rank == found.best_rank() == 2
    words = ["", "a", "b", "abab", "bbbbb", "aaaaaaaaaaaab", "bab" * 9]
    exact = [word.count("a") - word.count("b") for word in words]
    np.testing.assert_allclose(found.best().weights(words), exact, atol=1e-9)
    assert repr(found) == "Extraction(ranks 1 … 2, best 2)"


def test_an_automaton_of_both_signs_is_recovered_exactly():
    wa = random_automaton(6, 3, seed=rng(5))
    found = extract(wa, basis="uniform", n_prefixes=150, n_suffixes=150)
    words = seqray.uniform_basis(wa.alphabet, 300, 1, seed=rng(6)).prefixes
    weights = wa.weights(words)
    error = np.abs(found.automaton(6).weights(words) - weights).max()
    assert error < 1e-8 * np.abs(weights).max()


@pytest.mark.parametrize(
    ("make", "method"),
    [*((machine, method) for method in METHODS), *((difference_box, m) for m in BLOCKS)],
)
def test_the_same_seed_gives_the_same_automaton_to_the_bit(method, make):
    one, same, other = (
        extract(make(), method=method, seed=s, max_rank=3, **SMALL) for s in (3, 3, 4)
    )
    for name in ("initial", "transitions", "final"):
        np.testing.assert_array_equal(
            getattr(one.automaton(one.max_rank), name), getattr(same.automaton(one.max_rank), name)
        )
    assert one.fidelity.rows() == same.fidelity.rows()
    assert one.basis.prefixes == same.basis.prefixes
    assert one.basis.prefixes != other.basis.prefixes


def test_the_settings_say_what_was_asked_and_done():
    calls = []
    found = extract(
        machine(),
        method="weighted",
        basis="uniform",
        n_prefixes=40,
        n_suffixes=30,
        max_rank=3,
        max_length=9,
        seed=5,
        progress=lambda *call: calls.append(call),
    )
    settings = found.settings
    assert settings["weighting"] in WEIGHTINGS
    asked = {
        "method": "weighted",
        "basis": "uniform up to length 9",
        "prefixes": 40,
        "suffixes": 30,
        "words_cut": 0,
        "max_rank": 3,
        "max_length": 9,
        "seed": 5,
        "held_out_words": 1000,
        "numpy": np.__version__,
    }
    assert asked.items() <= settings.items()
    assert set(settings["seconds"]) == {"basis", "fill", "svd", "choose"}
    assert settings["questions"] == calls[-1][0] == calls[-1][1]
    assert settings["steps"] > 0
    assert found.max_rank == len(found.singular_values) == len(found.fidelity) == 3


def test_an_automaton_that_is_no_distribution_is_not_sampled():
    wa = machine()
    scaled = WeightedAutomaton(wa.alphabet, 3 * wa.initial, wa.transitions, wa.final)
    found = extract(scaled, **SMALL)
    assert found.settings["basis"].startswith("uniform up to length")
    assert not found.predicts
    assert "ndcg5" not in found.fidelity.fidelities[0]
    words = wa.sample(100, seed=rng(2)).words
    np.testing.assert_allclose(found.automaton(4).weights(words), 3 * wa.weights(words), atol=1e-9)
    with pytest.raises(ArgumentError, match="does not predict next symbols: use 'grown'"):
        extract(scaled, basis="sampled", **SMALL)


def test_an_automaton_that_counts_is_recovered_without_a_word_about_the_basis():
    wa = WeightedAutomaton("ab", [1, 0], [[[1, 1], [0, 1]], [[1, -1], [0, 1]]], [0, 1])
    found = extract(wa, **SMALL)
    assert found.settings["basis"].startswith("uniform")
    assert found.max_rank == found.best_rank() == 2
    np.testing.assert_allclose(found.best().weights(["aab", "bb", ""]), [1, -2, 0], atol=1e-9)


class NoWeights:
    alphabet = seqray.Alphabet("ab")


class PlainAlphabet:
    alphabet = "ab"

    def weights(self, words):
        return np.ones(len(words))


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ("demo", r"box: got the string 'demo': open it with open_black_box\('demo'\)"),
        (len, r"`alphabet` and `weights\(words\)`, got .* black_box\(function, alphabet\)"),
        (lambda words: [1.0] * len(words), r"make it one with black_box\(function, alphabet\)"),
        (NoWeights(), r"expected `alphabet` and `weights\(words\)`, got <.*NoWeights object .*>$"),
        (None, r"expected `alphabet` and `weights\(words\)`, got None$"),
        (PlainAlphabet(), r"alphabet: expected a seqray.Alphabet, got str: write Alphabet\(\["),
    ],
)
def test_what_is_no_black_box_is_refused(box, message):
    with pytest.raises(ArgumentError, match=message):
        extract(box)


@pytest.mark.parametrize("seed", [-1, 1.5, "0", None])
def test_a_seed_that_is_no_whole_number_from_0_is_refused(seed):
    with pytest.raises(ArgumentError, match="seed: expected a whole number from 0, got "):
        extract(machine(), seed=seed, **SMALL)


def test_a_seed_of_numpy_is_a_seed():
    small = {"max_rank": 1, **SMALL}
    one, same = (extract(machine(), seed=seed, **small) for seed in (3, np.int64(3)))
    assert one.basis.prefixes == same.basis.prefixes


def test_a_random_generator_is_a_seed_and_the_number_drawn_from_it_is_recorded():
    small = {"max_rank": 1, **SMALL}
    one = extract(machine(), seed=rng(3), **small)
    same = extract(machine(), seed=one.settings["seed"], **small)
    assert one.basis.prefixes == same.basis.prefixes


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [("prefixes", "n_prefixes", 30), ("suffixes", "n_suffixes", 20), ("seconds", "time_limit", 60)],
)
def test_old_names_of_arguments_still_work(old, new, value):
    sizes = {"n_prefixes": 10, "n_suffixes": 10, "max_rank": 1}
    by_name = []
    for name in (old, new):
        options = {key: number for key, number in sizes.items() if key != new} | {name: value}
        by_name.append(extract(difference_box(), **options))
    assert by_name[0].basis.prefixes == by_name[1].basis.prefixes
    assert by_name[0].basis.suffixes == by_name[1].basis.suffixes
    with pytest.raises(
        ArgumentError, match=f"{old} is the old name of {new}, and both are given: leave out {old}"
    ):
        extract(difference_box(), **{old: value, new: value})


def test_an_argument_that_there_is_not_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'prefix'"):
        extract(machine(), prefix=3)


@pytest.mark.parametrize("basis", ["uniform", "sampled", [(0, 1), (2,)]])
@pytest.mark.parametrize("name", ["n_prefixes", "n_suffixes"])
@pytest.mark.parametrize("size", [0, -2, 2.5, "9"])
def test_sizes_are_whole_numbers_from_1(basis, name, size):
    with pytest.raises(ArgumentError, match=f"^{name}: expected a whole number from 1, got "):
        extract(machine(), basis=basis, **{name: size})


def test_a_rank_that_is_not_there_is_refused():
    with pytest.raises(RankError, match="rank 3 is outside 1 … 2"):
        extract(difference_box(), **SMALL).automaton(3)


def test_a_box_that_is_zero_gives_one_state():
    box = seqray.black_box(lambda words: [0.0] * len(words), "ab")
    found = extract(box, n_prefixes=10, n_suffixes=10)
    assert found.max_rank == found.best_rank() == 1
    assert found.best().weight("abab") == 0


def test_a_language_model_is_extracted():
    wa = machine()
    box = seqray.language_model(wa.next_symbol, wa.alphabet)
    words = wa.sample(50, seed=rng(8)).words
    for method in ("auto", "weighted"):
        found = extract(box, n_prefixes=30, n_suffixes=30, max_rank=4, method=method)
        assert found.predicts
        np.testing.assert_allclose(found.automaton(4).weights(words), wa.weights(words), atol=1e-9)


@pytest.mark.parametrize("target", [0, 1.1, -1, float("nan"), "0.9", True])
def test_a_target_is_a_share(target):
    with pytest.raises(ArgumentError, match="target: expected a number above 0 and up to 1, got "):
        extract(machine(), target=target)


def test_a_target_is_only_for_what_is_asked_in_rounds():
    for box, options in (
        (difference_box(), {"basis": "uniform"}),
        (machine(), {"method": "weighted"}),
        (machine(), {"method": "weighted", "basis": ["ab"]}),
    ):
        with pytest.raises(
            ArgumentError, match=r"target: only the method conditional, .* weighted"
        ):
            extract(box, target=0.9, **options)
    assert extract(difference_box(), target=0.9, n_prefixes=20).max_rank == 2


# A box that reads words of a limited length ---------------------------------------------------


def limited(kind, limit):
    """Return a box that fails on longer words than it says it reads."""

    def ask(words):
        assert max(map(len, words)) <= limit, f"asked about {max(words, key=len)!r}"
        if kind == "value":
            return [0.4 ** w.count("a") * 0.3 ** w.count("b") * (1 + ("ab" in w)) for w in words]
        return [[0.5, 0.3, 0.2] if w.endswith("a") else [0.2, 0.7, 0.1] for w in words]

    make = seqray.black_box if kind == "value" else seqray.language_model
    return make(ask, "ab", max_length=limit)


@pytest.mark.parametrize("limit", [1, 2, 7])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("value", {}),
        ("value", {"method": "paper"}),
        ("value", {"basis": "uniform"}),
        ("value", {"basis": ["abba", "b", "ab" * 20]}),
        ("next", {}),
        ("next", {"counterexamples": 1}),
        ("next", {"basis": ["abba", "b", "ab" * 20]}),
        ("next", {"method": "weighted"}),
        ("next", {"method": "paper"}),
    ],
)
def test_a_box_is_never_asked_about_words_longer_than_it_reads(kind, options, limit):
    sizes = {"n_prefixes": 80, "n_suffixes": 80}
    if options:
        sizes = {"n_prefixes": 20, "n_suffixes": 20}
    found = extract(limited(kind, limit), max_rank=3, **sizes, **options)
    assert found.basis.prefixes.lengths.max() + 1 + found.basis.suffixes.lengths.max() <= limit


def test_a_box_of_limited_length_is_still_learnt():
    box = limited("next", 7)
    found = extract(box, n_prefixes=30, n_suffixes=20)
    words = ["", "ab", "abba", "bbab"]
    np.testing.assert_allclose(found.best().weights(words), box.weights(words), atol=1e-6)


def test_a_max_length_beyond_what_the_box_reads_is_refused_before_anything_is_asked():
    box = seqray.black_box(lambda words: 1 / 0, "ab", max_length=8)
    with pytest.raises(ArgumentError, match="reads words of at most 8 symbols, got 9: give 8 or"):
        extract(box, max_length=9)


def test_a_basis_that_the_box_cannot_read_is_refused():
    words = seqray.Alphabet("ab").words(["", "a", "ab"])
    with pytest.raises(
        ArgumentError, match=r"have up to 5 symbols, and the box reads .* at most 4"
    ):
        extract(limited("value", 4), basis=Basis(words, words))


def test_a_data_set_of_words_that_are_all_too_long_is_refused():
    with pytest.raises(ArgumentError, match="every word is longer than 4 symbols"):
        extract(limited("next", 4), basis=["ababab"])


def test_a_box_that_reads_nothing_but_the_empty_word_cannot_be_learnt():
    with pytest.raises(ArgumentError, match="reads only the empty word"):
        extract(limited("value", 0))


def test_a_low_score_is_warned_of_with_what_to_try(caplog):
    answers = {}  # as good as random: nothing to learn
    box = seqray.black_box(
        lambda words: [answers.setdefault(w, rng(len(answers)).normal()) for w in words], "ab"
    )
    found = extract(box, n_prefixes=15, n_suffixes=15)
    score = found.fidelity.at(found.best_rank()).score
    assert f"has a fidelity score of {score:.3f}" in caplog.text
    assert f"off by about {100 * (1 - score):.0f} %" in caplog.text
    assert ". Query more prefixes and suffixes (n_prefixes=…, n_suffixes=…), " in caplog.text
    assert "logit" in caplog.text
    assert "probabilities of next symbols, make it with seqray.language_model" in caplog.text
    extract(box, n_prefixes=15, n_suffixes=15, memory="1MB")
    assert ". Allow more memory than 1 MB (memory=…). Query more prefixes" in caplog.text
    extract(box, n_prefixes=15, n_suffixes=15, budget=40)
    assert ". Allow more queries (budget=…). Query more prefixes" in caplog.text


def test_a_low_score_of_a_box_that_predicts_is_said_in_bits(caplog):
    box = random_machine("pfa", 6, 3, seed=rng(1))
    found = extract(box, n_prefixes=60, max_rank=1, purpose="reading")
    best = found.fidelity.at(1)
    assert best.score < 0.9
    lost, own = best["kl_per_symbol"], best["entropy_per_symbol"]
    assert f"it loses {lost:.2g} bits per symbol of {own:.3g}" in caplog.text
    assert "language_model" not in caplog.text


def test_a_good_score_is_not_warned_of(caplog):
    extract(difference_box(), n_prefixes=15, n_suffixes=15)
    assert not caplog.text


@pytest.fixture
def small_copies(monkeypatch):
    """Fit copies of two and five states per context, hastily."""
    hasty = {"n_contexts": 5, "n_epochs": 1, "min_steps": 40}
    hasty |= {"exact_bits": 0, "near_bits": 0}  # no spectral copy, which would be exact
    small = StructuredSettings((2, 5), (1, 1), small_share=0, min_gain=-1, **hasty)
    monkeypatch.setattr(conditional_method, "STRUCTURED", small)


@pytest.mark.usefixtures("hasty", "small_copies")
def test_no_copy_is_larger_than_the_limits(tmp_path, caplog):
    box = random_machine("pfa", 6, 2, seed=1)
    options = {"max_rank": 1, "n_prefixes": 20}
    free = seqray.extract(box, **options)
    assert [math.isqrt(copy.cost) for copy in free.copies] == [2, 5]
    cheap = seqray.extract(box, **options, max_cost=8)
    assert [copy.cost for copy in cheap.copies] == [4]
    caplog.clear()
    small = seqray.extract(box, **options, max_states=free.copies[0].n_states)
    assert [copy.n_states for copy in small.copies] == [free.copies[0].n_states]
    assert "is left out: allow more of them (max_states=…, max_cost=…)" in caplog.text
    seqray.save_run(cheap, tmp_path / "run")
    assert seqray.open_run(tmp_path / "run").settings.max_cost == 8


def test_the_best_automaton_keeps_to_the_limits_of_the_extraction(tmp_path):
    known = copied()
    settings = dataclasses.replace(known.settings, max_states=6)
    seqray.save_run(dataclasses.replace(known, settings=settings), tmp_path / "run")
    limited = seqray.open_run(tmp_path / "run")
    assert limited.best().n_states == 6
    assert limited.best(max_states=7).n_states == 7
    assert limited.best(max_cost=4).n_states == 2


def test_an_unknown_purpose_is_refused():
    with pytest.raises(ArgumentError, match="purpose: expected one of reading, copying"):
        extract(machine(), purpose="drawing")


def test_memory_for_hardly_any_context_is_refused_instead_of_a_useless_automaton():
    message = "memory: 1 kB hold fewer than 5 contexts .* expected room for 5 at least, about"
    with pytest.raises(ArgumentError, match=message) as refused:
        extract(seqray.open_black_box("demo"), memory="1kB")
    assert "allow more (--memory, memory)" in str(refused.value)
