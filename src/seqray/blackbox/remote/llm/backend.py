"""Queries to a language model behind a server: from words to rows of probabilities."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np

from seqray.automata.words import Alphabet, Words
from seqray.blackbox.longest_match import TokenIds
from seqray.blackbox.queried import FailedError
from seqray.blackbox.remote.http_request import RequestGroup
from seqray.blackbox.remote.llm.connection import Connection, ServerOptions
from seqray.blackbox.remote.llm.dialects import (
    Dialect,
    Listed,
    UnexpectedError,
    VllmIds,
    VllmTop,
)
from seqray.blackbox.remote.llm.probe import DIALECTS, ServedModel
from seqray.blackbox.remote.llm.symbols import SymbolTokens
from seqray.blackbox.remote.llm.unknown import UnknownShare, token_logs, unknown_shares
from seqray.blackbox.remote.waiting import Check, always
from seqray.blackbox.remote.wire import read_json, shown
from seqray.blackbox.token_tree import TokenQuery
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import BlackBoxError
from seqray.util.redaction import redacted

Answered: TypeAlias = dict[TokenIds, Listed]
"""What a server lists after tokens."""

MAX_LOGS_AHEAD = 2**20
"""How many log-probabilities are stored for words that may be queried next."""

MAX_DRAWS = 8
"""How often a token is drawn anew where a server lists nothing, since it drew the end."""

BYTES_PER_LISTED, BYTES_PER_TOKEN, BYTES_PER_ANSWER = 512, 32, 2**16
"""How many bytes a response may have for each token listed, each token read, and for the rest."""


@dataclass(frozen=True, eq=False)
class LlmBackend:
    """Queries a language model behind a server; see `openai_box`."""

    connection: Connection
    served: ServedModel
    dialect: Dialect
    tokens: SymbolTokens
    who: str
    max_length: int | None
    settings: ServerOptions
    unknown: UnknownShare
    check: Check = always
    deterministic: bool = False
    ahead: Answered = field(default_factory=dict)
    """What is listed after words that were read as a part of a longer symbol; each is used once."""

    @property
    def fingerprint(self) -> str:
        """The address, and a digest of the model, of what it reads and of how it is queried."""
        address, tree = self.connection.client.server.address, self.tokens.tree
        about = (
            *(redacted(address.target), type(self.dialect).__name__, self.dialect.top_k),
            *(self.served.name, self.served.about, self.tokens.before),
            *(tree.symbols, tree.ends, tree.renormalise, sorted(self.tokens.names.items())),
        )
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        return f"openai {address.shown} {digest}"

    @property
    def hides_secrets(self) -> bool:
        """Whether the fingerprint leaves something out that may matter."""
        return bool(self.connection.client.server.address.secrets)

    def with_check(self, check: Check) -> Self:
        """Return a backend of the same box that calls ``check`` while it waits."""
        return dataclasses.replace(self, check=check)

    def tried(self, alphabet: Alphabet) -> LlmBackend:
        """Return the backend after a first query, or one for servers that list other tokens."""
        empty = alphabet.words([()])
        try:
            list(self.query(empty))
        except BlackBoxError:
            if type(self.dialect) is not VllmIds:
                raise
            older = VllmTop(self.dialect.model, self.dialect.top_k)
            who = self.who.replace(self.dialect.name, older.name, 1)
            backend = dataclasses.replace(
                self, dialect=older, who=who, unknown=UnknownShare(), ahead={}
            )
            list(backend.query(empty))
            return backend
        return self

    def query(self, words: Words) -> Iterator[tuple[IntArray, Any]]:
        """Yield rows of probabilities as they come; words that share prefixes go together."""
        contexts = self.tokens.tree.contexts(words)
        order = np.array(sorted(range(len(words)), key=contexts.__getitem__), np.int64)
        size = min(self.settings["batch_size"], self.dialect.max_prompts or len(words))
        batches = [order[begin : begin + size] for begin in range(0, len(order), size)]
        answered: Answered = {}

        def rows(some: Words, group: RequestGroup) -> FloatArray:
            return self._rows(some, answered, group)

        return self.connection.queries.answers(words, batches, rows, self.who, self.check)

    def _rows(self, words: Words, answered: Answered, group: RequestGroup) -> FloatArray:
        """Return what follows each word, the end last.

        What was answered before a request failed is not sent again with halves of the words.
        """
        tree = self.tokens.tree
        queries = list(tree.queries(words))
        wanted: dict[TokenIds, dict[int, None]] = {}
        for query in queries:
            wanted.setdefault(query.read, {}).update(dict.fromkeys(query.tokens))
        next_words = self._next_words(words, queries)
        for read in next_words:
            wanted[read].update(dict.fromkeys(tree.nodes(0)[0].tokens))
        known = {read: answered.pop(read, None) or self.ahead.pop(read, None) for read in wanted}
        lists = {read: listed for read, listed in known.items() if listed is not None}
        try:
            for tokens, reads in self._requests(wanted).items():
                self._send(tokens, reads, lists, words, group)
        except FailedError:
            answered.update(lists)
            raise
        for read in next_words:
            if (1 + len(self.ahead)) * len(lists[read].logs) <= MAX_LOGS_AHEAD:
                self.ahead[read] = lists[read]
        guess, least, largest = np.full((3, len(words), len(tree.paths)), -np.inf)
        for prefix, read, tokens, columns in queries:
            logs = token_logs(lists[read], [self.tokens.names[token] for token in tokens])
            guess[prefix, columns], least[prefix, columns], largest[prefix, columns] = logs
        shares = unknown_shares(tree, least, largest)
        self._check_unknown(shares, words)
        self.unknown.add(shares)
        rows: FloatArray = np.exp(tree.log_rows(tree.exclusions(words), guess))
        return rows

    def _next_words(self, words: Words, queries: Iterable[TokenQuery]) -> list[TokenIds]:
        """Return what is read inside longer symbols, and is a word with one more symbol as well.

        It is read once for both: such a word is often queried next.
        """
        contexts, symbols = self.tokens.tree.contexts(words), set(self.tokens.tree.symbols)
        here = set(contexts)
        inner = {
            query.read: None
            for query in queries
            if query.read[len(contexts[query.prefix]) :] in symbols
        }
        return [read for read in inner if read not in here]

    def _check_unknown(self, shares: FloatArray, words: Words) -> None:
        """Refuse rows of which the server says too little."""
        at = int(shares.argmax())
        if shares[at] <= self.settings["max_unknown"]:
            return
        most = self.settings["max_unknown"]
        raise BlackBoxError(
            f"{self.who} lists {self.dialect.top_k} tokens (top_k), and after "
            f"{words.alphabet.show(words[at])!r} up to {shares[at]:.0%} of the probability may lie "
            f"on symbols that it does not list; expected {most:.0%} at most (max_unknown): raise "
            "top_k if the server allows it, choose symbols that are likely after the prompt, or "
            "use a server that lists given tokens (vLLM, SGLang)"
        )

    def _requests(self, wanted: Mapping[TokenIds, Iterable[int]]) -> dict[TokenIds, list[TokenIds]]:
        """Return what is read in requests that name the same tokens; sorted, to share prefixes."""
        requests: dict[TokenIds, list[TokenIds]] = {}
        for read in sorted(wanted):
            tokens = tuple(wanted[read]) if self.dialect.lists_wanted else ()
            size = self.dialect.max_wanted or max(1, len(tokens))
            for begin in range(0, max(1, len(tokens)), size):
                requests.setdefault(tokens[begin : begin + size], []).append(read)
        return requests

    def _send(
        self,
        tokens: TokenIds,
        reads: Sequence[TokenIds],
        lists: Answered,
        words: Words,
        group: RequestGroup,
    ) -> None:
        """Send requests until the server has listed tokens after all that is to be read."""
        step = min(self.settings["batch_size"], self.dialect.max_prompts or len(reads))
        for attempt in range(MAX_DRAWS):
            left = [read for read in reads if not _has_all(lists.get(read), tokens)]
            for begin in range(0, len(left), step):
                some = left[begin : begin + step]
                answers = self._request(some, tokens, attempt, words, group)
                for read, listed in zip(some, answers, strict=True):
                    if listed is not None:
                        logs = {**lists[read].logs, **listed.logs} if read in lists else listed.logs
                        lists[read] = listed._replace(logs=logs)
            if not left:
                return
        if any(not _has_all(lists.get(read), tokens) for read in reads):
            raise BlackBoxError(
                f"{self.who} lists no log-probabilities, though it was queried {MAX_DRAWS} times: "
                "expected a server and a model that give them (logprobs); see docs/boxes/openai.md"
            )

    def _request(
        self,
        reads: Sequence[TokenIds],
        tokens: TokenIds,
        attempt: int,
        words: Words,
        group: RequestGroup,
    ) -> list[Listed | None]:
        """Send one request, and return what is listed after each of its prompts."""
        client, dialect = self.connection.at(self.dialect.path), self.dialect
        prompts = [self.tokens.prompt(read) for read in reads]
        message = json.dumps(dialect.body(prompts, tokens, attempt)).encode()
        per_prompt = BYTES_PER_LISTED * (dialect.n_listed + len(tokens)) + BYTES_PER_ANSWER
        limit = sum(per_prompt + BYTES_PER_TOKEN * len(prompt) for prompt in prompts)

        def read(content: bytes) -> list[Listed | None]:
            document = read_json(content, client.server.hide)
            try:
                answers = dialect.read(document, len(prompts))
                for listed in answers if dialect.lists_wanted else ():
                    _check_wanted(listed, tokens)
                return answers
            except (UnexpectedError, LookupError, TypeError, ValueError, AttributeError) as error:
                raise BlackBoxError(
                    f"{self.who} answered {shown(document, client.server.hide)}: {error}; expected "
                    f"the fields of {dialect.name} at {dialect.path}: another server is queried "
                    f"with dialect=, one of {', '.join(DIALECTS)}"
                ) from error

        return self.connection.queries.send(client, message, limit, read, words, group)


def _has_all(listed: Listed | None, tokens: TokenIds) -> bool:
    return listed is not None and all(token in listed.logs for token in tokens)


def _check_wanted(listed: Listed | None, tokens: TokenIds) -> None:
    """Refuse a list without the tokens that the request has named."""
    if not _has_all(listed, tokens):
        raise UnexpectedError(f"it does not list all of the tokens {list(tokens)[:20]}")
