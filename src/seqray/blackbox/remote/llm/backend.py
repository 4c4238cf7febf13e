"""Queries to a language model behind a server: from words to rows of probabilities."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from seqray.automata.words import Alphabet, Words
from seqray.blackbox.remote.http_request import RequestGroup
from seqray.blackbox.remote.llm.connection import Connection, ServerOptions
from seqray.blackbox.remote.llm.dialects import (
    Dialect,
    Listed,
    Prompt,
    UnexpectedError,
    VllmIds,
    VllmTop,
)
from seqray.blackbox.remote.llm.probe import DIALECTS, ServedModel
from seqray.blackbox.remote.llm.symbols import SymbolTokens
from seqray.blackbox.remote.llm.unknown import UnknownShare, token_logs, unknown_shares
from seqray.blackbox.remote.waiting import Check, always
from seqray.blackbox.remote.wire import read_json, shown
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import BlackBoxError
from seqray.util.redaction import redacted

MAX_DRAWS = 8
"""How often a token is drawn anew where a server lists nothing, since it drew the end."""

BYTES_PER_LISTED, BYTES_PER_TOKEN, BYTES_PER_ANSWER = 512, 32, 2**16
"""How long a response may be for each token that is listed, that is read, and besides."""


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
            backend = dataclasses.replace(self, dialect=older, who=who, unknown=UnknownShare())
            list(backend.query(empty))
            return backend
        return self

    def query(self, words: Words) -> Iterator[tuple[IntArray, Any]]:
        """Yield rows of probabilities as they come; words that share prefixes go together."""
        contexts = self.tokens.tree.contexts(words)
        order = np.array(sorted(range(len(words)), key=contexts.__getitem__), np.int64)
        size = min(self.settings["batch_size"], self.dialect.max_prompts or len(words))
        batches = [order[begin : begin + size] for begin in range(0, len(order), size)]
        queries = self.connection.queries
        return queries.answers(words, batches, self._rows, self.who, self.check)

    def _rows(self, words: Words, group: RequestGroup) -> FloatArray:
        """Return what follows each word, the end last."""
        tree = self.tokens.tree
        queries = list(tree.queries(words))
        wanted: dict[tuple[int, ...], dict[int, None]] = {}
        for query in queries:
            wanted.setdefault(query.read, {}).update(dict.fromkeys(query.tokens))
        listed = self._listed({read: tuple(some) for read, some in wanted.items()}, words, group)
        guess, least, largest = np.full((3, len(words), len(tree.paths)), -np.inf)
        for prefix, read, tokens, columns in queries:
            logs = token_logs(listed[read], [self.tokens.names[token] for token in tokens])
            guess[prefix, columns], least[prefix, columns], largest[prefix, columns] = logs
        shares = unknown_shares(tree, least, largest)
        self._check_unknown(shares, words)
        self.unknown.add(shares)
        rows: FloatArray = np.exp(tree.log_rows(tree.exclusions(words), guess))
        return rows

    def _check_unknown(self, shares: FloatArray, words: Words) -> None:
        """Refuse rows of which the server says too little."""
        at = int(shares.argmax())
        if shares[at] <= self.settings["max_unknown"]:
            return
        listing = f"lists {self.dialect.top_k} tokens (top_k)" if self.dialect.top_k else "answers"
        raise BlackBoxError(
            f"{self.who} {listing}, and after {words.alphabet.show(words[at])!r} up to "
            f"{shares[at]:.0%} of the probability may lie on symbols that it does not list; "
            f"expected {self.settings['max_unknown']:.0%} at most (max_unknown): raise top_k if "
            "the server allows it, choose symbols that are likely after the prompt, or use a "
            "server that lists given tokens (vLLM, SGLang)"
        )

    def _listed(
        self,
        wanted: Mapping[tuple[int, ...], tuple[int, ...]],
        words: Words,
        group: RequestGroup,
    ) -> dict[tuple[int, ...], Listed]:
        """Return what the server lists after each of some tokens."""
        groups: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        size = self.dialect.max_wanted
        for read in sorted(wanted):
            tokens = wanted[read] if self.dialect.lists_wanted else ()
            for begin in range(0, max(1, len(tokens)), size or max(1, len(tokens))):
                groups.setdefault(tokens[begin : begin + (size or len(tokens))], []).append(read)
        found: dict[tuple[int, ...], Listed] = {}
        for tokens, reads in groups.items():
            step = min(self.settings["batch_size"], self.dialect.max_prompts or len(reads))
            for begin in range(0, len(reads), step):
                some = reads[begin : begin + step]
                for read, listed in zip(some, self._sent(some, tokens, words, group), strict=True):
                    before = found.get(read, listed)
                    found[read] = listed._replace(logs={**before.logs, **listed.logs})
        return found

    def _sent(
        self,
        reads: Sequence[tuple[int, ...]],
        tokens: tuple[int, ...],
        words: Words,
        group: RequestGroup,
    ) -> list[Listed]:
        """Send one request, and those again for which the server listed nothing."""
        prompts = [self.tokens.prompt(read) for read in reads]
        found: list[Listed | None] = [None] * len(reads)
        for attempt in range(MAX_DRAWS):
            missing = [at for at, listed in enumerate(found) if listed is None]
            if not missing:
                break
            some = [prompts[at] for at in missing]
            answers = self._request(some, tokens, attempt, words, group)
            for at, listed in zip(missing, answers, strict=True):
                found[at] = listed
        complete = [listed for listed in found if listed is not None]
        if len(complete) < len(found):
            raise BlackBoxError(
                f"{self.who} lists no log-probabilities, though it was queried {MAX_DRAWS} times: "
                "expected a server and a model that give them (logprobs); see docs/boxes/openai.md"
            )
        return complete

    def _request(
        self,
        prompts: Sequence[Prompt],
        tokens: tuple[int, ...],
        attempt: int,
        words: Words,
        group: RequestGroup,
    ) -> list[Listed | None]:
        client, dialect = self.connection.at(self.dialect.path), self.dialect
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


def _check_wanted(listed: Listed | None, tokens: Sequence[int]) -> None:
    """Refuse a list without the tokens that the request has named."""
    missing = [token for token in tokens if listed is None or token not in listed.logs]
    if missing:
        raise UnexpectedError(f"it does not list the token {missing[0]} that was named")
