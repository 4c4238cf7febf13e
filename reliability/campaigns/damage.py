"""A byte of a file that seqray wrote is changed, or its end is cut off: never a wrong number.

Each file is written, damaged at its beginning, in its middle or at its end, and opened again.
Either it is refused with an error that names it, or what comes back is what was written, bit by
bit; of cached answers some may be missing, and are then queried again.
"""

import logging
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import seqray
from reliability import Row, Scale
from seqray.automata.words import Alphabet, Words
from seqray.blackbox.card import Card, card_path, load_card
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.draw.exports import EXPORTS
from seqray.experiments.cells import Settings
from seqray.experiments.findings import read_findings
from seqray.experiments.problems import sources
from seqray.experiments.sweep import Sweep
from seqray.formats.aalpy_dot import write_model
from seqray.formats.pautomac import read_machine, read_solution, write_machine, write_solution
from seqray.training.checkpoint import Checkpoint, Epoch
from seqray.util.errors import SeqrayError

FOUND = (
    "An `.npz` automaton with a damaged name of an optional array opened without that array.",
    "A flipped digit in a `.json` automaton, network, checkpoint, card, file of words, PAutomaC "
    "machine, AALpy model or table of a sweep gave another number, and no error.",
    "A damaged row of boxes in the answer cache showed answers under other symbols.",
    "The error about a damaged `config.json` of a run folder did not name the file.",
)


@dataclass(frozen=True)
class Kind:
    """A kind of file: where one is, and how what is in it is read."""

    name: str
    file: Path
    read: Callable[[], Any]
    may_lose: bool = False


def run(scale: Scale, seed: int) -> Iterator[Row]:
    """Damage each kind of file."""
    n = 400 if scale == "long" else 8
    logging.disable(logging.WARNING)  # extractions of next to nothing
    try:
        with tempfile.TemporaryDirectory() as name:
            for make in MAKERS:
                for kind in make(Path(name)):
                    yield damaged(kind, n, random.Random(f"{seed} {kind.name}"))
    finally:
        logging.disable(logging.NOTSET)


def damaged(kind: Kind, n: int, rng: random.Random) -> Row:
    """Damage a file ``n`` times; it is as it was afterwards."""
    content, expected = kind.file.read_bytes(), kind.read()
    failures, n_refused = [], 0
    for _ in range(n):
        changed, how = damage(content, rng)
        kind.file.write_bytes(changed)
        try:
            back = kind.read()
            if kind.may_lose and not set(back) <= set(expected):
                failures.append(f"{how}: another answer, and no error")
            elif not kind.may_lose and back != expected:
                failures.append(f"{how}: another value, and no error")
        except SeqrayError as error:
            n_refused += 1
            if kind.file.name not in str(error):
                failures.append(f"{how}: the error does not name it: {error}")
        except Exception as error:
            failures.append(f"{how}: {type(error).__name__}: {error}")
    kind.file.write_bytes(content)
    return Row(kind.name, n, failures, {"refused": n_refused})


