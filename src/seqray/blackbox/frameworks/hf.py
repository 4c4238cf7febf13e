"""Models of Hugging Face transformers as black boxes: causal language models and classifiers.

`open_hf` opens a folder, `hf_box` takes a model that is loaded already. A language model is stepped
with its cache of keys and values (`hf_cache`). Where that is not possible, and for a classifier,
whole sequences are read, those of one length at a time, so that nothing is padded.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, Unpack

from seqray.automata.words import Alphabet, Symbol
from seqray.blackbox.card import Card, card_path
from seqray.blackbox.classifier_box import QueriedClassifier
from seqray.blackbox.frameworks.extras import load_extra
from seqray.blackbox.frameworks.hf_cache import MAX_CACHE_BYTES, CannotShareError, cached_stepper
from seqray.blackbox.frameworks.hf_card import (
    Tokens,
    folder_card,
    load_tokenizer,
    special_id,
    token_card,
)
from seqray.blackbox.frameworks.hf_folder import answers_of, load_model, read_config
from seqray.blackbox.frameworks.hf_tokens import (
    TokenModel,
    distinct_tokens,
    token_sequence_box,
    tree_of,
)
from seqray.blackbox.frameworks.padded import sequence_box
from seqray.blackbox.frameworks.stepped import SteppedBox, stepped_box
from seqray.blackbox.frameworks.torch import inference, usable_device
from seqray.blackbox.frameworks.trial import tried
from seqray.blackbox.native.classifier import TWO_CLASSES
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.blackbox.token_tree import TokenTree
from seqray.util.arrays import FloatArray, IntArray, whole_number
from seqray.util.errors import ArgumentError
from seqray.util.files import fingerprint

HfBox: TypeAlias = QueriedBox | QueriedModel | QueriedClassifier | SteppedBox

MAX_IDS_PER_BATCH = 2**13
"""How many ids one batch of whole sequences may have: the layers need many times that memory."""

SCORES_OF_OUTPUT = {"logit": "values", "probability": "logits"}
"""What a classifier may answer, and which scores its card then has."""

logger = logging.getLogger(__name__)


def hf_box(
    model: Any,
    card: Card,
    *,
    name: str | None = None,
    memory: int = MAX_CACHE_BYTES,
    batch_size: int = MAX_IDS_PER_BATCH,
) -> HfBox:
    """Make a black box of a model of transformers.

    Parameters
    ----------
    model
        A causal language model, or a classifier of sequences, on the device and of the precision
        that you want. It is run in evaluation mode, without gradients.
    card
        How symbols become ids, and scores answers: ``token_card`` of `hf_card` makes one from a
        tokenizer. A language model's outputs are its tokens, so its columns are its
        ids; its end, where the card says none, is the ``eos_token_id`` of its configuration.
    name
        The key of its cached answers: change it when the model changes.
    memory
        The most bytes of keys and values that a batch of states of a language model may need. With
        0 none are cached, and every prefix is read from the beginning.
    batch_size
        The most ids in one call, where whole sequences are read.
    """
    module = load_extra("transformers", "hf").PreTrainedModel
    if not isinstance(model, module):
        raise ArgumentError(f"model: expected one of transformers, got {type(model).__name__}")
    if not isinstance(card, Card):
        raise ArgumentError(f"card: expected a Card, got {type(card).__name__}")
    who = f"the {type(model).__name__}"
    return _box(model, card, who, name, threads=None, memory=memory, batch_size=batch_size)


class RunOptions(TypedDict, total=False):
    """How symbols are tokenised and a model is run: further options of `open_hf`."""

    separator: str
    """Text before each symbol when it is tokenised; by default none."""
    device: str
    """Where, in PyTorch's words; by default ``"cpu"``."""
    dtype: str
    """How precisely, in PyTorch's words; by default ``"float32"``."""
    threads: int
    """How many threads PyTorch may use during a query; by default 1."""
    memory: int
    """As for `hf_box`."""
    batch_size: int
    """As for `hf_box`."""


DEFAULT_RUN: RunOptions = {
    "separator": "",
    "device": "cpu",
    "dtype": "float32",
    "threads": 1,
    "memory": MAX_CACHE_BYTES,
    "batch_size": MAX_IDS_PER_BATCH,
}


