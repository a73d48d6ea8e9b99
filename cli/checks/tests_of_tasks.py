"""What a task's text shows of its tests: which are there twice, which the prompt gives away. Nothing is run."""

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any  # Any: a task as JSON, whatever its verifier

_NEAR = 80
"""Characters, spaces not counted, within which a prompt's expected value follows its call."""
_SHORTEST = 3
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Example:
    """A test as an example of a prompt would write it: a call or an input, and what comes of it."""

    given: str
    expected: str


@dataclass(frozen=True)
class TestsSeen:
    """What is to be seen of a task's tests."""

    __test__ = False  # not a pytest class

    duplicates: int = 0
    """Tests that another one before them equals."""
    examples: int = 0
    """Tests that could be read as examples."""
    leaked: int = 0
    """Those that the prompt holds, with what is expected."""


def look_at(task: Mapping[str, Any]) -> TestsSeen:
    """Return what is to be seen of the tests of a task, as JSON with all its fields."""
    tests, cases = task.get("tests"), task.get("cases")
    sources = [str(test) for test in tests] if isinstance(tests, Sequence) and not isinstance(tests, str) else []
    trees = [tree for tree in map(_parsed, sources) if tree is not None]
    whole = _parsed(str(task.get("test_code") or task.get("test_file") or ""))
    duplicates = _repeated(sources)
    if isinstance(cases, list):
        duplicates += _repeated([json.dumps(case, sort_keys=True) for case in cases])
    if whole is not None:
        duplicates += sum(_repeated(run) for run in _runs_of_asserts(whole))
        trees.append(whole)
    entry = str(task.get("entry_point") or "")
    examples = [example for tree in trees for example in _examples(tree, entry)]
    written = _as_json if task.get("verifier") == "calls" else repr
    pairs = [task] if task.get("verifier") == "run" else [case for case in cases or () if isinstance(case, Mapping)]
    examples += [found for case in pairs if (found := _of_case(case, entry, written))]
    prompt = _squeezed(str(task.get("prompt") or ""))
    leaked = sum(_is_in(example, prompt) for example in examples) if prompt else 0
    return TestsSeen(duplicates, len(examples), leaked)


def _repeated(texts: Sequence[str]) -> int:
    return len(texts) - len(Counter(texts))


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source) if source.strip() else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _runs_of_asserts(tree: ast.Module) -> Iterator[list[str]]:
    """Yield asserts that follow each other directly: between others, state may have changed."""
    for node in ast.walk(tree):
        run: list[str] = []
        for statement in getattr(node, "body", None) or () if not isinstance(node, ast.expr) else ():
            if isinstance(statement, ast.Assert):
                run.append(ast.dump(statement.test))
                continue
            yield run
            run = []
        yield run


def _examples(tree: ast.Module, entry: str) -> Iterator[Example]:
    for node in ast.walk(tree):
        test = node.test if isinstance(node, ast.Assert) else node.value if isinstance(node, ast.Expr) else None
        match test:
            case ast.Compare(left=ast.Call() as call, ops=[ast.Eq()], comparators=[value]):
                yield Example(_call(call, entry), ast.unparse(value))
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call() as call):
                yield Example(_call(call, entry), "False")
            case ast.Call() as call if isinstance(node, ast.Assert):
                yield Example(_call(call, entry), "True")


def _call(call: ast.Call, entry: str) -> str:
    text = ast.unparse(call)
    return text.replace("candidate(", f"{entry}(", 1) if entry and text.startswith("candidate(") else text


def _of_case(case: Mapping[str, Any], entry: str, written: Callable[[Any], str]) -> Example | None:
    stdin, stdout = (case.get(name, case.get(alias)) for name, alias in (("stdin", "input"), ("stdout", "output")))
    if stdin is not None and stdout is not None:
        return Example(str(stdin), str(stdout))
    if case.get("args") is None or not entry:
        return None
    named = [f"{name}={written(value)}" for name, value in (case.get("kwargs") or {}).items()]
    return Example(f"{entry}({', '.join([*map(written, case['args']), *named])})", written(case.get("expected")))


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is_in(example: Example, prompt: str) -> bool:
    given, expected = _squeezed(example.given), _squeezed(example.expected)
    if len(given) < _SHORTEST:
        return False
    place = prompt.find(given)
    while place >= 0:
        after = place + len(given)
        if expected in prompt[after : after + len(expected) + _NEAR]:
            return True
        place = prompt.find(given, place + 1)
    return False


def _squeezed(text: str) -> str:
    """Return text without spaces, and with one kind of quotes: prompts write values by hand."""
    return _SPACE.sub("", text).replace('"', "'")
