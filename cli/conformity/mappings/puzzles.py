"""Families of puzzles."""

from collections.abc import Mapping

from assay.cli.conformity.judging import Judge
from assay.cli.conformity.lines import Document, FamilyLine
from assay.cli.conformity.mappings.mapping import Check, FamilyMapping

_OPERATORS = ("+", "-", "*", "/", "//", "**")
_D1_COUNTDOWN = {"profile": "d1/code", "answer": "last_block", "role_marker": "ignored"}
_D1_SUDOKU = {"profile": "d1/code"}
_MARKED = {"profile": "tinyzero/code", "role_marker": "required"}
_RULES: Mapping[str, Document] = {
    "d1": {"tolerance": 1e-5, "empty": 0.1},  # the paper's operators, and otherwise what the code pays
    "tinyzero": _MARKED,
    "reasoning_gym": {"profile": "reasoning-gym/code"},
}


def _countdown(task: Document) -> Document:
    """`format_score` is paid for whatever is wrong within a block; `allowed_ops` is prose with the operators in it."""
    rule = _RULES[task.get("protocol", task.get("profile", "d1"))]
    document = {"verifier": "countdown", "numbers": task["numbers"], "target": task["target"], **rule}
    if "format_score" in task:
        document |= dict.fromkeys(("wrong_value", "wrong_numbers", "unreadable", "empty"), task["format_score"])
    if "allowed_ops" in task:
        document["operators"] = [word for word in task["allowed_ops"].split() if word in _OPERATORS]
    return document


def _sudoku(task: Document) -> Document:
    known = ("puzzle", "solution", "size", "mode")
    return {"verifier": "sudoku", **_D1_SUDOKU, **{key: task[key] for key in known if key in task}}


def _knights_knaves(task: Document) -> Document:
    return {"verifier": "knights_knaves", "roles": task["gold"]}


_COUNTDOWN = FamilyMapping(
    _countdown,
    profiles={
        "d1_wd1_code": {**_D1_COUNTDOWN, "operators": _OPERATORS},
        "tinyzero_code": {"profile": "tinyzero/code", "operators": _OPERATORS},
        "empty_is_zero": {"empty": 0.0},
        "left_side_only": {"equation": "left_side"},
    },
    hardened={"tolerance": 0.0, "empty": 0.0},
)


def _check_countdown(line: FamilyLine, judge: Judge) -> list[str]:
    """No completion at all is an empty one: that is what reasoning-gym's floor says."""
    return _COUNTDOWN(line.model_copy(update={"completion": line.completion or ""}), judge)


FAMILIES: Mapping[str, Check] = {
    "countdown": _check_countdown,
    "sudoku": FamilyMapping(
        _sudoku,
        profiles={
            "d1_wd1_code": _D1_SUDOKU,
            "length_must_be_16": {"grid_length": "exact"},
            "label_aware": {"drop_labels": True},
            "any_valid_solution": {"mode": "valid"},
            "whole": {"mode": "whole"},
        },
        hardened={"profile": "sudoku/hardened"},
    ),
    "knights_knaves": FamilyMapping(_knights_knaves, profiles={"logic_rl": {"profile": "logic-rl/code"}}),
}
"""By the name of the family."""
