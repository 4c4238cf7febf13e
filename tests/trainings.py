"""A clock and settings for tests of training."""

SETTINGS = {
    "sizes": (4, 6),
    "epochs": 8,
    "cell": "gru",
    "n_layers": 1,
    "embedding": None,
    "batch_size": 16,
    "learning_rate": 0.01,
    "schedule": "cosine",
    "clip": 1.0,
    "patience": 3,
    "seed": 0,
}
"""Those of a small `Recipe`."""


class HandClock:
    """Returns a time that only `pass_time` changes."""

    def __init__(self, seconds_per_step=1.0):
        self.seconds, self.seconds_per_step = 0.0, seconds_per_step

    def __call__(self):
        return self.seconds

    def pass_time(self, *step):
        """Let the time of a step pass; a `progress` listener."""
        self.seconds += self.seconds_per_step
