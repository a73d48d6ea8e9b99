"""The conformity files of all families that are judged without running anything."""

import json
from pathlib import Path

import pytest
from case_files import OWN, deviations
from published import CASES, present

PUZZLES_AND_SHAPES = ("countdown", "format", "knights_knaves", "length", "repetition", "sudoku")
FAMILIES = (
    "classification", "detection", "final_answer_text", "grounded_qa", "gui", "instruction_checks", "plan", "sake",
    "temporal", "toolcall", "tracking", *PUZZLES_AND_SHAPES,
)  # fmt: skip


@pytest.mark.parametrize(
    "family", [*FAMILIES, "composite", "group", "json_schema", "multiple_choice", "regex", "text_overlap"]
)
def test_own_cases_agree(family: str) -> None:
    """Every line of the repository's own file."""
    assert deviations(OWN / f"{family}.jsonl") == {}


@pytest.mark.shared
@pytest.mark.parametrize("family", FAMILIES)
def test_shared_cases_agree(family: str) -> None:
    """Every line of the file beside the checkout."""
    assert deviations(present(CASES / f"{family}.jsonl")) == {}


def test_components_profiles_and_batches_are_compared(tmp_path: Path) -> None:
    """Headline, components, profiles and batches are compared, not just read."""
    lines = (OWN / "temporal.jsonl").read_text(encoding="ascii").splitlines()
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(lines[0].replace("0.5", "0.4") + "\n" + lines[-1].replace("[1.5,", "[1.4,"), encoding="ascii")

    found = deviations(wrong)

    assert len(found) == 2
    assert [problem.split(" expected")[0] for problem in found["temporal/inside"]] == [
        "iou:", "profile videochat_r1_grpo_tg: iou:",
    ]  # fmt: skip


def test_aggregates_and_kinds_are_compared(tmp_path: Path) -> None:
    """Of aggregates and of kinds that have rules of their own, too."""
    wrong = tmp_path / "wrong.jsonl"
    aggregate = [line for line in _lines("instruction_checks") if "aggregate-all" in line]
    hashes = [line for line in _lines("final_answer_text") if "hash-comma" in line]
    unknown = hashes[0].replace("gsm8k_hash", "gsm9k_hash").replace("hash-comma", "unknown-kind")
    wrong.write_text("\n".join([*aggregate, *hashes]).replace("1.0", "0.5") + "\n" + unknown, encoding="ascii")

    found = deviations(wrong)

    assert {case: len(problems) for case, problems in found.items()} == {
        "instruction_checks/aggregate-all": 3, "final_answer_text/hash-comma": 3, "final_answer_text/unknown-kind": 1,
    }  # fmt: skip


def test_groups_and_refusals_are_compared(tmp_path: Path) -> None:
    """Rewards and terms of a group, and a task that is refused."""
    wrong = tmp_path / "wrong.jsonl"
    first, *_ = (OWN / "group.jsonl").read_text(encoding="ascii").splitlines()
    refused = first.replace("relative_length", "median").replace("shortest-and-longest", "refused")
    wrong.write_text(first.replace("0.5", "0.25") + "\n" + refused, encoding="ascii")

    found = deviations(wrong)

    assert {case: len(problems) for case, problems in found.items()} == {
        "group/shortest-and-longest": 2,
        "group/refused": 1,
    }


@pytest.mark.parametrize("family", PUZZLES_AND_SHAPES)
def test_every_number_of_an_expectation_is_compared(family: str, tmp_path: Path) -> None:
    """Headline, components, checks, hardened values and profiles are compared, not just read."""
    lines = [json.loads(line) for line in (OWN / f"{family}.jsonl").read_text(encoding="utf-8").splitlines()]
    wrong = tmp_path / "wrong.jsonl"
    for line in lines:
        line["expected"] = _off(line["expected"])
    wrong.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")

    found = deviations(wrong)

    assert len(found) == len(lines)
    assert any("hardened" in problem for problems in found.values() for problem in problems) or family in (
        "knights_knaves",
        "repetition",
    )


def _off(expected: object) -> object:
    """Every number of an expectation, and then some."""
    if isinstance(expected, dict):
        return {key: _off(value) for key, value in expected.items()}
    if isinstance(expected, list):
        return [_off(value) for value in expected]
    return expected + 0.25 if isinstance(expected, int | float) else expected


def _lines(family: str) -> list[str]:
    return (OWN / f"{family}.jsonl").read_text(encoding="ascii").splitlines()
