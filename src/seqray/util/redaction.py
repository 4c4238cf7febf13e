"""Secrets in texts that are shown or written: what to leave out of them, by name and by value.

Keys and passwords reach seqray in the address of a server (``?key=…``), in a command
(``--api-key …``) and in the environment. `redacted` hides them in such a specification by their
names; `hidden` hides known values in what somebody else says, however they are encoded there.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from functools import lru_cache
from urllib.parse import unquote, unquote_plus

MASK = "***"

MIN_SECRET_LENGTH = 4
"""Shorter values are not looked for in other texts: they stand in any of them by accident."""

MIN_VARIABLE_LENGTH = 8
"""The same for values of the environment, of which most have nothing to do with the box."""

FOLDER_VARIABLES = frozenset({"PWD", "OLDPWD"})
"""Environment variables that hold a folder, though their names look like a password's."""

SECRET_NAME = re.compile(
    "key|token|auth|sig|pwd|pass|bearer|jwt|cookie|sessionid"
    "|.*(api|access|secret|private|subscription|account|auth|signing|master|shared|license)key"
    "|.*(password|passwd|passphrase|secret|credentials?|authorization|signature|token)"
)
"""Names of secrets, in small letters and without what separates their parts."""

MODEL_TOKEN = re.compile(
    "begin|bos|class|cls|end|eos|first|last|mask|max|min|next|pad|per|sep|special|start|stop"
    "|unk|unknown"
)
"""What stands before ``token`` where that is a symbol of a model, as in ``--pad-token``."""

SHAPES = re.compile(
    r"\b(?P<value>sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|hf_\w{20,}|xox[abprs]-[\w-]{10,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{10,4000}\.[\w-]{4,}\.[\w-]{4,})"
)
"""Values that nothing but a key looks like."""

VALUE = r"""(?:\*\*\*|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s&]+)"""
"""A value in a command, maybe in quotes."""

# A name is looked for where a run of its characters begins, and never twice in one run: patterns
# take time in proportion to the text.
PAIR = re.compile(
    r"(?<![\w.%\[\]-])(?:(?![A-Za-z_])[\w.%\[\]-])*+"
    rf"(?P<name>[A-Za-z_][\w.%\[\]-]*+)=(?P<value>{VALUE})"
)
OPTION = re.compile(rf"""(?<!\S)--?(?P<name>[A-Za-z][\w.-]*)\s+(?!--?[A-Za-z])(?P<value>{VALUE})""")
HEADER = re.compile(
    r"""(?<![\w-])(?:(?![A-Za-z])[\w-])*+(?P<name>[A-Za-z][\w-]*+)(?:["']\s*:\s*|:\s+)"""
    rf"""(?:(?:bearer|basic|token)\s+)?(?P<value>{VALUE})""",
    re.IGNORECASE,
)
LOGIN = re.compile(r"://(?P<value>[^/\s@]+)(?=@)")


def is_secret_name(name: str) -> bool:
    """Whether what goes by this name is a secret.

    Examples
    --------
    >>> [is_secret_name(name) for name in ("key", "OPENAI_API_KEY", "access-token", "X-Api-Key")]
    [True, True, True, True]
    >>> [is_secret_name(name) for name in ("keyboard", "sort-key", "tokenizer", "--pad-token")]
    [False, False, False, False]
    """
    parts = re.split(r"[^a-z0-9]+", unquote(name).lower().strip("-_[]."))
    if len(parts) > 1 and parts[-1] == "token" and MODEL_TOKEN.fullmatch(parts[-2]):
        return False
    return SECRET_NAME.fullmatch("".join(parts)) is not None


def redacted(text: str) -> str:
    """Return a box's specification, an address or a command without the secrets in it.

    Examples
    --------
    >>> redacted("https://host/box?key=abc&model=letters")
    'https://host/box?key=***&model=letters'
    >>> redacted("cmd:python child.py --api-key 'a b' --model letters.bin")
    'cmd:python child.py --api-key *** --model letters.bin'
    """
    return _redacted(text)[0]


def redacted_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command without the secrets in them."""
    return _redacted_arguments(arguments)[0]


def secrets_in(text: str) -> list[str]:
    """Return the values that `redacted` hides.

    Examples
    --------
    >>> secrets_in("http://host/?key=a%2Fb&n=5")
    ['a%2Fb', 'a/b']
    """
    return _redacted(text)[1]


def secrets_in_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the values that `redacted_arguments` hides."""
    return _redacted_arguments(arguments)[1]


def environment_secrets() -> list[str]:
    """Return the values of environment variables whose names are a secret's."""
    return [
        value.strip()
        for name, value in os.environ.items()
        if len(value.strip()) >= MIN_VARIABLE_LENGTH
        and name not in FOLDER_VARIABLES
        and is_secret_name(name)
    ]


