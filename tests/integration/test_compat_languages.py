"""Drop-in endpoints list the languages that workers have, and refuse others at once, each as its peer would."""

import httpx

from assay.service.fakes import FAKE_LANGUAGES

_SUBMISSION = {"source_code": "", "language_id": 73}


def test_piston_lists_and_runs_what_workers_have(http: httpx.Client) -> None:
    """Rust is known, and no worker has it."""
    assert [one["language"] for one in http.get("/api/v2/runtimes").json()] == list(FAKE_LANGUAGES)
    refused = http.post("/api/v2/execute", json={"language": "rust", "files": [{"content": ""}]})
    assert (refused.status_code, refused.json()) == (400, {"message": "rust-* runtime is unknown"})


def test_judge0_lists_and_takes_what_workers_have(http: httpx.Client) -> None:
    """Also of submissions that nobody waits for, alone and in batches."""
    assert {one["name"] for one in http.get("/languages").json()} == set(FAKE_LANGUAGES)
    gone = {"language_id": ["language with id 73 doesn't exist"]}
    for wait in (True, False):
        refused = http.post("/submissions", params={"wait": wait}, json=_SUBMISSION)
        assert (refused.status_code, refused.json()) == (422, gone)
    batch = http.post("/submissions/batch", json={"submissions": [_SUBMISSION]})
    assert (batch.status_code, batch.json()) == (201, [gone])


def test_judge0_tells_what_it_is(http: httpx.Client) -> None:
    """Its limits are those that a submission is held to, in seconds and kilobytes."""
    told = http.get("/config_info").json()
    assert http.get("/about").json()["version"] == "1.13.1"
    assert (told["max_cpu_time_limit"], told["memory_limit"], told["enable_callbacks"]) == (1800.0, 512 * 1024, False)
    assert http.get("/languages/71").json() == {"id": 71, "name": "python"}
    assert [http.get(f"/languages/{number}").status_code for number in (73, 9999)] == [404, 404]


def test_piston_lists_what_workers_have_by_its_own_names(http: httpx.Client) -> None:
    listed = http.get("/api/v2/runtimes").json()
    assert {one["language"] for one in listed} == set(FAKE_LANGUAGES)
    assert all(set(one) == {"language", "version", "aliases"} for one in listed)


def test_sandbox_fusion_runs_what_workers_have(http: httpx.Client) -> None:
    """An error of the sandbox for a program, a refusal for common OJ data."""
    answer = http.post("/run_code", json={"language": "rust", "code": ""})
    assert (answer.status_code, answer.json()["status"]) == (200, "SandboxError")
    assert answer.json()["message"] == "unsupported language rust"
    config = {"language": "rust", "provided_data": {"test": [{"input": {"stdin": ""}, "output": {"stdout": ""}}]}}
    refused = http.post("/submit", json={"completion": "", "config": config})
    assert refused.status_code == 422
    assert refused.json()["fix"] == "one of python, bash"


def test_open_r1_runs_what_workers_have(http: httpx.Client) -> None:
    """It is told in the script's place."""
    (answer,) = http.post("/execute_batch", json={"scripts": [""], "languages": ["rust"]}).json()
    assert answer["exception_str"] == "unsupported language rust"


def test_graded_problems_are_judged_where_their_language_is(http: httpx.Client) -> None:
    """Nobody waits for a worker that has the program's compiler."""
    names = {"main.cpp": "int main() {}", "input.txt": "", "correct_output.txt": "", "grader_config": "TIME_LIMIT=2"}
    files = [{"name": name, "content": text} for name, text in names.items()]
    refused = http.post("/api/v2/execute", json={"language": "cf_c++17", "files": files})
    assert refused.status_code in (400, 422)
    assert "no running worker has cpp" in refused.json()["message"]
