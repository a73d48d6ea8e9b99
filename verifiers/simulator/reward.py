"""From what is known of a run to the terms of a reward: pure decisions."""

import math
import re
from collections.abc import Mapping
from typing import Any  # Any: a literal's values may be anything plain

from assay.verifiers.rules.rule import Scored, Term
from assay.verifiers.simulator.dictionary import name_share
from assay.verifiers.simulator.interface import Parameter
from assay.verifiers.simulator.task import MOST_RMSE, SimulatorTask

LOWEST, HIGHEST = -4.0, 4.0
"""To which the relative improvement is clipped; the upper end is out of reach, for no error is negative."""
CONTROL_TERMS = (
    Term("driving", LOWEST, 1.0, "relative improvement of the error over the default parameters', at least -4"),
    Term("format", 0, 1, "share of the tag pairs reasoning and answer that stand exactly once"),
    Term("extraction", 0, 1, "1 if there is a dictionary of parameters that is not empty"),
    Term("names", 0, 1, "share of its names that are known; aliases and parts of known names count half"),
    Term("rmse", 0, MOST_RMSE, "the error, in the goal's unit; `failure_rmse` for a failed run", weight=0.0),
    Term("baseline_rmse", 0, MOST_RMSE, "the error of the default parameters", weight=0.0),
)
DECISION_TERMS = (
    Term("decision", 0, 1, "1 if the word after `Adhering to Human:` is the right one"),
    Term("format", 0, 1, "share of the tag pairs reasoning, explanation and answer that stand exactly once"),
)

_CONTROL_TAGS = ("reasoning", "answer")
_DECISION_TAGS = ("reasoning", "explanation", "answer")
_DECIDED = re.compile(r"Adhering to Human:\s*(True|False)")

Given = Mapping[Any, Any] | None
"""The dictionary of a completion, if there is one."""


def score_decision(task: SimulatorTask, text: str, answer: str) -> Scored:
    """Return the terms of a decision: the first True or False after the words counts, in the `answer` of a text."""
    match = _DECIDED.search(answer)
    right = match is not None and (match.group(1) == "True") is task.adheres
    terms = {"decision": float(right), "format": _tag_share(text, _DECISION_TAGS)}
    if match is None:
        return Scored(terms, answered=False, message="there is no decision")
    layout = f"not each of the tag pairs {', '.join(_DECISION_TAGS)} stands exactly once"
    return Scored(terms, message=layout if right else f"the right decision is not {match.group(1)}")


def score_control(
    task: SimulatorTask, text: str, given: Given, known: Mapping[str, Parameter], errors: tuple[float, float | None]
) -> Scored:
    """Return the terms of a run: `errors` are those of the default parameters and of the given ones, None if failed."""
    baseline, rmse = errors
    terms = {
        "driving": _driving(task, baseline, rmse),
        "format": _tag_share(text, _CONTROL_TAGS),
        "extraction": float(given is not None),
        "names": name_share(given or {}, known, empty_counts=task.partial_names == "any"),
        "rmse": task.failure_rmse if rmse is None else rmse,
        "baseline_rmse": baseline,
    }
    message = "there is no dictionary new_mpc_params = {...}" if given is None else _said(baseline, rmse)
    return Scored(terms, answered=given is not None, message=message)


def _driving(task: SimulatorTask, baseline: float, rmse: float | None) -> float:
    if rmse is None and task.failure == "lowest":
        return LOWEST
    error = task.failure_rmse if rmse is None else rmse
    return min(max((baseline - error) / baseline, LOWEST), HIGHEST)


def _said(baseline: float, rmse: float | None) -> str:
    return f"failed, against {baseline:.4g}" if rmse is None else f"rmse {rmse:.4g}, against {baseline:.4g}"


def _tag_share(text: str, tags: tuple[str, ...]) -> float:
    return math.fsum(text.count(f"<{tag}>") == text.count(f"</{tag}>") == 1 for tag in tags) / len(tags)
