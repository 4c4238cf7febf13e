"""Words, prefix trees, weighted automata and their algebra."""
