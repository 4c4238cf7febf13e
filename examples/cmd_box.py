"""Extract an automaton from a model in a child process.

    python examples/cmd_box.py

The child is `cmd_child.py`, with a small machine that seqray itself never opens. A child may be
written in any language: it reads and writes lines of JSON.
"""

import sys
import tempfile
from pathlib import Path

import seqray
from seqray import cmd_box

MACHINE = seqray.WeightedAutomaton(
    "ab", [1, 0], [[[1 / 2, 1 / 6], [0, 1 / 4]], [[0, 1 / 3], [1 / 4, 1 / 4]]], [0, 1 / 4]
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        MACHINE.save(Path(folder, "machine.json"))
        child = Path(__file__).with_name("cmd_child.py")
        # The same as seqray.open_black_box("cmd:python examples/cmd_child.py wa:machine.json").
        box = cmd_box([sys.executable, str(child), f"wa:{folder}/machine.json"])
        extraction = seqray.extract(box, n_prefixes=40, n_suffixes=40)
        wa = extraction.best()
        print(f"the child became {wa}")
        words = ["b", "ab", "abba", "bbbbbb"]
        for word, said, computed in zip(words, box.weights(words), wa.weights(words), strict=True):
            print(f"{word:>6}  child {said:.9f}  automaton {computed:.9f}")


if __name__ == "__main__":
    main()
