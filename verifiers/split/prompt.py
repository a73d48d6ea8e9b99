"""A task's prompt where it is code: what of it runs beside the completion and, again, beside the tests.

The usual prompt, imports and then the one stub that is asked for, is taken apart as text; syntax trees cost a
millisecond that every attempt would pay.
"""

import ast
import re
from functools import cached_property
from types import CodeType

from assay.verifiers.split.definitions import Definition, Function, compile_quietly, drop_definition, find_stub, parse

_CODE_START = re.compile(
    r"\s*(?:from\s+[\w.]+\s+import\b|import\s+\w|(?:async\s+)?def\s+\w+\s*\(|class\s+\w+\s*[:(]|@\w)"
)
_DEFINITION = re.compile(r"^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^@", re.MULTILINE)
_IMPORTS = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n|(?:from|import)[ \t][^\n(\\;#]*\n)*")
_CLASS = re.compile(r"^class\b", re.MULTILINE)


class Prompt:
    """The prompt of a task that asks for `entry`."""

    def __init__(self, text: str, entry: str) -> None:
        self.text = text
        self._entry = entry

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax tree, if the prompt is code that defines or imports something."""
        tree = parse(self.text) if self.text.strip() else None
        if tree is None and _CODE_START.match(self.text):
            tree = self._parse_open_block()
        if tree is None or all(isinstance(node, ast.Expr) for node in tree.body):
            return None
        return tree

    @property
    def is_open_ended(self) -> bool:
        """Whether it starts as code and opens a block, yet does not parse: it can only be continued."""
        return self.tree is None and bool(_CODE_START.match(self.text)) and ":\n" in self.text

    @property
    def ends_in_stub(self) -> bool:
        """Whether what it defines last is what is asked for."""
        if self._head is not None:
            return True
        if self.tree is None or not self.tree.body:
            return False
        return find_stub(ast.Module([self.tree.body[-1]], []), self._entry) is not None

    def unit(self) -> CodeType | None:
        """Return what runs: the prompt without its definition of the entry point; None if nothing does."""
        return self._unit

    @cached_property
    def _unit(self) -> CodeType | None:
        if self._head is not None:
            return compile_quietly(self._head, "<prompt>") if self._head.strip() else None
        if self.tree is None:
            return None
        return compile_quietly(drop_definition(self.tree, self._entry), "<prompt>")

    def class_names(self) -> tuple[str, ...]:
        """Name the classes that it defines, the one asked for left out: their instances cross by value."""
        if self._head is not None or not _CLASS.search(self.text) or self.tree is None:
            return ()
        rest = drop_definition(self.tree, self._entry)
        return tuple(node.name for node in rest.body if isinstance(node, ast.ClassDef))

    def asks_for_function(self) -> bool:
        """Say whether what it asks for is a function, as its stub shows."""
        return self.tree is not None and isinstance(find_stub(self.tree, self._entry), Function)

    def tree_with_stub(self) -> tuple[ast.Module, Definition] | None:
        """Return a fresh tree and the definition asked for in it, for a body to be put there."""
        tree = Prompt(self.text, self._entry).tree
        stub = find_stub(tree, self._entry) if tree else None
        return (tree, stub) if tree is not None and stub is not None else None

    @cached_property
    def _head(self) -> str | None:
        """The lines above the stub, where they are nothing but imports and the stub is the only definition."""
        definitions = list(_DEFINITION.finditer(self.text))
        if len(definitions) != 1 or definitions[0].group(1) != self._entry:
            return None
        head = self.text[: definitions[0].start()]
        return head if _IMPORTS.fullmatch(head) else None

    def _parse_open_block(self) -> ast.Module | None:
        last = self.text.rstrip().split("\n")[-1]
        indent = last[: len(last) - len(last.lstrip())]
        return parse(f"{self.text.rstrip()}\n{indent}    pass\n") if last.endswith(":") else None
