"""What servers of language models want to hear, and how they answer.

A dialect turns prompts into the body of a request, and the response into the log-probabilities of
the next token. Probabilities are always those of the model itself: no field is sent that changes
them (``logit_bias``, ``allowed_token_ids``, penalties), and one token is generated and thrown away.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

Prompt: TypeAlias = tuple[int, ...] | str
"""What a server reads: the ids of tokens, or a text."""

MIN_LOG_PROBABILITY = -9000.0
"""Below this a log-probability stands for minus infinity, which JSON cannot hold."""

MAX_LOG_PROBABILITY = 1e-3
"""Above this a number is no log-probability, however it was rounded."""

HOT_TEMPERATURE = 1000.0
"""At this temperature nearly every token is equally likely to be drawn."""


class UnexpectedError(Exception):
    """A response without the fields of the dialect; the message names what is missing."""


class Listed(NamedTuple):
    """The next tokens that a server lists after a prompt."""

    logs: Mapping[int | str, float]
    """The log-probability of each, by its id, by its text, or by both."""
    bound: float
    """No token that is not listed has a larger log-probability."""
    rest: float
    """The probability that the list leaves over for all other tokens together."""


class Dialect(ABC):
    """How one kind of server is queried."""

    name: ClassVar[str]
    """Its name for people."""
    path: ClassVar[str]
    """Where the next token is queried."""
    takes_ids: ClassVar[bool] = True
    """Whether prompts may be the ids of tokens."""
    lists_ids: ClassVar[bool] = True
    """Whether the tokens in a response are ids; otherwise they are texts."""
    lists_wanted: ClassVar[bool] = False
    """Whether the server lists the tokens that a request names; otherwise the likeliest."""
    max_wanted: ClassVar[int | None] = None
    """The most tokens that can be named in one request; None: any number."""
    max_prompts: ClassVar[int | None] = None
    """The most prompts in one request; None: any number."""
    tokenize_path: ClassVar[str | None] = None
    """Where texts are turned into tokens; None: the server does not offer it."""

    def __init__(self, model: str, top_k: int | None) -> None:
        self.model, self.top_k = model, top_k

    @abstractmethod
    def body(
        self, prompts: Sequence[Prompt], wanted: Sequence[int], attempt: int
    ) -> dict[str, Any]:
        """Return the body of a request for the next token after each prompt.

        Parameters
        ----------
        prompts
            What the server reads.
        wanted
            The ids of the tokens whose probabilities are needed. Servers that list the likeliest
            tokens do not hear of it.
        attempt
            How often the server has drawn an end before, which some of them list nothing for.
        """

    @abstractmethod
    def read(self, document: Any, n: int) -> list[Listed | None]:
        """Return what a response lists for each of ``n`` prompts; None where it lists nothing."""

    def tokenize_body(self, text: str, special: bool) -> dict[str, Any]:
        """Return the body of a request for the tokens of a text."""
        return {"model": self.model, "prompt": text, "add_special_tokens": special}

    @property
    def n_listed(self) -> int:
        """About how many tokens a response lists for each prompt."""
        return self.top_k or 256


class VllmIds(Dialect):
    """vLLM, which lists the tokens that the request names."""

    name = "vLLM"
    path = "/v1/completions"
    tokenize_path = "/tokenize"
    lists_wanted = True
    max_wanted = 128

    def body(
        self, prompts: Sequence[Prompt], wanted: Sequence[int], attempt: int
    ) -> dict[str, Any]:
        """Return a request of completions with vLLM's own fields."""
        return {
            "model": self.model,
            "prompt": [list(prompt) for prompt in prompts],
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": 1,
            "logprob_token_ids": list(wanted),
            "return_tokens_as_token_ids": True,
        }

    def read(self, document: Any, n: int) -> list[Listed | None]:
        """Read choices, in which a token is the text ``token_id:5``."""
        return [_with_ids(listed) for listed in _completions(document, n)]


