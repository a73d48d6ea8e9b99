"""The tests of a task as they travel to the oracle, and their preparation there: compiled before anything runs."""

import ast
import json
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import CodeType
from typing import Any  # payloads are unpacked msgpack

import msgpack

from assay.verifiers.split.definitions import Function, bound_names, flatten
from assay.verifiers.split.loading import describe

_IMPORT = re.compile(r"\bimport\b")
_STATEMENT = re.compile(r"^[ \t]*(?:assert|import|from|def|class|with|for|try|raise|del)\b", re.MULTILINE)
_CHECK = re.compile(r"^def[ \t]+check\b", re.MULTILINE)


class Broken(Exception):
    """The tests cannot be run, whatever the completion."""


@dataclass(frozen=True)
class Plan:
    """What the oracle is told. `style` is empty where the tests themselves tell it; `sources` are Python source,
    `cases` JSON texts of `[args, kwargs]` and of the expected value. The run begins at test `start`; with `ahead`
    calls may be under way before the one before them has ended."""

    style: str
    sources: tuple[str, ...]
    cases: tuple[tuple[str, str], ...]
    module: str
    entry: str
    prompt: str
    wall_s: float
    may_share: bool
    start: int = 0
    ahead: bool = True


def pack_plan(plan: Plan) -> bytes:
    """Return the payload for the oracle."""
    return bytes(msgpack.packb(vars(plan), unicode_errors="surrogatepass"))


def unpack_plan(payload: bytes) -> Plan:
    """Return what `pack_plan` was given."""
    fields: Mapping[str, Any] = msgpack.unpackb(payload, unicode_errors="surrogatepass", use_list=False)
    return Plan(**fields)


@dataclass(frozen=True)
class Compiled:
    """Tests that compile: `style` is resolved, `texts` and `codes` go with `Plan.sources`."""

    style: str
    texts: tuple[str, ...]
    codes: tuple[CodeType, ...]
    judged: frozenset[int] = frozenset()
    """Tests among statements that are a lone comparison: as statements they could never fail, so they must be true."""

    @cached_property
    def trees(self) -> tuple[ast.Module, ...]:
        """The syntax trees, made when first asked for: most tests are judged without them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tuple(ast.parse(text) for text in self.texts)

    def mentions(self, pattern: re.Pattern[str]) -> bool:
        """Say whether the text of any test matches: what is not even mentioned needs no tree to be ruled out."""
        return any(pattern.search(text) for text in self.texts)


def compile_plan(plan: Plan) -> Compiled:
    """Compile every test. Raises Broken naming the one that does not, or what is missing."""
    style = plan.style or _infer_style(plan.sources)
    if style == "calls":
        _check_cases(plan.cases)
        return Compiled(style, (), ())
    if not plan.sources:
        raise Broken("the task has no tests")
    texts, codes, judged = [], [], set()
    for number, source in enumerate(plan.sources):
        where = filename_of(style, number)
        text = prepare_text(source)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if style == "assert" and _is_lone_comparison(text):
                    judged.add(number)
                mode = "eval" if style == "expr" or number in judged else "exec"
                code = compile(text, where, mode, dont_inherit=True, optimize=0)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise Broken(f"{where.strip('<>')} does not compile: {describe(error)}") from error
        if all(line.strip().startswith("#") for line in text.split("\n") if line.strip()):
            raise Broken(f"{where.strip('<>')} is empty")
        texts.append(text)
        codes.append(code)
    compiled = Compiled(style, tuple(texts), tuple(codes), frozenset(judged))
    if style == "check" and not _CHECK.search(texts[0]) and "check" not in _top_level_names(compiled.trees[0]):
        raise Broken("test_code defines no check()")
    return compiled


def prepare_text(source: str) -> str:
    """Return the source of one test as it is compiled: dedented, without a leading byte order mark."""
    text = source.removeprefix("\ufeff").replace("\r\n", "\n")
    return textwrap.dedent(text) if text.lstrip("\n")[:1] in (" ", "\t") else text


def filename_of(style: str, number: int) -> str:
    """Return the name under which a test is compiled."""
    return {"check": "<test_code>", "pytest": "<test_file>"}.get(style, f"<tests[{number}]>")


def run_imports(compiled: Compiled, module: str) -> None:
    """Run the imports that the tests make in any case, those of the module under test left out.

    What fails here is missing for every completion. Raises Broken.
    """
    for tree in compiled.trees if compiled.mentions(_IMPORT) else ():
        for node in _certain_imports(tree):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
                if node.level or node.module == "__future__":
                    continue
            else:
                names = [alias.name for alias in node.names]
            if any(name == module or name.startswith(f"{module}.") for name in names):
                continue
            try:
                exec(compile(ast.Module([node], []), "<imports>", "exec", dont_inherit=True), {})
            except Exception as error:
                raise Broken(f"the tests import what is not there: {describe(error)}") from error


def _certain_imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in tree.body:
        for part in (node, *(node.body if isinstance(node, Function) else ())):
            if isinstance(part, ast.Import | ast.ImportFrom):
                yield part


def _infer_style(sources: tuple[str, ...]) -> str:
    for source in sources:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(prepare_text(source).strip(), mode="eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return "assert"
    return "expr"


def _is_lone_comparison(text: str) -> bool:
    if _STATEMENT.search(text):
        return False
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return negated or isinstance(node, ast.Compare | ast.BoolOp)


def _check_cases(cases: tuple[tuple[str, str], ...]) -> None:
    if not cases:
        raise Broken("the task has no cases")
    for number, (call, expected) in enumerate(cases):
        try:
            json.loads(call)
            json.loads(expected)
        except (ValueError, RecursionError) as error:
            raise Broken(f"cases[{number}] cannot be read: {error}") from error


def _top_level_names(tree: ast.Module) -> set[str]:
    imported = {
        alias.asname or alias.name
        for node in flatten(tree.body)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return imported | set(bound_names(tree.body))
