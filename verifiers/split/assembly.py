"""From the blocks of a completion to the program they mean. Parses hostile source: runs only inside the jail."""

import ast
import re
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType

from assay.verifiers.extraction import Block, Reading
from assay.verifiers.split.definitions import defines, drop_definition, find_stub, imports_name, parse
from assay.verifiers.split.signature import find_header

_CODE_START = re.compile(
    r"\s*(?:from\s+[\w.]+\s+import\b|import\s+\w|(?:async\s+)?def\s+\w+\s*\(|class\s+\w+\s*[:(]|@\w)"
)
_CODE_LINE = re.compile(
    r"^[ \t]*(?:(?:def|class|import|from|return|for|while|if|with|async|try|print)\b|[@#]|[\w.\[\]]+ *[-+*/]?= *\S)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Sources:
    """What a program is assembled from. `entry` is empty where no function is asked for; `names` are wanted too."""

    reading: Reading
    entry: str = ""
    names: tuple[str, ...] = ()
    prompt: str = ""
    signature: str = ""
    fence_required: bool = False


@dataclass(frozen=True)
class Program:
    """The units to run in one namespace, in order, and the text that the completion's own unit was made of."""

    prompt: ast.Module | None
    unit: CodeType
    text: str


def choose(sources: Sources) -> str | None:
    """Return the code that counts, or None if there is no answer."""
    reading = sources.reading
    if reading.is_blank:
        return None
    blocks = reading.blocks or reading.deep
    if sources.fence_required:
        return _pick(blocks, sources) if blocks else None
    if not reading.fenced and (not reading.deep or _is_code(reading.text)):
        return reading.text
    if reading.fenced and _is_code(reading.text):
        return reading.text  # the fences stand inside its docstrings
    return _pick(blocks, sources) if blocks else None


def assemble(code: str, sources: Sources, filename: str) -> Program:
    """Return the program that `code` means beside the task's prompt. Raises SyntaxError, ValueError, MemoryError or
    RecursionError if it does not compile."""
    prompt = parse_prompt(sources.prompt)
    rest = drop_definition(prompt, sources.entry) if prompt else None
    if not sources.entry or defines(code, sources.entry):
        return _as_module(code, rest, filename)
    for attempt in (_as_continuation, _as_module_unless_indented, _as_body):
        program = attempt(code, sources, prompt, rest, filename)
        if program is not None:
            return program
    return _as_module(code, rest, filename)  # raises the error that its author would see


def parse_prompt(prompt: str) -> ast.Module | None:
    """Return the prompt's syntax tree if the prompt is code that defines or imports something, else None."""
    tree = parse(prompt) if prompt.strip() else None
    if tree is None and _CODE_START.match(prompt):
        last = prompt.rstrip().split("\n")[-1]
        indent = last[: len(last) - len(last.lstrip())]
        tree = parse(f"{prompt.rstrip()}\n{indent}    pass\n") if last.endswith(":") else None
    if tree is None or all(isinstance(node, ast.Expr) for node in tree.body):
        return None
    return tree


def looks_like_prose(code: str) -> bool:
    """Say whether text that does not compile was not meant as code either."""
    return _CODE_LINE.search(code) is None


def _pick(blocks: Sequence[Block], sources: Sources) -> str:
    tagged = [block.code for block in blocks if block.python]
    if not tagged:
        return blocks[-1].code
    wanted = [sources.entry] if sources.entry else list(sources.names)
    if not wanted:
        return tagged[-1]
    for test in (_defines_all, _defines_any, _imports_any):
        found = next((code for code in reversed(tagged) if test(code, wanted)), None)
        if found is not None:
            return found
    return tagged[-1]


def _defines_all(code: str, names: Sequence[str]) -> bool:
    return all(defines(code, name) for name in names)


def _defines_any(code: str, names: Sequence[str]) -> bool:
    return any(defines(code, name) for name in names)


def _imports_any(code: str, names: Sequence[str]) -> bool:
    return any(imports_name(code, name) for name in names)


def _is_code(text: str) -> bool:
    return parse(text) is not None or parse(f"def _():\n{text}") is not None


def _as_module(code: str, rest: ast.Module | None, filename: str) -> Program:
    return Program(rest, _compile(code, filename), code)


def _as_module_unless_indented(
    code: str, _sources: Sources, _prompt: ast.Module | None, rest: ast.Module | None, filename: str
) -> Program | None:
    try:
        return _as_module(code, rest, filename)
    except (SyntaxError, ValueError):
        return None


def _as_continuation(
    code: str, sources: Sources, prompt: ast.Module | None, rest: ast.Module | None, filename: str
) -> Program | None:
    """The completion goes on where the prompt, or the signature, ends, at its own indentation."""
    text = sources.prompt
    open_ended = prompt is None and _is_open_ended(text)
    if not _is_indented(code) and not open_ended:
        return None
    if open_ended or (prompt is not None and _ends_in_stub(prompt, sources.entry)):
        wholes, beside = [text + code, f"{text}\n{code}"], None
    else:
        wholes, beside = [f"{_header(sources)}\n{code}"], rest
    for whole in wholes:
        try:
            return Program(beside, _compile(whole, filename), whole)
        except (SyntaxError, ValueError):
            continue
    return None


def _as_body(
    code: str, sources: Sources, prompt: ast.Module | None, rest: ast.Module | None, filename: str
) -> Program | None:
    """The completion is the inside of the function: its statements are put there as a tree, its text is not touched."""
    body = parse(code) or parse(textwrap.dedent(code))
    if body is None or not body.body or (prompt is None and _is_open_ended(sources.prompt)):
        return None
    whole = parse_prompt(sources.prompt)
    stub = find_stub(whole, sources.entry) if whole else None
    if whole is None or stub is None:
        whole = _parse_strictly(f"{_header(sources)} pass\n", filename)
        stub = find_stub(whole, sources.entry)
    else:
        rest = None
    if not isinstance(stub, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    stub.body = body.body
    try:
        return Program(rest, _compile(whole, filename), ast.unparse(whole))
    except (SyntaxError, ValueError):
        return None


def _is_open_ended(text: str) -> bool:
    """A prompt that starts as code and opens a block, yet does not parse: it can only be continued, and lends its
    signature to nothing else."""
    return _CODE_START.match(text) is not None and ":\n" in text


def _ends_in_stub(prompt: ast.Module, entry: str) -> bool:
    return bool(prompt.body) and find_stub(ast.Module([prompt.body[-1]], []), entry) is not None


def _header(sources: Sources) -> str:
    return find_header(sources.signature, sources.prompt, sources.entry)


def _is_indented(code: str) -> bool:
    first = next((line for line in code.split("\n") if line.strip()), "")
    return first[:1] in (" ", "\t")


def _parse_strictly(text: str, filename: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, filename)


def _compile(source: str | ast.Module, filename: str) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, filename, "exec", dont_inherit=True, optimize=0)
