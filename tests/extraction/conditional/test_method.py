import threading
import time

import numpy as np
import pytest

import seqray
from same_gru import native
from seqray import WeightedAutomaton, extract, language_model
from seqray.automata.generators import random_machine, triggered_machine
from seqray.blackbox.queried import QueriedModel
from seqray.blackbox.queries.meter import Meter
from seqray.blackbox.queries.oracle import attended
from seqray.extraction.conditional import method as by_contexts
from seqray.extraction.conditional.blocks import N_COLUMNS, N_CONTEXTS
from seqray.extraction.conditional.method import Sizes
from seqray.extraction.request import FEWEST, draw_within
from seqray.fidelity.compare import Reference
from seqray.util.errors import ArgumentError
from told import ODD, odd_box, rng

SMALL = {"prefixes": 40, "suffixes": 30, "max_rank": 3, "max_length": 20}


def machine():
    return random_machine("pfa", 4, 3, seed=rng(1))


def model(pause=0.0, box=None):
    """A machine that is asked what comes next."""
    box = box or machine()

    def answer(prefixes):
        time.sleep(pause * len(prefixes))
        return box.next_symbol(prefixes).round(12)  # the same in every batch

    return language_model(answer, box.alphabet, batch_size=64)


def demo():
    return seqray.open_black_box("demo")


class Heard:
    """A progress that writes down what it is told, and may do something about it."""

    def __init__(self, react=lambda phase, done, total: None):
        self.phases, self.calls, self.react = [], [], react

    def __call__(self, done, total):
        assert 0 < done <= total
        self.calls.append((self.phases[-1][0], done, total))
        self.react(*self.calls[-1])

    def phase(self, name, unit):
        self.phases.append((name, unit))


# How much is asked --------------------------------------------------------------------------------


def test_by_default_20000_words_are_drawn():
    sizes = []

    class StopError(Exception):
        pass

    def learn(self, n_words):
        sizes.append((n_words, self.sizes))
        raise StopError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_contexts._Search, "_learn", learn)
        with pytest.raises(StopError):
            extract(machine())
    assert sizes == [(20_000, (20_000, N_CONTEXTS, N_COLUMNS))]


def test_a_part_costs_its_share_and_keeps_more_of_the_contexts():
    whole = Sizes(20_000, 1500, 250)
    assert whole.share(1) == whole
    for share in (1 / 4, 1 / 16, 1 / 64):
        part = whole.share(share)
        assert part.words == pytest.approx(share * 20_000, abs=1)
        assert part.contexts * part.columns == pytest.approx(share * 1500 * 250, rel=0.05)
        assert part.contexts > share * 1500
    assert whole.share(1e-6) == (20, 1, 8)


def test_what_is_asked_is_said():
    found = extract(demo(), **SMALL)
    settings = found.settings
    assert settings["method"] == "conditional"
    assert settings["asked"] == "states"
    assert settings["basis"] == "contexts of 534 words drawn from the box"
    assert settings["prefixes"] == len(found.basis.prefixes) == 40
    assert settings["columns"] == 5 * settings["suffixes"]
    assert settings["held_out_words"] == 1000
    assert settings["steps"] == settings["questions"] == settings["rounds"][-1]["questions"]
    assert set(settings["seconds"]) == {"choose", "fill", "svd", "fit"}
    (only,) = settings["rounds"]
    assert (only["words"], only["contexts"]) == (534, 40)
    assert only["ndcg5"] == found.fidelity.at(3)["ndcg5"]


def test_every_step_of_a_network_is_counted_once():
    box = demo()
    steps = [0]

    class Counting(type(box)):
        def step(self, states, parents, symbols):
            steps[0] += len(parents)
            return super().step(states, parents, symbols)

    object.__setattr__(box, "__class__", Counting)
    settings = extract(box, **SMALL).settings
    assert settings["questions"] == settings["steps"] == settings["queries_sent"] == steps[0]
    held_out = draw_within(demo(), 1000, 20, _held_out_rng(0), Meter())
    assert len(held_out.tree) - 1 <= settings["validation_questions"] < held_out.n_prefixes


def _held_out_rng(seed):
    return np.random.default_rng(seed).spawn(2)[1]


def test_words_that_were_cut_are_counted(caplog):
    found = extract(native(), **{**SMALL, "max_length": 3})
    assert found.settings["words_cut"] > 0
    assert f"{found.settings['words_cut']} of the sampled words had not ended" in caplog.text


