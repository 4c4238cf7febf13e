"""Streams of tokens, read symbol by symbol as the rule says: slow, and nothing like the product."""

import numpy as np
import pytest

N_TOKENS = 40
"""How many tokens there are to the models of `fifty_symbols`."""


class StreamReader:
    """Reads streams of tokens by longest match, and sums over what may follow.

    ``next_tokens`` takes a stream and returns the probability of each token after it.
    """

    def __init__(self, symbols, ends, next_tokens):
        self.symbols, self.ends, self.next_tokens = symbols, ends, next_tokens
        self.entries = {*symbols, *ends}
        self.unfinished = {entry[:n] for entry in self.entries for n in range(len(entry))}
        self.longest = max(map(len, self.entries))

    def first(self, stream):
        """Return what a stream begins with; None: later tokens decide; (): nothing known."""
        if stream in self.unfinished:
            return None
        cuts = (stream[:n] for n in range(self.longest, 0, -1))
        return next((cut for cut in cuts if cut in self.entries), ())

    def is_read_as(self, stream, word):
        """Return whether a stream is read as symbols that begin with a word; None: not yet."""
        for symbol in word:
            read = self.first(stream)
            if read != symbol:
                return None if read is None else False
            stream = stream[len(read) :]
        return True

    def probability(self, tokens):
        product = 1.0
        for at, token in enumerate(tokens):
            product *= self.next_tokens(tokens[:at])[token]
        return product

    def later(self, word, stream):
        """Return the probability that a stream goes on so that it is read as a word."""
        is_read = self.is_read_as(stream, word)
        if is_read is not None:
            return float(is_read)
        following = self.next_tokens(stream)
        return sum(p * self.later(word, (*stream, token)) for token, p in enumerate(following))

    def weight(self, word):
        """Return the probability that all that is read begins with a word."""
        tokens = sum(word, ())
        return self.probability(tokens) * self.later(word, tokens)

    def row(self, word):
        """Return what follows a word, the end last, not renormalised; None: it is never read."""
        before = self.weight(word)
        if before == 0:
            return None
        row = [self.weight((*word, symbol)) / before for symbol in self.symbols]
        return [*row, sum(self.weight((*word, end)) for end in self.ends) / before]


def fifty_symbols():
    """Return 50 symbols of 1 to 4 tokens; many begin with others, some are others joined."""
    rng = np.random.default_rng(0)
    symbols = dict.fromkeys([(10,), (11,), (10, 11), (12, 10), (12,), (12, 10, 11, 12)])
    while len(symbols) < 50:
        longer = [*symbols][int(rng.integers(len(symbols)))]
        before = longer if rng.random() < 0.5 and len(longer) < 4 else ()
        n_more = int(rng.integers(1, 5 - len(before)))
        symbols[(*before, *rng.integers(8, N_TOKENS, n_more).tolist())] = None
    return tuple(symbols)


def read_streams(model, start, streams):
    """Return the probabilities of all tokens after each stream, read from its beginning."""
    torch = pytest.importorskip("torch")
    rows = {}
    for length in {len(stream) for stream in streams}:
        same = [stream for stream in streams if len(stream) == length]
        for begin in range(0, len(same), 4096):
            part = same[begin : begin + 4096]
            ids = torch.tensor([(start, *stream) for stream in part])
            with torch.inference_mode():
                logits = model.eval()(ids).logits[:, -1].double()
            rows.update(zip(part, logits.softmax(1).numpy(), strict=True))
    return rows


def model_reader(model, symbols, start, end, words):
    """Return a reader for a model; most of what words need is read at once, in large batches."""
    known = {}

    def next_tokens(stream):
        if stream not in known:
            known.update(read_streams(model, start, [stream]))
        return known[stream]

    reader = StreamReader(symbols, [(end,)], next_tokens)
    contexts = {sum(word, ()) for word in words}
    needed = {(*context, *node) for context in contexts for node in reader.unfinished}
    known.update(read_streams(model, start, [*needed]))
    return reader


def largest_difference(reader, words, rows, leaking_rows):
    """Return the largest difference of a probability in rows after words from a reader's."""
    largest = 0.0
    for word, row, part in zip(words, rows, leaking_rows, strict=True):
        expected = reader.row(word)
        if expected is not None:
            assert ((row == 0) == (np.array(expected) == 0)).all()
            of_all, of_symbols = np.abs(part - expected), np.abs(row - expected / np.sum(expected))
            largest = max(largest, of_all.max(), of_symbols.max())
    return largest
