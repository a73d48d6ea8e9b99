"""SandboxFusion's `/submit`: a completion judged by what its program writes, field by field."""

from typing import Any

import httpx


def _submit(call: httpx.Client, completion: str, tests: list[tuple[str, str]], **config: Any) -> httpx.Response:
    cases = [{"input": {"stdin": stdin}, "output": {"stdout": stdout}} for stdin, stdout in tests]
    body = {
        "dataset": "own",
        "id": 7,
        "completion": completion,
        "config": {
            "dataset_type": "CommonOJDataset", "language": "python", "locale": "en", "is_fewshot": False,
            "compile_timeout": 10, "run_timeout": 5, "provided_data": {"id": 7, "content": "", "test": cases}, **config,
        },
    }  # fmt: skip
    return call.post("/submit", json=body)


def test_submit_judges_common_oj_data(call: httpx.Client) -> None:
    """All fields of the answer, for a completion with a fenced block."""
    answer = _submit(call, "Half:\n```python\nprint(int(input()) / 3)\n```", [("1", "0.333333"), ("6", "2.0")]).json()
    infos = [test.pop("exec_info") for test in answer["tests"]]
    assert [info["run_result"]["stdout"] for info in infos] == ["0.3333333333333333\n", "2.0\n"]
    code = "print(int(input()) / 3)"
    answer["extracted_code"], answer["full_code"] = answer["extracted_code"].strip(), answer["full_code"].strip()
    assert answer == {
        "id": 7, "accepted": True, "extracted_code": code, "full_code": code, "test_code": None,
        "tests": [
            {"passed": True, "test_info": {"input": {"stdin": "1"}, "output": {"stdout": "0.333333"}}},
            {"passed": True, "test_info": {"input": {"stdin": "6"}, "output": {"stdout": "2.0"}}},
        ],
        "extracted_type": "fenced", "extra": None,
    }  # fmt: skip


def test_submit_stops_at_the_first_failure_unless_all_cases_are_asked_for(call: httpx.Client) -> None:
    tests = [("1", "1"), ("a" * 3000, "x"), ("2", "2")]
    few = _submit(call, "print(input())", tests).json()
    assert [test["passed"] for test in few["tests"]] == [True, False]
    assert (few["accepted"], few["extracted_type"]) == (False, "heuristic")
    assert len(few["tests"][1]["test_info"]["input"]["stdin"]) < 1100
    extra = {"run_all_cases": True, "return_full_case": True}
    every = _submit(call, "print(input())", tests, extra=extra).json()
    assert [test["passed"] for test in every["tests"]] == [True, False, True]
    assert len(every["tests"][1]["test_info"]["input"]["stdin"]) == 3000


def test_submit_gives_nothing_to_what_holds_no_program_or_fails_after_printing(call: httpx.Client) -> None:
    """The case of letters counts, and so does the exit code."""
    for completion in ("<think>x</think>", "print(7); raise SystemExit(1)", "print('YES' if 0 else 'yes')"):
        expected = "YES" if "yes" in completion else "7"
        assert _submit(call, completion, [("", expected)]).json()["accepted"] is False


def test_submit_refuses_what_it_cannot_do(call: httpx.Client) -> None:
    """A caller's extraction code, other data sets, files in tests, and no tests."""
    refused = [
        _submit(call, "", [("", "")], custom_extract_logic="import os"),
        _submit(call, "", [("", "")], dataset_type="HumanEvalDataset"),
        _submit(call, "", [("", "")], language="cobol"),
        _submit(call, "", [("", "")], provided_data={"test": [{"input": {"a.txt": ""}, "output": {"stdout": ""}}]}),
        _submit(call, "", [("", "")], provided_data={"test": [{"input": {}, "output": {}}]}),
        _submit(call, "", []),
    ]
    assert [(one.status_code, "detail" in one.json()) for one in refused] == [(422, True)] * 6
