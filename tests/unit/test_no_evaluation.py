"""No text is evaluated where we do not say so: every `eval`, `exec` and their kin in the package has its reason here.

Model-written programs run, of course: in the candidate's jail. Task-written tests run: in the oracle's jail. Nothing
else is ever code: answers, formulas, lists and numbers of a completion are read by parsers.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("core", "service", "sandboxes", "verifiers", "clients", "cli")
BUILTINS = frozenset({"eval", "exec", "compile", "__import__", "input", "breakpoint"})
"""Names of builtins that run text, wherever they stand."""
FUNCTIONS = frozenset(
    {"eval", "exec", "parse_expr", "sympify", "lambdify", "parse_latex", "latex2sympy", "run_path", "run_module"}
)
"""Functions and methods of libraries that do, or that parse by doing."""
MODULES = frozenset({"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "runpy", "code", "codeop"})
"""Modules that make objects, or run code, from bytes."""

REASONS = {
    "verifiers/kernels/module_program.py": "runs the completion's module, in the candidate's runner",
    "verifiers/split/loading.py": "runs the completion's program, in the candidate's jail",
    "verifiers/stdio_program.py": "runs the completion's program, in the candidate's jail",
    "verifiers/split/harness.py": "runs the task's tests, in the oracle's jail",
    "verifiers/split/namespace.py": "runs the task's prompt and helpers, in the oracle's jail",
    "verifiers/split/plan.py": "compiles the task's tests and runs their imports, in the oracle's jail",
    "verifiers/split/definitions.py": "compiles the task's prompt and tests, in the oracle's jail",
    "verifiers/split/rehearsal.py": "runs a constant of its own, to warm an interpreter up",
    "verifiers/checker_program.py": "runs the task's checker, in the oracle's jail",
    "verifiers/program/verify_program.py": "runs the task's own verifier, in the oracle's jail",
    "verifiers/maths/foreign.py": "a LaTeX parser, in a jailed process that holds nothing but the text",
    "service/queue.py": "has Redis run our own scripts",
    "service/recording.py": "has Redis run our own scripts",
    "service/tasks.py": "has Redis run our own scripts",
}
"""By module: why what stands there is no text of a completion, or where it runs."""


def modules() -> Iterator[Path]:
    """Every module of the package."""
    for folder in FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


def evaluations(path: Path) -> Iterator[str]:
    """Every place in a module that evaluates text, or could."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if name in BUILTINS | FUNCTIONS:
                yield f"{node.lineno}: {name}"
            case ast.Call(func=ast.Attribute(attr=name)) if name in FUNCTIONS:
                yield f"{node.lineno}: .{name}()"
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                origin = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                for one in [*origin, *(name.name for name in names)]:
                    if one.split(".")[0] in MODULES or one in FUNCTIONS:
                        yield f"{node.lineno}: import {one}"


def relative(path: Path) -> str:
    """A module's path in the repository."""
    return path.relative_to(ROOT).as_posix()


def test_nothing_is_evaluated_without_a_reason() -> None:
    """Only the modules that are listed with their reason run, compile or unpack text."""
    found = {relative(path): places for path in modules() if (places := list(evaluations(path)))}

    assert {path: places for path, places in found.items() if path not in REASONS} == {}
    assert sorted(REASONS) == sorted(found), "a reason that nothing needs any more"


def test_no_rule_evaluates_anything() -> None:
    """Where completions are judged without a jail, the list has no entry."""
    unjailed = [path for path in REASONS if path.startswith(("verifiers/rules/", "verifiers/composite/"))]

    assert unjailed == []


@pytest.mark.parametrize(
    "source",
    ["eval(x)", "run = exec", "compile(x, '', 'eval')", "import pickle", "from sympy import parse_expr",
     "sympy.sympify(x)", "from marshal import loads", "frame.eval(x)"],
)  # fmt: skip
def test_the_search_finds_what_it_looks_for(tmp_path: Path, source: str) -> None:
    """Each way to evaluate text is seen."""
    path = tmp_path / "module.py"
    path.write_text(source, encoding="utf-8")

    assert list(evaluations(path))


def test_the_search_passes_over_what_is_harmless(tmp_path: Path) -> None:
    """Compiled patterns and literal parsers evaluate nothing."""
    path = tmp_path / "module.py"
    path.write_text("import re, ast\nre.compile(x)\nast.literal_eval(x)\njson.loads(x)\n", encoding="utf-8")

    assert list(evaluations(path)) == []
