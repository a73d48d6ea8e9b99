"""Clients of Piston, Judge0, open-r1's router, open-instruct and NeMo-Skills, reduced to what they send and read.

Written from what they are known to do (huggingface/open-r1, allenai/open-instruct, NVIDIA/NeMo-Skills, judge0/judge0,
engineer-man/piston), not from their code.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
from waiting import wait_for


class PistonError(Exception):
    """What open-r1's client raises, and tries again."""


def open_r1_piston(call: httpx.Client, base: str, data: Mapping[str, Any], language: str) -> Any:
    """Send a problem to an endpoint of PISTON_ENDPOINTS; None once all six tries have failed."""
    for _ in range(6):
        answer = call.post(f"{base}/execute", json={**data, "language": language, "version": "*"})
        document = answer.json()
        overloaded = "Resource temporarily unavailable" in (document.get("run") or {}).get("stderr", "")
        if answer.status_code == 200 and not overloaded:
            return document
    return None


def codeforces_reward(
    call: httpx.Client, base: str, problem: Mapping[str, Any], submission: str, language: str
) -> float:
    """Return the share of tests that pass; -0.1 for what does not compile. `language` is python or cpp."""
    passed = 0
    for test in problem["tests"]:
        config = {
            "TIME_LIMIT": problem["time_limit"], "MEMORY_LIMIT": problem["memory_limit"],
            "INPUT_MODE": problem.get("input_mode", "stdio"),
        }  # fmt: skip
        checker = problem.get("checker")
        files = {
            f"main.{language}": submission,
            **({"checker.py": checker} if checker else {}),
            "input.txt": test["input"],
            "correct_output.txt": test["output"],
            "grader_config": "\n".join(f"{key}={value}" for key, value in config.items()),
        }
        data = {"files": _listed(files), "run_timeout": (problem["time_limit"] + 3) * 1000}
        result = open_r1_piston(call, base, data, "cf_python3" if language == "python" else "c++17")
        if result and result["compile"]["code"] != 0:
            return -0.1
        passed += bool(result and result["run"]["code"] == 0 and result["run"]["stdout"].strip() == "1")
    return passed / len(problem["tests"])


def ioi_test(call: httpx.Client, base: str, problem: Mapping[str, Any], submission: str) -> tuple[float, str]:
    """Return the points of one test, 0 to 1, and its status. Raises PistonError where there are none to read."""
    files = {
        f"graders/{problem['id']}.cpp": submission,
        "input.txt": problem["input"],
        **({"correct_output.txt": problem["output"]} if problem["output"] else {}),
        **problem["grader_files"],
    }
    data = {
        "files": _listed(files), "run_timeout": round((problem["time_limit"] + 3) * 1000),
        "run_memory_limit": problem["memory_limit"],
    }  # fmt: skip
    score, feedback = _ioi_points(open_r1_piston(call, base, data, "cms_ioi"))
    return float(score), _ioi_status(float(score), feedback)


def _ioi_points(answer: Any) -> tuple[str, str]:
    if "message" in answer:
        raise PistonError(answer["message"])
    if "compile" in answer and answer["compile"]["code"] != 0:
        return "0", f"Compilation error exit code {answer['compile']['code']}\n{answer['compile']['stderr']}"
    run = answer["run"]
    if run["code"] == 1 and "MemoryError" in run["stderr"]:
        return "0", "Memory limit exceeded"
    if run["stdout"]:
        return run["stdout"], run["stderr"]
    if run["signal"] == "SIGKILL":
        return "0", "Time limit exceeded"
    raise PistonError(answer)


def _ioi_status(score: float, feedback: str) -> str:
    if score == 1.0:
        return "AC"
    if score > 0.0:
        return "PA"
    words = {
        "Compilation error": "CE", "Memory limit exceeded": "MLE", "Time limit exceeded": "TLE",
        "Output isn't correct": "WA",
    }  # fmt: skip
    return next((status for word, status in words.items() if word in feedback), "RE")


