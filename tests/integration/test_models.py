"""A service whose tasks ask models: they hold up nobody, end when cancelled, and are judged anew each time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from batches import Document, follow, submit, wait_for
from isolation import skipped_without

from assay.sandboxes.backends import open_pool
from assay.service.serve import embedded
from assay.settings import Settings
from assay.verifiers.models.scripted_server import Rule, ScriptedServer

pytestmark = pytest.mark.jail

PLAN = 'model_id = [0, 1]\nsubtasks = ["Solve.", "Write it as a function."]\naccess_list = [[], [0]]'
PROGRAM = {"id": "add", "tests": ["assert add(1, 2) == 3"]}
LOOP = {"id": "loop", "tests": ["assert add(1, 2) == 3"], "limits": {"wall_s": 60, "cpu_s": 60}}
JUDGE = {"id": "house", "verifier": "judge", "kind": "rubric", "endpoint": "critic", "rubric": "100 for a house."}
RULES = [
    Rule(match="STALL", fault="stall"),
    Rule(match=r"END (\w+)", reply=r'{"nonce": "\1", "score": 80}'),
    Rule(model="coder-1", reply="```python\ndef add(a, b):\n    return a + b\n```"),
    Rule(reply="Add them."),
]


def chain(question: str = "Add two numbers.") -> Document:
    """A chain whose answer is a program."""
    answer = {"tests": ["assert add(1, 2) == 3"]}
    return {
        "id": "chain", "verifier": "chain", "question": question, "pool": ["small", "coder"], "answer": answer,
        "limits": {"attempt_wall_s": 300},
    }  # fmt: skip


def batch_of(task: Document, completion: str, count: int) -> Document:
    """A batch of equal attempts."""
    return {"tasks": [task], "attempts": [{"task_id": task["id"], "completion": completion}] * count}


@pytest.fixture(scope="module")
def models() -> Iterator[ScriptedServer]:
    """The server of all endpoints."""
    with ScriptedServer(RULES) as server:
        yield server


@pytest.fixture(scope="module")
def service(
    redis_binary: str,  # noqa: ARG001 - skips
    models: ScriptedServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[httpx.Client]:
    """A service with one worker of two slots (and one for scores)."""
    with skipped_without():
        open_pool(Settings(slots=1)).close()
    folder = tmp_path_factory.mktemp("models")
    settings = Settings(port=0, data_dir=folder / "data", slots=2, log_level="error", models=table(folder, models))
    with embedded(settings) as url, httpx.Client(base_url=url, timeout=60) as http:
        yield http


def table(folder: Path, models: ScriptedServer) -> Path:
    """A table of endpoints."""
    file = folder / "models.toml"
    names = ("small", "coder", "critic")
    tables = (
        f'[{name}]\nbase_url = "{models.base_url}"\nmodel = "{name}-1"\ntimeout_s = 300\nmax_concurrency = 200\n'
        for name in names
    )
    file.write_text("\n".join(tables))
    return file


def score(service: httpx.Client, task: Document, completion: str) -> Any:
    """The result of one pair."""
    answer = service.post("/v1/score", json={"task": task, "completion": completion})
    assert answer.status_code == 200, answer.text
    return answer.json()["results"][0]


def stalled(models: ScriptedServer) -> int:
    """How many questions wait for an answer that never comes."""
    return sum("STALL" in request.user for request in models.requests)


def test_a_chain_whose_answer_is_a_program(service: httpx.Client) -> None:
    """Models are asked first, then their program runs in a jail."""
    result = score(service, chain(), PLAN)

    assert (result["outcome"], result["reward"], result["flags"]) == ("passed", 1.0, ["models"])
    assert result["sandbox"]
    assert [step["name"] for step in result["steps"]] == ["0.small", "1.coder"]


def test_equal_work_of_models_is_done_again(service: httpx.Client, models: ScriptedServer) -> None:
    """Models are sampled: no verdict of theirs comes from the cache."""
    before = len(models.requests)

    lines = follow(service, submit(service, batch_of(JUDGE, "A house.", 5)))

    assert [line["cached"] for line in lines] == [False] * 5
    assert {tuple(line["flags"]) for line in lines} == {("judge",)}
    assert len(models.requests) - before == 5


def test_stalled_models_block_nobody_and_end_with_their_batch(service: httpx.Client, models: ScriptedServer) -> None:
    """A hundred chains wait for models; programs of the same worker and priority run; cancelling ends all at once."""
    waiting = submit(service, batch_of(chain("STALL"), PLAN, 100))
    wait_for(lambda: stalled(models) == 64)

    done = follow(service, submit(service, batch_of(PROGRAM, "def add(a, b):\n    return a + b", 20)))
    judged = score(service, JUDGE, "A house.")
    service.delete(f"/v1/batches/{waiting}").raise_for_status()

    assert {line["outcome"] for line in done} == {"passed"}
    assert judged["outcome"] == "passed"
    wait_for(lambda: models.connections < 10)  # those that are kept for later
    assert stalled(models) == 64
    assert {line["outcome"] for line in follow(service, waiting)} == {"cancelled"}


def test_a_chain_waits_for_a_slot_like_any_other(service: httpx.Client) -> None:
    """While a batch of loops holds its slots, a chain of a score gets one of the reserved."""
    loops = submit(service, batch_of(LOOP, "def add(a, b):\n    while True: pass", 8))
    wait_for(lambda: service.get(f"/v1/batches/{loops}").json()["state"] == "running")

    result = score(service, chain(), PLAN)

    assert result["outcome"] == "passed"
    service.delete(f"/v1/batches/{loops}").raise_for_status()
