"""`pass_threshold`: refused where no reward could reach or miss it, and told truly in every message."""

import math
from typing import Any

import pytest

from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.interface import Verifier
from assay.verifiers.ranges import reward_range
from assay.verifiers.scoring import Mark, Policy, Trace, conclude, passed

REGISTRY = default_registry()
RIGHT = "<think>t</think><answer>cat</answer>"
LOOSE = f"Well. {RIGHT}"
LABEL = {"id": "t", "verifier": "classification", "label": "cat"}
EXAMPLES = [
    pytest.param(REGISTRY.get(name), example, id=f"{name}-{number}")
    for name in REGISTRY.names
    for number, example in enumerate(REGISTRY.get(name).task_model.model_config["json_schema_extra"]["examples"])  # type: ignore[index]  # pydantic's own, checked by the contract tests
]  # fmt: skip


def refusal(**fields: Any) -> InvalidRequest:
    """Return the refusal of a task."""
    with pytest.raises(InvalidRequest) as caught:
        REGISTRY.parse_task({"id": "t", **fields})
    return caught.value


def judge(completion: str, **fields: Any) -> Verdict:
    """Judge by a rule, alone or as a part."""
    task = REGISTRY.parse_task({**LABEL, **fields})
    return REGISTRY.get(task.verifier).judge(task, completion, FakeSlot())


@pytest.mark.parametrize(("verifier", "example"), EXAMPLES)
def test_a_threshold_out_of_range_is_refused_by_every_verifier(verifier: Verifier, example: dict[str, Any]) -> None:
    """With the maximum, or the minimum: the highest itself is allowed. A source's own is what it declares."""
    plain = {name: value for name, value in example.items() if name != "pass_threshold"}
    if verifier.name == "program" and "terms" not in plain:
        plain["terms"] = {name: {} for name in plain["weights"]}
    known = reward_range(verifier, REGISTRY.parse_task(plain))
    assert known is not None
    low, high = known

    assert low < high
    for allowed in (low + 1e-6, high):
        if math.isfinite(allowed):
            assert REGISTRY.parse_task({**plain, "pass_threshold": allowed}).pass_threshold == allowed
    over = refusal(**plain, pass_threshold=high + 0.5)
    assert over.path == "task.pass_threshold"
    assert f"above {high:.15g}, the highest reward" in over.detail
    for below in (low - 0.5, low):
        under = refusal(**plain, pass_threshold=below)
        assert under.path == "task.pass_threshold"
        assert f"not above {low:.15g}, the lowest reward" in under.detail


@pytest.mark.parametrize(
    ("fields", "most"),
    [
        ({**LABEL, "weights": {"accuracy": 3, "format": -1}}, 3),
        ({**LABEL, "weights": {"accuracy": 0}}, 1),
        ({"verifier": "sql", "profile": "sql-r1/code", "schema": "CREATE TABLE t (a)", "gold_sql": "SELECT 1 FROM t",
          "weights": {"format": 1, "execution": 1, "match": 1, "length": 0}}, 3),
        ({"verifier": "python", "tests": ["assert f()"]}, 1),
        ({"verifier": "program", "source": "def verify(c, t): return 0", "terms": {"a": {"high": 7}}}, 7),
    ],
)  # fmt: skip
def test_the_range_is_that_of_the_weights_and_terms_of_the_task(fields: dict[str, Any], most: float) -> None:
    """Also where a profile gives the threshold."""
    threshold = {} if "profile" in fields else {"pass_threshold": most + 0.01}

    assert f"above {most}, the highest reward" in refusal(**{**fields, **threshold}).detail


@pytest.mark.parametrize(
    ("weights", "low", "most"), [({}, 0, 1), ({"a": 0.5, "b": 0.25}, 0, 0.75), ({"a": 2, "b": -3}, -3, 2)]
)
def test_a_source_without_declared_terms_is_sure_of_what_it_weighs(weights: Any, low: float, most: float) -> None:
    """Above that a threshold wants the terms declared; the range is of as many terms as there may be."""
    fields: dict[str, Any] = {"verifier": "program", "source": "def verify(c, t): return 0", "weights": weights}
    task = REGISTRY.parse_task({"id": "t", **fields, "pass_threshold": most})

    assert task.pass_threshold == most
    assert reward_range(REGISTRY.get("program"), task) == (low, most + 64 - max(1, len(weights)))
    over = refusal(**fields, pass_threshold=most + 0.1)
    assert (over.path, "`terms`" in over.detail) == ("task.pass_threshold", True)
    assert f"not above {low}" in refusal(**fields, pass_threshold=low).detail


def part(name: str, **fields: Any) -> dict[str, Any]:
    """A part whose reward lies between 0 and 2."""
    own = {"label": "cat", **fields.pop("task", {})}
    return {"name": name, "verifier": "classification", "task": own, **fields}


