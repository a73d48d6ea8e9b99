"""Every attack is stopped in every backend, gets through where nothing stops it, and leaves the next attempt alone."""

from typing import Any

import pytest
from attack import Attack, sight
from attacks import ATTACKS
from honest import FINGERPRINT
from worlds import Control, World, effects_of

CASES = [
    pytest.param(attack, hidden, id=f"{attack.name}-{'hidden' if hidden else 'plain'}")
    for attack in ATTACKS
    for hidden in ((False,) if attack.limits else (False, True))
]
"""Every attack as it stands, and as a text that shows none of it: such an attempt is given no network of its own."""


@pytest.fixture(scope="session")
def fingerprint(world: World) -> str:
    """What an honest program sees in a slot that nothing was done to."""
    quiet = Attack("quiet", "return None")
    told: str = world.run(quiet, hidden=False, after=FINGERPRINT)["after"]["stderr"]
    assert "written: 8388608" in told, told
    return told


@pytest.mark.parametrize(("attack", "hidden"), CASES)
def test_an_attack_is_stopped(
    world: World, control: Control, fingerprint: str, attack: Attack, *, hidden: bool
) -> None:
    """It gains nothing as an attempt, gains something as a plain program, and the next attempt notices nothing."""
    shown = control(attack)
    if shown.word == "ABSENT":
        pytest.skip(f"not applicable: {shown.detail}")

    report = world.run(attack, hidden=hidden, after=FINGERPRINT)

    last = report["runs"][-1]
    seen = sight(last["stdout"] or "", effects_of(report, report["hits"]))
    if seen.through and attack.name in world.backend.sometimes:
        pytest.xfail(world.backend.sometimes[attack.name])
    if attack.name in world.backend.not_stopped:
        assert seen.through, f"it is stopped after all: {seen}"
        pytest.xfail(world.backend.not_stopped[attack.name])
    assert not seen.through, seen
    assert (
        seen.word or attack.raw or last["outcome"] in ("violation", *attack.ends, *_ends_here(world, attack, last))
    ), last
    assert shown.through, f"the attack proves nothing: unisolated it did not get through: {shown}"
    assert report["after"]["stderr"] == fingerprint


def _ends_here(world: World, attack: Attack, last: dict[str, Any]) -> tuple[str, ...]:
    """Outcomes by which the backend's own looks may have ended an attack, if it was they that did."""
    told = last["tests"][0]["message"] if last["tests"] else ""
    ended = "died by SIGKILL" in told or last["outcome"] == "memory_exceeded"
    return world.backend.killed.get(attack.name, ()) if ended else ()