def open_hf(
    folder: str | os.PathLike[str],
    *,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    start: Tokens | None = None,
    end: Tokens | None = None,
    renormalise: bool | None = None,
    label: str | int | None = None,
    output: str | None = None,
    **run: Unpack[RunOptions],
) -> HfBox:
    """Open the folder of a causal language model, or of a classifier of sequences.

    Parameters
    ----------
    folder
        What ``save_pretrained`` wrote, with the weights as safetensors. The symbols of the words
        come from ``alphabet``, or from the folder's card, ``seqray.json`` (docs/cards.md).
    alphabet
        The symbols: tokens of the tokenizer in the folder, or texts, of one token or, for a
        language model, of several. ``token_card`` of `hf_card` says more.
    start, end
        The tokens before a word and at its end, where they are not the tokenizer's own, or ids;
        several as a list.
    renormalise
        Whether probabilities are divided by their sum over the symbols and the end (True, unless
        the card says otherwise), or stay as they are among all tokens.
    label
        A classifier's class, by name or number: the box then gives one number, of that class. By
        default it classifies, with the class names of the configuration.
    output
        With a label: ``"logit"`` (by default) or ``"probability"`` of that class.
    run
        ``separator``, and how the model is run: ``device``, ``dtype``, ``threads``, ``memory`` and
        ``batch_size``, see `RunOptions`.
    """
    for name in run.keys() - DEFAULT_RUN.keys():
        raise ArgumentError(f"unknown option {name!r}: expected one of {', '.join(DEFAULT_RUN)}")
    options: RunOptions = {**DEFAULT_RUN, **run}
    folder = Path(folder)
    config = read_config(folder)
    answers = answers_of(config, folder)
    _check_options(answers, renormalise=renormalise, label=label, output=output)
    if alphabet is None:
        if start is not None or end is not None or options["separator"]:
            raise ArgumentError("start, end and separator go with alphabet: a card has its own")
        card = _card_in(folder, config, answers)
    else:
        tokenizer, separator = load_tokenizer(folder), str(options["separator"])
        card = token_card(tokenizer, alphabet, answers, start=start, end=end, separator=separator)
        _check_around(card, folder)
    if renormalise is not None:
        card = replace(card, renormalise=renormalise)
    device = usable_device(load_extra("torch", "hf"), options["device"])
    model = load_model(folder, answers, device, options["dtype"])
    if answers == "value":
        is_open = alphabet is not None or label is not None
        card = _with_label(card, model.config, label, output, is_open=is_open)
    document = json.dumps([fingerprint(folder), card.to_json(), options["dtype"]])
    digest = f"hf {folder.name} {hashlib.sha256(document.encode()).hexdigest()}"
    who = f"the {type(model).__name__} in {folder}"
    threads = whole_number("threads", options["threads"], 1)
    sizes = {"memory": options["memory"], "batch_size": options["batch_size"]}
    return _box(model, card, who, digest, threads=threads, **sizes)


def _card_in(folder: Path, config: Mapping[str, Any], answers: str) -> Card:
    """Return the card in a folder, if it fits the configuration."""
    card = folder_card(folder, config)
    if card.answers != answers and (card.answers, answers) != ("classes", "value"):
        raise ArgumentError(
            f"{folder}: its card answers {card.answers!r}, and {config['architectures'][0]} "
            f"answers {answers!r}"
        )
    return card


def _check_around(card: Card, folder: Path) -> None:
    """Refuse a card with which the empty word would be no token at all."""
    if card.start is None and card.stop is None:
        raise ArgumentError(
            f"{folder}: its tokenizer puts no token around a text, so the empty word would be "
            "nothing at all: say start= or end=, a token or an id; or leave alphabet= out and "
            f"say all of it in the card {card_path(folder)}, which is not read beside alphabet="
        )


def _check_options(answers: str, **options: Any) -> None:
    others = ("label", "output") if answers == "next" else ("renormalise",)
    kind = "a classifier" if answers == "next" else "a language model"
    for name in others:
        if options[name] is not None:
            raise ArgumentError(f"{name}: only for {kind}, and the folder holds none")
    if options["output"] is not None and options["output"] not in SCORES_OF_OUTPUT:
        raise ArgumentError(
            f"output: expected {' or '.join(SCORES_OF_OUTPUT)}, got {options['output']!r}"
        )


