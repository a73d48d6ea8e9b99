"""What `simulator` asks of its processes, and whose fault it is when they do not answer."""

import json
from collections.abc import Mapping
from typing import Any

import msgpack
import pytest
from simulator_attempts import CENTRE, Reply, TellingSlot, answer, judge, parse, ran, telling

from assay.errors import Inconclusive, InfraFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Role
from assay.verifiers.simulator import report
from assay.verifiers.simulator.driving import PROGRAM
from assay.verifiers.simulator.verifier import SimulatorVerifier

FAST = answer({"v_max": 3})
PLUG_IN = {"simulator": "cart", "requires": ["json"]}


def test_a_lap_is_compared_with_the_defaults_lap() -> None:
    """Both errors stand in the terms, the default parameters in the message, the libraries in the versions."""
    verdict = judge(FAST, telling(ran(0.8), ran(0.2)), **CENTRE)

    assert dict(verdict.terms) == {
        "driving": pytest.approx(0.75), "format": 1.0, "extraction": 1.0, "names": 1.0,
        "rmse": 0.2, "baseline_rmse": 0.8,
    }  # fmt: skip
    assert verdict.reward == pytest.approx(3.75)
    assert verdict.versions == {"simulator race_car": "9"}
    for text in ("rmse 0.2, against 0.8", "driven with v_max 3", "defaults are qv 10, qn 20"):
        assert text in verdict.message


def test_processes_are_the_oracles_and_know_numbers_only() -> None:
    """No text of the completion, no network."""
    slot = telling(ran(0.8), ran(0.2))

    judge("secret words " + FAST, slot, **CENTRE)

    first, second = slot.launches
    assert {(one.role, one.program, one.flavour, one.network) for one in slot.launches} == {
        (Role.ORACLE, PROGRAM, "simulator", False)
    }
    assert b"secret" not in first.payload + second.payload
    assert msgpack.unpackb(first.payload)[1] is None
    assert msgpack.unpackb(second.payload)[1]["v_max"] == 3.0


def test_the_defaults_are_driven_once_for_a_content() -> None:
    """Whatever the reward is made of; another seed is another lap."""
    verifier = SimulatorVerifier()
    slot = telling(ran(0.8), *[ran(0.2)] * 3)

    verifier.judge(parse(**CENTRE), FAST, slot)
    verifier.judge(parse(**CENTRE, weights={"names": 2}, metadata={"a": 1}), FAST, slot)
    assert len(slot.launches) == 3

    other = telling(ran(0.8), ran(0.2))
    verifier.judge(parse(**CENTRE, seed=1), FAST, other)
    assert len(other.launches) == 2


@pytest.mark.parametrize("given", [{"qv": 10}, {"turbo": 1}, {"qn": 20.0, "v_max": 8}, {"alat": 3}])
def test_parameters_that_change_nothing_are_not_driven_again(given: Mapping[str, float]) -> None:
    """They are exactly as good as the defaults."""
    verdict = judge(answer(dict(given)), telling(ran(0.8)), **CENTRE)

    assert verdict.terms["driving"] == 0.0


@pytest.mark.parametrize(
    "value",
    [-1, 101, 1e999, -1e999, "1" + "0" * 400, True, None, "'20'", "[20]", "{'a': 1}", "2+3j", 1e300, "b'1'", "()"],
    ids=lambda value: str(value)[:20],
)
def test_values_that_cannot_be_driven_are_failed_laps(value: object) -> None:
    """Out of bounds, not finite, no numbers: refused without a run, never null."""
    verdict = judge(answer(f"{{'qv': {value}}}".replace("inf", "1e999")), telling(ran(0.8)), **CENTRE)

    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, -1.0)
    assert verdict.terms["rmse"] == 69.0
    assert "qv is" in verdict.message


def test_an_alias_sets_its_parameter_and_the_name_goes_before_it() -> None:
    """Unknown names set nothing."""
    slot = telling(ran(0.8), ran(0.2))

    judge(answer({"q_v": 30, "weight_qn": 5, "qn": 6, "turbo": 1, "": 3}), slot, **CENTRE)

    driven = msgpack.unpackb(slot.launches[1].payload)[1]
    assert (driven["qv"], driven["qn"], len(driven)) == (30.0, 6.0, 11)


def test_a_crash_is_a_failed_lap() -> None:
    """The message says where."""
    verdict = judge(FAST, telling(ran(0.8), ran(None, "left the track after 3 m")), **CENTRE)

    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, -1.0)
    assert "left the track" in verdict.message


@pytest.mark.parametrize("cut", [Outcome.TIMEOUT, Outcome.MEMORY_EXCEEDED, Outcome.OUTPUT_EXCEEDED])
def test_a_lap_that_exhausts_limits_which_the_defaults_keep_has_failed(cut: Outcome) -> None:
    """Were it null, it could be farmed."""
    verdict = judge(FAST, telling(ran(0.8), cut), **CENTRE)

    assert (verdict.outcome, verdict.reward) == (cut, -1.0)