def damage(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Return content with one fault in its first, middle or last part, and what was done."""
    part = rng.randrange(3)
    at = min(len(content) * part // 3 + rng.randrange(len(content) // 3 + 1), len(content) - 1)
    if rng.random() < 0.25:
        return content[:at], f"cut off after {at} bytes"
    bit = 1 << rng.randrange(8)
    return content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :], f"byte {at} ^ {bit}"


# What there is to damage --------------------------------------------------------------------------


def _run_folders(home: Path) -> Iterator[Kind]:
    small = _small_pfa()
    for method in ("weighted", "conditional"):
        folder = home / method
        extraction = seqray.extract(
            small, method=method, n_prefixes=12, n_suffixes=12, budget=20_000
        )
        seqray.save_run(extraction, folder)
        for file in sorted(folder.iterdir()):
            yield Kind(f"run folder, {method}: {file.name}", file, lambda at=folder: _of_run(at))


def _of_run(folder: Path) -> object:
    extraction = seqray.open_run(folder)
    automata = [_of_automaton(extraction.automaton(r)) for r in range(1, extraction.max_rank + 1)]
    best = _of_automaton(extraction.best())
    return automata, best, repr(extraction.fidelity.rows()), extraction.singular_values.tolist()


def _of_automaton(automaton: seqray.WeightedAutomaton) -> object:
    arrays = {name: np.asarray(array) for name, array in automaton.content.arrays.items()}
    values = {name: (each.shape, each.tobytes()) for name, each in arrays.items()}
    return automaton.alphabet.symbols, values, automaton.content.about


def _automata(home: Path) -> Iterator[Kind]:
    dense = _small_pfa()
    leaking = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.2]]], [0.25], elsewhere=[0.05])
    even = seqray.DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    kinds = {"dense": dense, "leaking": leaking, "deterministic": even}
    kinds["classifier"] = even.to_classifier()
    for name, automaton in kinds.items():
        for ending in ("json", "npz"):
            file = home / f"{name}.{ending}"
            automaton.save(file)
            yield Kind(f"automaton, {name}: .{ending}", file, lambda at=file: _opened(at))
    even_model, machine = home / "even.dot", home / "1.pautomac_model.txt"
    write_model(even, even_model)
    yield Kind("AALpy model: .dot", even_model, lambda: _opened(even_model))
    for ending in (".dot", ".fst", ".logfst"):
        file = home / f"dense{ending}"
        EXPORTS[ending].write(dense, file)
        yield Kind(f"automaton, dense: {ending}", file, lambda at=file: _opened(at))
    symbols = home / "dense.syms"
    yield Kind("automaton, dense: .syms", symbols, lambda: _opened(home / "dense.logfst"))
    arrays = (dense.initial, dense.transitions, dense.final)
    write_machine(seqray.WeightedAutomaton(range(2), *arrays), machine)
    yield Kind("PAutomaC machine", machine, lambda: _of_automaton(read_machine(machine)))
    solution = home / "1.pautomac_solution.txt"
    write_solution(np.array([0.1, 0.2, 0.7]), solution)
    yield Kind("PAutomaC solution", solution, lambda: read_solution(solution).tobytes())


def _opened(path: Path) -> object:
    return _of_automaton(seqray.open_black_box(f"wa:{path}"))


def _small_pfa() -> seqray.WeightedAutomaton:
    return seqray.WeightedAutomaton(
        "ab", [1, 0], [[[0.2, 0.3], [0.1, 0.2]], [[0.1, 0.1], [0.3, 0.1]]], [0.3, 0.3]
    )


def _words(home: Path) -> Iterator[Kind]:
    letters = seqray.sample(_small_pfa(), 40, seed=0).words
    numbers = Words(Alphabet(range(2)), letters.codes, letters.offsets)
    for layout, words in (
        *(("characters", letters), ("text", letters), ("jsonl", letters), ("pautomac", numbers)),
    ):
        file = home / f"words.{layout}"
        seqray.write_words(words, file, layout=layout)
        yield Kind(f"words: {layout}", file, lambda at=file, as_=layout: _of_words(at, as_))


def _of_words(path: Path, layout: str) -> object:
    words = seqray.read_words(path, layout=layout)
    return words.alphabet.symbols, words.codes.tobytes(), words.offsets.tobytes()


def _networks(home: Path) -> Iterator[Kind]:
    network = home / "net.safetensors"
    seqray.open_black_box("demo").save(network)
    yield Kind("network: .safetensors", network, lambda: _answers(network))
    file, arrays = home / "net.safetensors.checkpoint", np.arange(6.0)
    state = {"weights": arrays, "exp_avg": arrays / 3, "exp_avg_sq": arrays / 7}
    state["step"] = np.array(3.0)
    Checkpoint((Epoch(4, 1, 1.5, 1.25, 0.1),), state, arrays / 9).save(file, {"seed": 0})
    yield Kind("training checkpoint", file, lambda: _of_checkpoint(file))
    model = home / "model.onnx"
    model.touch()
    card = Card(Alphabet("ab"), "next", start=2)
    card.save(card_path(model))
    yield Kind("card", card_path(model), lambda: load_card(model))


def _answers(path: Path) -> object:
    box = seqray.open_black_box(f"rnn:{path}")
    return box.alphabet.symbols, box.weights(box.alphabet.words([[], ["a"]])).tobytes()


def _of_checkpoint(path: Path) -> object:
    checkpoint = Checkpoint.load(path, {"seed": 0})
    arrays = {name: each.tobytes() for name, each in checkpoint.state.items()}
    return checkpoint.history, arrays, checkpoint.best.tobytes()


def _caches(home: Path) -> Iterator[Kind]:
    file, alphabet = home / "answers.sqlite", Alphabet("ab")
    words = seqray.sample(_small_pfa(), 2000, seed=0).words.unique()[0]
    with AnswerStore(file) as store:
        for name in ("first model", "second model"):
            box = store.box(name, "value", alphabet)
            store.add(box, words, np.random.default_rng(box).random(len(words)))
            store.add_block(box, b"rows", np.arange(9.0))
    yield Kind("answer cache", file, lambda: _of_cache(file, words), may_lose=True)


def _of_cache(path: Path, words: Words) -> set[object]:
    answers: set[object] = set()
    try:
        with AnswerStore(path) as store:
            for box in store.boxes():
                for some, values in store.answers(box):
                    texts = ["".join(map(str, word)) for word in some]
                    answers |= {
                        (box.fingerprint, *each) for each in zip(texts, values[:, 0], strict=True)
                    }
            for name in ("first model", "second model"):
                box_id = store.box(name, "value", words.alphabet)
                known, values = store.find(box_id, words)
                answers |= _named(name, words[np.flatnonzero(known)], values)
                block = store.find_block(box_id, b"rows")
                answers |= set() if block is None else {(name, block.tobytes())}
    finally:
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
    return answers


def _named(box: str, words: Words, values: Any) -> set[object]:
    texts = ["".join(map(str, word)) for word in words]
    return {(box, *each) for each in zip(texts, values.tolist(), strict=True)}


def _sweeps(home: Path) -> Iterator[Kind]:
    folder = home / "results"
    settings = Settings(max_rank=4, n_test=40, n_rnn=30, n_held_out=20)
    problems = sources("generated", problems=(1,))

    def sweep() -> Sweep:
        return Sweep("pautomac", folder, problems, (15,), settings, ("paper",))

    sweep().run()
    whole = folder.with_name("whole")
    shutil.copytree(folder, whole)

    def merged() -> object:
        try:
            sweep().merge({})
            return _of_tables(folder)
        finally:
            for file in whole.glob("*.*"):
                shutil.copyfile(file, folder / file.name)

    for file in sorted((folder / "parts" / "pautomac").iterdir()):
        if file.name == "settings.json":
            yield Kind(f"sweep: {file.name}", file, lambda: sweep().prepare())
        else:
            yield Kind(f"sweep, part: {file.name}", file, merged)
    for file in sorted(folder.glob("pautomac*.*[!6]")):
        yield Kind(f"sweep: {file.name}", file, lambda: _of_tables(folder))


def _of_tables(folder: Path) -> object:
    """Return all that a report reads, without times."""
    findings = read_findings(folder)
    about = {key: each for key, each in findings.about["pautomac"].items() if key != "seconds"}
    return repr((findings.rows, findings.boxes, findings.distilled, about))


MAKERS = (_run_folders, _automata, _words, _networks, _caches, _sweeps)
