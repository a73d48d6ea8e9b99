"""`options.profile`: the preset of tasks that name none, in every kind of body, for stored tasks too."""

import json
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

import pytest

from assay.cli.commands import run
from assay.cli.local import TaskReader
from assay.errors import InvalidRequest
from assay.service.admission import read_batch
from assay.service.bodies import Kind
from assay.service.chunks import TaskRef, decompress
from assay.service.draft import Draft, NewBatch, draft_task
from assay.service.fakes import fake_registry
from assay.settings import Settings

REGISTRY = fake_registry()
PROFILE = "videochat-r1/code"
RULE = {"id": "r", "verifier": "classification", "label": "cat"}
ECHO = {"id": "e", "verifier": "echo", "tests": ["a"]}
WITH = REGISTRY.parse_task({**RULE, "profile": PROFILE}).content_hash()


class Store:
    """Stored tasks, as the service keeps them."""

    def __init__(self, *documents: Mapping[str, Any]) -> None:
        self._drafted = {document["id"]: draft_task(REGISTRY, document, "") for document in documents}

    def resolve(self, ids: Set[str]) -> Mapping[str, TaskRef]:
        """Return references by id."""
        return {one: self._drafted[one].ref for one in ids if one in self._drafted}

    def documents(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """Return documents by key."""
        known = {drafted.ref.key: decompress(drafted.packed) for drafted in self._drafted.values()}
        return {key: known[key] for key in names}


def read(body: Mapping[str, Any], store: Store | None = None, **query: str) -> NewBatch:
    """Read a JSON body."""
    return read_batch(json.dumps(body).encode(), Kind.JSON, query, Draft(REGISTRY, Settings()), store or Store())


def attempt(task_id: str) -> dict[str, str]:
    """An attempt at a task."""
    return {"task_id": task_id, "completion": ""}


@pytest.mark.parametrize("order", [("options", "tasks", "attempts"), ("tasks", "attempts", "options")])
def test_it_holds_wherever_the_options_stand(order: tuple[str, ...]) -> None:
    """A task without a preset is pinned as if it had named this one."""
    parts = {"options": {"profile": PROFILE}, "tasks": [RULE], "attempts": [attempt("r")]}

    batch = read({name: parts[name] for name in order})

    assert batch.entries[0].task.content == WITH
    assert json.loads(decompress(batch.documents[batch.entries[0].task.key]))["profile"] == PROFILE


def test_it_may_be_a_query_parameter() -> None:
    """Where options are query parameters, this is one."""
    body = json.dumps({"task": RULE, "completion": ""}).encode()

    lines = read_batch(body, Kind.NDJSON, {"profile": PROFILE}, Draft(REGISTRY, Settings()), Store())
    pair = read({"task": RULE, "completion": ""}, profile=PROFILE)

    assert lines.entries[0].task.content == pair.entries[0].task.content == WITH


def test_a_tasks_own_preset_goes_before() -> None:
    """Only tasks that name none get it."""
    own = {**RULE, "profile": "visual-rft/hardened"}

    batch = read({"tasks": [own], "attempts": [attempt("r")], "options": {"profile": PROFILE}})

    assert batch.entries[0].task.content == REGISTRY.parse_task(own).content_hash() != WITH


def test_stored_tasks_get_it_for_this_batch() -> None:
    """The batch brings the changed task itself; what is stored stays as it is."""
    store = Store(RULE)

    batch = read({"attempts": [attempt("r")], "options": {"profile": PROFILE}}, store)

    assert batch.entries[0].task.content == WITH
    assert batch.documents[batch.entries[0].task.key]
    assert store.resolve({"r"})["r"].content != WITH


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"tasks": [RULE, ECHO], "attempts": [attempt("r")]}, "tasks[1]"),
        ({"attempts": [attempt("r"), attempt("e")]}, "attempts[1].task_id"),
        ({"task": ECHO, "completion": ""}, "task"),
    ],
)
def test_a_verifier_that_lacks_it_is_refused_by_name(body: dict[str, Any], place: str) -> None:
    """The refusal lies at the option, and names the verifier and where its task stands."""
    store = Store(RULE, ECHO)

    with pytest.raises(InvalidRequest, match="'echo' has no profile 'videochat-r1/code'") as caught:
        read({**body, "options": {"profile": PROFILE}}, store)

    assert caught.value.path == "options.profile"
    assert f"the task at {place} names none" in caught.value.detail


def test_a_stored_composite_that_lacks_the_parameters_says_so() -> None:
    """They are given where a task names its profile, so that it has to be stored with both."""
    store = Store({"id": "c", "verifier": "composite", "group_terms": [{"kind": "majority", "name": "vote"}]})

    with pytest.raises(InvalidRequest, match="needs 'answer'") as caught:
        read({"attempts": [attempt("c")], "options": {"profile": "open-rs/paper"}}, store)

    assert caught.value.path == "attempts[0].task_id"
    assert "store it with this profile and its parameters" in caught.value.fix


def test_a_preset_that_nobody_has_is_refused_with_those_there_are() -> None:
    """A wrong name gets the right ones in return."""
    with pytest.raises(InvalidRequest, match="use one of visual-rft/hardened"):
        read({"tasks": [RULE], "attempts": [attempt("r")], "options": {"profile": "visual-rft"}})


def test_files_scored_here_get_it_too() -> None:
    """`assay score --profile` types tasks as the service does."""
    reader = TaskReader(REGISTRY, Settings(), PROFILE)

    assert reader.read(RULE, "tasks.jsonl[0]").content_hash() == WITH
    with pytest.raises(InvalidRequest, match=r"^--profile: .*tasks\.jsonl\[0\]"):
        reader.read(ECHO, "tasks.jsonl[0]")


def test_the_command_line_passes_it_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`assay score --profile` judges tasks that name no preset under this one."""
    tasks, attempts = tmp_path / "tasks.json", tmp_path / "attempts.json"
    tasks.write_text(json.dumps(RULE), encoding="ascii")
    attempts.write_text(json.dumps({"task_id": "r", "completion": "<answer>cat.</answer>"}), encoding="ascii")

    assert run(["score", str(tasks), str(attempts)]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert run(["score", str(tasks), str(attempts), "--profile", PROFILE]) == 0
    preset = json.loads(capsys.readouterr().out)

    assert (plain["reward"], preset["reward"]) == (1.0, 0.0)
    assert run(["score", str(tasks), str(attempts), "--profile", "nobody/paper"]) == 2


def test_options_of_a_query_are_texts_and_those_of_a_body_are_not() -> None:
    """A query knows nothing but texts; in JSON a text is no number, and a number neither true nor false."""
    body = {"tasks": [RULE], "attempts": [attempt("r")]}

    options = read(body, priority="3", cache="false", deadline_s="2.5").options

    assert (options.priority, options.cache, options.deadline_s) == (3, False, 2.5)
    for wrong in ({"priority": "3"}, {"priority": True}, {"cache": 0}, {"deadline_s": "2.5"}):
        with pytest.raises(InvalidRequest, match=f"^options.{next(iter(wrong))}: "):
            read({**body, "options": wrong})
    with pytest.raises(InvalidRequest, match=r"^options\.priority: .*valid integer"):
        read(body, priority="high")
