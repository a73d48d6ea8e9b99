"""Which tests cannot be split from the module under test: found in their syntax trees, before anything runs.

The list is short on purpose. A task that is run in shared mode gives up the wall between tests and completion, so
what works across the wall (callbacks, captured prints, exceptions, instances) is not on it.
"""

import ast
import re
from collections.abc import Iterator

from assay.verifiers.split.plan import Compiled, Plan

_PATCHERS = frozenset({"patch", "setattr", "delattr", "setitem", "delitem", "setenv", "delenv", "syspath_prepend"})
_FIXTURES = {
    "tmp_path": "a folder that both sides must see",
    "tmp_path_factory": "a folder that both sides must see",
    "tmpdir": "a folder that both sides must see",
    "tmpdir_factory": "a folder that both sides must see",
    "caplog": "captured log records",
    "recwarn": "captured warnings",
    "capfd": "captured descriptors",
    "capfdbinary": "captured descriptors",
}
_CALLS = {
    "inspect.getsource": "the source of the module under test",
    "inspect.getsourcelines": "the source of the module under test",
    "inspect.getsourcefile": "the source of the module under test",
    "inspect.getfile": "the source of the module under test",
    "inspect.getmembers": "the members of the module under test",
    "importlib.reload": "a reload of the module under test",
    "runpy.run_module": "the module under test as a script",
    "runpy.run_path": "the module under test as a script",
    "warnings.catch_warnings": "captured warnings",
    "pytest.warns": "captured warnings",
    "pytest.deprecated_call": "captured warnings",
    "typing.get_type_hints": "annotations of the module under test",
    "tempfile.mkdtemp": "a folder that both sides must see",
    "tempfile.TemporaryDirectory": "a folder that both sides must see",
    "tempfile.NamedTemporaryFile": "a file that both sides must see",
    "tempfile.mkstemp": "a file that both sides must see",
    "open": "a file that both sides must see",
    "assertLogs": "captured log records",
    "assertWarns": "captured warnings",
}
_INTERNALS = frozenset({"__code__", "__globals__", "__closure__"})
_MENTION = re.compile(  # without any of these words no test needs more than a look at its text
    r"patch|attr\(|item\(|env\(|syspath|tmp|caplog|recwarn|capfd|inspect|getsource|getfile|getmembers|reload|runpy|run_"
    r"|warn|deprecated|get_type_hints|tempfile|mkdtemp|mkstemp|TemporaryDirectory|NamedTemporaryFile|open\(|assertLogs"
    r"|__code__|__globals__|__closure__|^\s*class\b|\b(?:sys|builtins|time|os|random|math)\.\w+\s*=[^=]",
    re.MULTILINE,
)
_STREAMS = frozenset({"sys.stdout", "sys.stderr"})  # what is printed is replayed there


def find_need(compiled: Compiled, plan: Plan) -> str | None:
    """Return why the tests can only run in the process of the module under test, or None if they can be split."""
    if not compiled.mentions(_MENTION):
        return None
    trees = compiled.trees
    own = _own_names(trees, plan.module) | {plan.entry or plan.module}
    for tree in trees:
        aliases = _aliases(tree)
        for node in ast.walk(tree):
            if need := _need_of(node, aliases, own):
                return need
    return None


def _need_of(node: ast.AST, aliases: dict[str, str], own: frozenset[str]) -> str | None:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return next((_FIXTURES[arg.arg] for arg in node.args.args if arg.arg in _FIXTURES), None)
        case ast.Call(func=func):
            return _need_of_call(node, _dotted(func, aliases))
        case ast.Attribute(attr=attr) if attr in _INTERNALS:
            return f"{attr} of a function under test"
        case ast.ClassDef(bases=bases):
            base = next((base for base in bases if _head(base) in own), None)
            return "a subclass of a class under test" if base is not None else None
        case ast.Assign(targets=targets):
            return next((need for target in targets if (need := _need_of_target(target, aliases))), None)
    return None


def _need_of_call(node: ast.Call, name: str) -> str | None:
    if name in _CALLS:
        return _CALLS[name]
    parts = name.split(".")
    if parts[-1] in _CALLS and "." not in parts[-1] and parts[-1].startswith("assert"):
        return _CALLS[parts[-1]]
    is_patch = parts[-1] in _PATCHERS or "patch" in parts[:-1]
    if not is_patch or not ({"monkeypatch", "mocker", "mock"} & set(parts)):
        return None
    first = node.args[0] if node.args else None
    target = str(first.value) if isinstance(first, ast.Constant) else _dotted(first, {}) if first is not None else ""
    return None if target in _STREAMS or (target == "sys" and _patches_stream(node)) else f"{parts[-1]}() of {target}"


def _patches_stream(node: ast.Call) -> bool:
    second = node.args[1] if len(node.args) > 1 else None
    return isinstance(second, ast.Constant) and f"sys.{second.value!s}" in _STREAMS


def _need_of_target(target: ast.expr, aliases: dict[str, str]) -> str | None:
    """Assigning `sys.stdin`, `builtins.input` or `time.time` is patching by hand."""
    if not isinstance(target, ast.Attribute):
        return None
    dotted = _dotted(target, aliases)
    head = dotted.partition(".")[0]
    if head in ("sys", "builtins", "time", "os", "random", "math") and dotted not in _STREAMS:
        return f"{dotted} set by the tests"
    return None


def _own_names(trees: tuple[ast.Module, ...], module: str) -> frozenset[str]:
    """Names that stand for the module under test or what it defines: imported from it, or defined nowhere."""
    own = {module.partition(".")[0]}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == module:
                own.update(alias.asname or alias.name for alias in node.names)
            elif isinstance(node, ast.Import):
                own.update(alias.asname for alias in node.names if alias.name == module and alias.asname)
    return frozenset(own)


def _aliases(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in _imports(tree):
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            elif alias.asname:
                found[alias.asname] = alias.name
    return found


def _imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def _head(node: ast.expr) -> str:
    return _dotted(node, {}).partition(".")[0]


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(aliases.get(node.id, node.id))
    return ".".join(reversed(parts))
