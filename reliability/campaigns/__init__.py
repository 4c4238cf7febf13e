"""One module per campaign."""