class VllmTop(VllmIds):
    """vLLM before it took ``logprob_token_ids``: it lists the likeliest tokens."""

    name = "vLLM (likeliest tokens)"
    lists_wanted = False

    def body(
        self, prompts: Sequence[Prompt], wanted: Sequence[int], attempt: int
    ) -> dict[str, Any]:
        """Return a request of completions."""
        body = super().body(prompts, wanted, attempt) | {"logprobs": self.top_k}
        del body["logprob_token_ids"]
        return body


class Sglang(Dialect):
    """SGLang's own interface, which lists the tokens that the request names."""

    name = "SGLang"
    path = "/generate"
    tokenize_path = "/tokenize"
    lists_wanted = True

    def body(
        self, prompts: Sequence[Prompt], wanted: Sequence[int], attempt: int
    ) -> dict[str, Any]:
        """Return a request of ``/generate``."""
        return {
            "input_ids": [list(prompt) for prompt in prompts],
            "sampling_params": {"max_new_tokens": 1, "temperature": 0},
            "return_logprob": True,
            "logprob_start_len": -1,
            "token_ids_logprob": [list(wanted) for _ in prompts],
        }

    def read(self, document: Any, n: int) -> list[Listed | None]:
        """Read triples of log-probability, id and text."""
        results = document if isinstance(document, list) else [document]
        if len(results) != n:
            raise UnexpectedError(f"{len(results)} results for {n} prompts")
        return [self._result(result) for result in results]

    def _result(self, result: Any) -> Listed | None:
        positions = field(result, "meta_info", "output_token_ids_logprobs")
        return (
            _listed(([_whole(token)], log) for log, token, *_ in positions[0])
            if positions
            else None
        )


class LlamaCpp(Dialect):
    """llama.cpp's own interface, which lists any number of the likeliest tokens."""

    name = "llama.cpp"
    path = "/completion"
    tokenize_path = "/tokenize"

    def body(
        self, prompts: Sequence[Prompt], wanted: Sequence[int], attempt: int
    ) -> dict[str, Any]:
        """Return a request of ``/completion``."""
        return {
            "prompt": [list(prompt) for prompt in prompts],
            "n_predict": 1,
            "temperature": 0,
            "n_probs": self.top_k,
            "cache_prompt": True,
            "response_fields": ["index", "completion_probabilities"],
        }

    def read(self, document: Any, n: int) -> list[Listed | None]:
        """Read ``completion_probabilities``; a single prompt may come without a list."""
        results = document if isinstance(document, list) else [document]
        if len(results) != n:
            raise UnexpectedError(f"{len(results)} results for {n} prompts")
        results = sorted(results, key=lambda result: _whole(result.get("index", 0)))
        tops = [field(result, "completion_probabilities") for result in results]
        return [_top(top[0]) if top else None for top in tops]

    def tokenize_body(self, text: str, special: bool) -> dict[str, Any]:
        """Return the body of a request for the tokens of a text."""
        return {"content": text, "add_special": special, "parse_special": True}


