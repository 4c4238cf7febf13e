"""Inputs made of valid ones: flipped bits, nasty numbers, cuts, splices, deep nesting."""

import json
import math
import random
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Mutate: TypeAlias = Callable[[bytes, Sequence[bytes], random.Random], bytes]
"""Returns another input, made of one seed, all seeds, and a random generator."""

MAX_BYTES = 60_000
"""Larger inputs are cut: many small ones find more."""

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")

NASTY_NUMBERS = (
    *(b"nan", b"-nan", b"NaN", b"inf", b"-Infinity", b"1e999", b"-1e999", b"1e308", b"1e-320"),
    *(b"-0", b"0", b"-1", b"1", b"2", b"0.5", b"0.3333", b"1_000", b"0x10", b"007", b"1.", b".5"),
    *(b"2147483647", b"2147483648", b"9223372036854775807", b"9223372036854775808"),
    *(b"18446744073709551616", b"999999999", b"65536", b"1000000", b"1" * 5000, b"1e", b"+5"),
    *("٣".encode(), "²".encode(), "１".encode(), b"true", b"null", b"1e400000", b"--1", b"1j"),
)

NASTY_TEXTS = (
    *(b"", b" ", b"\n", b"\r\n", b"\r", b"\t", b"\0", b"\xff", b"\xef\xbb\xbf", b"\x1b[2J", b'"'),
    *(b"'", b"\\", b"\\u0000", b"\\ud800", b",", b":", b";", b"|", b"(", b")", b"[", b"]", b"{"),
    *(b"}", b"<", b">", b"%", b"%00", b"%ff", b"..", b"/", b"*", b"+", b"#", b"@", b"null", b"\v"),
    *("\u2028".encode(), "\u0085".encode(), "é".encode(), "e\u0301".encode(), "😀".encode()),
    *("\u202e".encode(), "İ".encode(), "ß".encode(), b"\xed\xa0\x80", b"\xc0\x80", b"<eps>"),
    *(b"(rare)", b"__start0", b"checksum", b"<!DOCTYPE a>", b"{1,}", b"a" * 3000, b"[[]]", b"\x1a"),
)

NASTY_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, 1e-320, math.nan, math.inf, -math.inf),
    *(
        2**31,
        2**53 + 1,
        2**63,
        -(2**63),
        2**64,
        10**30,
        10**400,
        "",
        "a",
        "b",
        "nan",
        "\0",
        "\ud800",
    ),
    *(
        "x" * 3000,
        "\u2028",
        "1",
        [],
        {},
        [[]],
        [None],
        [1, "1"],
        [0.1, 0.2],
        {"a": 1},
        [[0], [1, 2]],
    ),
)

NASTY_INTEGERS = (0, 1, 2, 7, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40)
NASTY_INTEGERS += (2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 8)

MAX_NESTING = 20_000


def mutated(seed: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """Return a seed with one to four faults, now and then none."""
    data = seed
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 2, 3, 4))):
        data = rng.choice(FAULTS)(data, seeds, rng)[:MAX_BYTES]
    return data


def mutated_json(seed: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """Return a JSON document with other values, or now and then a text that is none."""
    if rng.random() < 0.25:
        return mutated(seed, seeds, rng)
    return json.dumps(changed(json.loads(seed), rng)).encode()[:MAX_BYTES]


def changed(document: Any, rng: random.Random) -> Any:
    """Return a JSON document in which one to three values are others, missing or doubled."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        document = _changed(document, rng, rng.randrange(6))
    return document


def _changed(value: Any, rng: random.Random, depth: int) -> Any:
    if not depth or not isinstance(value, list | dict) or not value:
        return _other(value, rng)
    return (_changed_object if isinstance(value, dict) else _changed_list)(value, rng, depth)


def _changed_object(value: Any, rng: random.Random, depth: int) -> Any:
    key = rng.choice(list(value))
    match rng.randrange(12):
        case 0:
            return {name: each for name, each in value.items() if name != key}
        case 1:
            return {**value, rng.choice(("", "x", "checksum", "kind", key + "s")): value[key]}
        case 2:
            return {**value, key: value[rng.choice(list(value))]}
    return {**value, key: _changed(value[key], rng, depth - 1)}


def _changed_list(value: Any, rng: random.Random, depth: int) -> Any:
    at = rng.randrange(len(value))
    match rng.randrange(10):
        case 0:
            return value[:at] + value[at + 1 :]
        case 1:
            return [*value[:at], value[at], *value[at:]]
        case 2:
            return rng.sample(value, len(value))
    return [*value[:at], _changed(value[at], rng, depth - 1), *value[at + 1 :]]


def _other(value: Any, rng: random.Random) -> Any:
    match rng.randrange(8):
        case 0 if isinstance(value, int | float) and abs(value) < 1e9:
            return rng.choice((-value, value + 1, value / 2, value * 1e300))
        case 1:
            return [value]
        case 2:
            return str(value)[:100]
        case 3:
            nested = value
            for _ in range(rng.choice((2, 70, 200))):
                nested = [nested]
            return nested
    return rng.choice(NASTY_VALUES)


def _flip(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _truncate(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _slice(data: bytes, rng: random.Random) -> tuple[int, int]:
    begin = rng.randrange(len(data) + 1)
    return begin, min(len(data), begin + rng.choice((1, 2, 4, 16, 64, 1000)))


def _delete(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    begin, end = _slice(data, rng)
    return data[:begin] + data[end:]


def _double(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    begin, end = _slice(data, rng)
    return data[:end] + data[begin:end] * rng.choice((1, 1, 2, 30)) + data[end:]


def _splice(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    other = rng.choice(seeds)
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _number(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    begin = rng.randrange(len(data) + 1)
    match = NUMBER.search(data, begin) or NUMBER.search(data)
    if match is None:
        return _text(data, seeds, rng)
    return data[: match.start()] + rng.choice(NASTY_NUMBERS) + data[match.end() :]


def _text(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    begin, end = _slice(data, rng)
    return data[:begin] + rng.choice(NASTY_TEXTS) + data[rng.choice((begin, end)) :]


def _integer(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    size = rng.choice((1, 2, 4, 8))
    number = rng.choice(NASTY_INTEGERS) % 256**size
    at = rng.randrange(len(data) + 1)
    return data[:at] + number.to_bytes(size, rng.choice(("little", "big"))) + data[at + size :]


def _lines(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            lines[i], lines[j] = lines[j], lines[i]
        case 1:
            lines.insert(i, lines[j])
        case 2:
            del lines[i]
        case 3:
            fields = lines[i].split(b" ")
            rng.shuffle(fields)
            lines[i] = b" ".join(fields)
    return b"\n".join(lines)


def _nest(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    opening = rng.choice((b"[", b"(", b"{", b'{"a":', b"<a>", b"((", b"[^"))
    begin, end = _slice(data, rng)
    n = rng.choice((3, 101, 1100, MAX_NESTING))
    closing = {b"[": b"]", b"(": b")", b"{": b"}"}.get(opening[:1], b"") * rng.choice((0, n))
    return data[:begin] + opening * n + data[begin:end] + closing + data[end:]


FAULTS: tuple[Mutate, ...] = (
    *(_flip, _flip, _truncate, _delete, _double, _splice, _number, _number, _number),
    *(_text, _text, _integer, _lines, _lines, _nest),
)
