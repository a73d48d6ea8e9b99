"""`options.profile` through HTTP: for tasks that name none, in bodies, queries and the store."""

from typing import Any

import httpx
import pytest
from batches import Document, echo_task, follow, submit

PROFILE = "videochat-r1/code"
RULE = {"verifier": "classification", "label": "cat"}
FULL_STOP = "<think>t</think><answer>cat.</answer>"  # right by default, wrong under the profile


def attempts(*task_ids: str) -> list[Document]:
    """One attempt for each task."""
    return [{"task_id": task_id, "completion": FULL_STOP} for task_id in task_ids]


def test_a_batch_is_judged_under_its_profile(http: httpx.Client) -> None:
    """Tasks that name a preset keep it, and every result names the content that it was judged by."""
    tasks = [{"id": "p1", **RULE}, {"id": "p2", **RULE, "profile": "visual-rft/hardened"}]
    body: dict[str, Any] = {"tasks": tasks, "attempts": attempts("p1", "p2"), "options": {"profile": PROFILE}}

    first, second = follow(http, submit(http, body), order="input")
    (named,) = http.post("/v1/score", json={"task": {**tasks[0], "profile": PROFILE}, "completion": FULL_STOP}).json()[
        "results"
    ]

    assert (first["terms"]["accuracy"], second["terms"]["accuracy"]) == (0.0, 1.0)
    assert first["versions"]["task"] == named["versions"]["task"]


def test_a_query_names_it_for_lines_and_scores(http: httpx.Client) -> None:
    """Where options are query parameters, so is this one."""
    body = {"task": {"id": "p3", **RULE}, "completion": FULL_STOP}

    plain = http.post("/v1/score", json=body).json()["results"][0]
    preset = http.post("/v1/score", params={"profile": PROFILE}, json=body).json()["results"][0]

    assert (plain["terms"]["accuracy"], preset["terms"]["accuracy"]) == (1.0, 0.0)


def test_stored_tasks_get_it_too(http: httpx.Client) -> None:
    """The batch pins the content with the preset; the next one without it is judged as before."""
    stored = http.put("/v1/tasks/p4", json=RULE).json()

    (preset,) = follow(http, submit(http, {"attempts": attempts("p4"), "options": {"profile": PROFILE}}))
    (plain,) = follow(http, submit(http, {"attempts": attempts("p4")}))

    assert (preset["terms"]["accuracy"], plain["terms"]["accuracy"]) == (0.0, 1.0)
    assert plain["versions"]["task"] == stored["content"] != preset["versions"]["task"]


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_verifier_that_lacks_it_is_refused(http: httpx.Client, is_stored: bool) -> None:
    """The problem names verifier and path, and nothing is queued."""
    task = echo_task("p5")
    if is_stored:
        assert http.put("/v1/tasks/p5", json=task).status_code == 200
    body = {"tasks": [] if is_stored else [task], "attempts": attempts("p5"), "options": {"profile": PROFILE}}

    answer = http.post("/v1/batches", json=body)

    assert answer.status_code == 422
    assert answer.json()["path"] == "options.profile"
    assert ("attempts[0].task_id" if is_stored else "tasks[0]") in answer.json()["detail"]
    assert "'echo' has no profile" in answer.json()["detail"]
