"""Serve a black box over HTTP, in the form that seqray asks for (docs/boxes/http.md).

    python examples/http_server.py demo --port 8000
    seqray extract http://127.0.0.1:8000/ -o run

It is a server to copy from: what it does with `box` is all that a server for your own model has to
do. Where SEQRAY_TOKEN is set, only those who send it are answered.
"""

import argparse
import hmac
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import seqray
from seqray.util.errors import SeqrayError


class Server(ThreadingHTTPServer):
    """Answers for one black box, every connection on a thread of its own."""

    daemon_threads = True

    def __init__(self, box: Any, port: int = 0, *, token: str = "", **about: Any) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.box, self.token, self.predicts = box, token, hasattr(box, "next_symbol")
        self.about = {
            "seqray": 1,
            "alphabet": list(box.alphabet.symbols),
            "answers": "next" if self.predicts else "value",
            **about,
        }

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}/"

    def answers(self, words: list[list[Any]]) -> list[Any]:
        """Return a number a word, or a row of probabilities, the end last."""
        answers = self.box.next_symbol(words) if self.predicts else self.box.weights(words)
        return answers.tolist()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of those who hang up in the middle."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Takes GET for the description and POST for words."""

    server: Server
    protocol_version = "HTTP/1.1"  # connections are kept
    disable_nagle_algorithm = True  # or every answer waits 40 ms for an acknowledgement
    timeout = 300  # seconds until a connection that says nothing is closed

    def do_GET(self) -> None:
        """Describe the box."""
        if self.allowed():
            self.answer(200, self.server.about)

    def do_POST(self) -> None:
        """Answer about words."""
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.allowed():
            return
        try:
            answers = self.server.answers(json.loads(content)["words"])
        except (SeqrayError, KeyError, TypeError, ValueError) as error:
            self.answer(422, {"error": str(error)})
        else:
            self.answer(200, {"answers": answers})

    def allowed(self) -> bool:
        """Whether the right token was sent, where one is expected."""
        sent = self.headers.get("Authorization", "").encode()
        if self.server.token and not hmac.compare_digest(
            sent, f"Bearer {self.server.token}".encode()
        ):
            self.answer(401, {"error": "expected Authorization: Bearer and the token"})
            return False
        return True

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("box", help="what to serve, such as demo or wa:machine.json")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    box = seqray.open_black_box(options.box)
    token = os.environ.get("SEQRAY_TOKEN", "")
    with Server(box, options.port, token=token, name=options.box, deterministic=True) as server:
        print(f"{options.box} answers at {server.url}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
