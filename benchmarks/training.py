"""Training the paper's network: batches as prefix trees against batches of padded words.

    pip install '.[torch]'
    python benchmarks/training.py [--data DIR] [--problem 3] [--hidden 50] [--epochs 12] [--seed 0]

The peers are the same network with PyTorch's own layers, trained on the same batches of the same
words in the same order from the same first weights, with the same optimiser, rates and clipping:
`padded` to the longest word of each batch, `packed` (`pack_padded_sequence`), `padded_to_all` to
the longest word of all; and `unshared`, seqray's own layers with every word read for itself, to
separate the two gains. `bucketed` is padded too, but sorts pools of 50 batches by length, which
leaves little padding and makes other batches. `padded` and `bucketed` run for all epochs, to
compare the cross-entropies at equal epochs; the others see the gradients of `padded` and are timed
for a few. An epoch is the training and the validation after it; its processor time on one thread is
taken. Epochs of all loops alternate.

`floor` is the cross-entropy of the machine that made the words on the same validation words: no
network can expect less. All in nats per symbol or end.
"""

import argparse
import math
import os
import time
from collections.abc import Callable
from pathlib import Path

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
from seqray.training.loop import SCHEDULES, Recipe, split
from seqray.training.network import Network, cross_entropy
from seqray.util.arrays import IntArray

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
            done = i / (recipe.epochs * len(batches) + 1)
            self.learn(
                self.training[batch], recipe.learning_rate * SCHEDULES[recipe.schedule](done)
            )
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
    counts = np.zeros((len(order), end + 1), np.float32)
    counts[np.arange(len(order)), follows] = 1
    return TreeBatch(symbols, parents, sizes.tolist(), counts, len(order))


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
        seed=recipe.seed,
        on_epoch=on_epoch,
    )
    return rows, seconds


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(
        os.environ.get("SEQRAY_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
    )
    parser.add_argument("--data", type=Path, default=default, help="folder that holds pautomac/")
    parser.add_argument("--problem", type=int, default=3)
    parser.add_argument("--hidden", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    if not (chosen.data / "pautomac").is_dir():
        parser.error(f"no pautomac/ in {chosen.data}: see 'What you need' in docs/results.md")
    return chosen


def main() -> None:
    chosen = options()
    torch.set_num_threads(1)
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
        **{name: value for name, value in vars(chosen).items() if name != "data"},
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


if __name__ == "__main__":
    main()
