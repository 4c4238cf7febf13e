from seqray.extraction.conditional.default_cost import default_cost


def test_longer_words_cost_more_steps():
    short, long = default_cost(3.0), default_cost(30.0)
    assert short.n_words == long.n_words == 20_000
    assert long.n_steps - short.n_steps == 27 * 20_000
    assert f"contexts of 20,000 words take up to {short.n_steps:,} prefixes" == short.description
