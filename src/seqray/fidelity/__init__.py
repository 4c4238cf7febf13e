"""How faithful an automaton is to a black box: metrics, comparisons, disagreements."""
