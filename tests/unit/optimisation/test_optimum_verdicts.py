"""What `optimum` makes of values, and of what the process that solves says; HiGHS itself does not run here."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optimisation_attempts import FAULT, MISSING, MODEL, REGISTRY, optimise, saying, solving

from assay.errors import Inconclusive, InfraFault, InvalidRequest, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.interface import Exit, Role

BEST = '<answer>{"x": 3, "y": 1}</answer>'
WORSE = '<answer>{"x": 3, "y": 0.5}</answer>'


@pytest.mark.parametrize(
    ("completion", "terms", "outcome"),
    [
        (BEST, (1, 1, 1, 1), Outcome.PASSED),
        (WORSE, (1, 1, 1, 0), Outcome.FAILED),
        ('<answer>{"x": 3, "y": 2}</answer>', (1, 0, 1, 0), Outcome.FAILED),
        ('<answer>{"x": 3}</answer>', (0, 0, 0, 0), Outcome.NO_ANSWER),
        ('<answer>{"x": 3, "y": 1, "z": 0}</answer>', (0, 0, 0, 0), Outcome.NO_ANSWER),
        (f"<think>so {BEST}</think>\nI cannot solve it.", (0, 0, 0, 0), Outcome.NO_ANSWER),
        (f"<think>so {BEST}", (0, 0, 0, 0), Outcome.NO_ANSWER),
        (f"Let me see. <thinking>{WORSE}</thinking> {BEST} <think>Done.", (1, 1, 1, 1), Outcome.PASSED),
        (f"<think>\n```json\n{WORSE}\n```\n</think>\nThe best: {BEST[8:-9]}", (1, 1, 1, 1), Outcome.PASSED),
        (f"{BEST} no, wait</think>{WORSE}", (1, 1, 1, 0), Outcome.FAILED),
        ("<answer>11</answer>", (0, 0, 0, 0), Outcome.NO_ANSWER),
        ("The best is 11.", (0, 0, 0, 0), Outcome.NO_ANSWER),
        ("<answer>infeasible</answer>", (1, 0, 0, 0), Outcome.FAILED),
    ],
)
def test_values_and_not_numbers_are_judged(completion: str, terms: tuple[int, ...], outcome: Outcome) -> None:
    """The right objective alone is no answer."""
    verdict = optimise(solving(), completion)

    assert tuple(verdict.terms.values()) == terms
    assert (verdict.outcome, verdict.reward) == (outcome, float(terms[-1]))
    assert verdict.versions == {"highs": "9.9"}


def test_the_process_that_solves_sees_no_completion() -> None:
    """It is the oracle's, and has no network."""
    slot = solving()

    optimise(slot, "secret words " + BEST)

    (launch,) = slot.launches
    assert (launch.role, launch.flavour, launch.network) == (Role.ORACLE, "highs", False)
    assert b"secret" not in launch.payload


def test_a_variable_without_a_value_may_be_0() -> None:
    """Where the task says so; unknown names stay refused."""
    fields = {"missing": "zero", "weights": {"feasible": 1.0}}

    assert optimise(solving(), '<answer>{"x": 3}</answer>', **fields).terms["feasible"] == 1.0
    assert optimise(solving(), '<answer>{"z": 3}</answer>', **fields).terms["parsed"] == 0.0


def test_an_objective_beside_the_values_is_passed_over() -> None:
    """It is worked out, whatever is claimed; where a variable has that name it is its value."""
    beside = BEST.replace("{", '{"objective": 99, ')
    named = {**MODEL, "variables": [*MODEL["variables"], {"name": "objective", "high": 1}]}

    assert optimise(solving(), beside).reward == 1.0
    assert optimise(solving(), beside, model=named).terms["feasible"] == 0.0


def test_unknown_names_are_told_with_the_known_ones() -> None:
    """So that whoever reads the result sees what was expected."""
    message = optimise(solving(), BEST.replace("{", '{"z": 1, ')).message

    assert "no variable 'z'" in message
    assert "it has x, y" in message


@pytest.mark.parametrize(
    ("best", "sense", "optimal"),
    [
        (11.0, "maximize", 1.0),
        (11.0 + 1e-5, "maximize", 1.0),
        (11.0 + 2e-5, "maximize", 0.0),
        (10.0, "maximize", 1.0),
        (10.0, "minimize", 0.0),
        (12.0, "minimize", 1.0),
    ],
)
def test_the_gap_has_one_side(best: float, sense: str, optimal: float) -> None:
    """Better than what HiGHS found is best too."""
    verdict = optimise(solving(best=best), BEST, model={**MODEL, "sense": sense})

    assert verdict.terms["optimal"] == optimal


def test_the_usual_gap_buys_no_unit_of_whole_numbers() -> None:
    """A millionth of the best would be a whole one; a gap that the task gives itself stands."""
    kinds = [{"name": name, "kind": "binary"} for name in "xy"]
    whole = {**MODEL, "variables": kinds, "objective": {"terms": {"x": 1_000_000, "y": 1}}, "constraints": []}
    one_off = '<answer>{"x": 1, "y": 0}</answer>'
    slot = solving(best=1_000_001.0)

    assert optimise(slot, one_off, model=whole).terms == {"parsed": 1, "feasible": 1, "integral": 1, "optimal": 0}
    assert optimise(slot, one_off.replace("0}", "1}"), model=whole).reward == 1.0
    assert optimise(slot, one_off, model=whole, gap_relative=1e-6).reward == 1.0
    assert optimise(slot, one_off, model=whole, credit_gap=0.5).reward == pytest.approx(1.0, abs=1e-5)


