"""The limits of tasks: a verifier's own defaults under what a task gives, and none given that nothing reads."""

from typing import Any

import pytest

from assay.errors import InvalidRequest, SandboxFault
from assay.maxima import check_maxima
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Launch
from assay.schema import Limits
from assay.settings import Settings
from assay.verifiers.builtin import default_registry
from assay.verifiers.composite.task import CompositeTask
from assay.verifiers.models.chain_task import ChainTask
from assay.verifiers.spending import share_of
from assay.verifiers.worked_examples import WORKED

_REGISTRY = default_registry()
_OTHERS: dict[str, dict[str, Any]] = {
    "simulator": {"simulator": "race_car", "goal": {"measure": "raceline"}},
    "chain": {"question": "?", "pool": ["small"], "answer": {"verifier": "math", "answer": "1"}},
    "composite": {"terms": [{"name": "right", "verifier": "math", "task": {"answer": "1"}}]},
}
"""Where the example runs nothing."""


def _example(name: str) -> dict[str, Any]:
    if name in _OTHERS:
        return {"id": "t", "verifier": name, **_OTHERS[name]}
    schema: Any = _REGISTRY.get(name).task_model.model_config["json_schema_extra"]
    return dict(schema["examples"][0])


_TESTED = {"verifier": "python", "tests": ["f() == 1"], "entry_point": "f"}
_TESTED_PART = {"verifier": "python", "task": {"tests": ["f() == 1"], "entry_point": "f"}}


def _running() -> tuple[str, ...]:
    return tuple(name for name in _REGISTRY.names if _REGISTRY.parse_task(_example(name)).runs_something())


@pytest.mark.parametrize("name", _running())
def test_a_partial_limits_keeps_the_verifiers_other_defaults(name: str) -> None:
    """What a task gives is laid over the defaults of its verifier, and these are not lost by it."""
    default = _REGISTRY.parse_task(_example(name)).limits

    given = _REGISTRY.parse_task({**_example(name), "limits": {"memory_mb": 600}}).limits

    assert given.model_dump() == {**default.model_dump(), "memory_mb": 600}


@pytest.mark.parametrize("name", _REGISTRY.names)
def test_limits_are_refused_exactly_where_no_completion_needs_any(name: str) -> None:
    """The `math` of a plain number takes them: a completion may still need a process."""
    schema: Any = _REGISTRY.get(name).task_model.model_config["json_schema_extra"]
    for example in schema["examples"]:
        task = _REGISTRY.parse_task(example)
        given = {**example, "limits": {"attempt_wall_s": 50}}

        if task.runs_something() or task.asks_models():
            assert _REGISTRY.parse_task(given).limits.attempt_wall_s == 50
        else:
            with pytest.raises(InvalidRequest, match="limits"):
                _REGISTRY.parse_task(given)


def test_each_verifiers_defaults_are_laid_under_what_is_given() -> None:
    """Of those that have defaults of their own: their figures, whatever else is given."""
    given = {"limits": {"files": 100}}
    limits = {
        name: _REGISTRY.parse_task({**_example(name), **given}).limits for name in ("math", "simulator", "optimum")
    }

    assert (limits["math"].wall_s, limits["math"].attempt_wall_s) == (3.0, 6.0)
    assert (limits["simulator"].wall_s, limits["simulator"].attempt_wall_s) == (10.0, 20.0)
    assert (limits["optimum"].wall_s, limits["optimum"].memory_mb) == (30.0, 1024)


@pytest.mark.parametrize("limits", [{}, {"limits": {"files": 100}}])
def test_a_verifiers_default_over_the_maximum_is_told_as_a_default(limits: dict[str, Any]) -> None:
    """Nobody is told of a figure as if the task had given it."""
    task = _REGISTRY.parse_task({**_example("optimum"), **limits})

    with pytest.raises(InvalidRequest, match=r"limits\.wall_s: 30, the default, is more .* 20"):
        check_maxima(task, Settings(max_wall_s=20), path="limits")


@pytest.mark.parametrize("limit", [{"max_limit_hits": 2}, {"stop_on_fail": True}, {"stop_on_fail": False}])
@pytest.mark.parametrize("name", [name for name in _running() if name not in ("calls", "python", "stdio")])
def test_limits_of_tests_are_refused_where_there_are_none(name: str, limit: dict[str, Any]) -> None:
    """A limit that nothing would apply is refused by its name."""
    (field,) = limit

    with pytest.raises(InvalidRequest, match="there are no tests") as caught:
        _REGISTRY.parse_task({**_example(name), "limits": limit})

    assert caught.value.path == f"task.limits.{field}"


@pytest.mark.parametrize(
    "document",
    [
        _example("python"),
        {**_example("chain"), "answer": _TESTED},
        {**_example("composite"), "terms": [{"name": "right", **_TESTED_PART}]},
    ],
)
def test_limits_of_tests_are_taken_where_there_are_tests(document: dict[str, Any]) -> None:
    """`python` counts the tests that limits cut, alone or within another."""
    limits = {"max_limit_hits": 2, "stop_on_fail": True}

    assert _REGISTRY.parse_task({**document, "limits": limits}).limits == Limits.model_validate(limits)


