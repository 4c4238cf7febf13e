"""Extraction from blocks of the Hankel matrix: any black box will do."""
