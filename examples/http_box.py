"""Extract an automaton from a model behind HTTP.

    python examples/http_box.py

The server is that of `http_server.py`, on a thread of this very process; the model behind it is a
small machine that seqray never sees. All that it learns of it comes as JSON.
"""

import threading

from http_server import Server

import seqray

MACHINE = seqray.WeightedAutomaton(
    "ab", [1, 0], [[[1 / 2, 1 / 6], [0, 1 / 4]], [[0, 1 / 3], [1 / 4, 1 / 4]]], [0, 1 / 4]
)


def main() -> None:
    with Server(MACHINE, name="machine", deterministic=True) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        box = seqray.open_black_box(server.url)  # http_box(url, …) takes options
        extraction = seqray.extract(box, n_prefixes=40, n_suffixes=40)
        wa = extraction.best()
        print(f"{server.url} became {wa}")
        words = ["b", "ab", "abba", "bbbbbb"]
        for word, said, computed in zip(words, box.weights(words), wa.weights(words), strict=True):
            print(f"{word:>6}  server {said:.9f}  automaton {computed:.9f}")
        server.shutdown()


if __name__ == "__main__":
    main()