def _listed(files: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "content": content} for name, content in files.items()]


def e2b_router_rewards(call: httpx.Client, scripts: Sequence[str]) -> list[float | None]:
    """Return the last value of each script as open-r1's router of E2B tells it; None where nothing was executed."""
    body = {"scripts": scripts, "languages": ["python"] * len(scripts), "timeout": 5, "request_timeout": 9}
    rewards: list[float | None] = []
    for one in call.post("/execute_batch", json=body).json():
        assert {"execution", "exception_str"} <= one.keys()
        if one["execution"] is None:
            assert isinstance(one["exception_str"], str)
            rewards.append(None)
            continue
        assert {"results", "logs", "error", "execution_count"} == one["execution"].keys()
        main = [result["text"] for result in one["execution"]["results"] if result["is_main_result"]]
        rewards.append(_number(main[0] if main else None))
    return rewards


def morph_router_rewards(call: httpx.Client, scripts: Sequence[str]) -> list[float]:
    """Return the last value of each script as open-r1's router of Morph tells it; 0 where there is none."""
    body = {"scripts": scripts, "languages": ["python"] * len(scripts), "timeout": 5, "request_timeout": 9}
    told = call.post("/execute_batch", json=body).json()
    assert all({"text", "exception_str"} <= one.keys() for one in told)
    return [0.0 if one["exception_str"] else _number(one["text"]) for one in told]


def _number(text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        return 0.0


def open_instruct_score(call: httpx.Client, path: str, program: str, tests: Sequence[Any]) -> float:
    """Return the share of tests that pass; every exception is 0 to it."""
    try:
        answer = call.post(path, json={"program": program, "tests": tests, "max_execution_time": 2})
        answer.raise_for_status()
        document = answer.json()
    except httpx.HTTPError:
        return 0.0
    assert len(document["runtimes"]) == len(tests)
    assert all(isinstance(seconds, float) for seconds in document["runtimes"])
    return sum(document["results"]) / len(document["results"])


def nemo_skills(
    call: httpx.Client, code: str, session: str | None = None, language: str = "ipython", **fields: Any
) -> dict[str, Any]:
    """Run code, as `Sandbox.execute_code` does; what is no answer raises."""
    body = {
        "generated_code": code, "timeout": 5.0, "language": language, "std_input": "",
        "max_output_characters": 1000, "traceback_verbosity": "Plain", **fields,
    }  # fmt: skip
    answer = call.post("/execute", json=body, headers={} if session is None else {"X-Session-ID": session})
    if answer.status_code == 502:
        return {"process_status": "timeout", "stdout": "", "stderr": "Timed out\n"}
    answer.raise_for_status()
    document: dict[str, Any] = answer.json()
    assert document["process_status"] in ("completed", "error", "timeout")
    assert isinstance(document["stdout"], str)
    assert isinstance(document["stderr"], str)
    return document


def judge0_results(call: httpx.Client, submissions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Send a batch in base64, and ask for it by its tokens until nothing is queued or processing."""
    texts = ("source_code", "stdin", "expected_output")
    encoded = [
        {name: _to_base64(value) if name in texts else value for name, value in one.items()} for one in submissions
    ]
    taken = call.post("/submissions/batch", params={"base64_encoded": "true"}, json={"submissions": encoded})
    assert taken.status_code == 201
    tokens = ",".join(one["token"] for one in taken.json())
    return judged_by_judge0(call, {"tokens": tokens, "base64_encoded": "true", "fields": "*"})


def judged_by_judge0(call: httpx.Client, query: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Ask for submissions until none of them is queued or processing."""
    found: list[dict[str, Any]] = []

    def ask() -> bool:
        found[:] = call.get("/submissions/batch", params=query).json()["submissions"]
        return all(one["status"]["id"] > 2 for one in found)

    wait_for(ask)
    return found


def _to_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