def test_contexts_of_a_data_set_are_its_own():
    wa = machine()
    data = wa.sample(30, seed=rng(4))
    found = extract(wa, basis=data, **SMALL)
    assert found.settings["basis"] == "contexts of 30 words of a data set"
    many = extract(wa, basis=wa.sample(2000, seed=rng(4)), **SMALL)
    assert many.settings["basis"] == "contexts of 534 words of a data set"
    assert many.settings["words_cut"] == 0
    with pytest.raises(ArgumentError, match="basis: expected words to learn from, got none"):
        extract(wa, basis=[], **SMALL)


def test_a_data_set_that_the_box_finds_impossible_is_no_trouble():
    box = WeightedAutomaton("abc", [1], [[[0.5]], [[0.25]], [[0]]], [0.25])
    found = extract(box, basis=["cab", "c", "acc"], **SMALL)
    assert found.fidelity.at(found.best_rank())["ndcg5"] > 0.99


# What comes of it ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [machine, model, demo])
def test_boxes_of_every_kind_are_copied(make):
    found = extract(make(), **{**SMALL, "max_rank": 5})
    assert found.fidelity.at(found.best_rank())["ndcg5"] > 0.999
    for rank in range(1, found.max_rank + 1):
        automaton = found.automaton(rank)
        assert automaton.n_states == rank
        assert automaton.total == pytest.approx(1, abs=1e-4)
        assert np.isfinite([*found.fidelity.at(rank).values()]).all()


def test_the_same_seed_gives_the_same_at_any_pace(hasty):
    box = random_machine("pfa", 8, 3, seed=rng(1))  # so rich that no small part is enough
    whole = extract(model(box=box), **SMALL)
    for limits in (
        {"seconds": 1000},
        {"budget": 10**6},
        {"target": 1},
        {"stop": threading.Event()},
    ):
        other = extract(model(box=box), **SMALL, **limits)
        assert other.basis.prefixes == whole.basis.prefixes
        assert set(other.fitted) == set(whole.fitted)
        for rank in (1, 2, 3):
            assert other.automaton(rank).allclose(whole.automaton(rank), rtol=0, atol=0)
    assert extract(model(box=box), **SMALL, seed=1).basis.prefixes != whole.basis.prefixes


def test_a_fitted_automaton_is_kept_only_where_it_is_nearer(monkeypatch):
    svd = extract(demo(), **SMALL)
    assert svd.fitted
    for rank, automaton in svd.fitted.items():
        assert automaton is svd.automaton(rank)
        assert automaton.transitions.min() >= 0
        own = svd.automata.spectral(rank)
        held_out = draw_within(demo(), 1000, 20, _held_out_rng(0), Meter())
        nearer = held_out.compare(automaton)["ndcg5"]
        assert nearer == svd.fidelity.at(rank)["ndcg5"]
        assert nearer > held_out.compare(own)["ndcg5"]

    def useless(blocks, known, n_states, **options):
        n = n_states
        return WeightedAutomaton(
            "abcd", np.ones(n) / n, np.full((4, n, n), 0.2 / n), np.full(n, 0.2)
        )

    monkeypatch.setattr(by_contexts, "fit", useless)
    alone = extract(demo(), **SMALL)
    assert alone.fitted == {}
    for rank in (1, 2, 3):
        assert alone.automaton(rank).allclose(svd.automata.spectral(rank), rtol=0, atol=0)
        assert alone.fidelity.at(rank)["ndcg5"] <= svd.fidelity.at(rank)["ndcg5"]


def test_nothing_is_fitted_where_nothing_is_left_to_fit(monkeypatch):
    monkeypatch.setattr(by_contexts, "fit", lambda *_, **__: pytest.fail("fitted"))
    box = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    found = extract(box, **SMALL)
    assert found.fitted == {}
    assert found.best_rank() == 1


@pytest.mark.parametrize("kind", ["states", "next symbols"])
@pytest.mark.parametrize("name", ODD)
def test_odd_boxes_are_extracted(name, kind, monkeypatch):
    monkeypatch.setattr(seqray.extraction.conditional.fit, "STEPS", 60)
    box = odd_box(name)
    if kind == "next symbols":
        states = box
        box = language_model(lambda prefixes: next_symbols(states, prefixes), states.alphabet)
    for sizes in ({"prefixes": 1, "suffixes": 1}, {"prefixes": 12, "suffixes": 12}):
        found = extract(box, **sizes, max_rank=2, max_length=8)
        assert found.settings["asked"] == kind
        for rank in range(1, found.max_rank + 1):
            assert np.isfinite(found.automaton(rank).next_symbol([(), box.alphabet.symbols])).all()
            fidelity = found.fidelity.at(rank)
            assert 0 <= fidelity["ndcg5"] <= 1 + 1e-9
            assert np.isfinite(fidelity["kl_per_symbol"])
    if name != "one word":  # which needs three states
        assert found.fidelity.at(found.best_rank())["ndcg5"] > 0.99


