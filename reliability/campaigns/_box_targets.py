"""Parsers of networks, cards and cached answers, for fuzzing."""

import io
import json
import random
import sqlite3
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

import seqray
from reliability.campaigns._file_targets import small_pfa
from reliability.campaigns._mutations import NASTY_VALUES, changed, mutated_json
from reliability.campaigns._targets import (
    MakeTarget,
    Target,
    UnavailableError,
    check_words,
    either,
    expect,
    in_file,
    read_back,
    saved,
    text_target,
    with_checks,
)
from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card, card_path, read_card
from seqray.blackbox.frameworks.keras_h5 import read_network
from seqray.blackbox.native.cells import DenseLayer, RecurrentLayer
from seqray.blackbox.native.rnn import RecurrentLanguageModel, RecurrentNetwork
from seqray.blackbox.native.taysir import load_taysir
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.training.checkpoint import Checkpoint, Epoch
from seqray.util.checksums import CHECKSUM
from seqray.util.hdf5 import Hdf5File

# Networks -----------------------------------------------------------------------------------------


def _without_checksum(content: bytes) -> bytes:
    """Return a safetensors file of seqray without its checksum."""
    header = _metadata(content)
    del header[CHECKSUM]
    return save(load(content), {"seqray": json.dumps(header)})


def _metadata(content: bytes) -> Any:
    n_bytes = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + n_bytes])["__metadata__"]["seqray"])


