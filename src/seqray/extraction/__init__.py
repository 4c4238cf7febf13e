"""From a black box to weighted automata: methods, requests, run folders."""
