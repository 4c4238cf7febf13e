"""Deterministic automata by active learning: from boxes that predict or decide."""
