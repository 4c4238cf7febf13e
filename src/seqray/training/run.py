"""A running training: size after size, epoch after epoch, until it is done or stopped."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from seqray.automata.tree_batches import Corpus, TreeBatch
from seqray.automata.words import Words
from seqray.blackbox.native.rnn import RecurrentLanguageModel
from seqray.training.checkpoint import Checkpoint, Epoch, digest
from seqray.training.clock import TrainingClock
from seqray.training.learner import Learner
from seqray.training.network import default_width, is_large, to_seqray
from seqray.training.recipe import Recipe
from seqray.training.reports import Listeners, Reports
from seqray.util.arrays import FloatArray
from seqray.util.errors import ArgumentError, Stopped, StopReason

logger = logging.getLogger(__name__)

VALIDATION_BATCH_SIZE = 4096
"""How many validation words are read at once, if the alphabet is small."""

MAX_VALIDATION_OUTPUTS = 64 * VALIDATION_BATCH_SIZE
"""Words that are read at once times outputs of the network: large alphabets need memory."""

N_TRIAL_STEPS = 3
"""Steps of a network of a size that was not measured yet, for an estimate."""


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """What `train` returns: the network at its best size and epoch, and the history of all epochs.

    Parameters
    ----------
    model
        The network, a black box for `extract`; its ``save(path)`` writes a file for ``rnn:``.
    hidden, epoch
        The size and the epoch, counted from 1, with the best validation cross-entropy. Epoch 0: the
        time limit ended the training within the first epoch, and these are the weights at that
        moment.
    validation
        That cross-entropy: the mean over all symbols and ends of the validation words, in nats.
    history
        An `Epoch` for each size and epoch: ``(hidden, epoch, training, validation, seconds)``.
    n_training, n_validation
        How many words were trained on, and held out.
    stop_reason
        What ended the training before all sizes were done: `StopReason.TIME` or
        `StopReason.INTERRUPTED`. None: nothing; patience may still have ended some sizes early.
    """

    model: RecurrentLanguageModel
    hidden: int
    epoch: int
    validation: float
    history: tuple[Epoch, ...]
    n_training: int
    n_validation: int
    stop_reason: StopReason | None = None

    def __repr__(self) -> str:
        end = "" if self.stop_reason is None else f", stopped early: {self.stop_reason.value}"
        return (
            f"TrainedNetwork({self.hidden} units, epoch {self.epoch}, validation cross-entropy "
            f"{self.validation:.4f} nats{end})"
        )


class TrainingRun:
    """A training of all sizes of a recipe, with its results so far.

    Parameters
    ----------
    recipe
        How to train.
    training, held_out
        The words to train on, and those to choose the size and epoch on.
    checkpoint
        A file to go on from, and to write after every epoch; None: no file.
    clock
        Says when to stop.
    listeners
        Who is called during the training.
    """

    def __init__(
        self,
        recipe: Recipe,
        training: Words,
        held_out: Words,
        checkpoint: str | os.PathLike[str] | None,
        clock: TrainingClock,
        listeners: Listeners,
    ) -> None:
        self.recipe, self.checkpoint = recipe, checkpoint
        self.clock, self.on_epoch = clock, listeners.on_epoch
        self.corpus = Corpus(training)
        self.n_held_out = len(held_out)
        self.validation = list(_validation_batches(held_out))
        self.purpose = {
            **asdict(recipe),
            "embedding": _chosen_width(recipe, len(training.alphabet)),
            "training words": digest(training),
            "validation words": digest(held_out),
        }
        self.history: list[Epoch] = []
        self.best: FloatArray = np.empty(0, np.float32)
        self.resumed: dict[str, FloatArray] = {}
        saved = None if checkpoint is None else Checkpoint.load(checkpoint, self.purpose)
        if saved is not None:
            self.history, self.resumed, self.best = list(saved.history), saved.state, saved.best
        self.n_resumed = len(self.history)
        self.stopped: Stopped | None = None
        self.reports = Reports(recipe, self.n_batches, clock, listeners, self._trial)

    @property
    def n_batches(self) -> int:
        """How many steps an epoch has."""
        return -(-len(self.corpus) // self.recipe.batch_size)

    def train(self) -> TrainedNetwork:
        """Train all sizes; return the best network, also where a limit ends the training."""
        try:
            for hidden in self.recipe.sizes:
                self._train_size(hidden)
        except Stopped as stopped:
            if not self.history:
                raise
            self.stopped = stopped
            logger.warning("%s: %s", stopped, self._state_when_stopped(stopped.reason))
        return self._result()

    def _state_when_stopped(self, reason: StopReason) -> str:
        best = self._best_epoch()
        which = f"epoch {best.epoch}" if best.epoch else "a part of the first epoch"
        text = f"the best so far is {which} of {best.hidden} units"
        if reason is StopReason.TIME and len(self.history) == self.n_resumed:
            return f"{text}; no whole epoch fitted into the limit, so going on takes more time"
        return text

    def _train_size(self, hidden: int) -> None:
        """Train one size, or what is left of it."""
        rows = [row for row in self.history if row.hidden == hidden]
        if self._is_left(hidden, rows):
            return
        learner = Learner(self.recipe.build(self.corpus.words.alphabet, hidden))
        if rows:
            learner.restore(self.resumed)
        self.reports.begin_size(hidden, len(rows))
        while not self.recipe.is_done(rows):
            row = self._epoch(learner, hidden, len(rows) + 1)
            rows.append(row)
            self._keep(row, learner)
        if len(rows) < self.recipe.epochs:
            best = min(rows, key=lambda row: row.validation)
            logger.info(
                "%d units: ended after epoch %d of %d, no better epoch since %d (patience %s)",
                *(hidden, len(rows), self.recipe.epochs, best.epoch, self.recipe.patience),
            )

    def _is_left(self, hidden: int, rows: list[Epoch]) -> bool:
        """Return whether nothing more is trained of a size: it is done, or another one followed."""
        return self.recipe.is_done(rows) or (bool(rows) and self.history[-1].hidden != hidden)

    def _keep(self, row: Epoch, learner: Learner) -> None:
        """Record an epoch; keep its weights if it is the best; raise `Stopped` if it was cut."""
        if all(row.validation < other.validation for other in self.history):
            self.best = learner.state()["weights"]
        self.history.append(row)
        if self.stopped is not None:
            raise self.stopped
        if self.checkpoint is not None:
            state = Checkpoint(tuple(self.history), learner.state(), self.best)
            state.save(self.checkpoint, self.purpose)
        if self.on_epoch is not None:
            self.on_epoch(row)

    def _epoch(self, learner: Learner, hidden: int, epoch: int) -> Epoch:
        """Train an epoch. The very first one is kept where the time limit cuts it: as epoch 0."""
        begin, total, n_letters = self.clock.now(), 0.0, 0
        for i, (batch, rate) in enumerate(self._steps(hidden, epoch)):
            if self._is_over(is_first=i == 0):
                epoch = 0
                break
            total += learner.learn(batch, rate, self.recipe.clip)
            n_letters += batch.n_letters
            if not math.isfinite(total):
                break
            self.reports.step(epoch, i + 1)
        validation = learner.measure(self._watched())
        if not math.isfinite(total + validation):
            raise ArgumentError(
                f"training diverged: with {hidden} units the loss is no number in epoch {epoch}; "
                f"lower the learning rate, now {self.recipe.learning_rate:g}"
            )
        return Epoch(hidden, epoch, total / n_letters, validation, self.clock.now() - begin)

    def _steps(self, hidden: int, epoch: int) -> Iterator[tuple[TreeBatch, float]]:
        """Yield the batches of an epoch in random order, each with its learning rate."""
        recipe, n_batches = self.recipe, self.n_batches
        order = np.random.default_rng([recipe.seed, hidden, epoch]).permutation(len(self.corpus))
        for i in range(n_batches):
            batch = self.corpus.batch(order[i * recipe.batch_size : (i + 1) * recipe.batch_size])
            # The next step's place, so that neither the first nor the last has a rate of 0.
            done = ((epoch - 1) * n_batches + i + 1) / (recipe.epochs * n_batches + 1)
            yield batch, recipe.rate(done)

    def _is_over(self, *, is_first: bool) -> bool:
        """Raise `Stopped` at a limit; return whether the time limit cuts the very first epoch."""
        if is_first and not self.history:
            return False
        try:
            self.clock.check()
        except Stopped as stopped:
            if self.history or stopped.reason is not StopReason.TIME:
                raise
            self.stopped = stopped
        return self.stopped is not None

    def _watched(self) -> Iterator[TreeBatch]:
        """Yield the validation batches; raise `Stopped` at a limit if there is a whole epoch."""
        for batch in self.validation:
            if self.history:
                self.clock.check()
            yield batch
            if self.stopped is None:
                self.reports.estimate(self.n_batches)

    def _trial(self, hidden: int) -> float:
        """Return the seconds of a step of a size, tried on a network that is thrown away."""
        learner = Learner(self.recipe.build(self.corpus.words.alphabet, hidden))
        batch = self.corpus.batch(np.arange(min(self.recipe.batch_size, len(self.corpus))))
        seconds = []
        for _ in range(N_TRIAL_STEPS):
            begin = self.clock.now()
            learner.learn(batch, self.recipe.learning_rate, self.recipe.clip)
            seconds.append(self.clock.now() - begin)
        return min(seconds)

    def _best_epoch(self) -> Epoch:
        return min(self.history, key=lambda row: row.validation)

    def _result(self) -> TrainedNetwork:
        """Return the best network of all epochs so far."""
        best, alphabet = self._best_epoch(), self.corpus.words.alphabet
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
            stop_reason=None if self.stopped is None else self.stopped.reason,
        )


def _chosen_width(recipe: Recipe, n_symbols: int) -> int | None:
    """Return the size of the embedding; None for the paper's by default, as checkpoints have it."""
    if recipe.embedding is None and is_large(n_symbols):
        return default_width(n_symbols)
    return recipe.embedding


def _validation_batches(held_out: Words) -> Iterator[TreeBatch]:
    """Yield the words in batches, smaller ones where the alphabet is large."""
    corpus, everything = Corpus(held_out), np.arange(len(held_out))
    fitting = MAX_VALIDATION_OUTPUTS // (len(held_out.alphabet) + 1)
    size = max(1, min(VALIDATION_BATCH_SIZE, fitting))
    for at in range(0, len(held_out), size):
        yield corpus.batch(everything[at : at + size])
