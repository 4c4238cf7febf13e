"""Rules about the shape of the code, each a function that lists what breaks it.

A rule reads parsed modules and returns one line per breach, with its place; an empty list means
that the rule holds. `tests/test_structure.py` applies them to the project and tries each of them
on code that breaks it.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "seqray"
TESTS = ROOT / "tests"


@dataclass(frozen=True)
class Module:
    """A file of Python: its path from the root of the tree that it belongs to, and its text."""

    path: str
    text: str

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(ast.parse(self.text)))

    @property
    def room(self) -> str:
        return self.path.split("/")[0]

    def at(self, node: ast.AST) -> str:
        return f"{self.path}:{node.lineno}"


@cache
def modules_of(folder: Path) -> list[Module]:
    """Return the Python files of a folder."""
    return [
        Module(file.relative_to(folder).as_posix(), file.read_text("utf-8"))
        for file in sorted(folder.rglob("*.py"))
    ]


# --- Size -----------------------------------------------------------------------------------------


def long_modules(files: Iterable[tuple[str, str]], most: int) -> list[str]:
    """List the files, as (path, text), that have more lines than ``most``."""
    sizes = [(path, len(text.splitlines())) for path, text in files]
    return [f"{path}: {n} lines" for path, n in sizes if n > most]


def wide_functions(modules: Iterable[Module], most: int, allowed: Iterable[str]) -> list[str]:
    """List functions of more parameters than ``most``; ``self``, ``cls`` and ``*`` do not count."""
    return [
        f"{module.at(node)} {node.name}: {n} parameters"
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (n := _n_parameters(node)) > most and f"{module.path}:{node.name}" not in allowed
    ]


def _n_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    if named and named[0].arg in ("self", "cls"):
        del named[0]
    return len(named) + (given.vararg is not None) + (given.kwarg is not None)


# --- Names ----------------------------------------------------------------------------------------


def repeated_classes(modules: Iterable[Module]) -> list[str]:
    """List the names that more than one class has."""
    places = defaultdict(list)
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module.at(node))
    return [f"{name}: {', '.join(at)}" for name, at in sorted(places.items()) if len(at) > 1]


# --- Types instead of concrete classes and of text ------------------------------------------------


def box_classes(modules: Iterable[Module], room: str) -> set[str]:
    """Return the classes of a room that are boxes or backends, by a method or by inheritance.

    A box has a method ``weights``, a backend ``query``. Protocols are not concrete: abilities are
    checked with them.
    """
    homes = {
        node: module.room
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.ClassDef) and "Protocol" not in _names_in(node.bases)
    }
    boxes = {
        each.name
        for each in homes
        for part in each.body
        if isinstance(part, ast.FunctionDef) and part.name in ("weights", "query")
    }
    while more := {each.name for each in homes if boxes & _names_in(each.bases)} - boxes:
        boxes |= more
    return boxes & {each.name for each, home in homes.items() if home == room}


def checks_of_classes(modules: Iterable[Module], names: set[str]) -> list[str]:
    """List the places that ask whether something is of one of the classes, however it is asked."""
    return [
        f"{module.at(node)} {', '.join(sorted(checked))}"
        for module in modules
        for aliases in [_aliases(module)]
        for node in module.nodes
        if (checked := _checked_classes(node, aliases) & names)
    ]


def _checked_classes(node: ast.AST, aliases: dict[str, str]) -> set[str]:
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, classes]):
            checked = _names_in([classes])
        case ast.MatchClass(cls=matched):
            checked = _names_in([matched])
        case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=[compared]):
            checked = _names_in([compared])
        case _:
            checked = set()
    return {aliases.get(name, name) for name in checked}


def _aliases(module: Module) -> dict[str, str]:
    return {
        name.asname: name.name
        for node in module.nodes
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if name.asname
    }


def _names_in(expressions: Iterable[ast.expr]) -> set[str]:
    nodes = [node for each in expressions for node in ast.walk(each)]
    return {each.id for each in nodes if isinstance(each, ast.Name)} | {
        each.attr for each in nodes if isinstance(each, ast.Attribute)
    }


OUTCOMES = {"reason", "then", "stopped", "why", "verdict"}
"""Names of what says how something ended: it is an enum or a class, never text to compare."""


def compared_texts(modules: Iterable[Module]) -> list[str]:
    """List comparisons of an outcome or an error's message with text that is written out."""
    return [
        f"{module.at(node)} {ast.unparse(node)[:80]}"
        for module in modules
        for errors in [_caught(module)]
        for node in module.nodes
        if _compares_text(node, errors)
    ]