def next_symbols(box, prefixes):
    known = Reference.ask(box, prefixes)
    return known.next_symbol[:, known.tree.node_of_word].T


def test_a_model_that_knows_other_symbols_too_is_extracted():
    wa = machine()
    sure = language_model(lambda prefixes: 0.9 * wa.next_symbol(prefixes), wa.alphabet)
    found = extract(QueriedModel(sure.backend, wa.alphabet, leaks=True), **SMALL)
    assert found.fidelity.at(3)["ndcg1"] > 0.9


def test_a_model_that_changes_its_mind_is_detected(caplog):
    wa, noise = machine(), rng(3)

    def answer(prefixes):
        rows = wa.next_symbol(prefixes) * noise.uniform(0.9, 1.1, (len(prefixes), 4))
        return rows / rows.sum(axis=1, keepdims=True)

    found = extract(language_model(answer, wa.alphabet), **SMALL)
    assert found.settings["noise"]["level"] > 0.01
    assert "answers differently each time" in caplog.text
    assert found.fidelity.at(found.best_rank())["ndcg5"] > 0.95


# Enough -------------------------------------------------------------------------------------------


def test_asking_ends_when_there_is_enough():
    whole = extract(demo(), **SMALL, target=1)
    rounds = whole.settings["rounds"]
    assert [each["contexts"] for each in rounds] == [2, 5, 15, 40]
    questions = [each["questions"] for each in rounds]
    assert questions == sorted(questions)
    enough = rounds[1]["ndcg5"]
    found = extract(demo(), **SMALL, target=enough)
    assert found.settings["rounds"] == rounds[: 1 + (rounds[0]["ndcg5"] < enough)]
    assert found.settings["stopped"] == ""
    assert found.settings["prefixes"] < 40


# Counterexamples ----------------------------------------------------------------------------------

RARELY = {"prefixes": 400, "suffixes": 60, "max_length": 30}
FEW = {"prefixes": 80, "suffixes": 40, "max_length": 20}


def apart(box, automaton):
    return seqray.disagreements(box, automaton, seed=9)[0].apart


def test_what_hardly_ever_comes_up_is_learnt_from_counterexamples():
    box = triggered_machine("abacabac")  # one place in ten thousand
    missed = extract(box, **RARELY)
    assert apart(box, missed.best()) > 0.5
    assert missed.settings["counterexamples"] == []
    assert "apart" not in missed.fidelity.at(1)
    found = extract(box, **RARELY, counterexamples=3)
    assert found.best_rank() == box.n_states
    assert apart(box, found.best()) < 1e-8
    words = box.sample(200, seed=rng(3))
    np.testing.assert_allclose(found.best().weights(words), box.weights(words), rtol=1e-8)
    first, *_, last = found.settings["counterexamples"]
    assert first["then"] == "learnt"
    assert first["apart"] > 0.5
    assert first["after"].endswith("abacabac")
    assert (last["then"], last["words"], last["states"]) == ("nothing to learn", 0, box.n_states)
    assert last["apart"] < 1e-8
    questions = [each["questions"] for each in found.settings["counterexamples"]]
    assert questions == sorted(questions)
    assert questions[-1] == found.settings["questions"]
    assert found.fidelity.at(1)["apart"] > 0.5
    assert found.fidelity.at(box.n_states)["apart"] < 1e-8


def test_a_model_is_asked_nothing_twice_for_counterexamples(hasty):
    box, asked = triggered_machine("abac"), []

    def answer(prefixes):
        asked.extend(prefixes)
        return box.next_symbol(prefixes).round(12)

    twice = []
    for n in (0, 1):
        asked.clear()
        model = language_model(answer, box.alphabet, batch_size=64)
        found = extract(model, **FEW, counterexamples=n)
        twice.append(len(asked) - len(set(asked)))
    assert found.settings["counterexamples"][0]["then"] == "learnt"
    assert twice[0] == twice[1] < 300  # a few words, to see whether it changes its mind


