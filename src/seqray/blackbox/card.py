"""The card of a model: which symbols it reads, as which ids, and what it answers.

Model files do not hold that. A card is a small JSON file beside the model, ``model.seqray.json``
beside ``model.onnx`` and ``seqray.json`` in a model's folder. docs/cards.md explains every field.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from seqray.automata.decisions import check_class_count, check_classes, check_threshold
from seqray.automata.words import Alphabet, Words
from seqray.blackbox.card_fields import (
    check_choice,
    class_probabilities,
    field_number,
    finite_number,
    listed,
    one_or_more,
    probabilities_hint,
    token_lists,
    with_answers,
)
from seqray.blackbox.token_tree import longest_word
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.checksums import opened_json, sealed_json
from seqray.util.errors import ArgumentError, MissingFileError, SeqrayError
from seqray.util.files import read_text, reading, writing

ANSWERS = ("next", "value", "classes")
SCORES = ("logits", "log-probabilities", "probabilities", "values")


@dataclass(frozen=True)
class Card:
    """How words go into a network, and how answers come out of it.

    Parameters
    ----------
    alphabet
        The symbols of the words.
    answers
        ``"next"``: the network scores every next symbol; ``"value"``: it gives one number to the
        whole word; ``"classes"``: it scores every class of the whole word. In a file
        ``"task": "classification"`` says the same as the last.
    scores
        What its outputs are. ``"logits"`` go through a softmax over all outputs,
        ``"log-probabilities"`` through an exponential, ``"probabilities"`` and ``"values"`` are
        taken as they are. A single logit goes through the logistic function. By default logits
        for ``"next"`` and ``"classes"``, values for ``"value"``.
    ids
        The input id of each symbol; None: its place in the alphabet.
    tokens
        Instead of ``ids``, for a language model: the token ids of each symbol, a list per symbol.
    start, stop
        The input id that is read before, and after, every word, or a list of them; None: nothing
        is.
    columns
        The output of each next symbol, or of each class; None: its place in the alphabet, or
        among the classes.
    end
        The output of the end of the word; None: the one after the last symbol's place, with a
        warning where the network has further outputs.
    renormalise
        Whether next-symbol probabilities are divided by their sum over the symbols and the end,
        for a network that has other outputs too (padding, say).
    column
        The output that is the value, where the network has several.
    pad
        The input id that pads short words, for a network that ignores it. None: words of
        different lengths are never in one batch.
    empty
        The value of the empty word, for a network that needs at least one id; of a classifier
        the probability of each class.
    limit
        The most ids that the network can read at once.
    network
        What the layers are, where the file holds nothing but arrays (`torch`).
    classes
        The names of the classes. None: the numbers of the network's outputs. A network with one
        output has two classes, and the output is that of the second.
    threshold
        The probability at which the second of two classes is decided for. None: the class of the
        largest probability is.

    Examples
    --------
    >>> card = Card(Alphabet("ab"), "next", start=2)
    >>> card.log_next(np.zeros((1, 4))).round(3)
    array([[-1.099, -1.099, -1.099]])
    """

    alphabet: Alphabet
    answers: str
    scores: str = ""
    ids: Sequence[int] | None = None
    start: int | Sequence[int] | None = None
    stop: int | Sequence[int] | None = None
    columns: Sequence[int] | None = None
    end: int | None = None
    renormalise: bool = True
    column: int = 0
    pad: int | None = None
    empty: float | Sequence[float] | None = None
    limit: int | None = None
    network: Mapping[str, Any] | None = None
    classes: Sequence[str] | None = None
    threshold: float | None = None
    tokens: Sequence[Sequence[int]] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.alphabet, Mapping):
            raise ArgumentError(
                "alphabet: expected the symbols, got a dictionary: for one that holds all fields "
                "of a card write Card.from_json(...)"
            )
        object.__setattr__(self, "alphabet", Alphabet.of(self.alphabet))
        check_choice("answers", self.answers, ANSWERS)
        if not self.scores:
            object.__setattr__(self, "scores", "values" if self.answers == "value" else "logits")
        check_choice("scores", self.scores, SCORES)
        if self.answers != "value" and self.scores == "values":
            kind = "predicts the next symbol" if self.answers == "next" else "classifies"
            raise ArgumentError(f'scores: a network that {kind} has no "values": expected logits')
        self._check_classes()
        if self.answers == "next" and self.stop is not None:
            raise ArgumentError("stop: a network that predicts the next symbol reads no end")
        if self.answers == "next" and self.empty is not None:
            raise ArgumentError("empty: only a network that answers a value needs it")
        # Only its adapter knows whether a model's columns are its ids, as a language model's are.
        is_incomplete = self.columns is None and (self.ids, self.tokens) != (None, None)
        if self.tokens is not None:
            self._check_tokens()
        for name in ("ids", "columns"):
            object.__setattr__(self, name, self._numbers(name))
        for name in ("start", "stop"):
            object.__setattr__(self, name, one_or_more(name, getattr(self, name)))
        for name in ("end", "column", "pad", "limit"):
            self._keep_number(name)
        self._check_others()
        n_around = len(self.start_ids) + len(self.stop_ids)
        if self.limit is not None and self.limit < n_around:
            raise ArgumentError(
                f"limit: {self.limit} ids have no room for the {n_around} of start and stop"
            )
        if not is_incomplete:
            self.check_outputs()

    def _check_classes(self) -> None:
        """Refuse classes, or a threshold, of a network that does not classify."""
        if self.answers != "classes":
            for name in ("classes", "threshold"):
                if getattr(self, name) is not None:
                    raise ArgumentError(
                        f'{name}: only a classifier has it: say "task": "classification" in the '
                        "card, or leave it out"
                    )
        elif self.classes is not None:
            object.__setattr__(self, "classes", check_classes(self.classes))
            check_threshold(self.threshold, len(self.classes or ()))

    def _check_tokens(self) -> None:
        """Refuse tokens beside ids, or of a network that is no language model."""
        if self.answers != "next" or (self.ids, self.columns) != (None, None):
            raise ArgumentError(
                "tokens: only for a language model, whose card has no ids and no columns beside "
                'them: leave out ids and columns, and say "answers": "next"'
            )
        object.__setattr__(self, "tokens", token_lists(self.alphabet.symbols, self.tokens))

    def check_outputs(self) -> None:
        """Refuse a card that uses one output twice, or has none for a symbol."""
        if self.tokens is not None:
            raise ArgumentError(
                "tokens: only a model of Hugging Face (hf:) reads symbols of several tokens: give "
                "each symbol one id (ids)"
            )
        if len(set(self.outputs)) < len(self.outputs):
            raise ArgumentError(
                f"columns and end: expected all different, got {list(self.outputs)}: give "
                "each symbol its own output in the card (columns), and the end another (end)"
            )

    def _keep_number(self, name: str) -> None:
        number, optional = getattr(self, name), name != "column"
        if number is not None or not optional:
            number = field_number(name, number, least=1 if name == "limit" else 0)
        object.__setattr__(self, name, number)

    def _check_others(self) -> None:
        if not isinstance(self.renormalise, bool):
            raise ArgumentError(f"renormalise: expected true or false, got {self.renormalise!r}")
        if self.empty is not None and not isinstance(self.empty, list | tuple):
            object.__setattr__(self, "empty", finite_number("empty", self.empty))
        elif self.empty is not None:
            numbers = tuple(finite_number("empty", each) for each in self.empty)
            object.__setattr__(self, "empty", numbers)
        if self.network is not None and not isinstance(self.network, Mapping):
            raise ArgumentError(f"network: expected an object, got {self.network!r}")

    def _numbers(self, name: str) -> tuple[int, ...] | None:
        """Return a field's number for each symbol: by default its place in the alphabet."""
        numbers, n, owner = getattr(self, name), len(self.alphabet), "symbols"
        if self.answers == "classes" and name == "columns":
            n, owner = len(self.classes or ()), "classes"
        if numbers is None:  # which outputs classes have is known with the network
            return None if owner == "classes" or self.tokens is not None else tuple(range(n))
        if isinstance(numbers, str) or not isinstance(numbers, Iterable):
            raise ArgumentError(f"{name}: expected a list of {n} numbers, got {numbers!r}")
        numbers = tuple(numbers)
        if len(numbers) != n:
            raise ArgumentError(
                f"{name}: expected one for each of the {n} {owner}, got {len(numbers)}"
            )
        return tuple(field_number(name, number) for number in numbers)

    @property
    def outputs(self) -> tuple[int, ...]:
        """The outputs in use: of each next symbol, and last of the end; of the value; of classes.

        Two classes may have a single output, see `class_scores`.
        """
        if self.answers == "value":
            return (self.column,)
        if self.answers == "classes":
            columns = tuple(self.columns or range(len(self.classes or ())))
            return (0,) if columns in ((), (0, 1)) else columns
        end = len(self.alphabet) if self.end is None else self.end
        return (*(self.columns or ()), end)

    @property
    def start_ids(self) -> tuple[int, ...]:
        """The input ids that are read before every word."""
        return listed(self.start)

    @property
    def stop_ids(self) -> tuple[int, ...]:
        """The input ids that are read after every word."""
        return listed(self.stop)

    @property
    def id_lists(self) -> tuple[tuple[int, ...], ...]:
        """The input ids of each symbol: one, or its tokens."""
        return tuple(map(listed, self.tokens or self.ids or ()))

    def of_words(self, words: Words) -> IntArray:
        """Return the input ids of words that are all of one length, ``(n_words, n_ids)``."""
        n = len(words)
        inside = np.asarray(self.ids)[words.codes].reshape(n, -1)
        before, after = (
            np.tile(np.array(ids, np.int64), (n, 1)) for ids in (self.start_ids, self.stop_ids)
        )
        return np.concatenate([before, inside, after], axis=1)

    def log_next(self, scores: FloatArray) -> FloatArray:
        """Return the logarithm of each next symbol's probability, ``(n, n_symbols + 1)``.

        ``scores`` has one row per prefix and one column per output.
        """
        logs = self._logs(self._checked(scores))[:, list(self.outputs)]
        return _minus_log_sum(logs) if self.renormalise else logs

    def values(self, scores: FloatArray) -> FloatArray:
        """Return the value of each word, ``(n,)``, from a row of outputs each."""
        scores = self._checked(scores)
        if self.scores in ("values", "probabilities"):
            return scores[:, self.column]
        if (
            self.scores == "logits" and scores.shape[1] == 1
        ):  # against a logit of 0: the logistic function
            scores = np.pad(scores, ((0, 0), (0, 1)))
        return np.exp(self._logs(scores)[:, self.column])

    def class_scores(self, scores: FloatArray) -> FloatArray:
        """Return the probability of each class of each word, ``(n, n_classes)``.

        A single output is that of the second of two classes.

        >>> Card(Alphabet("ab"), "classes", classes=["no", "yes"]).class_scores(np.zeros((1, 1)))
        array([[0.5, 0.5]])
        """
        scores = _as_rows(scores)
        if self.columns is None:
            check_class_count(self.classes or (), scores.shape[-1])
        columns = list(self.columns or range(len(self.classes or ())))
        scores = self._checked(scores)
        if scores.shape[1] == 1 and len(columns) == 2:
            second = scores
            if self.scores == "logits":
                second = np.exp(_minus_log_sum(np.pad(scores, ((0, 0), (0, 1)))))[:, :1]
            elif self.scores == "log-probabilities":
                second = np.exp(scores)
            return np.concatenate([1 - second, second], axis=1)
        if self.scores == "logits":
            return np.exp(_minus_log_sum(scores[:, columns]))
        chosen = (np.exp(scores) if self.scores == "log-probabilities" else scores)[:, columns]
        total = chosen.sum(axis=1, keepdims=True)
        even = np.full_like(chosen, 1 / len(columns))
        return np.asarray(np.divide(chosen, total, where=total > 0, out=even))

    def with_classes(self, n_outputs: int) -> Card:
        """Return the card with names for classes that have none: the numbers of the outputs.

        >>> Card(Alphabet("ab"), "classes").with_classes(3).classes
        ('0', '1', '2')
        """
        if self.answers != "classes" or self.classes is not None:
            return self
        return replace(self, classes=[str(i) for i in range(max(2, n_outputs))], columns=None)

    @property
    def empty_answer(self) -> FloatArray:
        """The answer to the empty word, where the card has it: a number, or one per class."""
        if self.answers == "classes":
            return class_probabilities(self.empty, self.classes or ())
        return np.asarray(self.empty, np.float64)

    @property
    def empty_hint(self) -> str:
        """How a card gives the answer to the empty word."""
        is_value = self.answers != "classes"
        return (
            'the value of the empty word as "empty"'
            if is_value
            else probabilities_hint(self.classes or ())
        )

    def _logs(self, scores: FloatArray) -> FloatArray:
        if self.scores == "logits":
            return _minus_log_sum(scores)
        if self.scores == "log-probabilities":
            return scores
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(scores)

    def _checked(self, scores: FloatArray) -> FloatArray:
        scores = _as_rows(scores)
        if scores.ndim != 2 or scores.shape[1] <= max(self.outputs):
            raise ArgumentError(
                f"the network answered shape {scores.shape}, which has no output "
                f"{max(self.outputs)}: alphabet and model disagree, see the card's columns and end"
            )
        return scores

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that fits into the network, beside start and stop."""
        if self.limit is None:
            return None
        n_around = len(self.start_ids) + len(self.stop_ids)
        return longest_word(self.limit, n_around, max(map(len, self.tokens or [()])) or 1)

    @property
    def leaks(self) -> bool:
        """Whether next-symbol probabilities may sum to less than 1."""
        return not self.renormalise

    def to_json(self) -> dict[str, Any]:
        """Return the contents of a card's file."""
        document = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.tokens is None:  # most cards have none, and their fingerprints stay as they were
            del document["tokens"]
        return {**document, "alphabet": self.alphabet.to_json()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Card:
        """Read a card from the contents of its file; errors name unknown fields."""
        known = [field.name for field in fields(cls)]
        document = with_answers(document)
        for name in document:
            if name not in known:
                near = get_close_matches(name, known, n=1) or known
                raise ArgumentError(f"unknown field {name!r}: expected {' or '.join(near)}")
        for name in ("alphabet", "answers"):
            if name not in document:
                raise ArgumentError(f"the field {name!r} is missing")
        symbols = document["alphabet"]
        if not isinstance(symbols, (str, list)):
            raise ArgumentError(f"alphabet: expected a list of symbols, got {symbols!r}")
        return cls(**{**document, "alphabet": Alphabet(symbols)})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the card to a file."""
        with writing(path) as fresh:
            fresh.write_bytes(sealed_json(self.to_json(), indent=1))


def card_path(model: str | os.PathLike[str]) -> Path:
    """Return the path of a model's card."""
    home = Path(model)
    return home / "seqray.json" if os.path.isdir(home) else home.with_suffix(".seqray.json")


def load_card(model: str | os.PathLike[str]) -> Card:
    """Read the card that lies beside a model.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = Path(folder, "net.onnx")
    ...     model.touch()
    ...     Card(Alphabet("ab"), "value").save(card_path(model))
    ...     load_card(model).alphabet
    Alphabet(['a', 'b'])
    """
    path = card_path(model)
    if not os.path.exists(model):
        raise MissingFileError(f"{model}: there is no such file or folder")
    if not os.path.exists(path):
        raise MissingFileError(
            f"{model}: its card {path} is missing: a JSON file that says which symbols the model "
            'reads and what it answers, such as {"alphabet": ["a", "b"], "answers": "next", '
            '"start": 2}; see docs/cards.md'
        )
    return read_card(read_text(path), path)


def read_card(text: str, where: str | os.PathLike[str]) -> Card:
    """Read a card from JSON text; errors name ``where`` the text comes from."""
    with reading(where, "a card of seqray"):
        document = opened_json(text.encode())
        if not isinstance(document, dict):
            raise ValueError(f"expected an object, got {type(document).__name__}")
    try:
        return Card.from_json(document)
    except SeqrayError as error:
        raise ArgumentError(f"{where}: {error}") from error


def _as_rows(scores: FloatArray) -> FloatArray:
    scores = np.asarray(scores, np.float64)
    return scores[:, None] if scores.ndim == 1 else scores


def _minus_log_sum(logs: FloatArray) -> FloatArray:
    top = logs.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):  # where no output is possible: nan
        shifted = logs - top
        rest: FloatArray = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return rest
