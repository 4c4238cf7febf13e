"""What a run folder remembers of its black box: how it was opened, without secrets."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from seqray.util.errors import FileError
from seqray.util.redaction import MASK, is_secret_name, redacted

MAX_SPEC_LENGTH = 10_000


@dataclass(frozen=True)
class BoxRecord:
    """How a box was opened.

    Parameters
    ----------
    spec
        Its specification as it was written, but always with its kind, and ``***`` for secrets.
    options
        Its options, without those that are secrets.
    left_out
        The names of options that were left out: secrets, and values that JSON has no word for.
    path_from_run
        The path in the specification, seen from the run folder, where both were written as
        relative paths below the current folder: so both can be moved together.

    Examples
    --------
    >>> BoxRecord.of("http://host/?key=abc", {"token": "x", "timeout": 60})
    BoxRecord(spec='http://host/?key=***', options={'timeout': 60}, left_out=('token',), \
path_from_run=None)
    """

    spec: str
    options: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    path_from_run: str | None = None

    @classmethod
    def of(cls, spec: str, options: Mapping[str, Any]) -> BoxRecord:
        """Return the record of a box that was opened so."""
        kept = {
            name: value
            for name, value in options.items()
            if not is_secret_name(name) and _is_plain(value)
        }
        return cls(redacted(spec), kept, tuple(name for name in options if name not in kept))

    @property
    def has_secrets(self) -> bool:
        """Whether the specification had secrets, so that the box cannot be opened by it."""
        return MASK in self.spec

    @property
    def kind(self) -> str:
        """The kind of the box, such as ``rnn``."""
        return self.spec.partition(":")[0]

    def seen_from(self, run: str | os.PathLike[str]) -> BoxRecord:
        """Return the record of a box in a file for a run folder.

        No name of a folder is written that the user did not write.

        >>> BoxRecord("rnn:nets/a.safetensors").seen_from("runs/a").path_from_run
        '../../nets/a.safetensors'
        >>> BoxRecord("rnn:nets/a.safetensors").seen_from("/home/me/run").path_from_run
        """
        both = os.fspath(run), self.spec.partition(":")[2]
        if not all(map(_is_below, both)):
            return replace(self, path_from_run=None)
        home, path = (os.path.normpath(each).split(os.sep) for each in both)
        return replace(self, path_from_run="/".join([*([".."] * len(home)), *path]))

    @classmethod
    def from_json(cls, document: Any) -> BoxRecord:
        """Read the record of a run folder, which may hold anything."""
        is_fine = isinstance(document, dict) and document.keys() <= {
            *("spec", "options", "left_out", "path_from_run")
        }
        if not is_fine or not _is_spec(document.get("spec")):
            raise FileError(
                f"damaged: recorded_box: expected how a box is opened: {document!r:.200}"
            )
        options, left_out = document.get("options", {}), document.get("left_out", [])
        path = document.get("path_from_run")
        if (
            not isinstance(options, dict)
            or not all(_is_plain(value) for value in options.values())
            or not isinstance(left_out, list)
            or not all(isinstance(name, str) for name in left_out)
            or not (path is None or _is_spec(path))
        ):
            raise FileError(
                f"damaged: recorded_box: expected options and a path: {document!r:.200}"
            )
        return cls(document["spec"], options, tuple(left_out), path)


def _is_spec(text: object) -> bool:
    """Whether a text can be recorded: it is shown in terminals, which obey control characters."""
    return isinstance(text, str) and 0 < len(text) <= MAX_SPEC_LENGTH and text.isprintable()


def _is_plain(value: object) -> bool:
    """Whether an option is a number, a text or a list of them: what a command line can say."""
    if isinstance(value, list | tuple):
        return all(_is_plain(each) and not isinstance(each, list | tuple) for each in value)
    return value is None or isinstance(value, bool | int | float | str)


def _is_below(path: str) -> bool:
    """Whether a path leads below the current folder."""
    drive, _ = os.path.splitdrive(path)
    inside = os.path.normpath(path)
    is_up = inside in (os.curdir, os.pardir) or inside.startswith(os.pardir + os.sep)
    return not drive and not os.path.isabs(path) and not is_up


_RECORDS: dict[int, tuple[weakref.ref[Any], BoxRecord]] = {}
"""By the identity of boxes: some cannot be compared, and none can be written to."""


def remember(box: object, record: BoxRecord) -> None:
    """Remember how a box was opened, for as long as the box lives."""
    if not _is_spec(record.spec):
        return
    key = id(box)
    try:
        reference = weakref.ref(box, lambda _: _RECORDS.pop(key, None))
    except TypeError:  # an object of the user's own that cannot be referred to
        return
    _RECORDS[key] = (reference, record)


def record_of(box: object) -> BoxRecord | None:
    """Return how a box was opened; None if that was not by a specification.

    An object of the user's own around a box may answer otherwise: it has no record.

    >>> import seqray
    >>> record_of(seqray.open_black_box("demo")).spec
    'demo'
    """
    reference, record = _RECORDS.get(id(box), (None, None))
    return record if reference is not None and reference() is box else None