def test_what_brings_no_automaton_nearer_is_not_kept(monkeypatch, caplog):
    box = triggered_machine("abacabac")
    monkeypatch.setattr(by_contexts, "LOSS", -1)
    plain, tried = (extract(box, **RARELY, counterexamples=n) for n in (0, 3))
    first, *others = tried.settings["counterexamples"]
    assert first["then"] == "no nearer"
    assert first["words"] > 1
    assert {each["then"] for each in others} <= {"stays"}
    assert (
        "give 54 % of the probability to different symbols, and that was not learnt" in caplog.text
    )
    assert "apart" not in tried.fidelity.at(1)
    np.testing.assert_array_equal(plain.automaton(1).final, tried.automaton(1).final)
    assert plain.basis.prefixes == tried.basis.prefixes


@pytest.mark.parametrize("phase", ["searching for disagreements", "following contexts"])
def test_stopping_among_counterexamples_gives_what_was_before(phase, caplog, hasty):
    box, stop = triggered_machine("abacabac"), threading.Event()

    def react(now, done, total):
        names = [name for name, _ in heard.phases]
        if now == phase and "searching for disagreements" in names and done > 5:
            stop.set()

    heard = Heard(react)
    found = extract(model(box=box), **RARELY, counterexamples=2, stop=stop, progress=heard)
    assert stop.is_set()
    assert found.settings["stopped"] == "interrupted"
    assert found.settings["prefixes"] == 400
    thens = [each["then"] for each in found.settings["counterexamples"]]
    said = "no counterexamples were searched for"
    if phase == "following contexts":
        assert thens == ["stopped"]
        said = "the search for counterexamples ended early"
    assert f"interrupted: {said}" in caplog.text


def test_every_kind_of_rare_behaviour_is_learnt(hasty):
    def answer(rule):
        def probabilities(prefixes):
            rows = []
            for prefix in prefixes:
                odd = rule(prefix)
                even = [0.5, 0.3, 0.1, 0.1] if prefix.count("b") % 2 else [0.3, 0.5, 0.1, 0.1]
                rows.append(odd or even)
            return rows

        return language_model(probabilities, "abc", batch_size=256)

    surely = [0.02, 0.02, 0.9, 0.06]
    rules = {
        "at the start": lambda prefix: prefix == "cacb" and surely,
        "then the end": lambda prefix: prefix.endswith("ccaca") and [0, 0, 0, 1.0],
        "two of them": lambda prefix: prefix.endswith(("ccab", "bccc")) and surely,
    }
    for name, rule in rules.items():
        found = extract(answer(rule), **FEW, max_rank=20, counterexamples=3)
        searches, rank = found.settings["counterexamples"], found.best_rank()
        last = [each for each in searches if each["states"] == rank][-1]
        assert last["then"] == "nothing to learn", name


def test_a_budget_is_shared_with_counterexamples(caplog, hasty):
    box = model(box=triggered_machine("abaca"))
    found = extract(box, max_length=20, max_rank=8, counterexamples=1, budget=60_000)
    first = found.settings["counterexamples"][0]
    assert first["then"] == "learnt"
    assert found.settings["rounds"][-1]["questions"] < 10_000 < found.settings["questions"]
    assert found.settings["questions"] <= 60_000
    assert "counterexamples" not in caplog.text
    extract(box, max_length=20, max_rank=8, counterexamples=2, budget=800)
    assert "used up: no counterexamples were searched for" in caplog.text


def test_counterexamples_are_for_boxes_that_predict():
    box = seqray.black_box(lambda words: [0.5 ** len(word) for word in words], "ab")
    with pytest.raises(ArgumentError, match=r"expected a box that predicts .* this is weighted"):
        extract(box, counterexamples=1)
    with pytest.raises(ArgumentError, match="counterexamples"):
        extract(machine(), counterexamples=-1)


# Stopping -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [native, model, machine])
def test_stopping_while_asking_gives_the_part_before(make, caplog):
    stop = threading.Event()
    seen = []

    def react(phase, done, total):
        seen.append(phase)
        if phase == "following contexts" and seen[-2] == "drawing words" and len(set(seen)) > 2:
            starts.append(done)
            if len(starts) == 2:
                stop.set()

    starts = []
    found = extract(make(), **SMALL, stop=stop, progress=Heard(react))
    assert stop.is_set()
    assert found.settings["stopped"] == "interrupted"
    assert 1 <= found.settings["prefixes"] < 40
    assert f"interrupted: {found.settings['prefixes']} contexts of 40 were asked" in caplog.text
    assert found.fitted == {}
    assert np.isfinite(found.best().weights([(), found.basis.alphabet.symbols])).all()


