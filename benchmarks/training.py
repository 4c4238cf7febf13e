"""Training the paper's network: batches as prefix trees, patience, and large alphabets.

    pip install '.[torch]'
    python benchmarks/training.py [--data DIR] [--problem 3] [--hidden 50] [--epochs 12] [--seed 0]
    python benchmarks/training.py patience [--data DIR] [--problems 3,9,24,spice4]
    python benchmarks/training.py alphabet [--symbols 700] [--words 5000] [--hidden 50]

`loops`, the default: the peers are the same network with PyTorch's own layers, trained on the same
batches of the same words in the same order from the same first weights, with the same optimiser,
rates and clipping: `padded` to the longest word of each batch, `packed` (`pack_padded_sequence`),
`padded_to_all` to the longest word of all; and `unshared`, seqray's own layers with every word read
for itself, to separate the two gains. `bucketed` is padded too, but sorts pools of 50 batches by
length, which leaves little padding and makes other batches. `padded` and `bucketed` run for all
epochs, to compare the cross-entropies at equal epochs; the others see the gradients of `padded` and
are timed for a few. An epoch is the training and the validation after it; its processor time on one
thread is taken. Epochs of all loops alternate.

`patience`: each problem is trained once, in the sizes 30, 50 and 120, for 40 epochs each. What a
shorter patience would have trained is a part of that: its epochs, its processor time, and by how
much its best validation cross-entropy is worse, are read off.

`alphabet`: words over many symbols, whose frequencies follow Zipf's law and depend on the symbol
before. The network of the paper's widths, three times the number of symbols, is trained, and that
of the default widths.

`floor` is the cross-entropy of what made the words on the same validation words: no network can
expect less. All in nats per symbol or end.
"""

import argparse
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import one_thread, report
from paper_network import padded, torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import seqray
from seqray.automata.tree_batches import TreeBatch
from seqray.automata.words import Words
from seqray.training.checkpoint import Epoch
from seqray.training.learner import Learner
from seqray.training.loop import split
from seqray.training.network import Network, cross_entropy, default_width
from seqray.training.recipe import Recipe
from seqray.util.arrays import FloatArray, IntArray

MAX_CROSS_ENTROPY = 1.182  # for problem 3, nats per symbol
N_TIMED = 3  # epochs of the loops that are only timed
POOL = 50  # batches that are sorted by length together
VALIDATION_BATCH = 256


class PlainLoop:
    """The usual training loop."""

    def __init__(self, recipe: Recipe, training: Words, held_out: Words, how: str) -> None:
        self.recipe, self.training, self.held_out, self.how = recipe, training, held_out, how
        self.network = recipe.build(training.alphabet, recipe.sizes[0])
        self.adam = torch.optim.Adam(self.network.parameters())
        self.longest = int(max(training.lengths.max(), held_out.lengths.max()))
        self.epoch = 0
        self.seconds: list[float] = []
        self.validation: list[float] = []

    def run_epoch(self) -> None:
        """Train one more epoch, and measure."""
        begin = time.process_time()
        self.epoch += 1
        recipe = self.recipe
        rng = np.random.default_rng([recipe.seed, recipe.sizes[0], self.epoch])
        batches = self.cut(rng.permutation(len(self.training)), rng)
        for i, batch in enumerate(batches, (self.epoch - 1) * len(batches) + 1):
            self.learn(self.training[batch], recipe.rate(i / (recipe.epochs * len(batches) + 1)))
        with torch.no_grad():
            cuts = range(0, len(self.held_out), VALIDATION_BATCH)
            losses = [self.loss(self.held_out[at : at + VALIDATION_BATCH]) for at in cuts]
        self.validation.append(sum(float(t) for t, _ in losses) / sum(n for _, n in losses))
        self.seconds.append(time.process_time() - begin)

    def cut(self, order: IntArray, rng: np.random.Generator) -> list[IntArray]:
        """Return the words of each batch."""
        size = self.recipe.batch_size
        if self.how == "bucketed":
            pools = [order[at : at + POOL * size] for at in range(0, len(order), POOL * size)]
            lengths = self.training.lengths
            order = np.concatenate([p[np.argsort(lengths[p], kind="stable")] for p in pools])
        batches = [order[at : at + size] for at in range(0, len(order), size)]
        if self.how == "bucketed":
            batches = [batches[i] for i in rng.permutation(len(batches))]
        return batches

    def learn(self, words: Words, rate: float) -> None:
        """Take one step."""
        total, count = self.loss(words)
        self.adam.param_groups[0]["lr"] = rate
        self.adam.zero_grad()
        (total / count).backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip)
        self.adam.step()

    def loss(self, words: Words) -> tuple[torch.Tensor, int]:
        """Return the summed cross-entropy, and over how many letters and ends."""
        ids, aims = padded(words)
        if self.how == "padded_to_all":
            space = (0, self.longest + 1 - ids.shape[1])
            ids, aims = nn.functional.pad(ids, space), nn.functional.pad(aims, space, value=-1)
        logits = _packed(self.network, ids, words) if self.how == "packed" else self.network(ids)
        total = nn.functional.cross_entropy(
            logits.flatten(0, 1), aims.flatten(), ignore_index=-1, reduction="sum"
        )
        return total, len(words.codes) + len(words)


