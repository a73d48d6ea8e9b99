"""Two verifiers outside of Assay: `unit_conversion`, a rule that runs nothing, and `golf`, which runs programs."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field

from assay.verifiers.sdk import (
    Outcome,
    Profile,
    RuleTask,
    Scored,
    Slot,
    TaskFault,
    Term,
    Verdict,
    conclude,
    last_block,
    run_program,
)

METRES: Mapping[str, float] = {
    "mm": 1e-3, "cm": 1e-2, "m": 1.0, "km": 1e3, "in": 0.0254, "ft": 0.3048, "yd": 0.9144, "mi": 1609.344,
}  # fmt: skip
"""International yard and pound agreement, 1959."""
ANSWER = re.compile(r"\s*([+-]?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,3})?)\s*([a-z]{1,3})\s*")


class UnitConversionTask(RuleTask):
    """A length in another unit: reward = value, plus `unit` where the task weighs it.

    The last `<answer>` block holds a number and a unit, such as `8.05 km`. Source: an example of docs/plugins.md.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"id": "walk", "verifier": "unit_conversion", "value": 5, "unit": "mi", "wanted": "km"}]
        }
    )
    PROFILES: ClassVar = (
        Profile("school/hardened", {"weights": {"unit": 0.5}}, "docs/plugins.md", "half a point for the unit"),
    )

    verifier: Literal["unit_conversion"] = "unit_conversion"
    value: float = Field(allow_inf_nan=False)
    """The length that is given."""
    unit: str
    """Its unit: mm, cm, m, km, in, ft, yd or mi."""
    wanted: str
    """The unit that is asked for."""
    tolerance: float = Field(0.005, ge=0, lt=1)
    """Largest relative error."""


class UnitConversion:
    """The rule of `unit_conversion`."""

    name = "unit_conversion"
    version = "1"
    task_model = UnitConversionTask

    def terms(self, task: UnitConversionTask) -> Sequence[Term]:
        """Return value and unit."""
        del task
        return (
            Term("value", 0, 1, "1 if it is the same length, within the tolerance"),
            Term("unit", 0, 1, "1 if it is in the unit that is asked for", weight=0.0),
        )

    def score(self, task: UnitConversionTask, text: str) -> Scored:
        """Compare lengths in metres."""
        if task.unit not in METRES or task.wanted not in METRES:
            raise TaskFault(f"units are {', '.join(METRES)}")
        found = ANSWER.fullmatch(last_block(text, "answer") or "")
        if found is None:
            return Scored({"value": 0.0, "unit": 0.0}, answered=False, message="no number with a unit in <answer>")
        number, unit = found.groups()
        right = task.value * METRES[task.unit]
        is_close = math.isclose(float(number) * METRES.get(unit, math.nan), right, rel_tol=task.tolerance)
        message = f"it is not in {task.wanted}" if is_close else f"{number} {unit} is not that length"
        return Scored({"value": float(is_close), "unit": float(unit == task.wanted)}, message=message)


class GolfTask(RuleTask):
    """A short Python program: reward = 0.5 correct + 0.5 brevity, brevity = min(1, par / characters) where correct.

    The program runs in the candidate's jail and must print `stdout`. Source: an example of docs/plugins.md.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "hello", "verifier": "golf", "stdout": "hello", "par": 14}]}
    )

    verifier: Literal["golf"] = "golf"
    stdin: str = ""
    """What the program reads."""
    stdout: str
    """What it must print, white space at the ends aside."""
    par: int = Field(ge=1)
    """Characters of a good program; no more is paid for fewer."""

    def runs_something(self) -> bool:
        """The program runs in a jail, within `limits`."""
        return True


class Golf:
    """The verifier `golf`."""

    name = "golf"
    version = "1"
    task_model = GolfTask

    def terms(self, task: GolfTask) -> Sequence[Term]:
        """Return correct and brevity."""
        return (
            Term("correct", 0, 1, "1 if the program prints what it must", weight=0.5),
            Term("brevity", 0, 1, f"{task.par} by the characters of the completion, if correct", weight=0.5),
        )

    def judge(self, task: GolfTask, completion: str, slot: Slot) -> Verdict:
        """Run the program once, and count."""
        run = run_program(slot, completion, stdin=task.stdin, limits=task.limits)
        printed = run.stdout.decode("utf-8", "replace").strip()
        is_right = run.outcome is Outcome.PASSED and printed == task.stdout.strip()
        brevity = min(1.0, task.par / max(1, len(completion.strip()))) if is_right else 0.0
        terms = {"correct": float(is_right), "brevity": brevity}
        message = f"it is longer than {task.par} characters" if is_right else "it prints something else"
        verdict = conclude(task, self.terms(task), Scored(terms, message=run.message or message))
        own_fault = run.outcome is not Outcome.PASSED
        return verdict.model_copy(update={"usage": run.usage, **({"outcome": run.outcome} if own_fault else {})})
