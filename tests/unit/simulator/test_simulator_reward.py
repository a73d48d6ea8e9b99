"""`simulator` with errors that were measured elsewhere, and its decisions: the arithmetic of the reward."""

import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulator_attempts import MEASURED, answer, judge

from assay.errors import InvalidRequest, TaskFault
from assay.outcomes import Outcome
from assay.verifiers.builtin import default_registry
from assay.verifiers.simulator.dictionary import Refused, find_dictionary, settle
from assay.verifiers.simulator.parameters import RACE_CAR_PARAMETERS

GOOD = answer({"qv": 20, "v_max": 3})
BOUND_S = 20  # of processor time for a megabyte


def terms(completion: str, **fields: Any) -> dict[str, float]:
    """The terms of a measured attempt."""
    return dict(judge(completion, **{**MEASURED, **fields}).terms)


@pytest.mark.parametrize(
    ("baseline", "simulated", "driving"),
    [(0.8, 0.8, 0.0), (0.8, 0.0, 1.0), (0.8, 0.2, 0.75), (0.8, 1.6, -1.0), (0.8, 4.0, -4.0), (0.8, 40.0, -4.0)],
)
def test_driving_is_the_relative_improvement(baseline: float, simulated: float, driving: float) -> None:
    """Clipped below at -4; nothing is above 1."""
    assert terms(GOOD, baseline_rmse=baseline, simulated_rmse=simulated)["driving"] == pytest.approx(driving)


@pytest.mark.parametrize(
    ("profile", "simulated", "driving"),
    [
        ("robotxr1/paper", 69.0, -2.45), ("robotxr1/code", 69.0, -2.45), ("robotxr1/hardened", 69.0, -4.0),
        ("robotxr1/paper", 68.0, -2.4), ("robotxr1/hardened", 68.0, -2.4), ("robotxr1/paper", 90.0, -3.5),
    ],
)  # fmt: skip
def test_a_failure_is_the_lowest_value_or_an_error_of_69(profile: str, simulated: float, driving: float) -> None:
    """Which a baseline of 20 makes cheap."""
    found = terms(GOOD, profile=profile, baseline_rmse=20.0, simulated_rmse=simulated)

    assert found["driving"] == pytest.approx(driving)


@pytest.mark.parametrize(
    ("completion", "hardened", "published"),
    [
        ("<think>new_mpc_params = {'no': 1}</think><answer>new_mpc_params = {'qv': 1}</answer>", 1.0, 0.0),
        ("<reasoning>new_mpc_params = {'no': 1}</reasoning>new_mpc_params = {'qv': 1}", 1.0, 0.0),
        ("new_mpc_params = {'no': 1} <answer>new_mpc_params = {'qv': 1}</answer>", 1.0, 0.0),
        ("<think>new_mpc_params = {'qv': 1}", 0.0, 1.0),
        ("<reasoning>new_mpc_params = {'qv': 1}</reasoning><answer>I give up</answer>", 0.0, 1.0),
        ("<answer>new_mpc_params = {'qv': 1}; new_mpc_params = {'no': 1}</answer>", 1.0, 1.0),
    ],
)
def test_only_the_answer_is_read(completion: str, hardened: float, published: float) -> None:
    """But by the released code, to which drafts count: the first dictionary anywhere."""
    assert terms(completion)["names"] == hardened
    assert terms(completion, profile="robotxr1/code")["names"] == published


def test_only_the_answers_decision_is_read() -> None:
    """With the same exception."""
    completion = "<reasoning>Adhering to Human: False?</reasoning><answer>Adhering to Human: True</answer>"
    fields = {"kind": "decision", "adheres": True}

    assert judge(completion, **fields).terms["decision"] == 1.0
    assert judge(completion, **fields, profile="robotxr1/code").terms["decision"] == 0.0


