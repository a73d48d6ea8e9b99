"""Which check of the conformance list matters at which level, and how failures are told."""

import pytest

from assay.cli.doctor import check_lines
from assay.errors import IsolationUnavailable
from assay.levels import Level
from assay.sandboxes.backends import examine
from assay.sandboxes.conformance import judge, require
from assay.sandboxes.interface import Role
from assay.sandboxes.selfcheck import CHECKS, Check, Surroundings
from assay.settings import Settings

EVERYWHERE = Check("capabilities", Level.LANDLOCK, lambda _: "")
STRONGER = Check("process numbers", Level.NAMESPACES, lambda _: "")


def test_every_check_has_a_name_of_its_own() -> None:
    """Names are how a worker says what is wrong."""
    assert len({check.name for check in CHECKS}) == len(CHECKS)


@pytest.mark.parametrize(("level", "failed"), [(Level.LANDLOCK, False), (Level.NAMESPACES, True), (Level.DOCKER, True)])
def test_a_check_counts_from_its_level_on(level: Level, failed: bool) -> None:
    """A fault below the level that a check is required from is reported, but no failure."""
    assert judge(STRONGER, Role.CANDIDATE, "seen", level).failed is failed


def test_a_failed_check_is_named_with_its_jail() -> None:
    """The worker refuses work, and says which check failed where."""
    checked = [
        judge(EVERYWHERE, Role.CANDIDATE, "", Level.NAMESPACES),
        judge(EVERYWHERE, Role.ORACLE, "all", Level.NAMESPACES),
    ]

    with pytest.raises(IsolationUnavailable, match=r"capabilities \(oracle\): all"):
        require(checked)


def test_without_isolation_there_is_nothing_to_examine() -> None:
    """An operator who runs without jails is told which setting says so, instead of an empty list of checks."""
    with pytest.raises(IsolationUnavailable, match="ASSAY_INSECURE"):
        examine(Settings(insecure=True))


def test_doctor_prints_a_line_for_every_check() -> None:
    """The three answers are `ok`, `failed` and `not required at this level`."""
    lines = check_lines(
        [
            judge(EVERYWHERE, Role.CANDIDATE, "", Level.LANDLOCK),
            judge(EVERYWHERE, Role.CANDIDATE, "all", Level.LANDLOCK),
            judge(STRONGER, Role.ORACLE, "seen", Level.LANDLOCK),
        ]
    )

    assert lines == [
        "candidate capabilities: ok",
        "candidate capabilities: failed (all)",
        "oracle    process numbers: not required at this level (seen)",
    ]


def test_checks_find_faults_in_an_open_process() -> None:
    """Where nothing isolates, what only looks at this process finds something wrong: checks do not pass by accident."""
    outside = Surroundings(1, ("/",), "/tmp", "", "", 9, ())
    looking = {"no new privileges", "hidden paths", "absent paths", "limits", "environment", "list of processes"}

    silent = [check.name for check in CHECKS if check.name in looking and not check.look(outside)]

    assert silent == []
