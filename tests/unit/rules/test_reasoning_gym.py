"""The verifier `reasoning_gym` without the library: its tasks, its refusals, and the guard around what it evaluates."""

import importlib.util
from typing import Any

import pytest

from assay.cli.inputs import Batch
from assay.cli.local import Scorer, build_jobs
from assay.errors import InfraFault, InvalidRequest
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.nowhere import NoPool
from assay.schema import BatchOptions
from assay.settings import Settings
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.rules.reasoning_gym import ReasoningGymTask, ReasoningGymVerifier
from assay.verifiers.rules.reasoning_gym_scorer import is_formula, refuse_code, settle_entry

ENTRY = {"question": "1 + 2", "answer": "3", "metadata": {}}
absent = pytest.mark.skipif(
    importlib.util.find_spec("reasoning_gym") is not None, reason="tells what happens where reasoning_gym is missing"
)


def parse(**fields: Any) -> ReasoningGymTask:
    """A task of an entry."""
    document = {"id": "t", "verifier": "reasoning_gym", "dataset": "chain_sum", "entry": ENTRY} | fields
    task = default_registry().parse_task(document)
    assert isinstance(task, ReasoningGymTask)
    return task


def test_the_library_is_always_required() -> None:
    """Workers without it never get the task, whatever else the task requires."""
    assert parse().requires == ("reasoning_gym",)
    assert parse(requires=["numpy"]).requires == ("numpy", "reasoning_gym")
    assert parse(requires=["reasoning_gym"]).requires == ("reasoning_gym",)


def test_it_runs_something() -> None:
    """So limits are not refused."""
    assert parse(limits={"cpu_s": 3}).runs_something()


@pytest.mark.parametrize(
    "fields", [{"entry": {"question": "?"}}, {"entry": []}, {"dataset": ""}, {"answer_tag": "<a>"}, {"entry": None}]
)
def test_faulty_tasks_are_refused(fields: dict[str, Any]) -> None:
    """An entry is an object with an answer."""
    with pytest.raises(InvalidRequest):
        parse(**fields)


def test_numbers_that_json_lacks_are_refused() -> None:
    """An entry goes to the jail as JSON."""
    with pytest.raises(InvalidRequest):
        parse(entry={"answer": "1", "metadata": {"x": float("nan")}})


@absent
def test_a_worker_without_the_library_says_so() -> None:
    """That is our side's fault, not the completion's: no reward."""
    with pytest.raises(InfraFault, match="reasoning-gym"):
        ReasoningGymVerifier().judge(parse(), "<answer>3</answer>", FakeSlot())


@absent
def test_scoring_without_a_service_judges_nothing() -> None:
    """The message names the module."""
    task = parse().model_dump(mode="json", exclude={"limits"})
    batch = Batch((task,), ({"task_id": "t", "completion": "<answer>3</answer>"},))

    registry = default_registry()
    scorer = Scorer(registry, Evaluator(registry, NoPool()), 1)
    (result,) = scorer.score(build_jobs(registry, batch, Settings()), BatchOptions())

    assert (result.outcome, result.reward) == ("infra_error", None)
    assert "reasoning_gym" in result.message


@pytest.mark.parametrize(
    "source",
    [
        "[[1, 2], [3, 4]]",
        "['a', 'b']",
        "Integer (3 )*(Integer (8 )+Integer (5 ))",
        "Symbol ('x' )**Integer (2 )/Integer (2 )+C",
        "sqrt (x )*sin (x )",
        "9**9",
    ],
)
def test_formulas_may_be_evaluated(source: str) -> None:
    """Literals, numbers and functions of mathematics, as the library's scorers and sympy's parser write them."""
    assert is_formula(compile(source, "<string>", "eval"))


@pytest.mark.parametrize(
    "source",
    [
        "__import__('os').system('true')",
        "().__class__.__base__.__subclasses__()",
        "[x for x in (1, 2)]",
        "(lambda: 1)()",
        "open('/etc/passwd').read()",
        "exec('x = 1')",
        "x.append(1)",
        "sys.modules",
        "'{0.__class__}'.format(x)",
        "sympy.os",
        "parse_expr('1')",
        "lambdify(x, '1')",
    ],
)
def test_code_may_not(source: str) -> None:
    """Any other name, attribute or definition is refused, so that an answer cannot report its own score."""
    code = compile(source, "<string>", "eval")

    assert not is_formula(code)
    with pytest.raises(RuntimeError, match="formula"):
        refuse_code("exec", (code,))


def test_imports_are_not_the_guards_matter() -> None:
    """Modules that the library imports late come from files, and sympy's namespace from one known statement."""
    assert is_formula(compile("import os\nos.getpid()", "/lib/module.py", "exec"))
    assert is_formula(compile("from sympy import *", "<string>", "exec"))
    refuse_code("open", ("x", "r", 0))


def test_an_entry_is_settled_by_its_own_answer() -> None:
    """Tuples stand in for lists only where the scorer wants them; without an answer of its own nothing is settled."""
    entry = {"answer": "1 2", "metadata": {"output": [[1, 2]], "size": 2}}

    def score_lists(answer: str | None, given: dict[str, Any]) -> float:
        return 1.0 if answer == "1 2" and given["metadata"]["output"] == [[1, 2]] else 0.05

    def score_tuples(answer: str | None, given: dict[str, Any]) -> float:
        return 1.0 if answer == "1 2" and given["metadata"]["output"] == ((1, 2),) else 0.05

    assert settle_entry(entry, score_lists) is entry
    assert settle_entry(entry, score_tuples)["metadata"] == {"output": ((1, 2),), "size": 2}
    assert settle_entry({**entry, "answer": None}, score_lists)["metadata"] is entry["metadata"]


def test_an_entry_that_its_own_answer_does_not_solve_is_refused() -> None:
    """Every right answer would be called wrong."""
    with pytest.raises(ValueError, match="own answer scores 0"):
        settle_entry({"answer": "3", "metadata": {}}, lambda *_: 0.05)