def _with_label(
    card: Card, config: Any, label: str | int | None, output: str | None, *, is_open: bool
) -> Card:
    """Return the card of a classifier: of all its classes, or of the one that has a label.

    ``is_open`` says that the card leaves open which class it is.
    """
    if label is None and output is None and (card.answers == "classes" or is_open):
        names = [name for _, name in sorted((int(i), n) for i, n in config.id2label.items())]
        if card.answers == "classes" or _has_classes(config, len(names)):
            names = list(card.classes or (names if len(names) > 1 else TWO_CLASSES))
            scores = card.scores if card.answers == "classes" else "logits"
            columns = card.columns if card.classes else None
            return replace(card, answers="classes", scores=scores, classes=names, columns=columns)
    if card.answers == "classes":
        card = replace(card, threshold=None)
        card = replace(card, answers="value", scores="values", classes=None, columns=None)
    if is_open:
        card = replace(card, column=_column(config, label))
    return card if output is None else replace(card, scores=SCORES_OF_OUTPUT[output])


def _has_classes(config: Any, n_labels: int) -> bool:
    """Whether the labels of a model are classes of which each word has one."""
    others = ("regression", "multi_label_classification")
    return n_labels > 1 and config.problem_type not in others


def _column(config: Any, label: str | int | None) -> int:
    """Return the number of the output of a class."""
    names = {int(number): name for number, name in config.id2label.items()}
    if label is None and len(names) == 1:
        return 0
    for number, name in names.items():
        if label in (number, name) and not isinstance(label, bool):
            return number
    known = ", ".join(f"{number} ({name})" for number, name in sorted(names.items()))
    seen = "say which class's answer is the value" if label is None else f"got {label!r}"
    raise ArgumentError(f"label: expected one of {known}: {seen}")


# Queries ------------------------------------------------------------------------------------------


def _box(
    model: Any,
    card: Card,
    who: str,
    name: str | None,
    *,
    threads: int | None,
    memory: int,
    batch_size: int,
) -> HfBox:
    memory = whole_number("memory", memory, 0)
    if card.answers == "next":
        card = _with_tokens_as_outputs(model, card, who)
    card = replace(card, pad=None, limit=_smallest(card.limit, _limit(model)))
    _check_ids(model, card, who)
    options: dict[str, Any] = {"who": who, "fingerprint": name}
    if card.answers != "next":
        forward, card = _classifier(model, card, who, threads)
        return tried(sequence_box(forward, card, **options, batch_size=batch_size), card)
    tree = None if card.tokens is None else tree_of(card)
    forward, card = _language_model(model, card, tree, who, threads)
    if memory and card.start is not None:
        ids = (*card.start_ids, *chain.from_iterable(card.id_lists))
        try:
            stepper = cached_stepper(model, forward, ids, limit=card.limit, memory=memory, who=who)
            if tree is None:
                return tried(stepped_box(stepper, card, **options), card)
            return tried(TokenModel(stepper, card, who, name, tree), card)
        except CannotShareError as error:
            logger.warning("%s reads every prefix from the beginning: %s", who, error)
    if tree is None:
        box = sequence_box(lambda ids, _: forward(ids), card, **options, batch_size=batch_size)
        return tried(box, card)
    return tried(token_sequence_box(forward, card, tree, **options, batch_size=batch_size), card)


def _with_tokens_as_outputs(model: Any, card: Card, who: str) -> Card:
    """Return the card with the tokens of the symbols and of the end as outputs."""
    places = tuple(range(len(card.alphabet)))
    if card.tokens is None and tuple(card.columns or ()) not in (places, card.ids):
        raise ArgumentError(
            f"{who}: columns: a language model's outputs are its tokens: leave columns out"
        )
    end = card.end
    if end is None:
        config = model.config.get_text_config().to_dict()
        end = special_id(config, "eos_token_id", f"{who}: end: say in the card which token it is")
    return replace(card, columns=card.ids, end=end)


