"""No completion writes its own verdict, finds the answers, or makes the record of it grow."""

import json
import secrets

import pytest
from attack import Attack, compose
from attacks.verdicts import ANSWERS, BOMBS, FORGERIES
from honest import FINGERPRINT
from worlds import Control, World


@pytest.mark.parametrize("oracle", ["split", "shared"])
@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.name)
def test_no_verdict_is_forged(world: World, control: Control, forgery: Attack, oracle: str) -> None:
    """What is written to any descriptor earns nothing; a careless harness's pipe it does reach."""
    shown = control(forgery)

    task = {"id": "t", "tests": ["f(1) == 1", "f(2) == 2"], "oracle": oracle}
    verdict = world.ask(do="judge", task=task, completion=forgery.body)

    assert verdict["reward"] == 0.0, (verdict["outcome"], verdict["message"])
    assert verdict["outcome"] != "passed"
    assert "forged" in shown.effects


@pytest.mark.parametrize("name", ANSWERS)
def test_no_answer_is_found(world: World, control: Control, name: str) -> None:
    """The tests' expected values are nowhere in the completion's process; in one process with the tests they are."""
    answer = f"assay-hostile-{secrets.token_hex(16)}"
    shown = control(Attack(f"answer {name}", f"{ANSWERS[name]}\nif f() == '{answer}': return 'found'"))

    verdict = world.ask(do="judge", task={"id": "t", "tests": [f"f() == '{answer}'"]}, completion=ANSWERS[name])

    assert verdict["reward"] == 0.0, (verdict["outcome"], verdict["message"])
    assert shown.through, shown


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.name)
def test_no_record_blows_up(world: World, control: Control, bomb: Attack) -> None:
    """A megabyte that JSON, escaping or decoding would make larger is recorded in little."""
    shown = control(bomb)
    failing = Attack(bomb.name, f"{compose(bomb.body)}\nraise SystemExit(3)\n", raw=True, limits=bomb.limits)

    report = world.run(failing, hidden=False, after=FINGERPRINT)

    assert report["runs"][0]["outcome"] == "runtime_error", report["runs"][0]["message"]
    assert len(json.dumps(report["runs"][0])) < 100_000
    assert shown.through
