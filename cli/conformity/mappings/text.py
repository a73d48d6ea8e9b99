"""Families of answers in text."""

from collections.abc import Mapping
from typing import Any  # Any: golds and arguments are JSON values

from assay.cli.conformity.judging import Judge, agree
from assay.cli.conformity.lines import Document, FamilyLine
from assay.cli.conformity.mappings.mapping import Check, FamilyMapping
from assay.verifiers.rules.instructions.verifier import Aggregate, aggregate


def _answers(gold: Any) -> list[str]:
    return [str(answer) for answer in (gold if isinstance(gold, list) else [gold])]


def _final_answer(task: Document, profile: str) -> Document:
    scores = {"scores": task["range"]} if "range" in task else {}
    return {"verifier": "exact_match", "profile": profile, "answers": _answers(task["gold"]), **scores}


def _search_r1(task: Document) -> Document:
    """`protocol` says that prompt and completion are judged together, as the original does."""
    return _final_answer(task, "search-r1/code" if "original" in task.get("protocol", "") else "verl-search-r1/code")


def _sake(task: Document) -> Document:
    tags = task["closing_tags"]
    return {
        "verifier": "exact_match",
        "profile": "sake-7b/paper",
        "answers": _answers(task["gold"]),
        "tags": tags,
        "tag": "answer" if "answer" in tags else tags[-1],
        **({"weights": task["weights"]} if "weights" in task else {}),
    }


def _tool_call(task: Document) -> Document:
    options = {key: task[key] for key in ("range", "format_range", "response") if key in task}
    return {"verifier": "tool_call", "profile": "toolrl/code", "calls": task["gold_calls"], **options}


def _plan(task: Document) -> Document:
    return {
        "verifier": "plan",
        "pool_size": task["pool_size"],
        "chain_correct": task.get("chain_final_answer_correct"),
        "id_base": task.get("id_base", 0),
    }


def _instructions(task: Document) -> Document:
    given = [{"check": one["check"], **one.get("args", {})} for one in task.get("checks", [task])]
    return {"verifier": "instructions", "profile": "open-instruct/code", "checks": given}


def _unchanged(verifier: str) -> FamilyMapping:
    return FamilyMapping(lambda task: {"verifier": verifier, **task})


_SCALE = {"scores": [-1, 1]}
_KINDS: Mapping[str, Check] = {
    "gsm8k_hash": FamilyMapping(
        lambda task: _final_answer(task, "verl-gsm8k/code"),
        profiles={
            "verl_gsm8k_strict": {"profile": "verl-gsm8k/code"},
            "verl_gsm8k_flexible": {"profile": "verl-gsm8k-flexible/code"},
        },
        hardened={"profile": "verl-gsm8k/hardened"},
    ),
    "math_dapo_answer_line": FamilyMapping(
        lambda task: _final_answer(task, "verl-math-dapo/code"),
        profiles={
            "verl_math_dapo": {"profile": "verl-math-dapo/code", **_SCALE},
            "verl_math_dapo_strict_box": {"profile": "verl-math-dapo-box/code", **_SCALE},
        },
        hardened={"profile": "verl-math-dapo/hardened"},
    ),
    "qa_em": FamilyMapping(
        _search_r1,
        profiles={
            "search_r1_like_em": {"profile": "verl-search-r1/code"},
            "search_r1_original": {"profile": "search-r1/code"},
        },
        hardened={"profile": "search-r1/hardened"},
    ),
}
_SAKE = FamilyMapping(
    _sake,
    profiles={
        "strict_string": {"normalise": "exact"},
        "squad_normalised": {"normalise": "squad"},
        "first_block": {"block": "first"},
        "reject_multiple": {"block": "only"},
        "hardened": {"profile": "sake/hardened"},
    },
    hardened={"profile": "sake/hardened"},
)
_CHECKS = FamilyMapping(
    _instructions,
    profiles={"open_instruct": {"profile": "open-instruct/code"}, "all_or_nothing": {"aggregate": "all"}},
    hardened={"profile": "open-instruct/hardened"},
)


def _check_final_answer(line: FamilyLine, judge: Judge) -> list[str]:
    """Each kind of answer has a rule of its own."""
    return _KINDS[line.task["kind"]](line, judge)


def _check_instructions(line: FamilyLine, judge: Judge) -> list[str]:
    """Texts are judged; results that are given are only put together."""
    if line.task.get("kind") != "aggregate":
        return _CHECKS(line, judge)
    modes: Mapping[str, Aggregate] = {"open_instruct": "share", "all_or_nothing": "all"}
    wanted: list[tuple[str, Aggregate, Any]] = [("", "share", line.expected["reward"])]
    profiles = line.expected.get("profiles", {})
    wanted += [(f"profile {name}: ", mode, profiles[name]) for name, mode in modes.items() if name in profiles]
    results = line.task["results"]
    return [
        f"{where}expected {reward}, got {got}"
        for where, mode, reward in wanted
        if not agree(reward, got := aggregate(results, mode) if results else None)
    ]


FAMILIES: Mapping[str, Check] = {
    "final_answer_text": _check_final_answer,
    "sake": _SAKE,
    "toolcall": FamilyMapping(
        _tool_call,
        profiles={"toolrl": {"profile": "toolrl/code"}, "hardened": {"profile": "toolrl/hardened"}},
        hardened={"profile": "toolrl/hardened"},
    ),
    "plan": FamilyMapping(
        _plan, profiles={"parse_only": {"profile": "conductor/paper"}}, hardened={"profile": "conductor/hardened"}
    ),
    "instruction_checks": _check_instructions,
    "json_schema": _unchanged("json_schema"),
    "regex": _unchanged("regex"),
    "text_overlap": _unchanged("text_overlap"),
}
"""By the name of the family."""