def test_partial_credit_falls_with_the_gap() -> None:
    """1 off 11 with a reach of a half of 12 is 5/6; beyond the reach nothing; for infeasible values nothing."""
    assert optimise(solving(), WORSE, credit_gap=0.5).reward == pytest.approx(1 - 1 / 6)
    assert optimise(solving(), WORSE, credit_gap=0.01).reward == 0.0
    assert optimise(solving(), '<answer>{"x": 3, "y": 1.1}</answer>', credit_gap=0.5).reward == 0.0
    shaped = {"weights": {"parsed": 0.1, "feasible": 0.2, "optimal": 0.7}, "credit_gap": 0.1}
    assert optimise(solving(), WORSE, **shaped).reward == pytest.approx(0.3 + 0.7 * (1 - 1 / 1.2))


@pytest.mark.parametrize("status", ["infeasible", "unbounded"])
def test_where_there_is_no_best_a_word_is_due(status: str) -> None:
    """The other word, or values, are wrong."""
    other = {"infeasible": "unbounded", "unbounded": "infeasible"}[status]
    rewards = [
        optimise(solving(status, None), f"<answer>{said}</answer>", expected=status).reward
        for said in (status, other, '{"x": 1, "y": 1}')
    ]

    assert rewards == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("slot", "fault", "message"),
    [
        (saying([FAULT, "no linear one"]), TaskFault, "no linear one"),
        (solving("infeasible", None), TaskFault, "is infeasible"),
        (saying(None, Outcome.TIMEOUT, Exit(None, 9)), TaskFault, "longer than"),
        (saying(None, Outcome.MEMORY_EXCEEDED, Exit(None, 9)), TaskFault, "MB"),
        (saying(None, exit_=Exit(None, 11)), TaskFault, "SIGSEGV"),
        (saying([MISSING]), InfraFault, r"'\.\[solvers\]'"),
        (saying(["optimal"]), InfraFault, "something else"),
        (saying(None, Outcome.INCONCLUSIVE, Exit(None, 9)), Inconclusive, "busy"),
    ],
)
def test_whose_fault_it_is_when_a_model_is_not_solved(slot: FakeSlot, fault: type[Exception], message: str) -> None:
    """The task's, but for what is missing here and for a busy machine."""
    with pytest.raises(fault, match=message):
        optimise(slot, BEST)


def test_models_are_solved_once_and_faults_remembered() -> None:
    """But for a process that died or reached a limit, which may have been the machine."""
    verifier = REGISTRY.get("optimum")
    good, bad, died, slow = (
        REGISTRY.parse_task({"id": "t", "verifier": "optimum", "model": MODEL, "gap_absolute": gap})
        for gap in (0.1, 0.2, 0.3, 0.4)
    )

    assert verifier.judge(good, BEST, solving()).reward == 1.0
    assert verifier.judge(good, WORSE, FakeSlot()).reward == 0.0
    for slot in (saying([FAULT, "odd"]), FakeSlot()):
        with pytest.raises(TaskFault, match="odd"):
            verifier.judge(bad, BEST, slot)
    with pytest.raises(TaskFault, match="SIGSEGV"):
        verifier.judge(died, BEST, saying(None, exit_=Exit(None, 11)))
    assert verifier.judge(died, BEST, solving()).reward == 1.0
    with pytest.raises(TaskFault, match="longer than"):
        verifier.judge(slow, BEST, saying(None, Outcome.TIMEOUT, Exit(None, 9)))
    assert verifier.judge(slow, BEST, solving()).reward == 1.0


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({}, "model"),
        ({"lp": "min x", "mps": "NAME"}, "mps"),
        ({"lp": ""}, "lp"),
        ({"lp": "min x", "expected": "best"}, "expected"),
        ({"lp": "min x", "places": []}, "places"),
        ({"lp": "min x", "places": ["somewhere"]}, "places[0]"),
        ({"lp": "min x", "forbid": ["os"]}, "forbid"),
        ({"lp": "min x", "answer": "program", "tag": "answer"}, "tag"),
        ({"lp": "min x", "integer_tolerance": 0.5}, "integer_tolerance"),
        ({"lp": "min x", "scoring": "all"}, "scoring"),
    ],
)
def test_tasks_that_mean_nothing_are_refused(fields: dict[str, object], place: str) -> None:
    """At the door, by the name of the field."""
    with pytest.raises(InvalidRequest) as caught:
        REGISTRY.parse_task({"id": "t", "verifier": "optimum", **fields})

    assert caught.value.path == f"task.{place}"


def test_highs_is_required() -> None:
    """Whatever else a task requires."""
    task = REGISTRY.parse_task({"id": "t", "verifier": "optimum", "lp": "min x", "requires": ["json"]})

    assert task.requires == ("json", "highspy")


_WEIGHTS = st.dictionaries(st.sampled_from(("parsed", "feasible", "integral", "optimal")), st.floats(0, 4))
_ANSWERS = st.tuples(st.floats(-1, 5), st.floats(-1, 5)).map(
    lambda pair: f'<answer>{{"x": {pair[0]}, "y": {pair[1]}}}</answer>'
)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(weights=_WEIGHTS, credit_gap=st.none() | st.floats(0.01, 1), answer=_ANSWERS | st.text(max_size=9))
def test_no_answer_earns_more_than_the_best(weights: dict[str, float], credit_gap: float | None, answer: str) -> None:
    """Whatever the weights and whatever is credited; values that are not feasible earn no more than those that are."""
    fields: dict[str, object] = {"weights": weights} | ({} if credit_gap is None else {"credit_gap": credit_gap})
    best, worse, found = (optimise(solving(), text, **fields) for text in (BEST, WORSE, answer))

    assert best.reward is not None
    assert worse.reward is not None
    assert found.reward is not None
    assert found.reward <= best.reward
    if not found.terms["feasible"]:
        assert found.reward <= worse.reward
