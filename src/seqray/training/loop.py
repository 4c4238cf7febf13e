"""Training by next-symbol cross-entropy, with a choice of size and epoch (section 4.2)."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import numpy as np
import torch

from seqray.automata.tree_batches import Corpus
from seqray.automata.words import Alphabet, Word, Words
from seqray.blackbox.native.cells import check_name
from seqray.blackbox.native.rnn import RecurrentLanguageModel
from seqray.training.checkpoint import Checkpoint, Epoch, digest
from seqray.training.learner import Learner
from seqray.training.network import CELLS, Network, to_seqray
from seqray.util.arrays import FloatArray, whole_number
from seqray.util.errors import ArgumentError
from seqray.util.random import Seed, random_generator, seed_number

SCHEDULES: dict[str, Callable[[float], float]] = {
    "cosine": lambda done: min(1.0, 20 * done) * (1 + math.cos(math.pi * done)) / 2,
    "constant": lambda done: 1.0,
}
"""The learning rate's factor when a share of the steps is done. Cosine begins with a warm-up."""

VALIDATION_BATCH_SIZE = 4096
"""How many validation words are read at once."""


@dataclass(frozen=True)
class Recipe:
    """How to train; the arguments of `train` that are not data."""

    sizes: tuple[int, ...]
    epochs: int
    cell: str
    n_layers: int
    embedding: int | None
    batch_size: int
    learning_rate: float
    schedule: str
    clip: float
    patience: int | None
    seed: int

    def __post_init__(self) -> None:
        sizes = tuple(whole_number("sizes", size, 1) for size in self.sizes)
        if not sizes or len(set(sizes)) < len(sizes):
            raise ArgumentError(f"sizes: expected one or more, all different, got {self.sizes}")
        object.__setattr__(self, "sizes", sizes)
        for name in ("epochs", "n_layers", "batch_size"):
            whole_number(name, getattr(self, name), 1)
        for name in ("embedding", "patience"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), 1)
        check_name("cell", self.cell, CELLS)
        check_name("schedule", self.schedule, SCHEDULES)
        for name in ("learning_rate", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise ArgumentError(f"{name}: expected more than 0, got {getattr(self, name)!r}")

    def build(self, alphabet: Alphabet, hidden: int) -> Network:
        """Return a fresh network of a size. It depends on the seed and the size alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(np.random.SeedSequence([self.seed, hidden]).generate_state(1)[0]))
            return Network(
                len(alphabet),
                hidden=hidden,
                n_layers=self.n_layers,
                embedding=self.embedding,
                cell=self.cell,
            )

    def is_done(self, rows: Sequence[Epoch]) -> bool:
        """Return whether one size has been trained long enough."""
        if not rows or len(rows) == self.epochs:
            return bool(rows)
        best = min(rows, key=lambda row: row.validation)
        return self.patience is not None and rows[-1].epoch - best.epoch >= self.patience


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """What `train` returns: the network at its best size and epoch, and the history of all epochs.

    Parameters
    ----------
    model
        The network, a black box for `extract`; its ``save(path)`` writes a file for ``rnn:``.
    hidden, epoch
        The size and the epoch, counted from 1, with the best validation cross-entropy.
    validation
        That cross-entropy: the mean over all symbols and ends of the validation words, in nats.
    history
        An `Epoch` for each size and epoch: ``(hidden, epoch, training, validation, seconds)``.
    n_training, n_validation
        How many words were trained on, and held out.
    """

    model: RecurrentLanguageModel
    hidden: int
    epoch: int
    validation: float
    history: tuple[Epoch, ...]
    n_training: int
    n_validation: int

    def __repr__(self) -> str:
        return (
            f"TrainedNetwork({self.hidden} units, epoch {self.epoch}, validation cross-entropy "
            f"{self.validation:.4f} nats)"
        )


def train(
    words: Words,
    *,
    validation: Words | Iterable[Word] | None = None,
    validation_share: float = 0.1,
    sizes: Sequence[int] = (30, 50, 120),
    epochs: int = 40,
    cell: str = "gru",
    n_layers: int = 2,
    embedding: int | None = None,
    batch_size: int = 128,
    learning_rate: float = 0.005,
    schedule: str = "cosine",
    clip: float = 1.0,
    patience: int | None = None,
    seed: Seed = 0,
    threads: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> TrainedNetwork:
    """Train the paper's network on words in several sizes, and return the best one.

    Each size is trained for all epochs with Adam on the next-symbol cross-entropy; the weights
    after the size and epoch with the best cross-entropy on the validation words are returned.
    The result depends on the data, the arguments and the machine alone.

    Parameters
    ----------
    words
        The training words.
    validation
        Words to choose the size and epoch on; None: a part of ``words``, drawn at random.
    validation_share
        How large a part.
    sizes
        Units of the recurrent layers: one network per size.
    epochs
        How often each network reads the words.
    cell, n_layers, embedding
        Of the `Network`.
    batch_size
        Words per step.
    learning_rate
        Of Adam, at its highest.
    schedule
        ``"cosine"``: a short warm-up, then falling to 0 at the last epoch. ``"constant"``.
    clip
        The largest norm of the gradient of a step.
    patience
        Stop training a size after so many epochs without a better one; None: never.
    seed
        Random seed, a number or a generator: for the first weights, the order of words and the
        part held out.
    threads
        Of PyTorch. The networks are small: more than one is seldom faster.
    checkpoint
        A file that is written after every epoch. If it is there, training goes on from it, and
        ends with exactly the weights of a training without a break.
    progress
        Called with the number of steps done and of all steps.
    on_epoch
        Called with every new `Epoch`.

    Examples
    --------
    >>> words = Alphabet("ab").words(["ab", "abab", "", "ab", "ababab"] * 20)
    >>> trained = train(words, sizes=[8], epochs=10, learning_rate=0.02, batch_size=10)
    >>> trained.hidden, len(trained.history)
    (8, 10)
    >>> bool(trained.model.next_symbol(["aba"])[0].argmax() == 1)  # b follows
    True
    """
    recipe = Recipe(
        sizes=tuple(sizes),
        epochs=epochs,
        cell=cell,
        n_layers=n_layers,
        embedding=embedding,
        batch_size=batch_size,
        learning_rate=float(learning_rate),
        schedule=schedule,
        clip=float(clip),
        patience=patience,
        seed=seed_number(seed),
    )
    training, held_out = split(words, validation, validation_share, recipe.seed)
    with _threads(whole_number("threads", threads, 1)):
        run = _Run(recipe, training, held_out, checkpoint, progress, on_epoch)
        for hidden in recipe.sizes:
            run.train(hidden)
        return run.result()


def split(
    words: Words, validation: Words | Iterable[Word] | None, share: float, seed: Seed
) -> tuple[Words, Words]:
    """Return the words to train on and those to validate on."""
    if not isinstance(words, Words):
        raise ArgumentError(
            f"expected Words, got {type(words).__name__}: read_words(file) reads them, "
            "Alphabet(symbols).words(list) makes them"
        )
    if validation is not None:
        held_out = words.alphabet.words(validation)
        if not len(words) or not len(held_out):
            raise ArgumentError(
                f"expected words to train and to validate on, got {len(words)} and {len(held_out)}"
            )
        return words, held_out
    if not 0 < share < 1:
        raise ArgumentError(f"validation_share: expected between 0 and 1, got {share!r}")
    if len(words) < 2:
        raise ArgumentError(
            f"expected at least two words, one to train and one to validate on, got {len(words)}"
        )
    n_held_out = min(max(1, round(share * len(words))), len(words) - 1)
    chosen = np.zeros(len(words), bool)
    chosen[random_generator(seed).permutation(len(words))[:n_held_out]] = True
    return words[np.flatnonzero(~chosen)], words[np.flatnonzero(chosen)]


class _Run:
    """A running training: its data, its results so far, and its callbacks."""

    def __init__(
        self,
        recipe: Recipe,
        training: Words,
        held_out: Words,
        checkpoint: str | os.PathLike[str] | None,
        progress: Callable[[int, int], None] | None,
        on_epoch: Callable[[Epoch], None] | None,
    ) -> None:
        self.recipe, self.checkpoint = recipe, checkpoint
        self.progress, self.on_epoch = progress, on_epoch
        self.corpus = Corpus(training)
        self.n_held_out = len(held_out)
        validation, all_of_them = Corpus(held_out), np.arange(len(held_out))
        cuts = range(0, len(held_out), VALIDATION_BATCH_SIZE)
        self.validation = [
            validation.batch(all_of_them[at : at + VALIDATION_BATCH_SIZE]) for at in cuts
        ]
        self.purpose = {
            **asdict(recipe),
            "training words": digest(training),
            "validation words": digest(held_out),
        }
        self.history: list[Epoch] = []
        self.best: FloatArray = np.empty(0, np.float32)
        self.resumed: dict[str, FloatArray] = {}
        saved = None if checkpoint is None else Checkpoint.load(checkpoint, self.purpose)
        if saved is not None:
            self.history, self.resumed, self.best = list(saved.history), saved.state, saved.best

    @property
    def n_batches(self) -> int:
        return -(-len(self.corpus) // self.recipe.batch_size)

    def train(self, hidden: int) -> None:
        """Train one size, or what is left of it."""
        rows = [row for row in self.history if row.hidden == hidden]
        if self.recipe.is_done(rows):
            return
        learner = Learner(self.recipe.build(self.corpus.words.alphabet, hidden))
        if rows:
            learner.restore(self.resumed)
        while not self.recipe.is_done(rows):
            row = self._epoch(learner, hidden, len(rows) + 1)
            rows.append(row)
            if all(row.validation < other.validation for other in self.history):
                self.best = learner.state()["weights"]
            self.history.append(row)
            if self.checkpoint is not None:
                state = Checkpoint(tuple(self.history), learner.state(), self.best)
                state.save(self.checkpoint, self.purpose)
            if self.on_epoch is not None:
                self.on_epoch(row)

    def _epoch(self, learner: Learner, hidden: int, epoch: int) -> Epoch:
        begin = time.perf_counter()
        recipe, n_batches = self.recipe, self.n_batches
        order = np.random.default_rng([recipe.seed, hidden, epoch]).permutation(len(self.corpus))
        before = recipe.sizes.index(hidden) * recipe.epochs
        factor, total, n_letters = SCHEDULES[recipe.schedule], 0.0, 0
        for i in range(n_batches):
            batch = self.corpus.batch(order[i * recipe.batch_size : (i + 1) * recipe.batch_size])
            done = (epoch - 1) * n_batches + i
            # The next step's place, so that neither the first nor the last has a rate of 0.
            rate = recipe.learning_rate * factor((done + 1) / (recipe.epochs * n_batches + 1))
            total += learner.learn(batch, rate, recipe.clip)
            n_letters += batch.n_letters
            if not math.isfinite(total):
                break
            if self.progress is not None:
                all_steps = len(recipe.sizes) * recipe.epochs * n_batches
                self.progress(before * n_batches + done + 1, all_steps)
        validation = learner.measure(self.validation)
        if not math.isfinite(total + validation):
            raise ArgumentError(
                f"training diverged: with {hidden} units the loss is no number in epoch {epoch}; "
                f"lower the learning rate, now {recipe.learning_rate:g}"
            )
        return Epoch(hidden, epoch, total / n_letters, validation, time.perf_counter() - begin)

    def result(self) -> TrainedNetwork:
        """Return the best network of all epochs so far."""
        best = min(self.history, key=lambda row: row.validation)
        alphabet = self.corpus.words.alphabet
        learner = Learner(self.recipe.build(alphabet, best.hidden))
        learner.restore({"weights": self.best})
        return TrainedNetwork(
            to_seqray(learner.network, alphabet),
            hidden=best.hidden,
            epoch=best.epoch,
            validation=best.validation,
            history=tuple(self.history),
            n_training=len(self.corpus),
            n_validation=self.n_held_out,
        )


@contextmanager
def _threads(number: int) -> Iterator[None]:
    """Let PyTorch use a number of threads, and as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
