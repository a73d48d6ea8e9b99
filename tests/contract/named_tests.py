"""What a file of tests names: its functions, and the entries of its tables."""

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]


@cache
def entries(file: str) -> frozenset[str]:
    """Functions of a file of tests, and the names in its tables."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return tabled(file) | {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def tabled(file: str) -> frozenset[str]:
    """The names in a file's tables."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    keys = (key for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys)
    return frozenset(key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
