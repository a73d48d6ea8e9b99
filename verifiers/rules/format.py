"""The verifier `format`: is a completion laid out as a published reward asks?"""

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.format_checks import CHECKS, LONGEST_PREFILL, CheckName
from assay.verifiers.rules.layouts import blocks_in_order, hardened_blocks_in_order
from assay.verifiers.rules.rule import Profile, RuleTask, Scored, Term

TAGS = "tags"
"""The term for a task's own `tags`."""

Tag = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_:.-]*$", max_length=64)]


def _profile(name: str, checks: Sequence[CheckName]) -> Profile:
    source = "; ".join(dict.fromkeys(CHECKS[check].source for check in checks))
    return Profile(name, {"checks": checks, "hardened": False}, source, f"{', '.join(checks)}, as published")


class FormatTask(RuleTask):
    """A layout to keep: reward = the weighted sum of the named checks, each a term of its own range.

    A check has two values: as published, which reproduces the released function on every text, and hardened, the
    default, which refuses what games it: blank bodies, repeated tags, text after the answer. `tags` is a check of the
    task's own: stripped, the text is one block of each tag in that order, with white space between them.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "f", "verifier": "format", "checks": ["open_r1_format"]}]}
    )
    PROFILES: ClassVar = (
        _profile("visual-rft/code", [CheckName.THINK_ANSWER_FULLMATCH]),
        _profile("videochat-r1/code", [CheckName.THINK_ANSWER_FULLMATCH_STRIPPED]),
        _profile("open-rs/code", [CheckName.OPEN_RS_FORMAT]),
        _profile("open-r1/code", [CheckName.OPEN_R1_FORMAT, CheckName.OPEN_R1_TAG_COUNT]),
        _profile("trl/code", [CheckName.TRL_THINK_FORMAT]),
        _profile("logic-rl/code", [CheckName.LOGIC_RL_STRUCTURE]),
        _profile("sirl/code", [CheckName.SIRL_STAGE1]),
        _profile("d1-gsm8k/code", [CheckName.D1_XMLCOUNT, CheckName.D1_SOFT, CheckName.D1_STRICT, CheckName.D1_INT]),
        _profile("d1-math/code", [CheckName.D1_BOXED_AND_TAGS]),
    )

    verifier: Literal["format"] = "format"
    checks: tuple[CheckName, ...] = ()
    """Named checks, each a term."""
    tags: tuple[Tag, ...] = Field((), max_length=16)
    """Names of tags, outermost only and in order: adds the term `tags`, 1 or 0."""
    hardened: bool = True
    """Whether checks refuse what games the published ones."""
    prefill: str = Field("", max_length=LONGEST_PREFILL)
    """What the chat template has already written of the completion, such as `<think>`: put before it."""

    @model_validator(mode="after")
    def _check_something(self) -> Self:
        if not self.checks and not self.tags:
            raise misplaced(("checks",), "there are neither checks nor tags of your own", "name at least one")
        for field in ("checks", "tags"):
            names = getattr(self, field)
            if len(set(names)) < len(names):
                raise misplaced((field,), f"one is named twice: {', '.join(names)}", "name each once")
        return self


class Format:
    """Runs each check on the text."""

    name = "format"
    version = "1"
    task_model = FormatTask

    def terms(self, task: FormatTask) -> Sequence[Term]:
        """Return the checks."""
        named = [Term(name, CHECKS[name].low, CHECKS[name].high, CHECKS[name].about) for name in task.checks]
        own = [Term(TAGS, 0, 1, "1 if the stripped text is one block of each of the task's tags")]
        return named + (own if task.tags else [])

    def score(self, task: FormatTask, text: str) -> Scored:
        """Return the value of every check."""
        whole = task.prefill + text
        values = {str(name): float(_function(name, task.hardened)(whole)) for name in task.checks}
        if task.tags:
            match_blocks = hardened_blocks_in_order if task.hardened else blocks_in_order
            values[TAGS] = float(match_blocks(whole.strip(), task.tags))
        short = [term.name for term in self.terms(task) if values[term.name] < term.high]
        return Scored(values, message=f"not at full marks: {', '.join(short)}")


def _function(name: CheckName, hardened: bool) -> Callable[[str], float]:
    return CHECKS[name].hardened if hardened else CHECKS[name].published
