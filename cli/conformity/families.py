"""The table of reward families: which check runs the cases of each, and the mapping of its fields."""

from collections.abc import Mapping, Sequence

from assay.cli.conformity.advantage_cases import check_advantages
from assay.cli.conformity.judging import Judge, Judged, agree
from assay.cli.conformity.lines import Document, FamilyLine
from assay.cli.conformity.mappings import (
    composition,
    kernels,
    maths,
    optimisation,
    puzzles,
    shapes,
    simulator,
    sql,
    text,
    vision,
)
from assay.cli.conformity.mappings.mapping import Check
from assay.outcomes import Outcome
from assay.schema import Scoring
from assay.verifiers.scoring import Mark, Policy, passed, reward_of


def check_family(line: FamilyLine, judge: Judge) -> list[str]:
    """Return what deviates in one case; a family that no verifier judges yet is a deviation."""
    check = _CHECKS.get(line.family)
    if check is None:
        return [f"no verifier for family {line.family} yet"]
    return check(line, judge)


def _check_code_tests(line: FamilyLine, judge: Judge) -> list[str]:
    """Programs with stdin/stdout cases: share of cases as reward, all of them as `binary`."""
    wanted = [(Scoring.SHARE, line.expected["reward"])]
    if "binary" in line.expected:
        wanted.append((Scoring.ALL, line.expected["binary"]))
    strict = line.expected.get("profiles", {}).get("strict_lines")
    if strict is not None:
        wanted.append((Scoring.SHARE, strict))
    return [
        f"{scoring}: expected {reward}, got {got}"
        for scoring, reward in wanted
        if not agree(reward, got := _code_reward(line, judge, scoring))
    ]


def _code_reward(line: FamilyLine, judge: Judge, scoring: Scoring) -> float | None:
    if line.task.get("kind") == "aggregate":
        return _aggregate(line.task["results"], scoring)
    return _judge_code(line, judge, scoring).reward


def _judge_code(line: FamilyLine, judge: Judge, scoring: Scoring) -> Judged:
    document: Document = {
        "id": line.id,
        "style": "stdio",
        "cases": line.task["cases"],
        "fence": "required",
        "scoring": scoring,
        "limits": {"wall_s": line.task.get("timeout_s", 10)},
    }
    return judge.judge(document, line.completion)


def _aggregate(results: Sequence[bool], scoring: Scoring) -> float:
    marks = [passed() if result else Mark(Outcome.FAILED) for result in results]
    return reward_of(marks, Policy(scoring))


_CHECKS: Mapping[str, Check] = {
    "advantages": check_advantages,
    "code_tests": _check_code_tests,
    **vision.FAMILIES,
    **text.FAMILIES,
    **puzzles.FAMILIES,
    **shapes.FAMILIES,
    **maths.FAMILIES,
    **optimisation.FAMILIES,
    **composition.FAMILIES,
    **kernels.FAMILIES,
    **simulator.FAMILIES,
    **sql.FAMILIES,
}