@pytest.mark.parametrize("cut", [Outcome.TIMEOUT, Outcome.MEMORY_EXCEEDED, Outcome.OUTPUT_EXCEEDED])
def test_limits_that_the_defaults_exhaust_are_the_tasks_or_the_simulators(cut: Outcome) -> None:
    """Of ours the task's, for we know what it takes; of another the simulator's."""
    with pytest.raises(TaskFault, match="too small"):
        judge(FAST, telling(cut), **CENTRE)
    with pytest.raises(InfraFault, match="does not end"):
        judge(FAST, telling(cut), **PLUG_IN)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    "reply",
    [None, b"", b"\xff" * 100, b"\x00" * 70_000, report.told("fault", "ValueError: x"), Outcome.VIOLATION,
     report.told("missing", "no such"), msgpack.packb({"kind": "ran", "rmse": float("nan")}), msgpack.packb([1, 2]),
     msgpack.packb({"kind": "ran", "rmse": -1.0}), msgpack.packb({"kind": "ran", "rmse": 1.0, "extra": 1})],
)  # fmt: skip
def test_a_process_that_says_nothing_good_is_our_fault(reply: Reply, number: int) -> None:
    """Dead, garbled, failed, lying: never a low reward."""
    replies: list[Reply] = [ran(0.8), ran(0.2)]
    replies[number] = reply

    with pytest.raises(InfraFault):
        judge(FAST, telling(*replies), **CENTRE)


def test_defaults_that_fail_are_the_tasks_fault_and_remembered() -> None:
    """A track that is too hard for them compares nothing."""
    verifier, slot = SimulatorVerifier(), telling(ran(None, "left the track"))

    for _ in range(2):
        with pytest.raises(TaskFault, match="default parameters fail"):
            verifier.judge(parse(**CENTRE), FAST, slot)
    assert len(slot.launches) == 1


def test_limits_that_the_defaults_exhaust_are_not_remembered() -> None:
    """It may have been the machine."""
    verifier, slot = SimulatorVerifier(), telling(Outcome.TIMEOUT, ran(0.8), ran(0.2))

    with pytest.raises(TaskFault, match="too small"):
        verifier.judge(parse(**CENTRE), FAST, slot)
    assert verifier.judge(parse(**CENTRE), FAST, slot).reward == pytest.approx(3.75)


def test_faults_of_ours_are_not_remembered() -> None:
    """The next attempt may go well."""
    verifier, slot = SimulatorVerifier(), telling(b"", ran(0.8), ran(0.2))

    with pytest.raises(InfraFault):
        verifier.judge(parse(**CENTRE), FAST, slot)
    assert verifier.judge(parse(**CENTRE), FAST, slot).reward == pytest.approx(3.75)


def test_a_task_that_is_no_longer_taken_is_not_the_tasks_fault() -> None:
    """The defaults were driven with the same fields."""
    with pytest.raises(InfraFault, match="no longer takes"):
        judge(FAST, telling(ran(0.8), report.told("task", "no")), **CENTRE)


def test_a_busy_machine_is_nobodys_fault() -> None:
    """The attempt is tried again."""
    with pytest.raises(Inconclusive):
        judge(FAST, TellingSlot(lambda *_: Outcome.INCONCLUSIVE), **CENTRE)


def test_a_race_car_needs_its_modules_and_nothing_else_does() -> None:
    """So that only workers with the extra take the task."""
    assert parse(**CENTRE).requires == ("scipy", "osqp")
    assert parse(**CENTRE, requires=["osqp", "json"]).requires == ("osqp", "json", "scipy")
    assert parse(baseline_rmse=1, simulated_rmse=1).requires == ()
    assert parse(**PLUG_IN, fields={"anything": [1, {}]}).requires == ("json",)


def test_fields_go_to_a_simulator_as_they_are() -> None:
    """Numbers of any size and texts of any kind among them."""
    fields = {"big": 10**40, "text": "\ud83d", "nested": [{"a": None}]}
    slot = telling(ran(0.8), ran(0.2))

    judge(FAST, slot, **PLUG_IN, fields=fields)

    assert [json.loads(msgpack.unpackb(launch.payload)[2]) for launch in slot.launches] == [fields, fields]


def test_a_task_survives_being_written_and_read() -> None:
    """Its content is the same wherever it is parsed."""
    task = parse(**CENTRE, track=[[i, i * i, 1, 1] for i in range(6)])

    again = parse(**{key: value for key, value in task.model_dump(mode="json").items()
                     if key in {"goal", "track", "requires", "seed"}})  # fmt: skip

    assert again.content_hash() == task.content_hash()


@pytest.mark.parametrize("value", ["0.5", True, None, 1j])
def test_what_is_no_number_is_no_error_of_a_run(value: Any) -> None:
    """A simulator that gives a text or a boolean for one is at fault: nobody guesses what it means."""
    with pytest.raises(ValueError, match=r"no number|has an rmse"):
        ran(value)
    with pytest.raises(ValueError, match="no number"):
        ran(0.5, lap=value)