@pytest.mark.parametrize(("profile", "driving"), [("robotxr1/paper", -2.45), ("robotxr1/hardened", -4.0)])
def test_no_dictionary_is_a_failed_run(profile: str, driving: float) -> None:
    """Whatever was measured; the outcome says that there was nothing to drive."""
    verdict = judge("go faster", profile=profile, baseline_rmse=20.0, simulated_rmse=1.0)

    assert verdict.outcome is Outcome.NO_ANSWER
    assert verdict.terms["driving"] == pytest.approx(driving)
    assert verdict.terms["extraction"] == verdict.terms["names"] == 0.0


def test_a_run_that_could_not_be_measured_has_no_reward() -> None:
    """The simulator's fault is not the model's; without a dictionary there was nothing to measure."""
    with pytest.raises(TaskFault, match="simulated_rmse is null"):
        judge(GOOD, baseline_rmse=0.8, simulated_rmse=None)
    assert judge("no", baseline_rmse=0.8, simulated_rmse=None).reward == -4.0


def test_the_threshold_decides_what_passes() -> None:
    """Full marks are a lap without any error."""
    assert judge(GOOD, **MEASURED).outcome is Outcome.FAILED
    assert judge(GOOD, **MEASURED, pass_threshold=3.5).outcome is Outcome.PASSED
    assert judge(GOOD, baseline_rmse=0.8, simulated_rmse=0.0).outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("names", "share"),
    [
        (["qv"], 1.0), (["qv", "qn", "qalpha"], 1.0), (["q_v"], 0.5), (["weight_q_ddelta"], 0.5),
        (["param_v_max"], 0.5), (["a_lat_max"], 0.5), (["alat"], 0.5), (["a"], 0.5),
        (["turbo"], 0.0), (["qv", "turbo"], 0.5), (["QV"], 0.0),
        (["q_v", "turbo"], 0.25), (["qvv"], 0.0), ([""], 0.0), ([1, "qv"], 0.5), ([("qv",)], 0.0), ([b"qv"], 0.0),
    ],
)  # fmt: skip
def test_names_are_known_half_known_or_not(names: list[Any], share: float) -> None:
    """Aliases and parts of names are half known; what is no text is unknown."""
    assert terms(answer(dict.fromkeys(names, 1)))["names"] == share


def test_the_empty_name_is_part_of_every_name() -> None:
    """In the released code; by default it earns nothing."""
    assert terms(answer({"": 1}), profile="robotxr1/code")["names"] == 0.5
    assert terms(answer({"": 1}), profile="robotxr1/hardened")["names"] == 0.0


def test_another_controller_has_other_names() -> None:
    """The race car's are the default."""
    assert terms(answer({"kp": 1, "qv": 1}), known_parameters=["kp", "kd"])["names"] == 0.5
    assert terms(answer({"kp": 1, "weight_kp": 1}), known_parameters=["kp"])["names"] == 0.5


@pytest.mark.parametrize(
    "written",
    [
        "{'qv': 1}", '{"qv": 1}', "{'qv': 1,}", "{\n  'qv': 1,  # don't\n}", "{'qv': {'a': 1}}", "{'qv': -1e3}",
        "{'qv': 1e999}", "{'qv': None}", "{'qv': '}'}", "{'qv': [1, (2,)]}",
    ],
)  # fmt: skip
def test_literal_dictionaries_are_read(written: str) -> None:
    """Python's, with comments and nested ones."""
    assert terms(answer(written))["extraction"] == 1.0


@pytest.mark.parametrize(
    "written",
    [
        "{}", "{ }", "{'qv': twenty}", "{'qv': 1", "{'qv'}", "[('qv', 1)]", "dict(qv=1)", "{'qv': __import__('os')}",
        "{'qv': 1 if True else 2}", "{**{'qv': 1}}", "{'qv': 1 for x in [1]}", "{'qv': true}", "{[]: 1}",
    ],
)  # fmt: skip
def test_whatever_is_no_literal_dictionary_is_not(written: str) -> None:
    """Nothing is evaluated."""
    assert terms(answer(written))["extraction"] == 0.0


