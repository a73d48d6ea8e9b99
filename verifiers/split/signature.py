"""The signature that a bare function body is put under: given, or found in the prompt's text."""

import ast
import re

from assay.verifiers.split.definitions import parse

_LONGEST = 2000  # characters of one signature
_MOST = 50  # places in a prompt that are tried
_CALL_SHAPE = re.compile(r"((?:async\s+)?\bdef\s+)?\b(\w+)\s*\(")


def find_header(signature: str, prompt: str, entry: str) -> str:
    """Return a `def` line for `entry`: from `signature`, else from `name(arguments)` in the prompt, else one that
    takes anything. For a method the class line stands before it."""
    owner, _, name = entry.rpartition(".")
    header = _from_signature(signature, name) or _from_text(prompt, name) or f"def {name}(*args, **kwargs):"
    if not owner:
        return header
    return f"class {owner}:\n    {header}"


def _from_signature(signature: str, name: str) -> str | None:
    text = signature.strip()
    if not text:
        return None
    text = re.sub(r":\s*(?:\.\.\.|pass)?$", "", text)
    if text.startswith("("):
        text = name + text
    if not re.match(r"(?:async\s+)?def\b", text):
        text = f"def {text}"
    return _checked(f"{text}:", name)


def _from_text(text: str, name: str) -> str | None:
    places = (match for match in _CALL_SHAPE.finditer(text) if match.group(2) == name)
    for number, match in enumerate(places):
        if number == _MOST:
            return None
        arguments = _balanced(text, match.end() - 1)
        if arguments is None:
            continue
        start = "async def" if (match.group(1) or "").startswith("async") else "def"
        tail = re.match(r"\s*->\s*([^:\n]+)", text[match.end() - 1 + len(arguments) :][:_LONGEST])
        returns = f" -> {tail.group(1).strip()}" if tail else ""
        for header in (f"{start} {name}{arguments}{returns}:", f"{start} {name}{arguments}:"):
            if checked := _checked(header, name):
                return checked
    return None


def _balanced(text: str, start: int) -> str | None:
    depth = 0
    for position in range(start, min(len(text), start + _LONGEST)):
        if text[position] in "([{":
            depth += 1
        elif text[position] in ")]}":
            depth -= 1
            if depth == 0:
                return text[start : position + 1]
    return None


def _checked(header: str, name: str) -> str | None:
    tree = parse(f"{header}\n    pass\n")
    if tree is None or len(tree.body) != 1:
        return None
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    return header if node.name == name else None