def _language_model(
    model: Any, card: Card, tree: TokenTree | None, who: str, threads: int | None
) -> tuple[Any, Card]:
    """Return the forward function of a causal language model, and the card of its scores."""
    if getattr(model.config, "is_encoder_decoder", False) or not model.can_generate():
        raise ArgumentError(
            f"{who} is no causal language model, which predicts the next symbol: for a "
            'classifier the card answers "value"'
        )
    torch = load_extra("torch", "hf")
    columns = list(card.outputs) if tree is None else distinct_tokens(tree).tolist()
    is_normalised = tree is not None or not card.renormalise
    last = "logits_to_keep" in inspect.signature(model.forward).parameters
    keep = {"logits_to_keep": 1} if last else {}

    def forward(ids: IntArray, cache: Any = None, /) -> FloatArray:
        with _running(model, threads, pad=None):
            read = torch.as_tensor(ids, device=model.device)
            answer = model(read, past_key_values=cache, use_cache=cache is not None, **keep)
            logits = answer.logits[:, -1]
            scores = logits[:, columns].double()
            if is_normalised:
                scores -= logits.double().logsumexp(1, keepdim=True)
            array: FloatArray = scores.cpu().numpy()
        return array

    if tree is not None:
        return forward, card
    scores = "logits" if card.renormalise else "log-probabilities"
    return forward, replace(card, columns=None, end=None, scores=scores)


def _classifier(
    model: Any, card: Card, who: str, threads: int | None
) -> tuple[Callable[[IntArray, IntArray], FloatArray], Card]:
    """Return the forward function of a classifier, and its card."""
    torch = load_extra("torch", "hf")
    if model.can_generate():
        raise ArgumentError(
            f'{who} predicts the next token: its card answers "next", and a classifier\'s "value"'
        )
    kind, n_labels = model.config.problem_type, model.config.num_labels
    if card.column >= n_labels:
        raise ArgumentError(
            f"{who} has {n_labels} classes, and its card has column {card.column}, counted "
            "from 0: expected the number of a class"
        )
    if card.scores == "logits" and kind == "regression":
        raise ArgumentError(f"{who} answers a number and no probability: output='logit'")
    alone = card.scores == "logits" and kind == "multi_label_classification"
    # Nothing is padded. Models that look for padding in the words, to find the last token, must
    # not take a symbol for it.
    pad = model.config.pad_token_id if model.config.is_encoder_decoder else -1

    def forward(ids: IntArray, _: IntArray) -> FloatArray:
        with _running(model, threads, pad):
            logits = model(torch.as_tensor(ids, device=model.device)).logits.double()
            array: FloatArray = (logits.sigmoid() if alone else logits).cpu().numpy()
        return array

    return forward, replace(card, scores="probabilities") if alone else card


@contextmanager
def _running(model: Any, threads: int | None, pad: int | None) -> Iterator[None]:
    """Run a model whose configuration has another padding token inside the block."""
    config = model.config.get_text_config()
    before = getattr(config, "pad_token_id", None)
    with inference(model, threads):
        config.pad_token_id = pad
        try:
            yield
        finally:
            config.pad_token_id = before


def _limit(model: Any) -> int | None:
    """Return how many tokens a model can read; None if its configuration has no limit."""
    config = model.config.get_text_config()
    limit = getattr(config, "max_position_embeddings", None)
    if not isinstance(limit, int) or limit < 1:
        return None
    for name, module in model.named_modules():  # RoBERTa counts its positions from behind padding
        padding = getattr(module, "padding_idx", None)
        if name.endswith("position_embeddings") and padding is not None:
            limit -= int(padding) + 1
    return limit


def _smallest(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _check_ids(model: Any, card: Card, who: str) -> None:
    """Refuse ids that the model does not have."""
    n_ids = model.get_input_embeddings().weight.shape[0]
    named: list[tuple[str, int | None]] = [
        (f"symbol {symbol!r}", number)
        for symbol, ids in zip(card.alphabet, card.id_lists, strict=True)
        for number in ids
    ]
    named += [("start", number) for number in card.start_ids]
    named += [("stop", number) for number in card.stop_ids]
    if card.answers == "next":
        named.append(("end", card.end))
    for what, number in named:
        if number is not None and number >= n_ids:
            raise ArgumentError(
                f"{what} has the id {number}, and {who} has those from 0 to {n_ids - 1}: "
                "alphabet and model disagree"
            )
