"""A task may ask for no more than the operator allows, by whatever way it comes."""

import json
from collections.abc import Callable

import pytest

from assay.cli.inputs import Batch
from assay.cli.local import build_jobs
from assay.errors import InvalidRequest
from assay.maxima import BOUNDED, check_maxima, with_lowered_defaults
from assay.schema import Limits, TaskBase
from assay.service.admission import read_batch
from assay.service.bodies import Kind
from assay.service.draft import Draft
from assay.service.fakes import fake_registry
from assay.settings import Settings
from assay.verifiers.builtin import default_registry

_HARMLESS = {"max_limit_hits", "stop_on_fail"}
"""Limits that only ever shorten what `attempt_wall_s` allows."""


def over_http(task: dict[str, object]) -> None:
    """Admit a batch as the service does."""
    body = json.dumps({"tasks": [task], "attempts": [{"task_id": "t", "completion": ""}]}).encode()
    read_batch(body, Kind.JSON, {}, Draft(fake_registry(), Settings()), lambda _ids: {})


def stored(task: dict[str, object]) -> None:
    """Type one task as `PUT /v1/tasks/{id}` does."""
    Draft(fake_registry(), Settings()).add_task(task, "tasks[0]", 1)


def locally(task: dict[str, object]) -> None:
    """Type a batch as `assay score` does."""
    build_jobs(fake_registry(), Batch((task,), ({"task_id": "t", "completion": ""},)), Settings())


def test_every_limit_has_a_maximum_or_can_do_no_harm() -> None:
    """A new limit needs a setting, or a word in this file."""
    assert set(BOUNDED) | _HARMLESS == set(Limits.model_fields)
    assert {f"max_{name}" for name in BOUNDED} <= Settings.model_fields.keys()


def test_defaults_are_within_the_maxima() -> None:
    """A task that says nothing is accepted by a server that is told nothing."""
    check_maxima(TaskBase(id="t"), Settings(), path="limits")


@pytest.mark.parametrize("way", [over_http, stored, locally])
@pytest.mark.parametrize("name", BOUNDED)
def test_more_than_the_maximum_is_refused(name: str, way: Callable[[dict[str, object]], None]) -> None:
    """The refusal is a 422 that names the field, the maximum and the setting; the maximum itself is accepted."""
    most = getattr(Settings(), f"max_{name}")
    task = {"id": "t", "verifier": "echo", "tests": ["a"], "limits": {name: most}}
    way(task)

    with pytest.raises(InvalidRequest) as caught:
        way({**task, "limits": {name: most + 1}})

    assert caught.value.status == 422
    assert caught.value.path == f"tasks[0].limits.{name}"
    assert f"{most:g}" in caught.value.detail or str(most) in caught.value.detail
    assert f"ASSAY_MAX_{name.upper()}" in caught.value.fix


@pytest.mark.parametrize("way", [over_http, stored, locally])
@pytest.mark.parametrize("name", BOUNDED)
def test_more_than_any_server_allows_names_what_this_one_does(
    name: str, way: Callable[[dict[str, object]], None]
) -> None:
    """So that whoever mends the task is not refused again."""
    most = getattr(Settings(), f"max_{name}")

    with pytest.raises(InvalidRequest) as caught:
        way({"id": "t", "verifier": "echo", "tests": ["a"], "limits": {name: 10_000_000_000}})

    assert caught.value.path == f"tasks[0].limits.{name}"
    assert f"{most:g}" in caught.value.detail or str(most) in caught.value.detail


def test_a_task_that_runs_nothing_has_no_limits() -> None:
    """Low maxima keep nobody from a rule: it could not ask for less."""
    task = default_registry().parse_task({"id": "t", "verifier": "classification", "label": "cat"})

    check_maxima(task, Settings(max_wall_s=1, max_memory_mb=16), path="limits")


def test_a_default_over_the_maximum_says_so() -> None:
    """Whoever set no limit is told where the figure comes from."""
    with pytest.raises(InvalidRequest, match=r"limits\.memory_mb: 512, the default, is more .* 256"):
        check_maxima(TaskBase(id="t"), Settings(max_memory_mb=256), path="limits")


@pytest.mark.parametrize(
    ("document", "settings", "limits"),
    [
        ({"answer": "1"}, {"max_wall_s": 5}, None),
        ({"answer": "1"}, {"max_wall_s": 2}, {"wall_s": 2}),
        ({"answer": "1", "limits": {"cpu_s": 9}}, {"max_wall_s": 2, "max_cpu_s": 2},
         {"cpu_s": 9, "wall_s": 2}),
    ],
    ids=["its default is lower", "its default is higher", "given"],
)  # fmt: skip
def test_defaults_are_lowered_and_what_is_given_is_kept(
    document: dict[str, object], settings: dict[str, float], limits: dict[str, float] | None
) -> None:
    """The defaults are those of the task's verifier, which may be less than those of others."""
    whole = {"id": "t", "verifier": "math", **document}
    task = default_registry().parse_task(whole)

    lowered = with_lowered_defaults(whole, task, Settings(**settings))  # type: ignore[arg-type]  # names of numbers

    assert lowered.get("limits") == limits