def _caught(module: Module) -> set[str]:
    """Return the names under which errors are known in a module."""
    caught = {node.name for node in module.nodes if isinstance(node, ast.ExceptHandler)}
    parameters = {
        node.arg
        for node in module.nodes
        if isinstance(node, ast.arg) and node.annotation is not None
        if any(
            name.endswith(("Error", "Exception", "Stopped"))
            for name in _names_in([node.annotation])
        )
    }
    return {name for name in caught | parameters if name}


def _compares_text(node: ast.AST, errors: set[str]) -> bool:
    match node:
        case ast.Compare(left=left, comparators=comparators):
            sides = [left, *comparators]
            return any(_is_outcome(side, errors) for side in sides) and any(map(_is_text, sides))
        case ast.Call(func=ast.Attribute(value=value, attr="startswith" | "endswith")):
            return _is_outcome(value, errors)
        case ast.Match(subject=subject, cases=cases):
            values = [
                part.value
                for case in cases
                for part in ast.walk(case.pattern)
                if isinstance(part, ast.MatchValue)
            ]
            return _is_outcome(subject, errors) and any(map(_is_text, values))
    return False


def _is_outcome(node: ast.expr, errors: set[str]) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in OUTCOMES
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name in OUTCOMES
        case ast.Subscript(value=ast.Attribute(attr="args")):
            return True
        case ast.Call(func=ast.Name(id="str" | "repr"), args=[argument]):
            return bool(_names_in([argument]) & (errors | OUTCOMES))
        case ast.JoinedStr():
            return bool(_names_in([node]) & errors)
    return False


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(_is_text, node.elts))
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != ""


# --- Tests ----------------------------------------------------------------------------------------


OF_NAMED_TUPLES = {"_", "_fields", "_replace", "_asdict", "_make"}
"""Names that begin like private ones, and are not."""


def test_file_of(path: str) -> str:
    """Return the test file of a source file."""
    source = PurePosixPath(path)
    return str(source.with_name(f"test_{source.name}"))


test_file_of.__test__ = False  # type: ignore[attr-defined]


def private_names(modules: Iterable[Module]) -> set[str]:
    """Return the private names that modules define: functions, classes, constants, attributes."""
    return {name for module in modules for name in _defined(module) if _is_private(name)}


def _defined(module: Module) -> Iterator[str]:
    for node in module.nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def uses_of_private_names(modules: Iterable[Module], names: set[str]) -> list[str]:
    """List where tests use a private name: in an import, an attribute, or a text that names it."""
    return [
        f"{module.path}:{line} {name}"
        for module in modules
        if not names.isdisjoint(re.findall(r"\w+", module.text))
        for line, name in sorted(
            {(node.lineno, name) for node in module.nodes for name in _used(node) if name in names}
        )
    ]


def _used(node: ast.AST) -> list[str]:
    match node:
        case ast.ImportFrom(module=str(source), names=imported) if source.startswith("seqray"):
            return [name.name for name in imported]
        case ast.Attribute(value=ast.Name(id="self" | "cls")):
            return []
        case ast.Attribute(attr=name):
            return [name]
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=arguments):
            patched = called in ("setattr", "delattr", "getattr", "patch", "object")
            texts = [each.value for each in arguments[:2] if _is_text(each)] if patched else []
            return [text.rsplit(".", 1)[-1] for text in texts]
    return []


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in OF_NAMED_TUPLES
