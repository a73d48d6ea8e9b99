"""What adapters make of a row: the task that its trainer's own reward function would judge it by."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import pytest
from scripted_service import result

from assay.clients.adapters import dataset_map, open_r1, trl, verl
from assay.clients.client import Client
from assay.schema import Result

TESTS = {"inputs": ["1\n"], "outputs": ["2\n"]}
OWN = {"id": "mine", "tests": ["f(1) == 1"]}


class Noting:
    """Stands for a client: notes tasks, and pays 1."""

    def __init__(self) -> None:
        self.tasks: list[dict[str, Any]] = []

    def run(self, tasks: Sequence[Mapping[str, Any]], attempts: Sequence[Mapping[str, Any]]) -> list[Result]:
        self.tasks += map(dict, tasks)
        return [result(number + 1) for number, _ in enumerate(attempts)]


@pytest.fixture
def noting(monkeypatch: pytest.MonkeyPatch) -> Noting:
    """The service of verl's file."""
    service = Noting()
    monkeypatch.setattr(verl, "shared_client", lambda _: service)
    monkeypatch.setattr(dataset_map, "shared_client", lambda _: service)
    return service


@pytest.mark.parametrize(
    ("source", "truth", "expected"),
    [
        ("openai/gsm8k", "72", {"verifier": "exact_match", "answers": ["72"], "profile": "verl-gsm8k/hardened"}),
        ("math_dapo", "34", {"answers": ["34"], "profile": "verl-math-dapo/hardened"}),
        ("aime24", np.int64(34), {"answers": ["34"], "profile": "verl-math-dapo/hardened"}),
        ("searchR1_nq", {"target": np.array(["a", "b"])}, {"answers": ["a", "b"], "profile": "search-r1/hardened"}),
        ("lighteval/MATH", "34", {"verifier": "math", "answer": "34"}),
        ("openai/gsm8k", TESTS, {"cases": [{"stdin": "1\n", "stdout": "2\n"}]}),
        ("openai/gsm8k", OWN, OWN),
        ("math_dapo", '{"id": "mine", "tests": ["f(1) == 1"]}', OWN),
        (
            "codecontests",
            {key: np.array(value) for key, value in TESTS.items()},
            {"cases": [{"stdin": "1\n", "stdout": "2\n"}]},
        ),
    ],
)
def test_verl_judges_as_its_own_function_for_the_source_would(
    noting: Noting, source: str, truth: object, expected: Mapping[str, Any]
) -> None:
    """One solution and a whole batch alike; a task or tests of a row's own go before the source."""
    verl.compute_score(source, "x", truth, None, assay_url="http://x")
    verl.compute_scores([source], ["x"], [truth], [None], assay_url="http://x")

    one, batched = noting.tasks
    assert one == batched
    assert {name: one[name] for name in expected} == expected


def test_tasks_of_two_sources_are_two(noting: Noting) -> None:
    """The same truth is read in two ways."""
    verl.compute_scores(["openai/gsm8k", "math_dapo"], ["x", "x"], ["72", "72"], [None, None], assay_url="http://x")

    assert len({task["id"] for task in noting.tasks}) == 2


def test_a_task_without_an_id_is_named_by_its_content() -> None:
    """As a function for TRL may well make it."""
    service = Noting()
    reward = trl.reward_function(cast(Client, service), lambda row: {"tests": [f"f(1) == {row['n']}"]})

    assert reward(["p"] * 3, ["x"] * 3, n=[1, 2, 1]) == [1.0] * 3
    assert len({task["id"] for task in service.tasks}) == len(service.tasks) == 2


def test_open_r1_looks_for_answers_wherever_open_r1_does() -> None:
    """Its answers need no box; a task of a row's own stays as it is."""
    service = Noting()
    accuracy = open_r1.reward_functions(cast(Client, service))["accuracy"]
    own = {"id": "own", "verifier": "math", "answer": "4", "profile": "math/hardened"}

    accuracy(prompts=["p"] * 3, completions=["x"] * 3, solution=["$4$", own, OWN])

    plain, *others = service.tasks
    assert (plain["answer"], plain["profile"]) == ("$4$", "open-r1/paper")
    assert others == [own, OWN]


@pytest.mark.parametrize("task", ["4", {"verifier": "math", "answer": "4"}, 4])
def test_a_row_where_a_batch_belongs_is_refused(noting: Noting, task: object) -> None:
    """`map` without `batched` gives values, not columns; nothing is judged."""
    with pytest.raises(TypeError, match="batched=True"):
        dataset_map.RewardColumn("http://x")({"task": cast(Any, task), "completion": "text"})
    assert noting.tasks == []
