"""What a completion offers: a source with the task's entry, and perhaps the launches for it. Linear in the text."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from assay.errors import plain
from assay.verifiers.kernels.plans import check_plan
from assay.verifiers.kernels.task import KernelTask, Language, Step

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([^\s`{},:;]*)([^`]*)")
_C_LIKE = frozenset({"", "c", "h", "c99", "c11", "c17", "cpp", "c++", "cc", "cxx", "cu", "cuh", "cuda", "cuda_cpp"})
_SOURCES: Mapping[Language, frozenset[str]] = {
    Language.C: _C_LIKE,
    Language.CUDA: _C_LIKE,
    Language.PTX: frozenset({"", "ptx", "asm", "assembly"}),
    Language.TRITON: frozenset({"", "triton", "python", "py", "python3"}),
    Language.TORCH: frozenset({"", "torch", "python", "py", "python3"}),
}
"""Words after a fence that a source of the language may have."""
CLASS = "ModelNew"
"""What a module over torch defines, whatever the task's entry is called."""
_PLANS = frozenset({"json", "plan", "launch"})
_STEPS = TypeAdapter(tuple[Step, ...])
_MOST_WHERE = 200
_OPENING, _CLOSING = "<think>", "</think>"


@dataclass(frozen=True)
class Offered:
    """A source to be compiled, with the launches that its kernels take; none for a native entry."""

    source: str
    language: Language
    plan: tuple[Step, ...] | None = None


class PlanRefused(Exception):
    """A completion's launch plan is none; the message says why."""


def read_offer(task: KernelTask, completion: str) -> Offered | None:
    """Return what a completion offers; None if there is no source in it. Raises PlanRefused.

    Reasoning does not count. Of the fenced blocks in the task's language, or without any, the last that names the entry
    counts, else the last; a text without any is the source itself if it names the entry.
    """
    text = _after_reasoning(completion.removeprefix("\ufeff").replace("\r\n", "\n"))
    blocks = list(_blocks(text))
    sources = [body for tag, body in blocks if tag in _SOURCES[task.language] and body.strip()]
    plan = _plan(task, [body for tag, body in blocks if tag in _PLANS])
    own = CLASS if task.language is Language.TORCH else task.abi.entry
    entries = {own} if plan is None else {step.kernel for step in plan}
    naming = [body for body in sources if any(_names(body, entry) for entry in entries)]
    if sources:
        return Offered((naming or sources)[-1], task.language, plan)
    if not blocks and any(_names(text, entry) for entry in entries):
        return Offered(text, task.language, plan)
    return None


def _after_reasoning(text: str) -> str:
    """Return what follows the last end of reasoning, up to reasoning that begins again and does not end."""
    rest = text.rpartition(_CLOSING)[2]
    return rest.partition(_OPENING)[0]


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield tag and content of every fenced block; one that does not end reaches to the end."""
    fence, tag = "", ""
    body: list[str] = []
    for line in text.split("\n"):
        found = _FENCE.fullmatch(line) if "```" in line or "~~~" in line else None
        if found is None:
            body += [line] if fence else []
        elif not fence:
            fence, tag, body = found[1], found[2].lower(), []
        elif found[1].startswith(fence) and not found[2] and not found[3].strip():
            yield tag, "\n".join(body) + "\n"
            fence = ""
        else:
            body.append(line)
    if fence:
        yield tag, "\n".join(body)


def _names(source: str, entry: str) -> bool:
    return re.search(rf"\b{re.escape(entry)}\b", source) is not None


def _plan(task: KernelTask, blocks: list[str]) -> tuple[Step, ...] | None:
    """Return the last plan that a completion brings, or the task's; native entries have none."""
    if task.launches is None or not blocks:
        return task.launches
    try:
        document = json.loads(blocks[-1])
        steps = _STEPS.validate_python(_steps_of(document))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))[:_MOST_WHERE]
        raise PlanRefused(f"the launch plan is none: {where}: {plain(first['msg'])[:200]}") from error
    except (ValueError, RecursionError) as error:
        raise PlanRefused("the launch plan is not JSON") from error
    if not steps:
        raise PlanRefused("the launch plan has 0 steps")
    try:
        check_plan(task.abi, task.shapes, steps, task.language)
    except ValueError as error:
        raise PlanRefused(f"the launch plan cannot be used: {error}") from error
    return steps


def _steps_of(document: object) -> object:
    """Return the list of launches: the document itself, its field `plan`, or the document as the only one."""
    if not isinstance(document, dict):
        return document
    return document.get("plan", [document])