class UnsharedLoop(PlainLoop):
    """Seqray's own layers, but every word is read for itself."""

    def __init__(self, recipe: Recipe, training: Words, held_out: Words, how: str) -> None:
        super().__init__(recipe, training, held_out, how)
        self.learner = Learner(self.network)

    def learn(self, words: Words, rate: float) -> None:
        """Take one step."""
        self.learner.learn(unshared(words), rate, self.recipe.clip)

    def loss(self, words: Words) -> tuple[torch.Tensor, int]:
        """Return the summed cross-entropy, and over how many letters and ends."""
        batch = unshared(words)
        return cross_entropy(self.network, batch), batch.n_letters


def unshared(words: Words) -> TreeBatch:
    """Return a batch with one chain of nodes per word, the longest first."""
    words = words[np.argsort(-words.lengths, kind="stable")]
    depths = np.concatenate([np.arange(n + 1) for n in words.lengths.tolist()])
    order = np.argsort(depths, kind="stable")  # level by level, in each the longest word first
    sizes = np.bincount(depths)
    first = np.cumsum(sizes) - sizes
    depth = depths[order]
    parents = np.arange(len(order)) - first[depth] + first[depth - 1]
    parents[: sizes[0]] = len(order)
    end = len(words.alphabet)
    symbols = np.insert(words.codes, words.offsets[:-1], end)[order].astype(np.int64)
    follows = np.insert(words.codes, words.offsets[1:], end)[order]
    nodes = np.arange(len(order))
    cells, once = nodes * (end + 1) + follows, np.ones(len(order), np.float32)
    return TreeBatch(nodes, symbols, parents, sizes.tolist(), end + 1, cells, once)


def _packed(network: Network, ids: torch.Tensor, words: Words) -> torch.Tensor:
    lengths = torch.from_numpy(words.lengths + 1)
    shown = pack_padded_sequence(network.embedding(ids), lengths, True, enforce_sorted=False)
    return network.head(pad_packed_sequence(network.recurrent(shown)[0], True)[0])


def timed(
    training: Words, held_out: Words, recipe: Recipe, peers: list[PlainLoop]
) -> tuple[list[Epoch], list[float]]:
    """Train with `seqray.train`; after each of its epochs the others run one."""
    rows: list[Epoch] = []
    seconds: list[float] = []
    begin = time.process_time()

    def on_epoch(row: Epoch) -> None:
        nonlocal begin
        seconds.append(time.process_time() - begin)
        rows.append(row)
        print(f"epoch {row.epoch}: {row.validation:.4f}, {seconds[-1]:.2f} s", flush=True)
        for peer in peers:
            if peer.how in ("padded", "bucketed") or row.epoch <= N_TIMED:
                peer.run_epoch()
                print(
                    f"  {peer.how}: {peer.validation[-1]:.4f}, {peer.seconds[-1]:.2f} s", flush=True
                )
        begin = time.process_time()

    seqray.train(
        training,
        validation=held_out,
        sizes=recipe.sizes,
        epochs=recipe.epochs,
        batch_size=recipe.batch_size,
        patience=None,
        seed=recipe.seed,
        on_epoch=on_epoch,
    )
    return rows, seconds


# --- patience -------------------------------------------------------------------------------------

PATIENCES = (2, 3, 4, 5, 6, 8, 9, 10, 12, 15)


def processor_seconds(words: Words, **options: Any) -> tuple[list[Epoch], list[float]]:
    """Train, for all epochs; return them and their processor times."""
    rows: list[Epoch] = []
    times = [time.process_time()]

    def on_epoch(row: Epoch) -> None:
        rows.append(row)
        times.append(time.process_time())

    seqray.train(words, patience=None, on_epoch=on_epoch, **options)
    return rows, np.diff(times).tolist()


def with_patience(rows: list[Epoch], patience: int) -> list[int]:
    """Return which of all epochs would have been trained."""
    kept: list[int] = []
    best: dict[int, Epoch] = {}
    for i, row in enumerate(rows):
        lead = best.get(row.hidden)
        if lead is None or row.epoch <= lead.epoch + patience:
            kept.append(i)
            if lead is None or row.validation < lead.validation:
                best[row.hidden] = row
    return kept


