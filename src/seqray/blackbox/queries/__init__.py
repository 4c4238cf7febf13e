"""Between extraction and a black box: limits, the answer cache, noise."""
