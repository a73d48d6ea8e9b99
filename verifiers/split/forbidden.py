"""What a task forbids, found in a syntax tree. A rule for honest models, not a wall: the jail is the wall."""

import ast


def find_forbidden(tree: ast.Module, forbid: tuple[str, ...]) -> str | None:
    """Return the first forbidden name that the tree imports, calls or reads, or None.

    A name forbids itself and everything below it: `os` forbids `os.path`, `import os` and `from os import getcwd`.
    """
    if not forbid:
        return None
    aliases: dict[str, str] = {}
    uses: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                uses.append(alias.name)
                aliases[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                uses.append(f"{node.module}.{alias.name}")
                aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    uses.extend(_reads(tree, aliases))
    return next((name for name in forbid if any(_is_under(use, name) for use in uses)), None)


def _reads(tree: ast.Module, aliases: dict[str, str]) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            dotted = _dotted(node)
            if dotted:
                head, dot, rest = dotted.partition(".")
                found.append(aliases.get(head, head) + dot + rest)
        elif isinstance(node, ast.Call) and _dotted(node.func) in ("__import__", "importlib.import_module"):
            found.extend(str(part.value) for part in node.args[:1] if isinstance(part, ast.Constant))
    return found


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def _is_under(use: str, name: str) -> bool:
    use = use.removeprefix("builtins.")
    return use == name or use.startswith(f"{name}.")
