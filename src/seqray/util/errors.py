"""The exceptions of seqray, one tree.

::

    SeqrayError                     catch this one to catch them all
    ├── ArgumentError (ValueError)  something passed in cannot be used
    │   ├── SymbolError             a symbol or alphabet
    │   ├── BasisError              a set of prefixes or suffixes
    │   ├── RankError               a number of states
    │   │   └── MissingRankError    one that was not compared (also a KeyError)
    │   └── MissingMetricError      a metric that was not measured (also a KeyError)
    ├── FileError                   a file is damaged, cut short, newer or cannot be written
    │   └── MissingFileError        there is none (also an ArgumentError)
    ├── BlackBoxError               the box failed, or gave an answer that cannot be used
    ├── MissingExtraError           a package that this part needs is not installed
    └── Stopped                     a limit was reached, or somebody said stop
"""

import enum

MAX_MESSAGE_LENGTH, MESSAGE_TAIL = 1000, 300
"""The most characters of a message, and how many of its last ones are kept: often advice."""


class SeqrayError(Exception):
    """Root of every error that seqray raises on purpose.

    Its message is one line of at most 1000 characters, whatever the text that it quotes: control
    characters, which terminals obey, are written as escapes, and what is too long loses its middle.
    """

    def __str__(self) -> str:
        return one_line(Exception.__str__(self))


class ArgumentError(SeqrayError, ValueError):
    """Something passed in cannot be used."""


class SymbolError(ArgumentError):
    """A symbol or an alphabet cannot be used."""


class BasisError(ArgumentError):
    """A set of prefixes or suffixes cannot be used."""


class RankError(ArgumentError):
    """A number of states cannot be used."""


class MissingRankError(RankError, KeyError):
    """A rank that a table of fidelities does not have."""


class MissingMetricError(ArgumentError, KeyError):
    """A metric that was not measured."""


class FileError(SeqrayError):
    """A file is damaged, cut short, of a newer version, or cannot be written."""


class MissingFileError(FileError, ArgumentError):
    """A file or folder that was named is not there."""


class BlackBoxError(SeqrayError):
    """A black box failed, or gave an answer that cannot be used."""


class MissingExtraError(SeqrayError):
    """A package that this part of seqray needs is not installed."""


class StopReason(enum.Enum):
    """Why queries end before all is known."""

    BUDGET = "budget"
    TIME = "time"
    INTERRUPTED = "interrupted"


class Stopped(SeqrayError):  # noqa: N818 - no error, but the end of what may be queried
    """Queries have to end: a budget is used up, time is over, or somebody said stop.

    Parameters
    ----------
    reason
        Which limit was reached.
    message
        What to tell people.
    """

    def __init__(self, reason: StopReason, message: str) -> None:
        super().__init__(reason, message)
        self.reason, self.message = reason, message

    def __str__(self) -> str:
        return one_line(self.message)


# Users import them from `seqray`, so that is what a traceback shows.
for _error in [each for each in globals().values() if isinstance(each, type)]:
    _error.__module__ = "seqray"


def one_line(text: str) -> str:
    r"""Return text as one printable line of limited length.

    >>> one_line("cut short\nat \x1b[2J"), len(one_line("a" * 5000))
    ('cut short at \\x1b[2J', 1000)
    """
    if not text.isprintable():
        line = " ".join(text.split())
        text = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line)
    if len(text) > MAX_MESSAGE_LENGTH:
        head = MAX_MESSAGE_LENGTH - MESSAGE_TAIL - 3
        text = f"{text[:head]} … {text[-MESSAGE_TAIL:]}"
    return text


def install_hint(extra: str) -> str:
    """Return how to install an extra of seqray.

    Examples
    --------
    >>> install_hint("plots")
    "pip install '.[plots]' in seqray's folder"
    """
    return f"pip install '.[{extra}]' in seqray's folder"