def mutated_tensors(seed: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """Return a safetensors file with another header: seqray's, or that of the format."""
    n_bytes = int.from_bytes(seed[:8], "little")
    header = json.loads(seed[8 : 8 + n_bytes])
    if rng.random() < 0.7:
        about = changed(json.loads(header["__metadata__"]["seqray"]), rng)
        header["__metadata__"]["seqray"] = json.dumps(about)
    else:
        header = changed(header, rng)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + seed[8 + n_bytes :]


def _network(home: Path) -> Target:
    layer = RecurrentLayer("tanh", [[1, -1]], [[0]], [0], [0])
    small = RecurrentLanguageModel("ab", [layer], [DenseLayer([[1], [-1], [0]], [0, 0, 0])])
    value = RecurrentNetwork("ab", [layer], [DenseLayer([[2]], [0.5])])
    seeds = [_without_checksum(saved(home / "s", each.save)) for each in (small, value)]

    def check(network: Any) -> None:
        some = network.alphabet.words([(), network.alphabet.symbols[:1]])
        with np.errstate(all="ignore"):
            expect(network.weights(some).shape == (2,), "weights do not fit")
        again = in_file(home / "copy.safetensors", RecurrentNetwork.load)
        read_back(
            network,
            lambda each: saved(home / "copy.safetensors", each.save),
            again,
            lambda each: (each.alphabet.symbols, each.weights(some).tobytes()),
        )

    read = in_file(home / "net.safetensors", RecurrentNetwork.load)
    return Target(seeds, with_checks(read, check), either(mutated_tensors))


def _checkpoint(home: Path) -> Target:
    arrays = np.arange(6.0)
    state = {"weights": arrays, "exp_avg": arrays / 3, "exp_avg_sq": arrays / 7}
    whole = Checkpoint((Epoch(4, 1, 1.5, 1.25, 0.1),), {**state, "step": np.array(3.0)}, arrays / 9)
    seed = _without_checksum(saved(home / "s", lambda path: whole.save(path, {"seed": 0})))

    def check(checkpoint: Checkpoint) -> None:
        weights = checkpoint.state["weights"]
        for name in ("exp_avg", "exp_avg_sq"):
            expect(checkpoint.state[name].shape == weights.shape, f"{name} does not fit")
        expect(checkpoint.best.shape == weights.shape, "the best weights do not fit")
        for array in (*checkpoint.state.values(), checkpoint.best):
            expect(array.dtype.kind == "f", "an array has no real numbers")
        for epoch in checkpoint.history:
            expect(all(isinstance(each, int | float) for each in epoch), f"{epoch} is no epoch")

    read = in_file(home / "c.checkpoint", lambda path: Checkpoint.load(path, {"seed": 0}))
    return Target([seed], with_checks(read, check), either(mutated_tensors))


CARDS: tuple[dict[str, Any], ...] = (
    {"alphabet": ["a", "b"], "answers": "next", "start": 2, "end": 3, "ids": [4, 5]},
    {"alphabet": [0, 1], "answers": "value", "column": 1, "pad": 0, "empty": 0.5, "stop": [3, 4]},
    {"alphabet": "ab", "task": "classification", "classes": ["x", "y"], "threshold": 0.4},
    {"alphabet": ["a"], "answers": "next", "tokens": [[4, 2]], "network": {"cell": "gru"}},
)


def _card(home: Path) -> Target:
    def read(text: str) -> None:
        card = read_card(text, "m.seqray.json")
        if card.tokens is None:
            card.check_outputs()  # as adapters do
        read_back(
            card,
            lambda each: json.dumps(each.to_json()),
            lambda written: read_card(written, "copy"),
            lambda each: each,
        )

    return text_target([json.dumps(each) for each in CARDS], read, mutated_json)


def _taysir(home: Path) -> Target:
    """Open a folder of which one file is another: config.json, or else weights.npz."""
    config = {"cell": "RNN", "n_layers": 1, "alphabet": 3, "start": 1, "end": 2}
    config |= {"dense": ["Linear", "Sigmoid", "Softmax"], "bidirectional": False}
    shapes = {"mach[0].weight_ih_l0": (4, 3), "mach[0].weight_hh_l0": (4, 4)}
    shapes |= {"mach[0].bias_ih_l0": (4,), "mach[0].bias_hh_l0": (4,)}
    shapes |= {"dense.0.weight": (3, 4), "dense.0.bias": (3,)}
    np.savez(home / "weights.npz", **{name: np.zeros(shape) for name, shape in shapes.items()})

    def check(network: Any) -> None:
        expect(np.isfinite(network.next_symbol([()])).all(), "a probability is not finite")

    read = in_file(home / "config.json", lambda path: load_taysir(path.parent))
    return Target([json.dumps(config).encode()], with_checks(read, check), mutated_json)


# Keras and PyTorch --------------------------------------------------------------------------------


def _h5_bytes() -> bytes:
    try:
        import h5py  # noqa: PLC0415
    except ImportError:
        raise UnavailableError("h5py is not installed") from None
    layers = [
        _layer("Embedding", "embedding", batch_input_shape=[None, None], mask_zero=False),
        _layer("SimpleRNN", "rnn", units=3, return_sequences=True, go_backwards=False),
        _layer("Dense", "dense", units=4, activation="linear", use_bias=True),
    ]
    model = {"class_name": "Sequential", "config": {"name": "sequential", "layers": layers}}
    shapes = {
        "embedding/embedding/embeddings:0": (4, 3),
        "rnn/rnn/cell/kernel:0": (3, 3),
        "rnn/rnn/cell/recurrent_kernel:0": (3, 3),
        "rnn/rnn/cell/bias:0": (3,),
        "dense/dense/kernel:0": (3, 4),
        "dense/dense/bias:0": (4,),
    }
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        file.attrs["model_config"] = json.dumps(model)
        file.attrs["keras_version"] = "2.8.0"
        for name, shape in shapes.items():
            file[f"model_weights/{name}"] = np.sin(np.arange(np.prod(shape))).reshape(shape)
    return content.getvalue()


def _layer(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"class_name": kind, "config": {"name": name, "dtype": "float32", **fields}}


def _keras_h5(home: Path) -> Target:
    def check(opened: Any) -> None:
        network, _ = opened
        expect(network is not None, "no network")

    return Target([_h5_bytes()], with_checks(in_file(home / "m.h5", read_network), check))


def _hdf5(home: Path) -> Target:
    def read(content: bytes) -> None:
        file = Hdf5File(content)
        file.text("model_config")
        groups = [(file.root, 0)]
        while groups:
            group, depth = groups.pop()
            for name, address in file.members(group).items():
                if file.is_group(address) and depth < 8:
                    groups.append((address, depth + 1))
                elif not file.is_group(address):
                    array = file.array(address, name)
                    expect(array.dtype.kind == "f" and array.nbytes <= len(content), "a bad array")

    return Target([_h5_bytes()], read)


def _torch(home: Path) -> Target:
    try:
        import torch  # noqa: PLC0415
    except ImportError:
        raise UnavailableError("PyTorch is not installed") from None
    torch.manual_seed(0)
    parts = torch.nn.ModuleDict({"rnn": torch.nn.GRU(3, 2), "out": torch.nn.Linear(2, 3)})
    file = io.BytesIO()
    torch.save(parts.state_dict(), file)
    path = home / "m.pt"
    path.touch()
    Card(Alphabet("ab"), "next", start=2).save(card_path(path))
    return Target([file.getvalue()], in_file(path, lambda at: seqray.open_black_box(f"torch:{at}")))


def _onnx(home: Path) -> Target:
    try:
        import onnx  # noqa: PLC0415
        import onnxruntime  # noqa: PLC0415
    except ImportError:
        raise UnavailableError("onnx and onnxruntime are not installed") from None
    onnxruntime.set_default_logger_severity(4)
    helper, kind = onnx.helper, onnx.TensorProto
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["scores"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("ids", kind.INT64, ["n", "t"])],
        [helper.make_tensor_value_info("scores", kind.FLOAT, ["n", "t", 3])],
        [helper.make_tensor("table", kind.FLOAT, [4, 3], [0.1] * 12)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    path = home / "m.onnx"
    path.touch()
    Card(Alphabet("ab"), "next", start=2).save(card_path(path))
    read = in_file(path, lambda at: seqray.open_black_box(f"onnx:{at}"))
    return Target([model.SerializeToString()], read)


# The answer cache ---------------------------------------------------------------------------------


def _cache(home: Path) -> Target:
    path, words = home / "answers.sqlite", seqray.sample(small_pfa(), 30, seed=0).words.unique()[0]
    with AnswerStore(path) as store:
        box = store.box("a model", "value", words.alphabet)
        store.add(box, words, np.arange(len(words)) / 7)
        store.add_block(box, b"rows", np.arange(9.0))
    seed = path.read_bytes()

    def read(at: Path) -> None:
        try:
            with AnswerStore(at) as store:
                for each in store.boxes():
                    for some, answers in store.answers(each):
                        check_words(some)
                        expect(len(answers) == len(some), "not one answer per word")
                    store.some(each.id, 3, each.alphabet)
                box = store.box("a model", "value", words.alphabet)
                known, answers = store.find(box, words)
                expect(len(answers) == known.sum(), "not one answer per known word")
                store.find_block(box, b"rows")
        finally:
            for ending in ("-wal", "-shm", "-journal"):
                at.with_name(at.name + ending).unlink(missing_ok=True)

    return Target([seed], in_file(path, read), either(_changed_cells(home / "other.sqlite")))


def _changed_cells(path: Path) -> Callable[[bytes, Sequence[bytes], random.Random], bytes]:
    """Return what changes a cell of a cache, and makes its checksum right again."""

    def change(seed: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
        path.write_bytes(seed)
        columns = {"boxes": ("fingerprint", "kind", "alphabet", "created", "used", "crc", "id")}
        columns |= {
            "answers": ("word", "answer", "crc", "box"),
            "blocks": ("name", "answers", "box"),
        }
        table = rng.choice(list(columns))
        column, value = rng.choice(columns[table]), _cell(rng)
        db = sqlite3.connect(path)
        try:
            db.execute("PRAGMA journal_mode = DELETE")
            where = "rowid" if table != "answers" else "word"
            one = f"(SELECT {where} FROM {table} LIMIT 1 OFFSET {rng.randrange(3)})"
            db.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {where} = {one}", (value,))
            if table != "boxes":
                name, content = ("word", "answer") if table == "answers" else ("name", "answers")
                db.create_function("checksum", 3, _checksum)
                db.execute(f"UPDATE {table} SET crc = checksum(box, {name}, {content})")
            elif rng.random() < 0.7:
                db.execute("UPDATE boxes SET crc = NULL")
            if rng.random() < 0.1:
                db.execute(f"PRAGMA user_version = {rng.choice((0, 1, -1, 3))}")
            db.commit()
        except (sqlite3.Error, OverflowError, UnicodeEncodeError):
            pass
        finally:
            db.close()
        return path.read_bytes()

    return change


def _cell(rng: random.Random) -> Any:
    value = rng.choice((*NASTY_VALUES, b"", b"\0", b"\0\1", b"\xff" * 8, bytes(7), bytes(16)))
    texts = ('["a"]', '["a", "a"]', "[]", "{}", "[[1]]", '["a", "b", "c"]', "[1e999]", "[" * 5000)
    return rng.choice(texts) if isinstance(value, list | dict) else value


def _checksum(box: Any, name: Any, content: Any) -> Any:
    if not isinstance(box, int) or not isinstance(name, bytes) or not isinstance(content, bytes):
        return None
    return zlib.crc32(content, zlib.crc32(name, box & 0xFFFFFFFF))


BOXES: Mapping[str, MakeTarget] = {
    "network: .safetensors": _network,
    "training checkpoint": _checkpoint,
    "card": _card,
    "TAYSIR config.json": _taysir,
    "HDF5": _hdf5,
    "Keras .h5": _keras_h5,
    "PyTorch .pt": _torch,
    "ONNX": _onnx,
    "answer cache: SQLite": _cache,
}

SLOW = {
    *("PyTorch .pt", "ONNX", "automaton: hidden Markov model"),
    "output of cmd: boxes, with processes",
}
"""Left out of the short form: they load frameworks, or start a program for each input."""
