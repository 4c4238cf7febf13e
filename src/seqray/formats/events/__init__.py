"""Readers of event data: XES, tables of events, logs, and biological sequences."""