@pytest.mark.parametrize("make", [native, model, machine])
def test_stopping_while_fitting_skips_what_is_left(make, caplog):
    stop = threading.Event()

    def react(phase, done, total):
        if phase == "fitting 2 states" and done == 5:
            stop.set()

    heard = Heard(react)
    found = extract(make(), **{**SMALL, "max_rank": 6}, stop=stop, progress=heard)
    assert found.settings["stopped"] == "interrupted"
    assert found.settings["prefixes"] == 40
    assert "interrupted: no automaton of 2 states was fitted" in caplog.text
    assert [name for name, *_ in heard.calls].count("fitting 2 states") == 5
    assert heard.phases[-1] == ("fitting 2 states", "steps")
    assert set(found.fitted) <= {found.max_rank}


def test_time_that_is_over_while_fitting_ends_it(monkeypatch):
    real = by_contexts.fit

    def slow(*arguments, progress, **options):
        def step(done, total):
            time.sleep(0.05)
            progress(done, total)

        return real(*arguments, progress=step, **options)

    monkeypatch.setattr(by_contexts, "fit", slow)
    began = time.monotonic()
    found = extract(native(), **SMALL, seconds=1.0)
    assert time.monotonic() - began < 8
    assert found.settings["stopped"] == "the time of 1 s is over"


def test_an_earlier_fit_counts_where_the_last_one_was_not_made():
    stop = threading.Event()

    def react(phase, done, total):
        if (
            phase == "fitting 3 states"
            and heard.phases.count(("following contexts", "answers")) == 4
        ):
            stop.set()

    heard = Heard(react)
    found = extract(demo(), **SMALL, target=1, stop=stop, progress=heard)
    before, last = found.settings["rounds"][2:]
    assert found.settings["stopped"] == "interrupted"
    assert found.settings["prefixes"] == 40
    assert found.fidelity.at(3)["ndcg5"] == max(before["ndcg5"], last["ndcg5"])


def test_a_stop_of_before_is_an_error():
    stop = threading.Event()
    stop.set()
    for make in (native, model, machine):
        with pytest.raises(seqray.util.errors.Stopped, match="interrupted"):
            extract(make(), **SMALL, stop=stop)


# Progress -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [demo, model, machine])
def test_every_phase_is_named_and_moves(make):
    heard = Heard()
    found = extract(make(), **SMALL, seed=2, progress=heard)
    names = [name for name, _ in heard.phases]
    asking = ["drawing words to compare on", "drawing words", "following contexts"]
    assert names[:3] == asking
    assert "comparing automata" in names
    moved = [name for name, *_ in heard.calls]
    assert set(moved) == set(names)
    for name, unit in heard.phases:
        steps = [(done, total) for phase, done, total in heard.calls if phase == name]
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
        assert unit == ("answers" if name in asking else "automata" if "comp" in name else "steps")
    if found.settings["asked"] != "next symbols":
        assert moved.count("following contexts") > 3


def test_a_plain_progress_is_called_with_two_numbers():
    calls = []
    extract(machine(), **SMALL, progress=lambda done, total: calls.append((done, total)))
    assert calls
    assert all(0 < done <= total for done, total in calls)


# Words to compare on ------------------------------------------------------------------------------


def test_an_eighth_of_the_budget_is_for_words_to_compare_on():
    for budget in (400, 4000, 80_000):
        meter = Meter(budget)
        known = draw_within(attended(demo(), meter), 1000, 50, rng(), meter)
        assert meter.n_asked <= max(150, budget / 7)
        assert len(known.weights) >= FEWEST
    assert len(known.weights) == 1000


def test_an_eighth_of_the_time_is_for_words_to_compare_on():
    meter = Meter(seconds=2)
    box = attended(model(pause=1e-3), meter)
    known = draw_within(box, 1000, 20, rng(), meter)
    assert FEWEST <= len(known.weights) < 1000
    assert meter.elapsed < 1


def test_limits_that_are_far_away_make_no_difference_to_the_words():
    whole = draw_within(demo(), 200, 50, rng(), Meter())
    assert len(whole.weights) == 200
    for meter in (Meter(budget=10**9), Meter(seconds=1000)):
        words = draw_within(attended(demo(), meter), 200, 50, rng(), meter).words
        assert words == whole.words


def test_an_extraction_names_the_ranks_that_were_fitted_and_how_to_cut_no_words(caplog):
    found = extract(demo(), prefixes=20, max_rank=6, max_length=5)
    assert found.settings["fitted_ranks"] == [2, 3, 5, 6]
    assert "were cut at 5 symbols: --max-length (max_length) allows longer ones" in caplog.text
