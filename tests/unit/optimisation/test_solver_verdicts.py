"""What `solver` makes of how a program ended and what it told; the program itself does not run here."""

import math
import time

import msgpack
import pytest
from optimisation_attempts import CALLED, REGISTRY, TAGGED, running, solve

from assay.errors import Inconclusive, InvalidRequest
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.interface import Exit, Role
from assay.verifiers.optimisation.libraries import LIBRARIES
from assay.verifiers.optimisation.solver_program import __name__ as PROGRAM
from assay.verifiers.optimisation.solver_program import returned_value
from assay.verifiers.optimisation.watching import MOST_CALLS

RIGHT = "OBJ: 11.0\n"
INFEASIBLE, UNBOUNDED = "OBJ: infeasible\n", "OBJ: Unbounded\n"


def test_the_right_objective_is_paid_in_full() -> None:
    """0.5, 1 and 2; the raw terms are 1 each."""
    verdict = solve(running(RIGHT))

    assert verdict.terms == {"format": 1.0, "execution": 1.0, "accuracy": 1.0}
    assert (verdict.outcome, verdict.reward) == (Outcome.PASSED, 3.5)


def test_the_gold_never_meets_the_program() -> None:
    """The candidate's process gets the code, and whether solvers are watched; no objective, marker or tolerance."""
    slot = running(RIGHT)

    solve(slot, gold=987654.25, completion=TAGGED.format("x = 1"), marker="MARK:")

    (launch,) = slot.launches
    assert (launch.role, launch.program, launch.flavour) == (Role.CANDIDATE, PROGRAM, "solvers")
    sources, watch, returned = msgpack.unpackb(launch.payload)
    assert (watch, returned) == (True, "")
    assert b"x = 1" in sources
    assert b"987654" not in launch.payload
    assert b"MARK" not in launch.payload
    assert msgpack.packb(987654.25)[1:] not in launch.payload


@pytest.mark.parametrize(
    ("code", "flavour"),
    [
        *((f"import {one.modules[0]}", "solvers" if one.light or one.rare else "modelling") for one in LIBRARIES),
        ("from ortools.linear_solver import pywraplp", "solvers"),
        ("from ortools.sat.python import cp_model", "modelling"),
        ("pyomo_is_not_named = 1", "solvers"),
    ],
)
def test_the_flavour_has_what_the_program_names(code: str, flavour: str) -> None:
    """All libraries make every fork dearer."""
    slot = running(RIGHT)

    solve(slot, completion=TAGGED.format(code))

    assert slot.launches[0].flavour == flavour


def test_a_megabyte_of_markers_and_all_calls_is_judged_in_time() -> None:
    """The output is read a bounded number of times, however many solvers were called."""
    lines = RIGHT + "OBJ:\n" * 200_000
    calls = [["scipy.optimize", "optimal", 12.0]] * MOST_CALLS
    started = time.process_time()

    verdict = solve(running(lines, calls), solver_call="value")

    assert time.process_time() - started < 20
    assert verdict.message == "no solver found this objective"


def test_no_program_is_no_answer() -> None:
    """Nothing is started; the format counts still."""
    slot = FakeSlot()

    verdict = solve(slot, completion="The best is 11.")

    assert (verdict.outcome, verdict.reward, slot.launches) == (Outcome.NO_ANSWER, 0.0, [])
    blank = solve(slot, completion=TAGGED.format("  "))
    assert (blank.outcome, blank.reward) == (Outcome.NO_ANSWER, 0.5)


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        ({"exit_": Exit(1, None), "stderr": b"ValueError: x"}, Outcome.RUNTIME_ERROR),
        ({"exit_": Exit(None, 9)}, Outcome.RUNTIME_ERROR),
        ({"exit_": Exit(None, 31)}, Outcome.VIOLATION),
        ({"exit_": Exit(None, 9), "cut_by": Outcome.TIMEOUT}, Outcome.TIMEOUT),
        ({"exit_": Exit(None, 9), "cut_by": Outcome.MEMORY_EXCEEDED}, Outcome.MEMORY_EXCEEDED),
        ({"exit_": Exit(None, 9), "cut_by": Outcome.OUTPUT_EXCEEDED}, Outcome.OUTPUT_EXCEEDED),
        ({"exit_": Exit(1, None), "told": b"compile_error SyntaxError: x"}, Outcome.COMPILE_ERROR),
        ({"exit_": Exit(1, None), "told": b"violation the task forbids os"}, Outcome.VIOLATION),
    ],
)
def test_what_ended_badly_earns_its_format_alone(end: dict[str, object], outcome: Outcome) -> None:
    """Whatever it printed; a violation does not earn even that."""
    verdict = solve(running(RIGHT, **end))

    assert verdict.outcome is outcome
    assert verdict.reward == (0.0 if outcome is Outcome.VIOLATION else 0.5)
    assert verdict.terms["accuracy"] == verdict.terms["execution"] == 0.0