def test_a_whole_lays_its_limits_over_those_of_its_parts() -> None:
    """A limit that neither chain nor composite gives is that of the verifier within."""
    given = {"limits": {"memory_mb": 600}}

    chain = _REGISTRY.parse_task({**_example("chain"), **given})
    composite = _REGISTRY.parse_task({**_example("composite"), **given})

    assert isinstance(chain, ChainTask)
    assert isinstance(composite, CompositeTask)
    inner = (chain.answer_task.limits, composite.parts[0].first_task.limits)
    assert [(one.memory_mb, one.wall_s, one.attempt_wall_s) for one in inner] == [(600, 3.0, 6.0)] * 2


_KERNEL_PART = {"name": "fast", "verifier": "kernel", "task": {"kernel": "gemm/float32"}}


def test_a_part_is_given_the_limits_that_it_keeps() -> None:
    """A kernel has no output to bound; the program beside it has."""
    parts = [_KERNEL_PART, {"name": "right", **_TESTED_PART}]
    document = {"id": "t", "verifier": "composite", "terms": parts, "limits": {"wall_s": 2, "memory_mb": 600}}

    composite = _REGISTRY.parse_task(document)

    assert isinstance(composite, CompositeTask)
    kernel, program = (part.first_task.limits for part in composite.parts)
    assert (kernel.wall_s, kernel.memory_mb, kernel.model_fields_set) == (10.0, 600, {"memory_mb"})
    assert (program.wall_s, program.memory_mb) == (2.0, 600)


def test_a_limit_that_no_part_keeps_is_refused() -> None:
    """By its name, as the part alone would refuse it."""
    document = {"id": "t", "verifier": "composite", "terms": [_KERNEL_PART], "limits": {"wall_s": 2}}

    with pytest.raises(InvalidRequest, match="no part keeps it") as caught:
        _REGISTRY.parse_task(document)

    assert caught.value.path == "task.limits.wall_s"


_RULE_PART = {"verifier": "exact_match", "task": {"answers": ["1"]}}


@pytest.mark.parametrize("kinds", [("python",), ("python", "python"), ("python", "rule", "python", "python")])
def test_the_parts_of_a_composite_that_run_share_its_wall_time(kinds: tuple[str, ...]) -> None:
    """So all of them together end within it, and what one uses is not taken from another."""
    parts = {"python": _TESTED_PART, "rule": _RULE_PART}
    terms = [{"name": f"p{number}", **parts[kind]} for number, kind in enumerate(kinds)]
    task = _REGISTRY.parse_task({**_example("composite"), "terms": terms, "limits": {"attempt_wall_s": 30}})

    assert isinstance(task, CompositeTask)
    limits = [part.first_task.limits for part in task.parts if part.first_task.runs_something()]
    assert [one.attempt_wall_s for one in limits] == [30 / kinds.count("python")] * kinds.count("python")


def test_parts_keep_their_verifiers_wall_time_where_the_whole_gives_none() -> None:
    """A default of the whole is nobody's wish."""
    terms = [{"name": name, **_TESTED_PART} for name in ("one", "two")]
    task = _REGISTRY.parse_task({**_example("composite"), "terms": terms, "limits": {"memory_mb": 600}})

    assert isinstance(task, CompositeTask)
    assert [part.first_task.limits.attempt_wall_s for part in task.parts] == [60.0, 60.0]


def test_a_share_that_a_part_cannot_be_judged_in_is_refused() -> None:
    """What its verifier would refuse alone is refused within a whole too, where the limit is written."""
    kernel = {key: value for key, value in _example("kernel").items() if key not in ("id", "verifier", "limits")}
    terms = [{"name": "speed", "verifier": "kernel", "task": kernel}, {"name": "tests", **_TESTED_PART}]

    with pytest.raises(InvalidRequest, match=r"part 'speed' has 0\.5 s of it") as caught:
        _REGISTRY.parse_task({**_example("composite"), "terms": terms, "limits": {"attempt_wall_s": 1}})

    assert caught.value.path == "task.limits.attempt_wall_s"


class _Broken(FakeSlot):
    def start(self, launch: Launch) -> FakeChild:
        """Note what is launched, and fail."""
        self.launches.append(launch)
        raise SandboxFault("broken")


@pytest.mark.parametrize(
    ("name", "given", "parts"),
    [
        ("optimum", {}, 1),
        ("optimum", {"answer": "program"}, 2),
        ("program", {}, 2),
        ("simulator", {}, 2),
        ("environment", {}, 3),
        ("sql", {}, 3),
    ],
)
def test_each_part_of_an_attempt_has_its_share_of_the_wall_time(name: str, given: dict[str, Any], parts: int) -> None:
    """So all parts together end within `attempt_wall_s`, also where one of them hangs."""
    slot = _Broken()
    task = _REGISTRY.parse_task({**_example(name), **given, "limits": {"wall_s": 10, "attempt_wall_s": 3}})

    with pytest.raises(SandboxFault):
        default_registry().get(name).judge(task, WORKED[name], slot)

    assert [launch.limits.wall_s for launch in slot.launches] == [3 / parts]


def test_parts_of_an_attempt_share_its_wall_time() -> None:
    """Each part has its own time, and no more than its share of the attempt's."""
    assert share_of(Limits(wall_s=10, attempt_wall_s=60), 2).wall_s == 10
    assert share_of(Limits(wall_s=10, attempt_wall_s=6), 2).wall_s == 3