@pytest.mark.parametrize(
    ("fields", "low", "high"),
    [
        ({"terms": [part("a"), part("b", weight=0.5)]}, 0, 3),
        ({"terms": [part("a"), part("b", weight=-1)]}, -2, 2),
        ({"terms": [part("a", clip=[0.5, 1])]}, 0.5, 1),
        ({"terms": [part("a", term="accuracy"), part("b", term="format", gate="a", weight=-1)]}, -1, 1),
        ({"terms": [part("a")], "clip": [-1, 1.5]}, 0, 1.5),
        ({"terms": [part("a")], "clip": [0.5, 1.5]}, 0.5, 1.5),
        ({"terms": [part("a")], "weights": {"a": 5}}, 0, 10),
        ({"terms": [part("a")], "group_terms": [{"kind": "relative_length", "name": "l", "weight": 2}]}, -1, 3),
        ({"group_terms": [{"kind": "duplicates", "name": "d", "weight": -1}]}, -1, 0),
        ({"terms": [{"name": "p", "verifier": "program", "task": {"source": "def verify(c, t): return 0"},
                     "clip": [-1, 4]}]}, 0, 4),
    ],
)  # fmt: skip
def test_a_composites_range_is_that_of_its_parts(fields: dict[str, Any], low: float, high: float) -> None:
    """Weighted, clipped and gated; a violation earns at most 0 beside it."""
    task = REGISTRY.parse_task({"id": "c", "verifier": "composite", **fields})

    assert reward_range(REGISTRY.get("composite"), task) == (low, high)


def test_a_part_whose_terms_are_not_known_beforehand_may_earn_as_many_as_there_may_be() -> None:
    """Unless it is clipped, or the whole is."""
    parts = [{"name": "p", "verifier": "program", "task": {"source": "def verify(c, t): return 0"}}]
    whole = {"id": "c", "verifier": "composite", "terms": parts, "pass_threshold": 64}

    assert REGISTRY.parse_task(whole).pass_threshold == 64
    assert "above 64" in refusal(**{**whole, "pass_threshold": 1e6}).detail
    assert "above 2" in refusal(**{**whole, "clip": [0, 2]}).detail


def test_a_threshold_is_refused_where_all_rewards_are_one() -> None:
    """There is nothing to choose."""
    fields = {"verifier": "composite", "terms": [part("a")], "clip": [1, 1]}

    assert "leave it out" in refusal(**fields, pass_threshold=1).fix


@pytest.mark.parametrize("threshold", [9, 0, -1])
@pytest.mark.parametrize("place", ["part", "answer"])
def test_thresholds_of_tasks_within_tasks_are_refused_where_they_stand(place: str, threshold: float) -> None:
    """A part's, and that of a chain's answer."""
    if place == "part":
        error = refusal(verifier="composite", terms=[part("a", task={"pass_threshold": threshold})])
        assert error.path == "task.terms[0].task.pass_threshold"
    else:
        answer = {"verifier": "math", "answer": "1", "pass_threshold": threshold}
        error = refusal(verifier="chain", question="?", pool=["m"], answer=answer)
        assert error.path == "task.answer.pass_threshold"


@pytest.mark.parametrize("threshold", [0.1, 0.25, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("completion", [RIGHT, LOOSE, LOOSE.replace("cat", "dog"), "cat"])
@pytest.mark.parametrize("as_part", [False, True])
def test_messages_are_true_at_every_threshold(threshold: float, completion: str, as_part: bool) -> None:
    """Empty at full marks alone; else they say on which side of the threshold the reward lies, or why none."""
    terms = {"id": "c", "verifier": "composite", "terms": [part("a")]}
    task = REGISTRY.parse_task({**(terms if as_part else LABEL), "pass_threshold": threshold})

    verdict = REGISTRY.get(task.verifier).judge(task, completion, FakeSlot())

    assert verdict.reward is not None
    if verdict.reward == 2.0:
        assert (verdict.outcome, verdict.message) == (Outcome.PASSED, "")
    elif as_part or verdict.outcome is not Outcome.NO_ANSWER:
        side = "reaches" if verdict.reward >= threshold else "is below"
        assert verdict.message.startswith(f"the reward {verdict.reward:g} {side} pass_threshold, {threshold:g}")
        assert (verdict.outcome is Outcome.PASSED) == (verdict.reward >= threshold)
    else:
        assert verdict.message


def test_a_failed_rule_always_says_something() -> None:
    """Also without a threshold, and where the rule itself has nothing to say."""
    verdict = judge(RIGHT, weights={"accuracy": -1, "format": -1})

    assert verdict.outcome is Outcome.FAILED
    assert verdict.message


@pytest.mark.parametrize(
    ("threshold", "outcome", "said"),
    [
        (0.5, Outcome.PASSED, "the reward 0.5 reaches pass_threshold, 0.5: it says so"),
        (0.75, Outcome.FAILED, "it says so"),
        (None, Outcome.FAILED, "it says so"),
    ],
)
def test_tests_that_do_not_all_pass_say_why(threshold: float | None, outcome: Outcome, said: str) -> None:
    """Those that a threshold lets pass too."""
    marks = [passed(), Mark(Outcome.FAILED, "it says so")]

    verdict = conclude(marks, Policy(pass_threshold=threshold), Trace())

    assert (verdict.outcome, verdict.message) == (outcome, said)


def test_a_mark_without_a_message_does_not_leave_the_verdict_without() -> None:
    """It names the outcome at least."""
    assert conclude([Mark(Outcome.TIMEOUT)], Policy(), Trace()).message == "a test ended as timeout"
