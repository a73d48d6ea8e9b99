"""What a piece of source defines. Parses hostile source: runs only inside the jail."""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from types import CodeType

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# Patterns with the name in them would be compiled anew in every child.
_DEFINING_LINE = re.compile(r"^([ \t]*)(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)", re.MULTILINE)
SOLUTION = "Solution"  # the class that a bare entry point is also looked up on


def bound_name(entry: str) -> str:
    """Return the name under which the module holds the entry point: `Class.method` has one of its own there."""
    return entry.replace(".", ":")


def parse(source: str) -> ast.Module | None:
    """Return the syntax tree, or None if `source` does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def compile_quietly(source: str | ast.Module, filename: str) -> CodeType:
    """Compile a module; warnings are nobody's business. Raises SyntaxError, ValueError, MemoryError, RecursionError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, filename, "exec", dont_inherit=True, optimize=0)


def defines(source: str, entry: str) -> bool:
    """Say whether `source` binds `entry` (`name`, `Class.method`, or a bare method of class Solution)."""
    tree = parse(source)
    if tree is None:
        return _seems_to_define(source, entry)
    owner, _, method = entry.rpartition(".")
    if owner:
        return any(node.name == owner and _has_method(node, method) for node in _classes(tree.body))
    return entry in set(bound_names(tree.body)) or any(
        node.name == SOLUTION and _has_method(node, entry) for node in _classes(tree.body)
    )


def imports_name(source: str, name: str) -> bool:
    """Say whether `source` imports `name` at its top level."""
    tree = parse(source)
    return tree is not None and any(
        (alias.asname or alias.name) == name
        for node in flatten(tree.body)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )


def bound_names(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names that module-level statements define or assign (imports left out)."""
    for node in flatten(body):
        if isinstance(node, Definition):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.For | ast.With):
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    yield part.id


def flatten(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield module-level statements, those inside `if`, `try`, `with` and loops included."""
    for node in body:
        yield node
        if not isinstance(node, Definition):
            for field in ("body", "orelse", "finalbody"):
                yield from flatten(getattr(node, field, ()))
            for handler in getattr(node, "handlers", ()):
                yield from flatten(handler.body)


def drop_definition(tree: ast.Module, entry: str) -> ast.Module:
    """Return the module without its top-level definition of `entry` (or of class Solution, where that holds it)."""
    owner, _, method = entry.rpartition(".")

    def is_dropped(node: ast.stmt) -> bool:
        if not isinstance(node, Definition):
            return False
        if owner:
            return node.name == owner
        holds = isinstance(node, ast.ClassDef) and node.name == SOLUTION and _has_method(node, method)
        return node.name == entry or holds

    return ast.Module([node for node in tree.body if not is_dropped(node)], tree.type_ignores)


def find_stub(tree: ast.Module, entry: str) -> Definition | None:
    """Return the last top-level definition of `entry` in a prompt, a method of its class where it is one."""
    owner, _, method = entry.rpartition(".")
    for node in reversed(tree.body):
        if isinstance(node, ast.ClassDef) and node.name == (owner or SOLUTION):
            inner = _method(node, method)
            if inner is not None:
                return inner
        if not owner and isinstance(node, Definition) and node.name == entry:
            return node
    return None


def _classes(body: Sequence[ast.stmt]) -> Iterator[ast.ClassDef]:
    return (node for node in flatten(body) if isinstance(node, ast.ClassDef))


def _has_method(node: ast.ClassDef, name: str) -> bool:
    return name in set(bound_names(node.body))


def _method(node: ast.ClassDef, name: str) -> Function | None:
    found = [part for part in node.body if isinstance(part, Function) and part.name == name]
    return found[-1] if found else None


def _seems_to_define(source: str, entry: str) -> bool:
    """For source that does not parse: a line that starts to define the name is the answer's last word on it."""
    owner, _, name = entry.rpartition(".")
    return any(found == name and bool(indent) == bool(owner) for indent, found in _DEFINING_LINE.findall(source))
