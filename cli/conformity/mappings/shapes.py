"""Families of the shape of a completion."""

from collections.abc import Iterator, Mapping

from assay.cli.conformity.judging import Judge, Judged, agree
from assay.cli.conformity.lines import Document, FamilyLine
from assay.cli.conformity.mappings.mapping import Check, FamilyMapping
from assay.verifiers.groups import relative_lengths
from assay.verifiers.rules.format_checks import CheckName

_BOUNDS = ("min_wrong", "max_wrong", "min_correct", "max_correct")


def _check_format(line: FamilyLine, judge: Judge) -> list[str]:
    """Compare each named check: as published with `checks` and `profiles`, hardened with `hardened`."""
    expected = line.expected
    profiles = expected.get("profiles", {}).items()
    known = {name: value for name, value in profiles if name in set(CheckName) and not isinstance(value, str)}
    published = {**known, **expected.get("checks", {})}
    problems = list(_differing_checks(line, judge, "", published, hardened=False))
    return problems + list(_differing_checks(line, judge, "hardened: ", expected.get("hardened", {}), hardened=True))


def _differing_checks(
    line: FamilyLine, judge: Judge, where: str, wanted: Mapping[str, float], *, hardened: bool
) -> Iterator[str]:
    if not wanted:
        return
    task = {"id": line.id, "verifier": "format", "checks": list(wanted), "hardened": hardened}
    judged = judge.judge(task, line.completion)
    for name, value in wanted.items():
        if not agree(value, judged.terms.get(name)):
            yield f"{where}{name}: expected {value}, got {judged.terms.get(name)} {_said(judged)}"


def _cosine(task: Document) -> Document:
    bounds = {name: task[name] for name in _BOUNDS if name in task}
    document = {"verifier": "length", "kind": "cosine", "clamp": False, "max_len": task["max_len"], **bounds}
    return document | {name: task[name] for name in ("length", "correct") if name in task}


def _soft_overlong(task: Document) -> Document:
    fields = {name: task[name] for name in ("max_len", "cache", "length") if name in task}
    return {"verifier": "length", "kind": "soft_overlong", **fields}


def _cosine_of_answer(task: Document) -> Document:
    """The answer is judged too: the length's term is given whether it is right."""
    length = {name: value for name, value in _cosine(task).items() if name not in ("verifier", "length")}
    accuracy = {"name": "accuracy", "verifier": "math", "task": {"answer": task["gold"]}, "weight": 0.0}
    shape = {"name": "cosine", "verifier": "length", "task": length, "given": {"correct": "accuracy"}}
    return {"verifier": "composite", "terms": [accuracy, shape]}


_COSINE = FamilyMapping(
    _cosine,
    profiles={"open_rs_and_open_r1_no_clamp": {"clamp": False}, "trl_clamped": {"clamp": True}},
    hardened={"clamp": True},
)
_COSINE_OF_ANSWER = FamilyMapping(_cosine_of_answer, profiles={"trl": {}})
_SOFT_OVERLONG = FamilyMapping(_soft_overlong)


def _check_length(line: FamilyLine, judge: Judge) -> list[str]:
    """Choose by `kind`; numbers in the task stand for a completion that is null."""
    task = line.task
    if task["kind"] == "len_reward":
        return _differing_group(line.expected["rewards"], relative_lengths(task["lengths"], task["correct"]))
    given = line.model_copy(update={"completion": line.completion or ""})
    if task["kind"] == "soft_overlong":
        return _SOFT_OVERLONG(given, judge)
    return (_COSINE_OF_ANSWER if "gold" in task else _COSINE)(given, judge)


def _differing_group(expected: list[float], got: list[float]) -> list[str]:
    same = len(expected) == len(got) and all(map(agree, expected, got))
    return [] if same else [f"rewards: expected {expected}, got {got}"]


def _repetition(task: Document) -> Document:
    fields = {name: task[name] for name in ("ngram", "max_penalty", "token_ids") if name in task}
    return {"verifier": "repetition", **fields}


_REPETITION = FamilyMapping(_repetition, profiles={"open_r1": {}})


def _check_repetition(line: FamilyLine, judge: Judge) -> list[str]:
    """Token ids in the task stand for a completion that is null."""
    return _REPETITION(line.model_copy(update={"completion": line.completion or ""}), judge)


def _said(judged: Judged) -> str:
    return f"({judged.outcome}: {judged.message[:200]})"


FAMILIES: Mapping[str, Check] = {
    "format": _check_format,
    "length": _check_length,
    "repetition": _check_repetition,
}
"""By the name of the family."""
