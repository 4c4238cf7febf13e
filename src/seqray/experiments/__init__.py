"""The paper's experiments: problems, the sweep over them, and what is made of its results."""
