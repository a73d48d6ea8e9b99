"""The verifier `tool_call`: does the text call the right tools with the right arguments?"""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self  # Any: arguments are JSON values

from pydantic import ConfigDict, Field, model_validator

from assay.schema import Wire
from assay.verifiers.extraction import without_reasoning
from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.calls.layout import has_layout
from assay.verifiers.rules.calls.matching import credit
from assay.verifiers.rules.calls.reading import Call, Unreadable, first_block_calls, read_calls
from assay.verifiers.rules.rule import Profile, RuleTask, Scored, Term

_TOOLRL = "arXiv 2504.13958 §3.3; qiancheng0/ToolRL@8cee13e verl/utils/reward_score/rlla.py"


class ExpectedCall(Wire):
    """One call that the text must make."""

    name: str = Field(min_length=1)
    """The tool."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Its arguments by name, JSON values."""


class ToolCallTask(RuleTask):
    """Tools to be called in any order, one JSON object a line in a `<tool_call>` block: reward = correctness + format.

    correctness = low + (high - low) * (name overlap + sum over expected calls of its match) / (1 + sum over expected
    calls of (1 + its number of parameters)). The name overlap is |intersection| / |union| of the multisets of names; a
    match is the best call of that name that no earlier one took (hardened: the best assignment), worth
    |intersection| / |union| of the parameters' names plus the number of equal values. Text that is no JSON, or lacks a
    name or its parameters, is worth `low`, and so are more than 250 calls. With no call expected, correctness is 0.
    format = the high end of `format_range` if the text is a `<think>` block and, each on a new line, the blocks that
    are expected, else its low end.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "oslo",
                    "verifier": "tool_call",
                    "calls": [{"name": "weather", "parameters": {"city": "Oslo", "days": 3}}],
                }
            ]
        }
    )
    PROFILES: ClassVar = (
        Profile(
            "toolrl/hardened", {"matching": "hardened"}, _TOOLRL,
            "the defaults: calls of all blocks count, spare calls cost what they could have earned, `true` is not 1, "
            "an uncalled-for call is worth the low end and none the high end, broken calls have no format",
        ),
        Profile(
            "toolrl/code", {"matching": "released"}, _TOOLRL,
            "the first block alone is read; the switches for coarser rewards and schedules are off",
        ),
    )  # fmt: skip

    verifier: Literal["tool_call"] = "tool_call"
    calls: tuple[ExpectedCall, ...] = Field(max_length=64)
    """The calls to be made; none where the right thing is to answer without."""
    response: bool | None = None
    """Whether a `<response>` block is expected; default: exactly where no call is."""
    range: tuple[float, float] = (-3.0, 3.0)
    """The low and the high end of correctness."""
    format_range: tuple[float, float] = (0.0, 1.0)
    """The value of `format` for a wrong and for the right layout."""
    matching: Literal["released", "hardened"] = "hardened"
    """`released`: as the authors' code; `hardened`: as the profile `toolrl/hardened` says."""

    @model_validator(mode="after")
    def _refuse_bad_ranges(self) -> Self:
        for field in ("range", "format_range"):
            low, high = getattr(self, field)
            if not -1e6 <= low < high <= 1e6:
                raise misplaced((field,), "the second of the two must be the higher, and both within 1e6 of 0")
        return self


class ToolCall:
    """Compares the calls with the expected ones."""

    name = "tool_call"
    version = "1"
    task_model = ToolCallTask

    def terms(self, task: ToolCallTask) -> Sequence[Term]:
        """Return correctness and format."""
        return (
            Term("correctness", *_ends(task), "names, parameters and values of the calls, scaled to `range`"),
            Term("format", *task.format_range, "whether the text has the expected blocks"),
        )

    def score(self, task: ToolCallTask, text: str) -> Scored:
        """Return both terms."""
        text = text.strip()
        said = without_reasoning(text) if task.matching == "hardened" else text
        correctness, fault = _correctness(task, said)
        laid_out = has_layout(text, bool(task.calls), not task.calls if task.response is None else task.response)
        if task.matching == "hardened" and fault:
            laid_out = False
        return Scored(
            {"correctness": correctness, "format": task.format_range[laid_out]},
            answered=not task.calls or "<tool_call>" in said,
            message=fault or "the calls are not the expected ones, or not laid out as expected",
        )


def _ends(task: ToolCallTask) -> tuple[float, float]:
    """Return the range of correctness: nothing but 0 where the released rule expects no call."""
    return (0.0, 0.0) if not task.calls and task.matching == "released" else task.range


def _correctness(task: ToolCallTask, text: str) -> tuple[float, str]:
    """Return the value of the calls, and what made them unreadable."""
    low, high = task.range
    hardened = task.matching == "hardened"
    if not task.calls:
        return (0.0 if not hardened else low if "<tool_call>" in text else high), ""
    wanted = [Call(call.name, call.parameters) for call in task.calls]
    try:
        made = read_calls(text) if hardened else first_block_calls(text)
        share = credit(wanted, made, strict=hardened)
    except Unreadable as error:
        return low, str(error)
    return low + (high - low) * share, ""
