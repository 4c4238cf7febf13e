"""Kill an extraction through HTTP again and again; a cached answer is never queried again.

    python benchmarks/kills.py [--kills 50] [--answers value|next] [--size 130] [--seed 0]

A server logs every word that it is queried on. An extraction queries it and caches the answers in
a store; it is killed (SIGKILL) at random moments and started again, until it is done. Then: is
every answer there, was any word queried again that the store had, how many were queried again
because their batch was under way at a kill, and is the result the same, bit by bit, as that of a
quiet run?
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from common import report

import seqray
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.blackbox.remote.http import http_box

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from http_server import Handler, Server

BATCH, CONCURRENCY = 16, 4
DELAY_SECONDS = 0.02
"""The time that the server takes for a request."""

MOVES = {"a": ((0.4, 0.1, 0.0), (0.0, 0.2, 0.3), (0.1, 0.0, 0.2))}
MOVES["b"] = ((0.1, 0.2, 0.0), (0.2, 0.1, 0.0), (0.0, 0.3, 0.1))
ENDS = (0.2, 0.2, 0.3)


# The server -----------------------------------------------------------------------------------


def row(word: str) -> list[float]:
    """Return what follows a word in a small machine; no word's answer depends on its batch."""
    state = (1.0, 0.0, 0.0)
    for symbol in word:
        moves = MOVES[symbol]
        state = tuple(sum(state[q] * moves[q][r] for q in range(3)) for r in range(3))
        total = sum(state)
        state = tuple(x / total for x in state)
    goes = [sum(state[q] * sum(MOVES[symbol][q]) for q in range(3)) for symbol in "ab"]
    probabilities = [*goes, sum(x * end for x, end in zip(state, ENDS, strict=True))]
    return [probability / sum(probabilities) for probability in probabilities]


def value(word: str) -> float:
    """Return the probability of a word, plus a little that makes it no distribution."""
    probabilities = [row(word[:n])["ab".index(symbol)] for n, symbol in enumerate(word)]
    return float(np.prod([*probabilities, row(word)[2]])) + 0.001 * word.count("ab")


class NotingHandler(Handler):
    """Logs which worker queries which words, before it answers."""

    def do_POST(self) -> None:  # noqa: N802
        """Answer about words, after a while."""
        worker = self.headers.get("Authorization", "").removeprefix("Bearer ")
        content = self.rfile.read(size := int(self.headers["Content-Length"]))
        if len(content) < size:  # the worker was killed while it sent
            self.close_connection = True
            return
        words = ["".join(word) for word in json.loads(content)["words"]]
        self.server.log.write(json.dumps([worker, words]) + "\n")
        time.sleep(DELAY_SECONDS)
        answer = row if self.server.predicts else value
        self.answer(200, {"answers": [answer(word) for word in words]})


def serve(log: str, answers: str) -> None:
    """Be the server: log all queries."""
    make = seqray.language_model if answers == "next" else seqray.black_box
    with (
        open(log, "a", buffering=1, encoding="utf-8") as file,
        Server(make(len, "ab"), answers=answers, deterministic=True, fingerprint="1") as server,
    ):
        server.RequestHandlerClass, server.log = NotingHandler, file
        print(server.url, flush=True)
        server.serve_forever()


# The worker, which is killed ------------------------------------------------------------------


def work(url: str, store: str, output: str, size: int) -> None:
    """Extract through HTTP and write the result."""
    box = http_box(url, batch_size=BATCH, concurrency=CONCURRENCY)
    extraction = seqray.extract(box, prefixes=size, suffixes=size, store=store)
    largest = extraction.automaton(extraction.max_rank)
    arrays = (extraction.singular_values, largest.initial, largest.transitions, largest.final)
    np.savez(output, *arrays)


