"""Extraction from next-symbol distributions: the black box has to predict."""
