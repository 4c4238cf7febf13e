"""Structured automata for copying: groups of states by context, fitted to a box that predicts."""
