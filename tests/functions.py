"""Functions for black boxes that note what they are queried about."""


class Count:
    """A function that keeps the words it was queried about."""

    def __init__(self, answer=lambda word: len(word) + 0.5):
        self.answer, self.queried = answer, []

    def __call__(self, words):
        self.queried.extend(words)
        return [self.answer(word) for word in words]


def halves(prefix):
    return [0.5, 0.25, 0.25] if len(prefix) % 2 else [0.25, 0.25, 0.5]
