"""Many clients of `seqray explore --serve` at a time.

The server listens on 127.0.0.1. Each client sends one word after the other, now and then asks for
the page, and compares every answer with the weight that the automaton itself gives. Memory is the
server's resident memory: after a quarter of the time, and at the end.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path

import seqray
from reliability import Row, Scale

PAGE_EVERY = 100
"""One request of so many is for the page."""

MAX_GROWTH_MB = 16
"""How much the server's memory may grow after the first quarter."""

FOUND = (
    "The served page refused all but four queries at a time: with more clients most got an error.",
)


def run(scale: Scale, seed: int) -> Iterator[Row]:
    """Load the server."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    yield _served(*((200, 60.0) if scale == "long" else (20, 0.7)), seed)


@dataclass
class Tally:
    """What the clients have seen."""

    words: list[list[int]]
    weights: list[float]
    seconds: list[float] = field(default_factory=list)
    n_pages: int = 0
    failures: list[str] = field(default_factory=list)


def _served(n_clients: int, seconds: float, seed: int) -> Row:
    automaton = seqray.WeightedAutomaton(
        "ab", [1, 0], [[[0.2, 0.3], [0.1, 0.2]], [[0.1, 0.1], [0.3, 0.1]]], [0.3, 0.3]
    )
    rng = random.Random(seed)
    codes = [[rng.randrange(2) for _ in range(rng.randrange(12))] for _ in range(5000)]
    words = automaton.alphabet.words([["ab"[code] for code in word] for word in codes])
    tally = Tally(codes, automaton.weights(words).tolist())
    with tempfile.TemporaryDirectory() as name:
        automaton.save(Path(name, "wa.json"))
        command = ["seqray", "explore", "wa.json", "--serve", "--against", "wa:wa.json"]
        server = subprocess.Popen(
            [sys.executable, "-m", *command, "--port", "0"],
            cwd=name,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            address = server.stdout.readline().split()[0]
            port = int(address.rstrip("/").rsplit(":", 1)[1])
            memory = asyncio.run(_clients(n_clients, port, seconds, tally, server.pid))
        finally:
            server.terminate()
            status = server.wait(30)
            server.stdout.close()
    if status not in (0, 130):
        tally.failures.append(f"the server ended with {status}")
    if memory[1] - memory[0] > MAX_GROWTH_MB:
        tally.failures.append(f"memory grew from {memory[0]:.0f} to {memory[1]:.0f} MB")
    tally.seconds.sort()
    n = len(tally.seconds)
    figures = {
        "clients": n_clients,
        "seconds": seconds,
        "pages": tally.n_pages,
        "answers per second": round(n / seconds),
        "median (ms)": round(1000 * tally.seconds[n // 2], 1),
        "99 % (ms)": round(1000 * tally.seconds[n * 99 // 100], 1),
        "memory after a quarter (MB)": round(memory[0], 1),
        "memory at the end (MB)": round(memory[1], 1),
    }
    return Row("explore --serve, many clients", n, tally.failures[:20], figures)


async def _clients(
    n: int, port: int, seconds: float, tally: Tally, server: int
) -> tuple[float, float]:
    """Let clients query for a time; return the server's memory early and at the end."""
    end = time.monotonic() + seconds
    clients = [asyncio.create_task(_client(i, port, end, tally)) for i in range(n)]
    await asyncio.sleep(seconds / 4)
    early = _megabytes(server)
    await asyncio.gather(*clients)
    return early, _megabytes(server)


def _megabytes(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def _client(number: int, port: int, end: float, tally: Tally) -> None:
    rng = random.Random(number)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.monotonic() < end:
            if rng.randrange(PAGE_EVERY) == 0:
                status, body = await _request(reader, writer, f"GET / HTTP/1.1\r\n{HOST}\r\n")
                is_right = b"</html>" in body[-20:]
                tally.n_pages += 1
            else:
                at = rng.randrange(len(tally.words))
                begin = time.perf_counter()
                status, body = await _request(reader, writer, _query(tally.words[at]))
                tally.seconds.append(time.perf_counter() - begin)
                is_right = status == 200 and isclose(
                    json.loads(body)["weight"], tally.weights[at], rel_tol=1e-12
                )
            if not is_right:
                tally.failures.append(f"client {number}: {status} {body[:200]!r}")
        writer.close()
    except (OSError, EOFError, ValueError) as error:
        tally.failures.append(f"client {number}: {type(error).__name__}: {error}")


HOST = "Host: 127.0.0.1\r\n"


def _query(word: list[int]) -> str:
    body = json.dumps({"word": word})
    head = f"POST /query HTTP/1.1\r\n{HOST}Content-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}"


async def _request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, text: str
) -> tuple[int, bytes]:
    writer.write(text.encode())
    await writer.drain()
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.split("content-length:", 1)[1].split("\r\n", 1)[0])
    return int(head.split(" ", 2)[1]), await reader.readexactly(length)
