"""The verifier `countdown`: does an expression of the given numbers have the target as its value?"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, assert_never

from pydantic import ConfigDict, Field

from assay.verifiers.rules.answering import AnsweringTask
from assay.verifiers.rules.arithmetic import Expression, read_expression
from assay.verifiers.rules.blocks import last_block
from assay.verifiers.rules.rule import Profile, Scored, Term

Number = Annotated[int, Field(ge=0, le=10**18)]
Score = Annotated[float, Field(ge=0, le=1)]

_MARKERS = ("Assistant:", "<|im_start|>assistant")
_DIGITS = re.compile(r"[0-9]+")
_WHOLE = {"reasoning": "kept"}
_RELEASED = {**_WHOLE, "operators": ("+", "-", "*", "/", "//", "**"), "decimals": True, "tolerance": 1e-5, "empty": 0.1}
_D1 = "dllm-reasoning/d1@837888f and xiaohangt/wd1@0898985 reward_func.py"


class CountdownTask(AnsweringTask):
    """Numbers to be combined, each exactly once, into an expression whose value is the target; 24 is such a puzzle.

    The reward is one term, `score`: 1 for the target, less for what falls short of it, by kind. Values are exact
    fractions. Operators other than those of the task, glued digits, numbers starting with 0 and equations make an
    expression unreadable, and so do sizes: 1,000 tokens, 100 levels of parentheses, numbers of 4,096 bits.
    The released rules run model text with `eval`, which never returns for `9**9**9`; here that is unreadable.
    Sources: dllm-reasoning/d1@837888f reward_func.py; Jiayi-Pan/TinyZero@95df88f countdown.py.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"id": "c", "verifier": "countdown", "numbers": [3, 8, 5], "target": 39}],
        }
    )
    PROFILES: ClassVar = (
        Profile(
            "d1/code", _RELEASED, _D1,
            "accepts powers, floor divisions and decimals glued from two numbers, values within 1e-5, and pays 0.1 for "
            "any block; powers beyond 4,096 bits are unreadable instead of hanging, floor divisions exact",
        ),
        Profile(
            "d1/paper", {**_WHOLE, "unreadable": 0.0, "wrong_numbers": 0.0}, "arXiv 2504.12216",
            "0.1 only for a wrong value of the right numbers; exact",
        ),
        Profile(
            "tinyzero/code", {**_RELEASED, "answer": "last_line", "role_marker": "cut"},
            "Jiayi-Pan/TinyZero@95df88f countdown.py",
            "as d1/code, with a block of the last line only, after the first role marker; the released function also "
            "gives 0 where there is no marker, which only holds if the prompt is judged with the completion",
        ),
        Profile(
            "reasoning-gym/code",
            {**_RELEASED, "answer": "whole", "tolerance": 1e-6, "wrong_numbers": 0.05, "wrong_value": 0.05,
             "unreadable": 0.01, "empty": 0.01, "missing": 0.01},
            "open-thought/reasoning-gym@49b0713 countdown.py",
            "the whole text is the expression; the verifier `reasoning_gym` runs the library itself",
        ),
        Profile("countdown/hardened", {}, "the rules above", "the defaults: exact, and nothing for an empty block"),
    )  # fmt: skip

    verifier: Literal["countdown"] = "countdown"
    numbers: tuple[Number, ...] = Field(min_length=1, max_length=100)
    """What must be used, each as often as it stands here."""
    target: int | float = Field(ge=-1e18, le=1e18, allow_inf_nan=False)
    """The value to reach."""
    operators: tuple[Literal["+", "-", "*", "/", "//", "**"], ...] = ("+", "-", "*", "/")
    """Operators between numbers; signs and parentheses are always allowed."""
    decimals: bool = False
    """Whether a decimal point may stand among digits: the runs of digits around it count as numbers of their own."""
    tolerance: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Values nearer to the target than this reach it; 0 asks for equality."""
    answer: Literal["last_block", "last_line", "whole"] = "last_block"
    """The expression is the last `<answer>` block, such a block within the last line, or the whole text."""
    equation: Literal["refused", "left_side"] = "refused"
    """What `=` does: an unreadable expression, or only what stands before the first one is judged."""
    role_marker: Literal["ignored", "cut", "required"] = "ignored"
    """Whether text up to the first `Assistant:` or `<|im_start|>assistant` is cut off, or must even be there."""
    wrong_value: Score = 0.1
    """Score of another value of the right numbers."""
    wrong_numbers: Score = 0.1
    """Score of an expression of other numbers."""
    unreadable: Score = 0.1
    """Score of an answer that is no expression, or has no value."""
    empty: Score = 0.0
    """Score of a blank answer."""
    missing: Score = 0.0
    """Score of a text without an answer block."""


@dataclass(frozen=True)
class _Found:
    score: float
    message: str = ""
    answered: bool = True


class Countdown:
    """Reads and computes the expression."""

    name = "countdown"
    version = "1"
    task_model = CountdownTask

    def terms(self, task: CountdownTask) -> Sequence[Term]:
        """Return the score."""
        del task
        return [Term("score", 0, 1, "1 for the target, otherwise the task's score for what is wrong")]

    def score(self, task: CountdownTask, text: str) -> Scored:
        """Return the score."""
        found = _judge(task, _extract(task, task.answering(text)))
        return Scored({"score": found.score}, found.answered, found.message)


def _extract(task: CountdownTask, text: str) -> str | None:
    """Return the expression, trimmed; None if there is no answer."""
    part = text if task.role_marker == "ignored" else _after_marker(text)
    if part is None:
        return None if task.role_marker == "required" else _block(task, text)
    return _block(task, part)


def _after_marker(text: str) -> str | None:
    for marker in _MARKERS:
        _, found, rest = text.partition(marker)
        if found:
            return rest
    return None


def _block(task: CountdownTask, text: str) -> str | None:
    match task.answer:
        case "whole":
            return text.strip()
        case "last_block":
            block = last_block(text, "answer")
        case "last_line":
            block = last_block(text.rpartition("\n")[2], "answer")
        case _:
            assert_never(task.answer)
    return None if block is None else block.strip()


def _judge(task: CountdownTask, answer: str | None) -> _Found:
    if answer is None:
        return _Found(task.missing, "no answer block", answered=False)
    if task.equation == "left_side":
        answer = answer.partition("=")[0].strip()
    if not answer:
        return _Found(task.empty, "the answer is blank", answered=False)
    try:
        expression = read_expression(answer, task.operators, decimals=task.decimals)
        value = expression.value()
    except ValueError as error:
        return _Found(task.unreadable, f"no value: {error}")
    if not _uses(expression, task.numbers):
        return _Found(task.wrong_numbers, f"uses {' '.join(expression.literals)[:80]}, not the given numbers")
    if _reaches(value, task):
        return _Found(1.0)
    return _Found(task.wrong_value, f"the value is {str(value)[:80]}")


def _uses(expression: Expression, numbers: Sequence[int]) -> bool:
    runs = [run for literal in expression.literals for run in _DIGITS.findall(literal)]
    return len(runs) == len(numbers) and sorted(map(int, runs)) == sorted(numbers)


def _reaches(value: Fraction, task: CountdownTask) -> bool:
    target = Fraction(repr(task.target))  # as it was written: 0.1 is a tenth
    return abs(value - target) < Fraction(task.tolerance) if task.tolerance else value == target
