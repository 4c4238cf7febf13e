"""Serve a small language model by the completions of OpenAI (docs/tutorials/server.md).

    python examples/language_model_server.py --port 8000

It is a model to practise on, without a download and without a GPU: it has counted what support
agents do next in 4,000 made-up conversations, of which half follow a strict policy and half a
generous one. A prompt is a line like ``generous: greet ask``.
"""

import argparse
import json
import math
import random
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ACTIONS = ["greet", "ask", "check", "refund", "close"]
END = "<end>"
SMOOTHING = 0.1
"""Times that each action counts as seen after everything."""


def conversation(policy: str, rng: random.Random) -> list[str]:
    """Return the actions of a made-up agent: who is strict checks twice before a refund."""
    actions = ["greet"]
    for _ in range({"strict": 2, "generous": 1}[policy]):
        actions += ["ask"] * rng.randint(1, 2) + ["check"]
    if rng.random() < {"strict": 0.3, "generous": 0.8}[policy]:
        actions.append("refund")
    return [*actions, "close"]


class Model:
    """Counts what follows each action, for each policy."""

    def __init__(self) -> None:
        rng = random.Random(0)
        self.counts: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for number in range(4000):
            policy = ("strict", "generous")[number % 2]
            actions = conversation(policy, rng)
            for i, action in enumerate([*actions, END]):
                self.counts[policy, *actions[max(i - 1, 0) : i]][action] += 1

    def log_probabilities(self, prompt: str) -> dict[str, float]:
        """Return the logarithm of the probability of each token after a prompt."""
        policy, _, said = prompt.partition(":")
        seen = self.counts.get((policy, *said.split()[-1:]), Counter())
        total = sum(seen.values()) + SMOOTHING * (len(ACTIONS) + 1)
        tokens = {f" {action}": action for action in ACTIONS} | {END: END}
        return {
            token: math.log((seen[action] + SMOOTHING) / total) for token, action in tokens.items()
        }


class Handler(BaseHTTPRequestHandler):
    """Takes GET /v1/models and POST /v1/completions, and refuses all else."""

    server: "Server"
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Name the model."""
        if self.path == "/v1/models":
            self.answer(200, {"object": "list", "data": [{"id": "support", "object": "model"}]})
        else:
            self.answer(404, {"error": "not found"})

    def do_POST(self) -> None:
        """Predict one token after each prompt."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if self.path != "/v1/completions":
            self.answer(404, {"error": "not found"})
            return
        prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
        choices = [self.choice(i, text, body["logprobs"]) for i, text in enumerate(prompts)]
        self.answer(200, {"object": "text_completion", "choices": choices})

    def choice(self, index: int, prompt: str, n_listed: int) -> dict[str, Any]:
        """Return the likeliest token, and the logarithms of the likeliest ones."""
        logs = self.server.model.log_probabilities(prompt)
        best = sorted(logs, key=logs.__getitem__, reverse=True)[:n_listed]
        listed = {"tokens": best[:1], "top_logprobs": [{token: logs[token] for token in best}]}
        return {"index": index, "text": best[0], "logprobs": listed}

    def answer(self, status: int, document: dict[str, Any]) -> None:
        """Send JSON."""
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing of single requests."""


class Server(ThreadingHTTPServer):
    """Serves the model, every connection on a thread of its own."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.model = Model()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8000)
    with Server(parser.parse_args().port) as server:
        print(f"The model answers at http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
