"""Extract an automaton from a model of one's own, by its name: python:python_box:box.

    python examples/python_box.py
    cd examples && seqray extract python:python_box:box -o run

What follows ``python:`` is a module and an object in it. Opening it runs the module, so that the
object may be whatever you can make in Python: here it is a function that looks at whole words.
"""

import sys
from pathlib import Path

import seqray


def balance(words: list[str]) -> list[float]:
    """Return how far the brackets of each word are from being balanced, and less for long ones."""
    return [(word.count("(") - word.count(")")) * 0.8 ** len(word) for word in words]


box = seqray.black_box(balance, "()")


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))  # as if started in this folder
    opened = seqray.open_black_box("python:python_box:box")
    wa = seqray.extract(opened, n_prefixes=30, n_suffixes=30).best()
    print(f"the function became {wa}")
    words = ["", "(", "(()", ")))((", "((((()"]
    for word, said, computed in zip(words, opened.weights(words), wa.weights(words), strict=True):
        print(f"{word:>6}  function {said:+.6f}  automaton {computed:+.6f}")


if __name__ == "__main__":
    main()