def test_a_busy_machine_is_nobodys_fault() -> None:
    """The attempt is inconclusive."""
    with pytest.raises(Inconclusive):
        solve(running(RIGHT, cut_by=Outcome.INCONCLUSIVE, exit_=Exit(None, 9)))


def test_a_missing_module_is_flagged() -> None:
    """The completion's fault, but worth a look."""
    verdict = solve(running(exit_=Exit(1, None), stderr=b"ModuleNotFoundError: No module named 'gurobipy'"))

    assert verdict.outcome is Outcome.RUNTIME_ERROR
    assert verdict.flags == ("missing_module",)


@pytest.mark.parametrize(
    "told",
    [
        b"started",
        b"startednonsense",
        b"started" + msgpack.packb(5),
        b"started" + msgpack.packb([5, None, ""]),
        b"started" + msgpack.packb([[5, [1, 2], ["a", "b", "c", "d"], {"a": 1}], None, ""]),
        b"started" + msgpack.packb([[["scipy", "optimal"]], None, ""]),
        b"started" + msgpack.packb([[[1, 2, 3]], None, ""]),
        b"started" + msgpack.packb([[["scipy", "other", 11.0]], None, ""]),
        b"started" + b"\xdd\xff\xff\xff\xff" * 3,
    ],
)
def test_reports_that_are_none_say_nothing(told: bytes) -> None:
    """They come from the candidate's process: no solver was heard of, and nothing breaks."""
    verdict = solve(running(RIGHT, told=told))

    assert verdict.terms == {"format": 1.0, "execution": 1.0, "accuracy": 0.0}
    assert solve(running(RIGHT, told=told), solver_call="ignored").reward == 3.5


@pytest.mark.parametrize(
    ("gold", "calls", "printed", "how", "accuracy"),
    [
        (11, [], RIGHT, "called", 0.0),
        (11, CALLED, RIGHT, "called", 1.0),
        (11, [["x", "feasible", None]], RIGHT, "called", 1.0),
        (11, [["x", "none", None]], RIGHT, "called", 0.0),
        (11, [["x", "optimal", -11.0]], RIGHT, "value", 1.0),
        (11, [["x", "optimal", 12.0]], RIGHT, "value", 0.0),
        (11, [["x", "optimal", None]], RIGHT, "value", 0.0),
        (11, [["x", "optimal", 3.0], *CALLED], RIGHT, "value", 1.0),
        (None, CALLED, INFEASIBLE, "called", 0.0),
        (None, [["x", "none", None]], INFEASIBLE, "called", 1.0),
        (None, [["x", "infeasible", None]], INFEASIBLE, "called", 1.0),
        (None, [["x", "infeasible", None]], "", "called", 0.0),
        (None, [["x", "infeasible", None]], UNBOUNDED, "called", 0.0),
        (None, [["x", "unbounded", None]], INFEASIBLE, "called", 0.0),
        ("unbounded", [["x", "none", None]], UNBOUNDED, "called", 1.0),
        ("unbounded", [["x", "unbounded", None]], "OBJ: -inf", "called", 1.0),
        ("unbounded", [["x", "unbounded", None]], "", "called", 0.0),
        ("unbounded", [["x", "infeasible", None]], UNBOUNDED, "called", 0.0),
        (None, [], INFEASIBLE, "ignored", 1.0),
        (None, [], "", "ignored", 0.0),
    ],
)
def test_what_is_asked_of_solvers(gold: object, calls: list[object], printed: str, how: str, accuracy: float) -> None:
    """A solution, or that there is none, as the right objective has it."""
    verdict = solve(running(printed, calls), gold=gold, solver_call=how)

    assert verdict.terms["accuracy"] == accuracy


@pytest.mark.parametrize(
    ("value", "accuracy"),
    [(11.0, 1.0), (11, 1.0), ("infeasible", 0.0), (12.0, 0.0), (None, 0.0), (True, 0.0), ("11", 0.0), ([11], 0.0)],
)
def test_returned_values_are_checked(value: object, accuracy: float) -> None:
    """What is no number is none."""
    verdict = solve(running("OBJ: 7", CALLED, value), objective="returned")

    assert verdict.terms["accuracy"] == accuracy


@pytest.mark.parametrize(
    ("held", "lack"),
    [
        ({}, "it defines no function or variable 'solve'"),
        ({"solve": lambda x: x}, "'solve' takes arguments, and is called without"),
        ({"solve": lambda: (11, 3)}, "'solve' gives a tuple that is no number"),
        ({"solve": "eleven"}, "'solve' gives a str that is no number"),
        ({"solve": lambda: math.nan}, "'solve' gives nan"),
        ({"solve": lambda: None}, ""),
    ],
)
def test_what_returns_no_objective_is_said(held: dict[str, object], lack: str) -> None:
    """A program that ran to its end has run, whatever it defines."""
    assert returned_value(held, "solve") == (None, lack)

    verdict = solve(running("", lack=lack), objective="returned")

    assert verdict.terms == {"format": 1.0, "execution": 1.0, "accuracy": 0.0}
    assert verdict.message.endswith(lack)


