"""Small mistakes in source code, one at a time: the mutants of a module.

A mutant is a change of the syntax tree: a comparison, an operator, a number, a condition, a bound
of a slice, a returned value, a statement or a keyword argument that is another one or gone.
Annotations, decorators, texts, ``__repr__``, assertions, and what an error says stay as they are.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult},
    **{ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}

OPPOSITES = {"min": "max", "any": "all", "minimum": "maximum", "argmin": "argmax"}
OPPOSITES |= {other: name for name, other in OPPOSITES.items()}

MIN_CONTEXT = 16
"""A change is shown in an expression of at least so many characters."""


@dataclass(frozen=True, eq=False)
class Mutant:
    """One change of a module.

    Parameters
    ----------
    line
        Where it is.
    change
        What it is, with the function around it: unlike the line, it stays when others move.
    """

    line: int
    change: str
    tree: ast.Module
    parent: ast.AST
    field: str
    place: int | None
    new: Any

    def code(self, path: str) -> CodeType:
        """Return the compiled module."""
        old = _put(self.parent, self.field, self.place, self.new)
        try:
            return compile(ast.fix_missing_locations(self.tree), path, "exec")
        finally:
            _put(self.parent, self.field, self.place, old)


def mutants(source: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of its lines.

    >>> [each.change for each in mutants("def f(x): return x < 2")]
    ['f: return x < 2 → return None', 'f: return x < 2 → return x <= 2',
     'f: return x < 2 → return x < 3']
    """
    tree = ast.parse(source)
    found: list[Mutant] = []
    n_same: Counter[str] = Counter()
    for parents, field, place, new in _changes(tree, ()):
        places = (_get(parents[-1], field, place), *reversed(parents))
        line = next(each.lineno for each in places if hasattr(each, "lineno"))
        change = _shown(parents, field, place, new)
        n_same[change] += 1
        change += f" ({n_same[change]})" if n_same[change] > 1 else ""
        found.append(Mutant(line, change, tree, parents[-1], field, place, new))
    return found


Change = tuple[tuple[ast.AST, ...], str, int | None, Any]


def _changes(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    """Yield changes of all that is below a node: what is around it, where it is, what is new."""
    around = (*parents, node)
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params", "format_spec"):
            continue
        if isinstance(value, list):
            for place, each in enumerate(value):
                if isinstance(each, ast.AST):
                    yield from _of_one(each, around, field, place)
        elif isinstance(value, ast.AST):
            yield from _of_one(value, around, field, None)


def _of_one(
    node: ast.AST, parents: tuple[ast.AST, ...], field: str, place: int | None
) -> Iterator[Change]:
    if _stays(node):
        return
    for new in _instead(node, parents[-1], field):
        yield parents, field, place, new
    if not isinstance(node, ast.Raise):
        yield from _changes(node, parents)


def _stays(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name == "__repr__"
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom)


def _instead(node: ast.AST, parent: ast.AST, field: str) -> Iterator[Any]:
    """Yield what can stand in place of a node; None where it can be left out."""
    if type(node) in SWAPPED:
        yield SWAPPED[type(node)]()
    elif isinstance(node, ast.Constant):
        yield from _other_numbers(node)
    elif isinstance(node, ast.Name) and node.id in OPPOSITES:
        yield ast.Name(OPPOSITES[node.id], node.ctx)
    elif isinstance(node, ast.Attribute) and node.attr in OPPOSITES:
        yield ast.Attribute(node.value, OPPOSITES[node.attr], node.ctx)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.keyword) and node.arg is not None:
        yield None
    elif isinstance(node, ast.Return) and node.value is not None:
        if ast.unparse(node.value) != "None":
            yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Break | ast.Continue):
        yield ast.Continue() if isinstance(node, ast.Break) else ast.Break()
    elif _is_effect(node):
        yield ast.Pass()
    if field == "test" and not _has_opposite(node):
        yield ast.UnaryOp(ast.Not(), node)
    if isinstance(parent, ast.Slice) and field in ("lower", "upper", "step"):
        yield None


def _has_opposite(test: ast.AST) -> bool:
    """Whether another change negates a condition."""
    if isinstance(test, ast.Compare):
        return len(test.ops) == 1 and not isinstance(
            test.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE
        )
    return isinstance(test, ast.UnaryOp)


def _other_numbers(node: ast.Constant) -> Iterator[ast.Constant]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node.value, float):
        yield ast.Constant(node.value * 2 or 1.0)


def _is_effect(node: ast.AST) -> bool:
    """Whether a statement can be left out without leaving a name undefined."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if isinstance(node, ast.Assign):
        return all(isinstance(each, ast.Attribute | ast.Subscript) for each in node.targets)
    return isinstance(node, ast.AugAssign | ast.Raise)


def _shown(parents: tuple[ast.AST, ...], field: str, place: int | None, new: Any) -> str:
    """Return the text of a change, in what is around it."""
    names = [each.name for each in parents if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    old = _get(parents[-1], field, place)
    if isinstance(old, ast.stmt):
        before, after = ast.unparse(_header(old)), ast.unparse(new)
    elif isinstance(around := _context(parents), ast.FunctionDef):
        before, after = f"default {ast.unparse(old)}", ast.unparse(new)
    else:
        before = ast.unparse(_header(around))
        whole = _put(parents[-1], field, place, new)
        after = ast.unparse(_header(around))
        _put(parents[-1], field, place, whole)
    texts = (" ".join(each.replace("\n    ...", "").split()) for each in (before, after))
    return f"{'.'.join(names) or 'module'}: {' → '.join(texts)}"


def _context(parents: tuple[ast.AST, ...]) -> ast.AST:
    """Return the smallest expression or statement that says where a change is."""
    for each in reversed(parents):
        if isinstance(each, ast.stmt):
            return each
        if isinstance(each, ast.expr) and len(ast.unparse(each)) >= MIN_CONTEXT:
            return each
    return parents[0]


def _header(node: ast.AST) -> ast.AST:
    """Return a compound statement without what is in it."""
    if not isinstance(node, ast.stmt) or not hasattr(node, "body"):
        return node
    short = copy.copy(node)
    short.body = [ast.Expr(ast.Constant(...))]
    if getattr(short, "orelse", None):
        short.orelse = []
    return short


def _get(parent: ast.AST, field: str, place: int | None) -> Any:
    value = getattr(parent, field)
    return value if place is None else value[place]


def _put(parent: ast.AST, field: str, place: int | None, new: Any) -> Any:
    """Put something where another is, and return the other; None in a list: leave it out."""
    value = getattr(parent, field)
    if place is None:
        setattr(parent, field, new)
        return value
    if isinstance(new, list):  # what `_put` returned
        setattr(parent, field, new)
        return None
    changed = [*value[:place], *([] if new is None else [new]), *value[place + 1 :]]
    setattr(parent, field, changed)
    return value
