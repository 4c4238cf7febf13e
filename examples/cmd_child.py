"""A child process that answers for a black box, as seqray asks it to (docs/boxes/cmd.md).

    seqray extract "cmd:python examples/cmd_child.py demo" -o run

It is a child to copy from: it describes itself in one line of JSON, then answers every line that it
reads with one line that it writes. Whatever else it has to say goes to standard error.
"""

import json
import sys

import seqray


def say(document: dict[str, object]) -> None:
    print(json.dumps(document), flush=True)  # unflushed, it would wait in here


def main() -> None:
    box = seqray.open_black_box(sys.argv[1])
    predicts = hasattr(box, "next_symbol")
    say(
        {
            "seqray": 1,
            "alphabet": list(box.alphabet.symbols),
            "answers": "next" if predicts else "value",
            "name": sys.argv[1],
            "deterministic": True,
        }
    )
    for line in sys.stdin:
        words = json.loads(line)["words"]
        answers = box.next_symbol(words) if predicts else box.weights(words)
        say({"answers": answers.tolist()})


if __name__ == "__main__":
    main()