def run_patience(chosen: argparse.Namespace) -> None:
    figures: dict[str, Any] = {}
    table = []
    for name in chosen.problems.split(","):
        file = "spice/4.spice.train" if name == "spice4" else f"pautomac/{name}.pautomac.train"
        with one_thread():
            rows, seconds = processor_seconds(seqray.read_words(chosen.data / file))
        best, all_seconds = min(row.validation for row in rows), sum(seconds)
        table.append((name, f"{len(rows)} epochs, {all_seconds:.0f} s, best {best:.5f}"))
        print(*table[-1], flush=True)
        figures[name] = {"epochs": len(rows), "seconds": all_seconds, "validation": best}
        for patience in PATIENCES:
            kept = with_patience(rows, patience)
            cost = min(rows[i].validation for i in kept) - best
            share = sum(seconds[i] for i in kept) / all_seconds
            figures[name][patience] = {"epochs": len(kept), "time_share": share, "cost": cost}
            shown = f"{len(kept):3} epochs, {share:4.0%} of the time, {cost:.5f} nats worse"
            table.append((f"  patience {patience}", shown))
    report(table, figures)


# --- alphabet -------------------------------------------------------------------------------------


class ZipfChain:
    """A source of words: frequent and rare symbols, and which of them follow each other.

    Seven of ten symbols are one of eight that the symbol before prefers.
    """

    N_PREFERRED, PREFERENCE, MEAN_LENGTH = 8, 0.7, 20

    def __init__(self, n_symbols: int, rng: np.random.Generator) -> None:
        self.alphabet = seqray.Alphabet([str(i) for i in range(n_symbols)])
        frequency = 1 / np.arange(1, n_symbols + 1)
        self.first = frequency / frequency.sum()
        self.follows = np.tile((1 - self.PREFERENCE) * self.first, (n_symbols, 1))
        preferred = rng.choice(n_symbols, (n_symbols, self.N_PREFERRED), p=self.first)
        share = self.PREFERENCE / self.N_PREFERRED
        np.add.at(self.follows, (np.arange(n_symbols)[:, None], preferred), share)

    @property
    def end(self) -> float:
        """The probability that the word ends, after any prefix."""
        return 1 / (self.MEAN_LENGTH + 1)

    def words(self, n_words: int, rng: np.random.Generator) -> Words:
        """Draw words."""
        rows = np.cumsum(np.vstack([self.follows, self.first]), axis=1)
        words = []
        for length in rng.geometric(self.end, n_words) - 1:
            word, last = [], len(rows) - 1
            for uniform in rng.random(length):
                last = min(int(np.searchsorted(rows[last], uniform)), len(self.first) - 1)
                word.append(str(last))
            words.append(word)
        return self.alphabet.words(words)

    def cross_entropy(self, words: Words) -> float:
        """Return the mean over all symbols and ends, in nats."""
        rows: FloatArray = np.vstack([self.follows, self.first])
        before = np.concatenate([[len(self.first)], words.codes[:-1]])
        before[words.offsets[:-1][words.lengths > 0]] = len(self.first)
        logs = np.log((1 - self.end) * rows[before, words.codes])
        total = logs.sum() + len(words) * math.log(self.end)
        return float(-total / (len(words.codes) + len(words)))


def run_alphabet(chosen: argparse.Namespace) -> None:
    rng = np.random.default_rng(chosen.seed)
    source = ZipfChain(chosen.symbols, rng)
    words = source.words(chosen.words, rng)
    training, held_out = split(words, None, 0.1, chosen.seed)
    floor = source.cross_entropy(held_out)
    figures: dict[str, Any] = {"floor": floor}
    table = [("the source itself", f"{floor:.4f} nats")]
    options = {"sizes": [chosen.hidden], "epochs": chosen.epochs, "seed": chosen.seed}
    widths = {"paper": 3 * chosen.symbols, "default": default_width(chosen.symbols)}
    for name, width in widths.items():
        with one_thread():
            rows, seconds = processor_seconds(
                training, validation=held_out, embedding=width, **options
            )
        best = min(rows, key=lambda row: row.validation)
        per_epoch = float(np.median(seconds))
        shown = f"{per_epoch:.1f} s per epoch, {best.validation:.4f} nats after epoch {best.epoch}"
        table.append((f"width {width} ({name})", shown))
        print(*table[-1], flush=True)
        figures[name] = {
            "width": width,
            "seconds_an_epoch": per_epoch,
            "validation": best.validation,
            "epoch": best.epoch,
            "validation_by_epoch": [round(row.validation, 5) for row in rows],
        }
    names = ("symbols", "words", "hidden", "epochs", "seed")
    report(table, figures | {name: getattr(chosen, name) for name in names})


