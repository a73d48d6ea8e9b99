"""From the blocks of a completion to the program they mean. Parses hostile source: runs only inside the jail."""

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType

from assay.verifiers.extraction import Block, Reading
from assay.verifiers.split.definitions import (
    Definition,
    Function,
    compile_quietly,
    defines,
    find_stub,
    imports_name,
    parse,
)
from assay.verifiers.split.prompt import Prompt
from assay.verifiers.split.signature import find_header

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

    prompt: CodeType | None
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
    prompt = Prompt(sources.prompt, sources.entry)
    code = _outdented_module(code, sources)
    if not sources.entry:
        return _as_module(code, prompt, filename)
    if _is_indented(code):
        attempts = [_as_continuation, _as_body]
    elif defines(code, sources.entry):
        attempts = []
    else:
        attempts = [*([_as_continuation] if prompt.is_open_ended else []), _as_module_if_one, _as_body]
    for attempt in attempts:
        program = attempt(code, sources, prompt, filename)
        if program is not None:
            return program
    return _as_module(code, prompt, filename)  # raises the error that its author would see


def looks_like_prose(code: str) -> bool:
    """Say whether text that does not compile was not meant as code either."""
    return _CODE_LINE.search(code) is None


def _pick(blocks: Sequence[Block], sources: Sources) -> str:
    tagged = [block.code for block in blocks if block.tagged]
    if not tagged:
        return blocks[-1].code
    wanted = [sources.entry] if sources.entry else list(sources.names)
    if not wanted:
        return tagged[-1]
    for test in (_defines_all, _defines_any, _imports_any):
        found = next((code for code in reversed(tagged) if test(textwrap.dedent(code), wanted)), None)
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


def _as_module(code: str, prompt: Prompt, filename: str) -> Program:
    return Program(prompt.unit(), compile_quietly(code, filename), code)


def _as_module_if_one(code: str, sources: Sources, prompt: Prompt, filename: str) -> Program | None:
    del sources  # one signature for all attempts
    try:
        return _as_module(code, prompt, filename)
    except (SyntaxError, ValueError):
        return None


def _as_continuation(code: str, sources: Sources, prompt: Prompt, filename: str) -> Program | None:
    """The completion goes on where the prompt, or the signature, ends, at its own indentation."""
    if prompt.ends_in_stub or prompt.is_open_ended:
        wholes, beside = [prompt.text + code, f"{prompt.text}\n{code}"], None
    else:
        wholes, beside = [f"{_header(sources)}\n{code}"], prompt
    for whole in wholes:
        try:
            unit = compile_quietly(whole, filename)
            return Program(beside.unit() if beside else None, unit, whole)
        except (SyntaxError, ValueError):
            continue
    return None


def _as_body(code: str, sources: Sources, prompt: Prompt, filename: str) -> Program | None:
    """The completion is the inside of the function: its statements are put there as a tree, its text is not touched."""
    body = parse(code) or parse(textwrap.dedent(code))
    if body is None or not body.body or prompt.is_open_ended:
        return None
    found = prompt.tree_with_stub()
    beside = None if found else prompt
    whole, stub = found or _under_signature(sources)
    if not isinstance(stub, Function):
        return None
    stub.body = body.body
    try:
        unit = compile_quietly(whole, filename)
        return Program(beside.unit() if beside else None, unit, ast.unparse(whole))
    except (SyntaxError, ValueError):
        return None


def _under_signature(sources: Sources) -> tuple[ast.Module, Definition | None]:
    whole = ast.parse(f"{_header(sources)} pass\n")
    return whole, find_stub(whole, sources.entry)


def _header(sources: Sources) -> str:
    return find_header(sources.signature, sources.prompt, sources.entry)


def _outdented_module(code: str, sources: Sources) -> str:
    """Return code that is indented as a whole, as inside a list, without that, if it then is the module asked for."""
    if not _is_indented(code):
        return code
    plain = textwrap.dedent(code)
    wanted = [sources.entry] if sources.entry else list(sources.names)
    if _is_indented(plain) or not _defines_all(plain, wanted):
        return code
    try:
        compile_quietly(plain, "<completion>")
    except (SyntaxError, ValueError):
        return code
    return plain


def _is_indented(code: str) -> bool:
    first = next((line for line in code.split("\n") if line.strip()), "")
    return first[:1] in (" ", "\t")
