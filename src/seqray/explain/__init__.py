"""Explanations of automata: named states, single words, and facts about the whole."""
