"""Extraction from classifiers: one automaton with one output per class."""
