"""A byte of a file that seqray wrote is changed, or its end is cut off: never a wrong number.

Each file is written, damaged at its beginning, in its middle or at its end, and opened again.
Either it is refused with an error that names it, or what comes back is what was written, bit by
bit.
"""

import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import seqray
from reliability import Row, Scale
from seqray.util.errors import SeqrayError


def run(scale: Scale, seed: int) -> Iterator[Row]:
    """Damage each kind of file."""
    rng = random.Random(seed)
    n = 300 if scale == "long" else 12
    with tempfile.TemporaryDirectory() as name:
        run_folder = Path(name, "run")
        extraction = seqray.extract(
            seqray.open_black_box("demo"), method="weighted", prefixes=20, suffixes=20
        )
        seqray.save_run(extraction, run_folder)
        for file in sorted(run_folder.iterdir()):
            yield damaged(f"run folder: {file.name}", file, lambda: _read(run_folder), n, rng)


def _read(folder: Path) -> object:
    extraction = seqray.open_run(folder)
    return extraction.best().initial.tobytes(), extraction.best().transitions.tobytes()


def damaged(name: str, file: Path, read: Callable[[], object], n: int, rng: random.Random) -> Row:
    """Damage a file ``n`` times; it is as it was afterwards."""
    content, expected = file.read_bytes(), read()
    failures, n_refused = [], 0
    for _ in range(n):
        changed, how = damage(content, rng)
        file.write_bytes(changed)
        try:
            if read() != expected:
                failures.append(f"{file.name}, {how}: another value, and no error")
        except SeqrayError as error:
            n_refused += 1
            if file.name not in str(error):
                failures.append(f"{file.name}, {how}: the error does not name it: {error}")
        except Exception as error:
            failures.append(f"{file.name}, {how}: {type(error).__name__}: {error}")
    file.write_bytes(content)
    return Row(name, n, failures, {"refused": n_refused, "harmless": n - n_refused - len(failures)})


def damage(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Return content with one fault in its first, middle or last part, and what was done."""
    part = rng.randrange(3)
    at = min(len(content) * part // 3 + rng.randrange(len(content) // 3 + 1), len(content) - 1)
    if rng.random() < 0.25:
        return content[:at], f"cut off after {at} bytes"
    bit = 1 << rng.randrange(8)
    return content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :], f"byte {at} ^ {bit}"