def start(mode: str, *arguments: str, worker: int = 0) -> subprocess.Popen[str]:
    """Start this script in another process; a worker is known to the server by its token."""
    environment = {**os.environ, "SEQRAY_TOKEN": str(worker), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, mode, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


# The killer -----------------------------------------------------------------------------------


def logged_queries(log: Path) -> list[tuple[int, list[str]]]:
    """Return the worker and the words of each request."""
    text = log.read_text("utf-8")
    lines = text[: text.rfind("\n") + 1].splitlines()
    return [(int(worker), words) for worker, words in map(json.loads, lines)]


def cached_answers(path: Path) -> dict[str, bytes]:
    """Return the answers in a store, by word."""
    if not path.exists():
        return {}
    with AnswerStore(path) as store:
        pieces = [piece for box in store.boxes() for piece in store.answers(box)]
    return {
        "".join(map(str, word)): answer.tobytes()
        for words, answers in pieces
        for word, answer in zip(words, answers, strict=True)
    }


def kill_and_restart(
    url: str, log: Path, folder: Path, options: argparse.Namespace, moments: list[float]
) -> list[dict[str, bytes]]:
    """Run until done, killed at these moments after the first query; return the cached answers."""
    after: list[dict[str, bytes]] = []
    store, output = folder / "killed.sqlite", folder / "killed.npz"
    for worker, moment in enumerate([*moments, None]):
        process = start("work", url, str(store), str(output), str(options.size), worker=worker)
        if moment is not None:
            while process.poll() is None and not any(
                who == worker for who, _ in logged_queries(log)
            ):
                time.sleep(0.01)
            time.sleep(moment)
            process.kill()
        status = process.wait()
        assert process.stdout is not None
        process.stdout.close()
        after.append(cached_answers(store))
        if status == 0:
            return after
        if status > 0:
            raise RuntimeError(f"the worker failed with exit status {status}")
    raise AssertionError


def count_repeats(
    requests: list[tuple[int, list[str]]], after: list[dict[str, bytes]]
) -> dict[str, int]:
    """Count the words that were queried again, and whether they had to be."""
    times = Counter(word for _, words in requests for word in words)
    cached_queried = lost = most_lost = most_requests = twice_by_one = 0
    for worker, stored in enumerate(after):
        own = [words for who, words in requests if who == worker]
        here = Counter(word for words in own for word in words)
        twice_by_one += sum(n - 1 for n in here.values())
        if worker:
            cached_queried += len(here.keys() & after[worker - 1].keys())
        under_way = here.keys() - stored.keys()
        lost += len(under_way)
        most_lost = max(most_lost, len(under_way))
        most_requests = max(most_requests, sum(not under_way.isdisjoint(words) for words in own))
    return {
        "kills": len(after) - 1,
        "requests": len(requests),
        "distinct_words": len(times),
        "asked_again": sum(n - 1 for n in times.values()),
        "asked_again_though_kept": cached_queried,
        "asked_twice_by_one_worker": twice_by_one,
        "under_way_at_kills": lost,
        "most_under_way_at_a_kill": most_lost,
        "most_requests_under_way_at_a_kill": most_requests,
        "limit_at_a_kill": BATCH * CONCURRENCY,
    }


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Compare a quiet run with one that is killed."""
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "queries.jsonl"
        server = start("serve", str(log), options.answers)
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            calm = folder / "calm.npz"
            begin = time.perf_counter()
            arguments = (url, str(folder / "calm.sqlite"), str(calm), str(options.size))
            if start("work", *arguments).wait():
                raise RuntimeError("the quiet run failed")
            seconds = time.perf_counter() - begin
            quiet = logged_queries(log)
            log.write_text("")  # the server appends
            querying = len(quiet) * DELAY_SECONDS / CONCURRENCY
            moments = [rng.uniform(0, querying / options.kills) for _ in range(options.kills)]
            after = kill_and_restart(url, log, folder, options, moments)
            figures: dict[str, Any] = count_repeats(logged_queries(log), after)
        finally:
            server.kill()
            server.wait()
            assert server.stdout is not None
            server.stdout.close()
        with np.load(calm) as one, np.load(folder / "killed.npz") as other:
            same = all(one[name].tobytes() == other[name].tobytes() for name in one.files)
        figures |= {
            "answers": options.answers,
            "quiet_seconds": seconds,
            "quiet_words": sum(len(words) for _, words in quiet),
            "every_answer_kept": after[-1] == cached_answers(folder / "calm.sqlite"),
            "bit_identical": same,
        }
    return figures


def main() -> None:
    """Run, or be one of the processes."""
    if sys.argv[1:2] == ["serve"]:
        serve(*sys.argv[2:])
    elif sys.argv[1:2] == ["work"]:
        work(*sys.argv[2:5], int(sys.argv[5]))
    else:
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        parser.add_argument("--kills", type=int, default=50)
        parser.add_argument("--answers", choices=["value", "next"], default="value")
        parser.add_argument("--size", type=int, default=130, help="prefixes, and suffixes")
        parser.add_argument("--seed", type=int, default=0)
        figures = run(parser.parse_args())
        report([(name.replace("_", " "), str(figure)) for name, figure in figures.items()], figures)


if __name__ == "__main__":
    main()