# --- loops ----------------------------------------------------------------------------------------


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(
        os.environ.get("SEQRAY_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
    )
    parser.add_argument("what", nargs="?", default="loops", choices=[*RUNS])
    parser.add_argument("--data", type=Path, default=default, help="folder that holds pautomac/")
    parser.add_argument("--problems", default="3,9,24,spice4", help="for patience")
    parser.add_argument("--symbols", type=int, default=700, help="for alphabet")
    parser.add_argument("--words", type=int, default=5000, help="for alphabet")
    parser.add_argument("--problem", type=int, default=3)
    parser.add_argument("--hidden", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    if chosen.what != "alphabet" and not (chosen.data / "pautomac").is_dir():
        parser.error(f"no pautomac/ in {chosen.data}: see 'What you need' in docs/results.md")
    return chosen


def main() -> None:
    chosen = options()
    torch.set_num_threads(1)
    RUNS[chosen.what](chosen)


def run_loops(chosen: argparse.Namespace) -> None:
    stem = chosen.data / "pautomac" / f"{chosen.problem}.pautomac"
    words = seqray.read_words(f"{stem}.train")
    training, held_out = split(words, None, 0.1, chosen.seed)
    defaults: Callable[..., object] = seqray.train
    rest = {name: defaults.__kwdefaults__[name] for name in ("cell", "n_layers", "embedding")}
    rest |= {name: defaults.__kwdefaults__[name] for name in ("learning_rate", "schedule", "clip")}
    recipe = Recipe(
        sizes=(chosen.hidden,),
        epochs=chosen.epochs,
        batch_size=chosen.batch_size,
        patience=None,
        seed=chosen.seed,
        **rest,
    )
    kinds = dict.fromkeys(("padded", "bucketed", "packed", "padded_to_all"), PlainLoop)
    kinds["unshared"] = UnsharedLoop
    peers = [kind(recipe, training, held_out, how) for how, kind in kinds.items()]
    with one_thread():
        rows, seconds = timed(training, held_out, recipe, peers)
    machine = seqray.open_black_box(f"wa:{stem}_model.txt")
    floor = -np.log(machine.weights(held_out)).sum() / (len(held_out.codes) + len(held_out))
    show(rows, seconds, peers, float(floor), chosen)


def show(
    rows: list[Epoch],
    seconds: list[float],
    peers: list[PlainLoop],
    floor: float,
    chosen: argparse.Namespace,
) -> None:
    ours = float(np.median(seconds))
    times = {peer.how: float(np.median(peer.seconds)) for peer in peers}
    speedups = {  # epoch by epoch, since all run in turn: slow moments hit them alike
        peer.how: float(np.median(np.array(peer.seconds) / seconds[: len(peer.seconds)]))
        for peer in peers
    }
    validation = [row.validation for row in rows]
    plain, bucketed = (peer.validation for peer in peers[:2])
    figures = {
        **{f"speedup_{how}": ratio for how, ratio in speedups.items()},
        "seconds_an_epoch": {"tree": ours, **times},
        "validation": min(validation),
        "validation_padded": min(plain),
        "validation_bucketed": min(bucketed),
        "first_epoch_below_bar": next(
            (r.epoch for r in rows if r.validation <= MAX_CROSS_ENTROPY), None
        )
        if chosen.problem == 3
        else None,
        "floor": floor,
        "validation_by_epoch": [round(value, 5) for value in validation],
        "validation_by_epoch_padded": [round(value, 5) for value in plain],
        "validation_by_epoch_bucketed": [round(value, 5) for value in bucketed],
        **{name: getattr(chosen, name) for name in SETTINGS_OF_LOOPS},
    }
    table = [("prefix trees", f"{ours:6.2f} s per epoch")]
    table += [(h, f"{t:6.2f} s per epoch, {speedups[h]:.1f} ×") for h, t in times.items()]
    table += [
        ("validation, nats", f"{min(validation):.4f}; the machine itself {floor:.4f}"),
        ("the same in bits", f"{min(validation) / math.log(2):.4f}; {floor / math.log(2):.4f}"),
        ("validation, padded", f"{min(plain):.4f}"),
        ("validation, bucketed", f"{min(bucketed):.4f}"),
    ]
    report(table, figures)


SETTINGS_OF_LOOPS = ("problem", "hidden", "epochs", "batch_size", "seed")
RUNS = {"loops": run_loops, "patience": run_patience, "alphabet": run_alphabet}


if __name__ == "__main__":
    main()
