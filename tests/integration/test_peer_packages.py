"""Public clients, as they come from the package index, against the drop-in endpoints."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.settings import required_neighbours

_ROOT = Path(__file__).parents[2]
_PYTHON = _ROOT / ".cache/peer-packages/bin/python"
Told = dict[str, Any]


@pytest.fixture
def told_by(compat_url: str) -> Callable[[str], Told]:
    """Runs a script of tests/peers where these clients are; skipped without them, unless ASSAY_REQUIRE has `peers`."""
    if not _PYTHON.exists() and "peers" not in required_neighbours():
        pytest.skip("no clients of other services: script/peer-packages gets them")

    def run(script: str) -> Told:
        command = [str(_PYTHON), str(_ROOT / "tests/peers" / script)]
        environment = os.environ | {"ASSAY_URL": compat_url}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        assert done.returncode == 0, done.stderr
        told: Told = json.loads(done.stdout)
        return told

    return run


def test_the_official_client_of_judge0_works_as_it_comes(told_by: Callable[[str], Told]) -> None:
    """It reads version, features and languages first; its batches have the size that it is told."""
    told = told_by("run_judge0.py")

    assert (told["version"], told["one"], told["statuses"]) == ("1.13.1", "python", 14)
    assert {"c", "python"} <= set(told["languages"])
    runs = [told["alone"], *told["cases"], told["late"], told["compiled"], told["uncompiled"], told["files"]]
    words = ["Accepted", "Accepted", "Wrong Answer", "Runtime Error Nzec", "Time Limit Exceeded", "Accepted"]
    assert [one["status"] for one in runs] == [*words, "Compilation Error", "Accepted"]
    assert all(one["finished"] and one["timed"] for one in runs if one["status"] != "Compilation Error")
    assert (told["alone"]["stdout"], told["compiled"]["stdout"], told["files"]["stdout"]) == (
        "hello\n",
        "c\n",
        "beside\n",
    )
    assert told["many"] == [f"{number * number}\n" for number in range(150)]


def test_the_official_client_of_sandbox_fusion_works_as_it_comes(told_by: Callable[[str], Told]) -> None:
    """Its summary raises for an answer that it cannot read: there is none, whatever limit a program breaks."""
    told = told_by("run_sandbox_fusion.py")

    assert told["words"] == {
        "right": "success", "raises": "run failed", "late": "run timeout", "loud": "run failed", "large": "run failed",
        "killed": "run failed", "unreadable": "run failed", "compiled": "success", "uncompiled": "compile failed",
        "slow to compile": "compile timeout",
    }  # fmt: skip
    assert told["awaited"] == [f"{number}\n" for number in range(50)]
    assert told["fetched"] == "besidebeside"
    assert told["submitted"] == [True, False]


def test_a_client_of_piston_works_as_it_comes(told_by: Callable[[str], Told]) -> None:
    told = told_by("run_piston.py")

    assert {"c++", "python"} <= set(told["runtimes"])
    assert told["right"] == {"language": "python", "stdout": "in arg\n", "code": 0, "signal": None}
    assert told["raises"] | {"stdout": ""} == {"language": "python", "stdout": "", "code": 3, "signal": None}
    assert (told["late"]["code"], told["late"]["signal"]) == (None, "SIGKILL")
    assert told["compiled"]["stdout"] == "c\n"


def test_verls_own_reward_of_programs_is_right(told_by: Callable[[str], Told]) -> None:
    """Programs, functions that it wraps, and assertions; a word for each way to fail, none of them its `api_error`."""
    assert told_by("run_verl.py") == {
        "right": [1.0, ["success", "success"]],
        "half": [0.5, ["success", "wrong_answer"]],
        "function": [1.0, ["success", "success"]],
        "asserts": [0.5, ["success", "runtime_error"]],
        "raises": [0.0, ["runtime_error", "runtime_error"]],
        "late": [0.0, ["timeout", "timeout"]],
        "loud": [0.0, ["runtime_error", "runtime_error"]],
        "large": [0.0, ["runtime_error", "runtime_error"]],
        "unreadable": [0.0, ["runtime_error", "runtime_error"]],
    }


def test_tinkers_own_check_of_programs_is_right(told_by: Callable[[str], Told]) -> None:
    """Its checking program stands beside the answer, in files."""
    told = told_by("run_tinker.py")

    assert told == {"right": True, "wrong": False, "function": True, "wrong function": False}
