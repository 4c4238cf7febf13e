"""One module per peer: `fit(drawn, clock, **settings)` returns a model's arrays and what to say."""
