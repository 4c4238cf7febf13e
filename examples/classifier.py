"""Extract a classifier, compare and explain its decisions (python examples/classifier.py).

A small rule stands for a network: it reads a, b, c and d, and names one of three classes. seqray
extracts one automaton with one output per class, says how well the decisions agree, explains one of
them, and writes a page.
"""

import sys
from pathlib import Path

import seqray

CLASSES = ("rest 0", "rest 1", "rest 2")


def scores(words: list[str]) -> list[list[float]]:
    """Return the probability of each class: a counts 1, b counts 2, c begins anew."""
    return [_scores(word) for word in words]


def _scores(word: str) -> list[float]:
    total = 0
    for symbol in word:
        total = 0 if symbol == "c" else (total + {"a": 1, "b": 2, "d": 0}[symbol]) % 3
    return [0.9 if number == total else 0.05 for number in range(3)]


def main() -> None:
    """Extract, compare, explain, and write the page that the command line names."""
    box = seqray.classifier(scores, "abcd", CLASSES, name="rests 1")
    extraction = seqray.extract(box)
    automaton = extraction.best()
    print(automaton)
    print(*extraction.remarks, sep="\n")
    words = ["", "ab", "abcab", "dadb", "cabba"]
    print(seqray.compare(box, automaton, words))
    print(seqray.explain_decision(automaton, "abcab", box=box))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(seqray.to_html(extraction, box=box, name="rests"), "utf-8")


if __name__ == "__main__":
    main()
