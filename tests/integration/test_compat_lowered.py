"""Drop-in endpoints where an operator has lowered what is allowed: calls that ask for less are not refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from isolation import skipped_without
from program_clients import nemo_skills

from assay.service.serve import embedded
from assay.settings import Settings

_KEYS = ("one", "two")


@pytest.fixture(scope="module")
def lowered_url(redis_binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:  # noqa: ARG001 - skips
    """The address of a service with two keys and half of the usual time."""
    folder: Path = tmp_path_factory.mktemp("lowered")
    limits: dict[str, Any] = {"max_wall_s": 20, "max_attempt_wall_s": 30, "max_output_bytes": 1_000_000}
    settings = Settings(port=0, data_dir=folder, slots=2, log_level="error", api_keys=_KEYS, **limits)  # type: ignore[arg-type]  # text is how operators write them
    with skipped_without(), embedded(settings) as url:
        yield url


@pytest.fixture(scope="module")
def least_url(redis_binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:  # noqa: ARG001 - skips
    """The address of a service that allows less than what peers and tasks have by default."""
    folder: Path = tmp_path_factory.mktemp("least")
    limits: dict[str, Any] = {"max_wall_s": 2.5, "max_cpu_s": 2.5, "max_memory_mb": 300, "max_attempt_wall_s": 30}
    settings = Settings(port=0, data_dir=folder, slots=2, log_level="error", **limits)
    with skipped_without(), embedded(settings) as url:
        yield url


def _client(url: str, key: str) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=120, headers={"X-Auth-Token": key})


def test_a_second_cell_may_ask_for_the_longest_time(lowered_url: str) -> None:
    with _client(lowered_url, "one") as call:
        told = [nemo_skills(call, code, "long", timeout=20.0)["stdout"] for code in ("x = 1", "x")]
    assert told == ["", "1\n"]


def test_sessions_of_different_keys_do_not_meet(lowered_url: str) -> None:
    """Of one name, and keys sent as Judge0's clients do: neither reads or ends the other's."""
    with _client(lowered_url, "one") as first, _client(lowered_url, "two") as second:
        nemo_skills(first, "secret = 1", "s")
        assert second.delete("/sessions/s").status_code == 404
        assert nemo_skills(second, "secret", "s")["process_status"] == "error"
        assert nemo_skills(first, "secret", "s")["stdout"] == "1\n"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/run_code", {"code": "print(1)", "language": "python"}),
        ("/api/v2/execute", {"language": "python", "version": "*", "files": [{"content": "print(1)"}]}),
        (
            "/api/v2/execute",
            {
                "language": "cf_python3",
                "version": "*",
                "files": [
                    {"name": "main.py", "content": "print(1)"},
                    {"name": "input.txt", "content": ""},
                    {"name": "correct_output.txt", "content": "1\n"},
                    {"name": "grader_config", "content": "TIME_LIMIT=2\nMEMORY_LIMIT=256"},
                ],
            },
        ),
        ("/test_program", {"program": "x = 1", "tests": ["assert x == 1"] * 50}),
    ],
    ids=["run_code", "piston", "graded", "open-instruct"],
)
def test_a_call_that_asks_for_little_is_answered(lowered_url: str, path: str, body: dict[str, Any]) -> None:
    with _client(lowered_url, "one") as call:
        answer = call.post(path, json=body)
    assert answer.status_code == 200
    assert "1" in answer.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/run_code", {"code": "print(1)", "language": "python"}),
        ("/api/v2/execute", {"language": "python", "version": "*", "files": [{"content": "print(1)"}]}),
        ("/execute", {"generated_code": "1", "language": "ipython"}),
        ("/execute", {"generated_code": "print(1)", "language": "python3"}),
        ("/execute_batch", {"scripts": ["print(1)"], "languages": ["python"]}),
        ("/test_program", {"program": "x = 1", "tests": ["assert x == 1"]}),
        ("/submissions?wait=true", {"source_code": "print(1)", "language_id": 71}),
        ("/submissions?wait=true", {"source_code": "print(1)", "language_id": 71, "cpu_time_limit": 2}),
    ],
    ids=["run_code", "piston", "cell", "program", "open-r1", "open-instruct", "judge0", "judge0 by cpu time"],
)
def test_what_a_caller_did_not_send_is_no_reason_to_refuse_it(least_url: str, path: str, body: dict[str, Any]) -> None:
    """Defaults are lowered to what is allowed."""
    with _client(least_url, "none") as call:
        answer = call.post(path, json=body)
    assert answer.status_code in (200, 201), answer.text
    assert "is more than this server allows" not in answer.text


_TESTS = {"tests": ["assert f() == 1"]}


def _rewarding(label: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return one sample, with the label for what is right, as each reward endpoint is asked about it."""
    code = "```python\ndef f(): return 1\n```"
    message = {"type": "message", "role": "assistant", "content": code}
    return [
        ("/openrlhf/get_reward", {"query": [code], "labels": [label]}),
        ("/remote_rm", {"response": code, "label": label}),
        ("/verify", {"response": {"output": [message]}, "verifier_metadata": {"task": label}}),
    ]


