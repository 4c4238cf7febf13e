"""Language models behind servers: the automaton beside that of ``hf:``, and what the server reads.

    pip install '.[hf,web]' pytest gguf
    python benchmarks/servers.py [--budget 3000] [--prompt 64]

A tiny GPT-2 is opened by ``hf:`` and behind test servers that follow what vLLM, SGLang, llama.cpp,
Ollama and OpenAI document (tests/llm_servers.py); a third of the queries fails in the second run of
each. Where SEQRAY_LLAMA_SERVER names llama.cpp's own ``llama-server``, that is measured too, with a
tiny Llama: its own counter says how many tokens it read.

For each server: the largest difference of word weights between the automaton and that of ``hf:``;
prompts, and how many of them came twice; tokens in all prompts; the share of them that
the server's cache did not save; and the share that it read again, though it had read it before.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import urllib.request
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from common import report

import seqray
from seqray.automata.sampling import uniform_words
from seqray.blackbox.frameworks.hf import open_hf
from seqray.blackbox.queries.oracle import open_oracle
from seqray.blackbox.remote.llm.box import openai_box

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from llm_servers import OPTIONS, SERVERS, Counts, encode, saved_folder, serving_llm, unreliable
from tiny_gguf import SERVER_VARIABLE, llama_folder, llama_server

WORDS = ["".join(word) for n in range(6) for word in product("abc", repeat=n)]
RANK = 5


def extracted(box: Any, budget: int) -> Any:
    """Return the automaton of a fixed rank."""
    settings = {"method": "weighted", "basis": "uniform", "n_prefixes": 40, "n_suffixes": 40}
    extraction = seqray.extract(box, **settings, max_rank=RANK, max_length=12, budget=budget)
    return extraction.automaton(RANK)


def difference(one: Any, other: Any) -> float:
    return float(np.abs(one.weights(WORDS) - other.weights(WORDS)).max())


def measured(kind: str, expected: Any, options: argparse.Namespace, trouble: Any) -> dict[str, Any]:
    """Return the row of a test server."""
    server = SERVERS[kind](trouble=trouble)
    prompt = ("abcdefgh" * options.prompt)[: options.prompt]
    given = {**OPTIONS[kind], "alphabet": "abc", "prompt": prompt}
    with serving_llm(server) as url:
        box = openai_box(url, **given, backoff=0.001, retries=20)
        counts = server.counts = Counts(server.cache())
        gap = difference(extracted(box, options.budget), expected)
    first = [at for at, draw in enumerate(counts.draws) if not draw]
    return {
        "server": kind + (", 30 % failures" if trouble else ""),
        "difference": f"{gap:.1e}",
        "prompts": len(counts.prompts),
        "twice": len(first) - len({counts.prompts[at] for at in first}),
        "failures": server.n_failures,
        "tokens": counts.n_sent,
        "not saved": round(counts.n_read / counts.n_sent, 3),
        "read again": round(counts.n_again / counts.n_sent, 3),
    }


def real(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return the row of llama.cpp's own server."""
    hf = open_hf(llama_folder(folder), alphabet="abc", memory=0)
    with llama_server(folder, "--metrics") as url:
        box = openai_box(url, alphabet="abc", max_length=100)
        gap = difference(extracted(box, options.budget), extracted(hf, options.budget))
        words = uniform_words(box.alphabet, 60, seed=np.random.default_rng(0), max_length=60)
        before = tokens_read(url)
        open_oracle(box).weights(words)
        prefixes = {word[:n] for word in words for n in range(len(word) + 1)}
        sent = sum(1 + len(prefix) for prefix in prefixes)
        n_read = tokens_read(url) - before
    return {
        "server": "llama.cpp's own",
        "difference": f"{gap:.1e}",
        "prompts": len(prefixes),
        "tokens": sent,
        "not saved": round(n_read / sent, 3),
        "read again": round((n_read - len(prefixes)) / sent, 3),
    }


def tokens_read(url: str) -> int:
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        text = answer.read().decode()
    found = re.search(r"^llamacpp:prompt_tokens_total (\S+)", text, re.MULTILINE)
    assert found is not None, text
    return int(float(found[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=int, default=3000)
    parser.add_argument("--prompt", type=int, default=64, help="tokens before every word")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = saved_folder(Path(place, "gpt2"))
        start = encode(("abcdefgh" * options.prompt)[: options.prompt], special=True)
        hf = open_hf(folder, alphabet="abc", start=start, dtype="float64", memory=0)
        expected = extracted(hf, options.budget)
        rows = [
            measured(kind, expected, options, trouble)
            for trouble in (None, unreliable)
            for kind in SERVERS
        ]
        if os.environ.get(SERVER_VARIABLE):
            rows.append(real(Path(place, "llama"), options))
    report([(str(row["server"]), _line(row)) for row in rows], {"servers": rows})


def _line(row: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.items() if name != "server")


if __name__ == "__main__":
    main()