def hidden(text: str, values: Iterable[str]) -> str:
    r"""Return a text in which secret values are hidden, however each character is written.

    Examples
    --------
    >>> hidden(r"sent k/9x, k%2f9x, k\/9x, \u006b/9x and k&#x2f;9x", ["k/9x"])
    'sent ***, ***, ***, *** and ***'
    """
    known = {value for value in values if len(value) >= MIN_SECRET_LENGTH}
    if not known:
        return text
    return _pattern(tuple(sorted(known, key=len, reverse=True))).sub(MASK, text)


# How it is done -----------------------------------------------------------------------------------


def _redacted(text: str) -> tuple[str, list[str]]:
    """Return a text without its secrets, and them."""
    if re.match(r"https?:", text, re.IGNORECASE):
        return _redacted_address(text)
    kind, _, command = text.partition(":")
    if kind == "cmd":
        try:
            arguments = shlex.split(command)
        except ValueError:
            return _redacted_text(text)
        masked, secrets = _redacted_arguments(arguments)
        return (f"cmd:{joined(masked)}" if secrets else text), secrets
    return _redacted_text(text)


def joined(arguments: Sequence[str]) -> str:
    """Return arguments as one line, as a shell reads them; a mask needs no quotes."""
    return shlex.join(arguments).replace(shlex.quote(MASK), MASK)


def _redacted_address(text: str) -> tuple[str, list[str]]:
    place, mark, query = text.partition("?")
    masked, secrets = _redacted_text(place)
    parts = []
    for part in query.split("&"):
        name, sign, value = part.partition("=")
        if value not in ("", MASK) and is_secret_name(name):
            secrets += dict.fromkeys([value, unquote_plus(value), unquote(value)])
            parts.append(f"{name}{sign}{MASK}")
        else:
            shown, values = _redacted_text(part)
            secrets += values
            parts.append(shown)
    return masked + mark + "&".join(parts), secrets


def _redacted_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    masked: list[str] = []
    secrets: list[str] = []
    for at, argument in enumerate(arguments):
        name = arguments[at - 1] if at else ""
        is_value = name.startswith("-") and "=" not in name and is_secret_name(name)
        if is_value and argument not in ("", MASK) and not re.match("--[A-Za-z]", argument):
            text, values = MASK, [argument]
        else:
            is_script = re.fullmatch(r"-\w*c", name) is not None
            text, values = (_redacted_text if is_script else _redacted_argument)(argument)
        masked.append(text)
        secrets += values
    return masked, secrets


def _redacted_argument(argument: str) -> tuple[str, list[str]]:
    """Return an argument without its secrets: ``name=value``, an address, or any text."""
    name, sign, value = argument.partition("=")
    is_pair = re.fullmatch(r"[\w.-]+", name) and value not in ("", MASK)
    if is_pair and is_secret_name(name):
        return f"{name}{sign}{MASK}", [value]
    if re.match(r"https?:", argument, re.IGNORECASE):
        return _redacted_address(argument)
    return _redacted_text(argument)


def _redacted_text(text: str) -> tuple[str, list[str]]:
    secrets: list[str] = []
    for pattern in (LOGIN, HEADER, PAIR, OPTION, SHAPES):
        at = 0
        while match := pattern.search(text, at):
            name, value = match.groupdict().get("name"), match["value"]
            if (name and not is_secret_name(name)) or value.strip("\"'") in ("", MASK):
                at = match.start("value")  # there may be a secret in the value of another name
                continue
            secrets += dict.fromkeys([value.strip("\"'"), unquote(value)])
            text = text[: match.start("value")] + MASK + text[match.end() :]
            at = match.start("value") + len(MASK)
    return text, secrets


@lru_cache(maxsize=16)
def _pattern(values: tuple[str, ...]) -> re.Pattern[str]:
    """Return what finds values, in which each character may be escaped differently."""
    return re.compile("|".join("".join(map(_spellings, value)) for value in values))


def _spellings(character: str) -> str:
    """Return a pattern of how JSON, addresses, HTML and Python write a character."""
    code = ord(character)
    percent = "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
    escapes = [rf"(?i:{percent})", rf"(?i:&\#0*{code};|&\#x0*{code:x};)"]
    if code < 2**16:
        escapes.append(rf"\\{{1,2}}u(?i:{code:04x})")
    if code < 2**8:
        escapes.append(rf"\\{{1,2}}x(?i:{code:02x})")
    named = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
    if character in named:
        escapes.append(named[character])
    return rf"(?:\\{{0,2}}{re.escape(character)}|{'|'.join(escapes)})"