@pytest.mark.parametrize("place", range(3), ids=["openrlhf", "slime", "nemo-gym"])
@pytest.mark.parametrize(
    "label",
    [
        _TESTS,
        {**_TESTS, "limits": {"wall_s": 2}},
        {"inputs": [""], "outputs": ["1"]},
        {"verifier": "stdio", "language": "python", "cases": [{"stdin": "", "stdout": "1"}]},
    ],
    ids=["tests", "some limits", "a data set's", "stdio"],
)
def test_limits_that_a_label_does_not_give_are_lowered(least_url: str, place: int, label: Any) -> None:
    """Labels of data sets have no place for limits."""
    path, body = _rewarding(label)[place]
    with _client(least_url, "none") as call:
        answer = call.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert isinstance(answer.json().get("rewards", [answer.json().get("reward")])[0], float)


@pytest.mark.parametrize("place", range(3), ids=["openrlhf", "slime", "nemo-gym"])
@pytest.mark.parametrize("wall_s", [10, 0, -1, "ten", True, None, 1e300], ids=str)
def test_limits_that_a_label_gives_and_must_not_are_refused(least_url: str, place: int, wall_s: Any) -> None:
    """By their path within the call, at each endpoint: over what is allowed, or no seconds at all."""
    path, body = _rewarding({**_TESTS, "limits": {"wall_s": wall_s}})[place]
    with _client(least_url, "none") as call:
        answer = call.post(path, json=body)
    assert answer.status_code == 422
    assert answer.json()["path"].endswith("limits.wall_s"), answer.text


@pytest.mark.parametrize(
    ("path", "body", "name"),
    [
        ("/execute_batch", {"scripts": ["print(1)"], "languages": ["python"]}, "timeout"),
        ("/test_program", {"program": "x = 1", "tests": ["assert x == 1"]}, "max_execution_time"),
        ("/test_program_stdio", {"program": "print(1)", "tests": [{"input": "", "output": "1"}]}, "max_execution_time"),
        ("/execute", {"generated_code": "1", "language": "ipython"}, "timeout"),
    ],
    ids=["open-r1", "open-instruct", "open-instruct stdio", "nemo-skills"],
)
@pytest.mark.parametrize("value", [10, 0, -1, "ten", None, 1e300], ids=str)
def test_times_that_a_caller_must_not_ask_for_are_refused(
    least_url: str, path: str, body: dict[str, Any], name: str, value: Any
) -> None:
    """Nobody gets less than asked for without a word. Piston and NeMo-Skills share `/execute`, and its 400."""
    with _client(least_url, "none") as call:
        answer = call.post(path, json={**body, name: value})
    assert answer.status_code == (400 if path == "/execute" else 422), answer.text


def test_what_a_caller_asks_for_is_refused_where_it_is_not_allowed(least_url: str) -> None:
    """By its name: it must not get less without a word."""
    with _client(least_url, "none") as call:
        answer = call.post("/run_code", json={"code": "print(1)", "language": "python", "run_timeout": 10.0})
    assert answer.status_code == 422 or "more than this server allows" in answer.text
    assert "print(1)" not in answer.text
