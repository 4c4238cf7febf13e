"""Training by next-symbol cross-entropy, with a choice of size and epoch (section 4.2)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch

from seqray.automata.sampling import Sample
from seqray.automata.words import Word, Words
from seqray.blackbox.queries.limits import Limits
from seqray.formats.events.event_log import EventLog, plain_words
from seqray.training.checkpoint import Epoch
from seqray.training.clock import TrainingClock
from seqray.training.recipe import DEFAULT_PATIENCE, SCHEDULES, Recipe
from seqray.training.reports import Listeners, TrainingEstimate
from seqray.training.run import TrainedNetwork, TrainingRun
from seqray.util.arrays import whole_number
from seqray.util.errors import ArgumentError
from seqray.util.progress import Progress, shown_progress
from seqray.util.random import Seed, random_generator, seed_number

__all__ = ["SCHEDULES", "Recipe", "TrainedNetwork", "split", "train"]


def train(
    words: Words | Sample | EventLog,
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
    patience: int | None = DEFAULT_PATIENCE,
    seed: Seed = 0,
    threads: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
    stop: threading.Event | None = None,
    progress: Progress | bool | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    on_estimate: Callable[[TrainingEstimate], None] | None = None,
) -> TrainedNetwork:
    """Train the paper's network on words in several sizes, and return the best one.

    Each size is trained with Adam on the next-symbol cross-entropy, until its cross-entropy on the
    validation words has not improved for some epochs (``patience``), at most for all epochs. The
    weights after the best size and epoch are returned. Without a time limit the result depends on
    the data, the arguments and the machine alone.

    Parameters
    ----------
    words
        The training words, or what `seqray.sample` or `seqray.read_events` returned.
    validation
        Words to choose the size and epoch on; None: a part of ``words``, drawn at random.
    validation_share
        How large a part.
    sizes
        Units of the recurrent layers: one network per size.
    epochs
        How often each network reads the words, at most.
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
        Stop training a size after so many epochs without a better one. None: train for all epochs,
        as the paper does.
    seed
        Random seed, a number or a generator: for the first weights, the order of words and the
        part held out.
    threads
        Of PyTorch. The networks are small: more than one is seldom faster.
    checkpoint
        A file that is written after every epoch. If it is there, training goes on from it, and
        ends with exactly the weights of a training without a break.
    time_limit
        Seconds after which training stops, also within an epoch. The best network so far is
        returned, with ``stop_reason``; within the first epoch it is the network of that moment.
    stop
        Training stops soon after this event is set, in the same manner. If no epoch is complete
        then, `Stopped` is raised.
    progress
        True: show a bar. Or what is called with the number of steps done and of all steps.
    on_epoch
        Called with every new `Epoch`.
    on_estimate
        Called about once a second with a `TrainingEstimate`: where training is, and how long all of
        it takes.

    Examples
    --------
    >>> from seqray.automata.words import Alphabet
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
    clock = TrainingClock(Limits(time_limit=time_limit, stop=stop))
    training, held_out = split(words, validation, validation_share, recipe.seed)
    n_threads = whole_number("threads", threads, 1)
    with _threads(n_threads), shown_progress(progress, "training", "steps") as shown:
        listeners = Listeners(shown, on_epoch, on_estimate)
        run = TrainingRun(recipe, training, held_out, checkpoint, clock, listeners)
        return run.train()


def split(
    given: Words | Sample | EventLog,
    validation: Words | Iterable[Word] | None,
    share: float,
    seed: Seed,
) -> tuple[Words, Words]:
    """Return the words to train on and those to validate on."""
    words = plain_words(given)
    if not isinstance(words, Words):
        raise ArgumentError(
            f"expected Words, got {type(given).__name__}: read_words(file) reads them, "
            "read_events(file) those of events, "
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


@contextmanager
def _threads(number: int) -> Iterator[None]:
    """Let PyTorch use a number of threads, and as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