def test_returned_words_are_read() -> None:
    """As they are behind a marker; other texts are none."""
    calls = [["x", "infeasible", None]]
    for value, accuracy in (("Infeasible", 1.0), ("unbounded", 0.0), ("no", 0.0), (None, 0.0)):
        verdict = solve(running("", calls, value), gold=None, objective="returned")

        assert verdict.terms["accuracy"] == accuracy


@pytest.mark.parametrize("profile", ["sirl/paper", "sirl/paper-relative", "sirl/code-stage1"])
def test_published_profiles_take_silence_for_no_objective(profile: str) -> None:
    """As the released code does."""
    assert solve(running("", []), gold=None, profile=profile).terms["accuracy"] == 1.0


def test_a_draft_is_no_program() -> None:
    """But where the released code takes the first one, wherever it stands."""
    draft = "<think><python>a = 1</python></think><model>m</model>"

    assert solve(running(RIGHT), completion=draft).outcome is Outcome.NO_ANSWER
    assert solve(running(RIGHT), completion=draft, profile="sirl/code-stage1").terms["accuracy"] == 1.0


def test_the_line_that_nearly_told_is_quoted() -> None:
    """With what was wanted, which is the same whatever the right objective is."""
    messages = {solve(running("OBJ: [220.]\n"), gold=gold).message for gold in (220, None, "unbounded")}

    (message,) = messages
    assert "'OBJ: [220.]'" in message
    assert "infeasible" in message


def test_the_right_objective_is_not_told() -> None:
    """No message says what it would have been."""
    verdict = solve(running("OBJ: 4"), gold=98765)

    assert "4.0" in verdict.message
    assert "98765" not in verdict.model_dump_json()


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"gold_objective": float("nan")}, "gold_objective"),
        ({"gold_objective": float("inf")}, "gold_objective"),
        ({"gold_objective": "infeasible"}, "gold_objective"),
        ({"gold_objective": 1, "marker": ""}, "marker"),
        ({"gold_objective": 1, "marker": "a\nb"}, "marker"),
        ({"gold_objective": 1, "absolute_tolerance": -1}, "absolute_tolerance"),
        ({"gold_objective": 1, "gold_solution": []}, "gold_solution"),
        ({"gold_objective": 1, "gold_solution": [float("nan")]}, "gold_solution[0]"),
        ({"gold_objective": 1, "objective": "returned", "objective_line": "sirl"}, "objective_line"),
        ({"gold_objective": 1, "objective": "returned", "marker": "OBJ:"}, "marker"),
        ({"gold_objective": 1, "returned_by": "answer"}, "returned_by"),
        ({"gold_objective": 1, "profile": "sirl/code-stage1", "absolute_tolerance": 0.1}, "absolute_tolerance"),
        ({"gold_objective": 1, "solution_overlap": "nonzero"}, "solution_overlap"),
        ({"gold_objective": 1, "returned_by": "a.b"}, "returned_by"),
        ({"gold_objective": 1, "scoring": "all"}, "scoring"),
        ({}, "gold_objective"),
    ],
)
def test_tasks_that_mean_nothing_are_refused(fields: dict[str, object], place: str) -> None:
    """At the door, by the name of the field."""
    with pytest.raises(InvalidRequest) as caught:
        REGISTRY.parse_task({"id": "t", "verifier": "solver", **fields})

    assert caught.value.path == f"task.{place}"


@pytest.mark.parametrize(("verifier", "wall_s"), [("solver", 10.0), ("optimum", 30.0)])
def test_limits_that_a_task_does_not_give_keep_the_verifiers_defaults(verifier: str, wall_s: float) -> None:
    """One that it gives changes no other."""
    fields = {"gold_objective": 1} if verifier == "solver" else {"lp": "min x"}
    task = REGISTRY.parse_task({"id": "t", "verifier": verifier, **fields, "limits": {"cpu_s": 3}})

    limits = task.limits
    assert (limits.cpu_s, limits.wall_s, limits.memory_mb, limits.processes) == (3.0, wall_s, 1024, 256)


def test_the_libraries_are_required() -> None:
    """Whatever else a task requires."""
    task = REGISTRY.parse_task({"id": "t", "verifier": "solver", "gold_objective": 1, "requires": ["gurobipy"]})

    assert task.requires == ("gurobipy", "scipy", "highspy")


def test_terms_that_are_not_at_their_most_are_named() -> None:
    """Where the objective is right; with what was wanted of a solution that cannot be read."""
    bare = "<python>x = 1</python>"

    assert "format is 0 of 1" in solve(running(RIGHT), completion=bare).message
    half = solve(running(RIGHT + "SOLUTION: [3. 2.]"), gold_solution=[3, 1])
    assert "solution is 0.5 of 1" in half.message
    none = solve(running(RIGHT + "SOLUTION: 3"), gold_solution=[3, 1])
    assert "no line 'SOLUTION:' goes on with a list" in none.message