def test_the_first_dictionary_that_can_be_read_counts() -> None:
    """Empty ones and others are passed over, and the spelling is exact."""
    several = "new_mpc_params = {}\nnew_mpc_params = {x}\nnew_mpc_params={'qv': 1}\nnew_mpc_params = {'turbo': 1}"

    assert terms(several)["names"] == 1.0
    assert terms("new_MPC_params = {'qv': 1}")["extraction"] == 0.0
    assert terms("new_mpc_params: {'qv': 1}")["extraction"] == 0.0


@pytest.mark.parametrize(
    ("completion", "share"),
    [
        ("<reasoning></reasoning><answer></answer>", 1.0), ("</answer><answer></reasoning><reasoning>", 1.0),
        ("<reasoning></reasoning>", 0.5), ("<reasoning></reasoning><answer><answer></answer>", 0.5), ("", 0.0),
        ("<reasoning></reasoning>" * 2, 0.0), ("<think></think><answer></answer>", 0.5),
    ],
)  # fmt: skip
def test_each_pair_of_tags_stands_exactly_once(completion: str, share: float) -> None:
    """In whatever order."""
    assert terms(completion)["format"] == share


@pytest.mark.parametrize(
    ("said", "adheres", "decision", "outcome"),
    [
        ("Adhering to Human: True", True, 1.0, Outcome.PASSED), ("Adhering to Human: False", True, 0.0, Outcome.FAILED),
        ("Adhering to Human:False", False, 1.0, Outcome.PASSED),
        ("Adhering to Human: no", False, 0.0, Outcome.NO_ANSWER),
        ("adhering to human: True", True, 0.0, Outcome.NO_ANSWER), ("", False, 0.0, Outcome.NO_ANSWER),
        ("Adhering to Human: False, Adhering to Human: True", True, 0.0, Outcome.FAILED),
    ],
)  # fmt: skip
def test_decisions_are_right_or_not(said: str, adheres: bool, decision: float, outcome: Outcome) -> None:
    """The first one counts; a missing one is worth nothing."""
    laid_out = f"<reasoning>r</reasoning><explanation>e</explanation><answer>{said}</answer>"

    verdict = judge(laid_out, kind="decision", adheres=adheres)

    assert (verdict.outcome, dict(verdict.terms)) == (outcome, {"decision": decision, "format": 1.0})


@pytest.mark.parametrize(
    ("adheres", "said"), [(False, "not each of the tag pairs"), (True, "the right decision is not False")]
)
def test_a_right_decision_without_its_tags_is_not_called_wrong(adheres: bool, said: str) -> None:
    """The message says what is lacking."""
    verdict = judge("<answer>Adhering to Human: False</answer>", kind="decision", adheres=adheres)

    assert verdict.outcome is Outcome.FAILED
    assert verdict.message.startswith(said)


@pytest.mark.parametrize("profile", ["robotxr1/paper", "robotxr1/code", "robotxr1/hardened"])
def test_profiles_have_decisions_too(profile: str) -> None:
    """Where they are all the same: three pairs of tags, a third each."""
    verdict = judge("<answer>Adhering to Human: True</answer>", kind="decision", adheres=True, profile=profile)

    assert verdict.reward == pytest.approx(1 + 1 / 3)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "task.goal: required"), ({"simulated_rmse": 1.0}, "task.baseline_rmse: required"),
        ({"baseline_rmse": 1.0}, "task.simulated_rmse: required"),
        ({"baseline_rmse": 0.0, "simulated_rmse": 1.0}, "greater than 0"),
        ({"baseline_rmse": 1.0, "simulated_rmse": -1.0}, "greater than or equal to 0"),
        ({"baseline_rmse": 1.0, "simulated_rmse": "Infinity"}, "number"),
        ({"kind": "decision"}, "task.adheres: required"),
        ({"kind": "decision", "adheres": True, "failure": "rmse"}, "task.failure: not read"),
        ({**MEASURED, "goal": {"measure": "speed", "target": 1}}, "task.goal: not read where"),
        ({**MEASURED, "limits": {}}, "limits"),
        ({"simulator": "cart", "requires": ["m"], "fields": {"a": float("nan")}}, "JSON"),
        ({"simulator": "cart"}, "name in `requires` the module"), ({"simulator": "Cart!"}, "pattern"),
        ({"simulator": "cart", "requires": ["m"], "track": "oval"}, "task.track: not read for a sim"),
        ({"goal": {"measure": "speed"}}, "task.goal.target: required"),
        ({"goal": {"measure": "smoothness", "target": 1}}, "task.goal.target: .* takes none"),
        ({"goal": {"measure": "speed", "target": 99}}, "task.goal.target: .* -5 to 12"),
        ({"goal": {"measure": "centerline", "side": "left"}}, "task.goal.side"),
        ({"goal": {"measure": "centerline"}, "track": "moon"}, "oval"),
        ({"goal": {"measure": "centerline"}, "track": [[0, 0, 1, 1]]}, "task.track: .*6 to 2000 rows"),
        ({"goal": {"measure": "centerline"}, "fields": {"a": 1}}, "task.fields: not read for the sim"),
        ({"goal": {"measure": "centerline"}, "profile": "robotxr1/other"}, "unknown profile"),
    ],
)  # fmt: skip
def test_tasks_that_say_nothing_or_too_much_are_refused(fields: dict[str, Any], said: str) -> None:
    """By the field that is missing or wrong, in the words of tasks, with what to do about it."""
    with pytest.raises(InvalidRequest, match=said) as caught:
        judge(GOOD, **fields)
    assert not re.search(r"Mode|Measure|<|None", str(caught.value))


