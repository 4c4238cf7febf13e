"""Black boxes that run on NumPy alone: networks, automata, Python functions."""