class Ollama(Dialect):
    """Ollama's own interface: texts, one prompt at a time, at most 20 of the likeliest tokens.

    Where the end of the text is drawn, Ollama lists nothing. So another token is drawn then, at a
    temperature at which all are about as likely: what is listed does not depend on it.
    """

    name = "Ollama"
    path = "/api/generate"
    takes_ids = False
    lists_ids = False
    max_prompts = 1

    def body(
        self, prompts: Sequence[Prompt], wanted: Sequence[int], attempt: int
    ) -> dict[str, Any]:
        """Return a request of ``/api/generate``."""
        temperature = HOT_TEMPERATURE if attempt else 1.0
        drawing = {"temperature": temperature, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
        return {
            "model": self.model,
            "prompt": prompts[0],
            "raw": True,
            "stream": False,
            "logprobs": True,
            "top_logprobs": self.top_k,
            "options": {"num_predict": 1, "seed": attempt, "repeat_penalty": 1.0, **drawing},
        }

    def read(self, document: Any, n: int) -> list[Listed | None]:
        """Read ``logprobs``, which are left out where the end was drawn."""
        if "response" not in _object(document):
            raise UnexpectedError('no "response"')
        top = document.get("logprobs")
        return [_top(top[0]) if top else None]


class Completions(Dialect):
    """Any other server that completes texts as OpenAI's does, and lists the likeliest tokens."""

    name = "OpenAI-compatible"
    path = "/v1/completions"
    lists_ids = False

    def body(
        self, prompts: Sequence[Prompt], wanted: Sequence[int], attempt: int
    ) -> dict[str, Any]:
        """Return a request of completions, with no field that OpenAI does not document."""
        given = [prompt if isinstance(prompt, str) else list(prompt) for prompt in prompts]
        return {
            "model": self.model,
            "prompt": given,
            "max_tokens": 1,
            "temperature": 1,
            "logprobs": self.top_k,
            "seed": attempt,
        }

    def read(self, document: Any, n: int) -> list[Listed | None]:
        """Read choices; a server may leave log-probabilities out where the end was drawn."""
        return _completions(document, n, self.top_k)


# Reading responses ------------------------------------------------------------------------------


def field(document: Any, *names: str) -> Any:
    """Return what stands under names, one inside the other, in JSON objects."""
    for name in names:
        if name not in _object(document):
            raise UnexpectedError(f'no "{name}"')
        document = document[name]
    return document


def _object(document: Any) -> Any:
    if not isinstance(document, Mapping):
        raise UnexpectedError("no JSON object")
    return document


def _completions(document: Any, n: int, top_k: int | None = None) -> list[Listed | None]:
    """Read the choices of a completion, in the order of the prompts."""
    choices = field(document, "choices")
    if len(choices) != n:
        raise UnexpectedError(f"{len(choices)} choices for {n} prompts")
    choices = sorted(choices, key=lambda choice: _whole(choice.get("index", 0)))
    return [_choice(choice, top_k) for choice in choices]


def _choice(choice: Any, top_k: int | None) -> Listed | None:
    """Read one choice; some servers answer a completion in the form of a chat."""
    logprobs = choice.get("logprobs") or {}
    if logprobs.get("content"):
        return _top(logprobs["content"][0], top_k)
    tops = logprobs.get("top_logprobs")
    entries = tops[0].items() if tops and tops[0] else ()
    return _listed((([token], log) for token, log in entries), top_k)


def _top(entry: Any, top_k: int | None = None) -> Listed | None:
    """Read one position: a list of the likeliest tokens, with their texts, ids or both."""
    entries = entry.get("top_logprobs") or ()
    names = ([each[key] for key in ("id", "token") if key in each] for each in entries)
    return _listed(zip(names, (each["logprob"] for each in entries), strict=True), top_k)


def _listed(
    entries: Iterable[tuple[Sequence[int | str], Any]], top_k: int | None = None
) -> Listed | None:
    """Return a list of tokens, each with its names and its log-probability; None: an empty one.

    Some servers list the drawn token behind the ``top_k`` likeliest ones. It bounds no other.
    """
    logs: dict[int | str, float] = {}
    values: list[float] = []
    for names, value in entries:
        values.append(_log(value))
        for name in names:
            logs.setdefault(name, values[-1])  # of two tokens with one text the likelier one
    if not values:
        return None
    bound = min(sorted(values, reverse=True)[:top_k])
    return Listed(logs, bound, max(1 - math.fsum(map(math.exp, values)), 0.0))


def _with_ids(listed: Listed | None) -> Listed | None:
    """Return the tokens by their ids, which stand there as ``token_id:5``."""
    if listed is None:
        return None
    pairs = [(str(token).partition("token_id:")[2], log) for token, log in listed.logs.items()]
    if not all(number.isdigit() for number, _ in pairs):
        raise UnexpectedError(f'tokens such as {next(iter(listed.logs))!r}, not "token_id:5"')
    return listed._replace(logs={int(number): log for number, log in pairs})


def _whole(value: Any) -> int:
    try:
        return int(value)
    except OverflowError:  # 1e999 is infinite
        raise UnexpectedError(f"{value!r} as a whole number") from None


def _log(value: Any) -> float:
    """Return a log-probability; what stands for minus infinity becomes that."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not value < MAX_LOG_PROBABILITY:  # nan is not below it either
        raise UnexpectedError(f"{value!r} as a log-probability")
    return min(float(value), 0.0) if value > MIN_LOG_PROBABILITY else -math.inf
