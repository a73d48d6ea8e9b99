"""Every limit is enforced or refused at every level, and code, documentation and command line agree on which."""

import re
from pathlib import Path

import pytest

from assay.cli.doctor import limit_lines
from assay.errors import TaskFault
from assay.levels import Level
from assay.outcomes import Outcome
from assay.sandboxes.enforcement import TABLE, Refused, check_enforceable, rows
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.pool import SlotPool
from assay.schema import Limits
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.registry import Registry
from assay.verifiers.run import RunTask, RunVerifier

PAGE = Path(__file__).parents[2] / "docs" / "sandbox.md"
REFUSED = [(level, name) for level in TABLE for name, entry in TABLE[level].items() if isinstance(entry, Refused)]


def test_every_level_says_something_of_every_limit() -> None:
    """A new level or a new limit needs an entry."""
    assert set(TABLE) == set(Level)
    assert all(set(entries) == set(Limits.model_fields) for entries in TABLE.values())


def test_the_table_in_the_documentation_is_that_of_the_code() -> None:
    """One row per field and way to fare, with the levels that it holds for."""
    found = re.search(r"<!-- enforcement: .*? -->\n(.*?)<!-- end -->", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    written = [
        f"| `{name}` | {', '.join(f'`{level}`' for level in levels)} | {entry} |" for name, levels, entry in rows()
    ]

    assert found is not None
    assert found.group(1).strip().splitlines() == [
        "| field | levels | enforced by: outcome |",
        "|---|---|---|",
        *written,
    ]


def test_doctor_lists_every_limit_at_every_level() -> None:
    """`assay doctor --limits` has a heading per level and a line per field below it."""
    lines = limit_lines()

    assert [line for line in lines if not line.startswith(" ")] == [f"{level}:" for level in Level]
    assert [line.split()[0] for line in lines if line.startswith(" ")] == [*Limits.model_fields] * len(Level)


@pytest.mark.parametrize(("level", "name"), REFUSED)
def test_what_a_level_cannot_enforce_is_refused(level: Level, name: str) -> None:
    """A task that sets such a limit is told which and where; one that sets others is not."""
    with pytest.raises(
        TaskFault, match=rf"limits\.{name} cannot be enforced at the confinement level {re.escape(level)}:"
    ):
        check_enforceable(Limits.model_validate({name: getattr(Limits(), name)}), level)

    check_enforceable(Limits(wall_s=1, memory_mb=64), level)


def test_nothing_is_refused_in_namespaces() -> None:
    """The usual level enforces everything."""
    check_enforceable(Limits.model_validate(Limits().model_dump()), Level.NAMESPACES)


def test_a_refused_limit_is_a_task_error_and_nothing_runs() -> None:
    """The attempt has no reward, and no child was started."""
    slot = FakeSlot()
    slot.description = Level.INSECURE
    task = RunTask.model_validate({"id": "t", "verifier": "run", "limits": {"files": 100}})

    verdict = Evaluator(Registry([RunVerifier()]), SlotPool([slot])).evaluate(task, "print()").verdict

    assert (verdict.outcome, verdict.reward) == (Outcome.TASK_ERROR, None)
    assert "limits.files" in verdict.message
    assert slot.launches == []
