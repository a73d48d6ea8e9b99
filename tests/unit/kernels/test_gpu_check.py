"""The report of script/gpu-check: what was skipped is no success, and says what is missing."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
REPORT = """<testsuites><testsuite>
<testcase classname="tests.unit.a" name="test_one" time="0.1"/>
<testcase classname="tests.unit.a" name="test_two" time="0.2"><skipped message="no nvcc where attempts run"/></testcase>
<testcase classname="tests.unit.a" name="test_three" time="0.3"><failure message="assert 1 == 2"/></testcase>
</testsuite></testsuites>
"""
PASSED = {"test": "a::one", "outcome": "passed", "seconds": 0.1, "message": ""}
SKIPPED = {**PASSED, "outcome": "skipped", "message": "no nvcc where attempts run"}


@pytest.fixture(scope="module")
def check() -> ModuleType:
    """The program behind the script."""
    spec = importlib.util.spec_from_file_location("gpu_check", ROOT / "benchmarks" / "gpu_check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_outcomes_of_tests_are_read(check: ModuleType, tmp_path: Path) -> None:
    """With the reason of those that were skipped."""
    (tmp_path / "report.xml").write_text(REPORT)

    found = check.read_report(tmp_path / "report.xml")

    assert [case["outcome"] for case in found] == ["passed", "skipped", "failed"]
    assert found[1]["message"] == "no nvcc where attempts run"


@pytest.mark.parametrize(
    ("ended", "cases", "status", "missing"),
    [
        (0, [PASSED], "ok", []),
        (0, [PASSED, SKIPPED, SKIPPED], "skipped", ["no nvcc where attempts run"]),
        (0, [SKIPPED], "skipped", ["no nvcc where attempts run"]),
        (1, [PASSED, SKIPPED], "failed", ["no nvcc where attempts run"]),
        (None, [PASSED], "failed", []),
        (5, [], "failed", []),
        (0, [], "failed", []),
    ],
)
def test_a_part_with_skipped_tests_is_not_ok(
    check: ModuleType, ended: int | None, cases: list[dict[str, object]], status: str, missing: list[str]
) -> None:
    """What is missing is named once; tests that did not end, or are not there, have failed."""
    part = check.conclude("compiled", ended, cases, "tail", 1.0)

    assert (part["status"], part["missing"]) == (status, missing)
    assert ("output" in part) == (status == "failed")


@pytest.mark.parametrize(
    ("gpu", "cases", "status", "exit_status"),
    [
        ("no driver", [PASSED], "skipped", 0),
        ({"name": "a board"}, [PASSED], "ok", 0),
        ({"name": "a board"}, [SKIPPED], "skipped", 0),
        ("no driver", [], "failed", 1),
    ],
)
def test_the_whole_is_as_its_worst_part(
    check: ModuleType,
    gpu: dict[str, str] | str,
    cases: list[dict[str, object]],
    status: str,
    exit_status: int,
) -> None:
    """Without a GPU its parts are skipped, for that reason; only what failed makes the exit status 1."""

    def run(name: str = "benchmark", *_: object) -> dict[str, object]:
        part: dict[str, object] = check.conclude(name, 0, cases, "tail", 1.0)
        return part

    report, lines, ended = check.sum_up(gpu, check.run_parts(gpu, run, run))

    assert (report["status"], ended) == (status, exit_status)
    assert [part["part"] for part in report["parts"]] == ["static", "compiled", "gpu", "benchmark"]
    assert ("gpu: skipped in 0.0 s; missing: no driver" in lines) == isinstance(gpu, str)
