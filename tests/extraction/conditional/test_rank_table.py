import numpy as np

from conditional_boxes import SMALL, demo, machine
from seqray import WeightedAutomaton, extract
from seqray.blackbox.queries.limits import Meter
from seqray.extraction.conditional import fit
from seqray.extraction.conditional.decompose import decompose_conditional
from seqray.extraction.conditional.rank_table import RankTable
from seqray.extraction.job import draw_within
from seqray.fidelity.table import Fidelity
from told import known_of


def test_a_fitted_automaton_is_kept_only_where_it_is_nearer(monkeypatch):
    svd = extract(demo(), **SMALL, purpose="reading")
    assert svd.fitted
    for rank, automaton in svd.fitted.items():
        assert automaton is svd.automaton(rank)
        assert automaton.transitions.min() >= 0
        own = svd.automata.spectral(rank)
        held_out = draw_within(demo(), 1000, 20, _held_out_rng(0), Meter())
        lost = held_out.compare(automaton)["kl_per_symbol"]
        assert lost == svd.fidelity.at(rank)["kl_per_symbol"]
        assert lost < held_out.compare(own)["kl_per_symbol"]

    def useless(blocks, known, n_states, **options):
        n = n_states  # it expects the end alone
        return WeightedAutomaton(
            "abcd", np.ones(n) / n, np.full((4, n, n), 1e-30 / n), np.full(n, 1.0)
        )

    monkeypatch.setattr(fit, "fit", useless)
    alone = extract(demo(), **SMALL, purpose="reading")
    assert alone.fitted == {}
    for rank in (1, 2, 3):
        assert alone.automaton(rank).allclose(svd.automata.spectral(rank), rtol=0, atol=0)
        assert alone.fidelity.at(rank).score <= svd.fidelity.at(rank).score


def _held_out_rng(seed):
    return np.random.default_rng(seed).spawn(2)[1]


def test_an_extraction_names_the_ranks_that_were_fitted_and_how_to_cut_no_words(caplog):
    extraction = extract(demo(), prefixes=20, max_rank=6, max_length=5, purpose="reading")
    assert extraction.settings["fitted_ranks"] == [2, 3, 5, 6]
    assert "were cut at 5 symbols: --max-length (max_length) allows longer ones" in caplog.text


def test_a_table_takes_only_fitted_automata_that_are_nearer(predicted):
    svd = decompose_conditional(predicted[1], max_rank=4)
    held_out = known_of(machine(), 50, seed=3)
    near, far = machine(), machine(seed=2)
    worse = {rank: held_out.compare(svd.automaton(1)) for rank in (1, 2, 3, 4)}
    table = RankTable(svd, worse)
    with_far = table.with_fitted(far, held_out.compare(far))
    assert with_far.fitted == table.fitted == {}
    assert with_far.fitted_ranks == {4}
    with_near = with_far.with_fitted(near, held_out.compare(near))
    assert with_near.automaton(4) is near
    assert with_near.fidelity.best_rank() == 4
    assert table.automaton(4) is not near


def test_an_automaton_with_negative_probabilities_loses_against_a_fitted_one_without():
    box = demo()
    extraction = extract(box, prefixes=100, max_rank=5, max_length=30, purpose="reading")
    held_out = known_of(box, 300, seed=3)
    own, fitted = extraction.automata.spectral(3), extraction.fitted[3]
    predicted = own.next_symbol(held_out.tree.words())
    assert predicted[held_out.next_symbol.T > 1e-3].min() < 0
    bits = [held_out.compare(each)["kl_per_symbol"] for each in (own, fitted)]
    assert bits[1] < bits[0] / 2


def test_of_two_automata_with_one_score_that_of_larger_ndcg_is_taken(predicted):
    svd = decompose_conditional(predicted[1], max_rank=4)
    equal = [Fidelity({"kl_per_symbol": 0.5, "ndcg5": gain}, 9, 99) for gain in (0.8, 0.9, 0.7)]
    table = RankTable(svd, dict.fromkeys((1, 2, 3, 4), equal[0]))
    assert table.with_fitted(machine(), equal[1]).fitted.keys() == {4}
    for fidelity in (equal[0], equal[2]):
        assert not table.with_fitted(machine(), fidelity).fitted


def test_counterexamples_count_for_every_rank_of_a_table(predicted):
    svd = decompose_conditional(predicted[1], max_rank=2)
    held_out = known_of(machine(), 50, seed=3)
    table = RankTable(svd, {rank: held_out.compare(svd.automaton(rank)) for rank in (1, 2)})
    counted = table.with_counterexamples(known_of(machine(), 5, seed=4))
    for rank in (1, 2):
        assert counted.fidelities[rank].score < table.fidelities[rank].score