@pytest.mark.parametrize(
    "body",
    ["new_mpc_params = {", "new_mpc_params = {'qv': 1", "}", "{", "new_mpc_params" + " " * 500, "new_mpc_params = {}",
     "Adhering to Human:  ", "new_mpc_params = {" + "9" * 3000 + "}", "new_mpc_params = {'a': " + "[" * 1500 + "}",
     "new_mpc_params = {'q" + "\ud83d" * 50 + "': 1}"],
)  # fmt: skip
def test_a_megabyte_of_anything_ends_in_time(body: str) -> None:
    """Only so many assignments, closings and characters are looked at."""
    text = body * (1_000_000 // len(body))
    started = time.process_time()

    verdict = judge(text, **MEASURED)
    judge(text, kind="decision", adheres=True)

    assert verdict.reward is not None
    assert time.process_time() - started < BOUND_S


@settings(deadline=None, max_examples=200, derandomize=True)
@given(
    dictionary=st.dictionaries(
        st.text(max_size=6) | st.sampled_from(["qv", "q_v", "v_max", ""]) | st.integers() | st.none(),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
            lambda inner: st.lists(inner, max_size=3),
            max_leaves=4,
        ),
        max_size=6,
    ),
    profile=st.sampled_from(["robotxr1/paper", "robotxr1/hardened"]),
)
def test_any_dictionary_gets_a_reward_in_range(dictionary: dict[Any, Any], profile: str) -> None:
    """Between -4 and 4, whatever it holds."""
    verdict = judge(answer(repr(dictionary)), profile=profile, **MEASURED)

    assert verdict.reward is not None
    assert -4.0 <= verdict.reward <= 4.0


HUGE = "0x" + "f" * 3900  # more digits than Python writes


@pytest.mark.parametrize("value", [HUGE, f"-{HUGE}", f"[{HUGE}]", f"({HUGE},)", f"{{1: {HUGE}}}"])
def test_a_number_that_cannot_be_written_is_refused(value: str) -> None:
    """The parameters' fault, and not the service's: no attempt buys a null reward with it."""
    found = find_dictionary(f"new_mpc_params = {{'qv': {value}}}")

    assert found is not None
    assert isinstance(settle(found, RACE_CAR_PARAMETERS), Refused)


def test_an_unknown_simulator_is_refused_by_its_name() -> None:
    """Whatever else is there, such as the goal of the race car that was meant."""
    task = {"id": "t", "verifier": "simulator", "simulator": "racecar", "goal": {"measure": "raceline"}}

    with pytest.raises(InvalidRequest, match="unknown simulator 'racecar'") as caught:
        default_registry().parse_task(task)

    assert caught.value.path == "task.simulator"
