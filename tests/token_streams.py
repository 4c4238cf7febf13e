"""Streams of tokens, read symbol by symbol as the rule says: slow, and nothing like the product."""


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
