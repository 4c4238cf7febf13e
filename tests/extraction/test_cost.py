from seqray.extraction.conditional.default_cost import default_cost as conditional_cost
from seqray.extraction.cost import DefaultCost
from seqray.extraction.hankel.default_cost import default_cost as hankel_cost


def test_every_method_says_what_it_costs_by_default():
    for cost in (hankel_cost(2), conditional_cost(10.0, with_copies=True)):
        assert isinstance(cost, DefaultCost)
        assert 0 < cost.n_words <= cost.n_steps
        assert cost.description
