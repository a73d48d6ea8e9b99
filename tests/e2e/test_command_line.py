"""The command line as users run it, jail included."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from published import DATA, present

from assay.cli.exits import Exit

Assay = Callable[..., subprocess.CompletedProcess[str]]
HUMANEVAL = DATA / "HumanEval.jsonl.gz"
MBPP = DATA / "mbpp_mxeval_v1.jsonl"
MBPP_BROKEN = 11  # of 974 golds, for reasons that lie in the data; two may pass under another hash


def read_lines(path: Path) -> list[dict[str, object]]:
    """The result lines of a file."""
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


@pytest.mark.jail
def test_the_worked_example_has_its_published_rewards(assay: Assay, cases: Path, tmp_path: Path) -> None:
    """Its files, unchanged, give rewards 0, 0.5, 1, 0.5 and the published vectors."""
    folder = cases / "worked-example"
    output = tmp_path / "results.jsonl"

    done = assay("score", folder / "task.json", folder / "group.jsonl", "-o", output)

    assert done.returncode == Exit.OK, done.stderr
    expected = read_lines(folder / "expected.jsonl")
    got = [{key: line[key] for key in expected[0]} for line in read_lines(output)]
    assert got == expected
    assert "4 attempts" in done.stdout


@pytest.mark.jail
def test_results_go_to_standard_output_and_the_summary_beside(assay: Assay, cases: Path) -> None:
    """Without -o the output is result lines alone."""
    folder = cases / "worked-example"

    done = assay("score", folder / "task.json", folder / "group.jsonl")

    assert [json.loads(line)["reward"] for line in done.stdout.splitlines()] == [0.0, 0.5, 1.0, 0.5]
    assert "4 attempts" in done.stderr


@pytest.mark.jail
def test_a_broken_task_is_told_and_the_rest_is_scored(assay: Assay, tmp_path: Path) -> None:
    """`task_error` with a null reward and status 1; other tasks are not touched."""
    tasks, attempts = tmp_path / "tasks.json", tmp_path / "attempts.jsonl"
    tasks.write_text('[{"id": "broken", "tests": ["f(1 == 2"]}, {"id": "fine", "tests": ["f(1) == 1"]}]')
    rows = [{"task_id": name, "completion": "def f(x): return x"} for name in ("broken", "fine")]
    attempts.write_text("\n".join(map(json.dumps, rows)))

    done = assay("score", tasks, attempts)

    outcomes = [(line["outcome"], line["reward"]) for line in map(json.loads, done.stdout.splitlines())]
    assert outcomes == [("task_error", None), ("passed", 1.0)]
    assert done.returncode == Exit.FOUND_FAULTS


@pytest.mark.jail
def test_check_names_split_shared_and_broken(assay: Assay, tmp_path: Path) -> None:
    """Each gold says, in the order of the file, how its task is judged; a broken one makes the status 1."""
    tasks = tmp_path / "tasks.jsonl"
    rows = [
        {"id": "s", "tests": ["f(1) == 1"], "gold": "def f(x): return x"},
        {"id": "b", "tests": ["f(1) == 2"], "gold": "def f(x): return x"},
        {"id": "n", "tests": ["f(1) == 2"]},
        {"id": "h", "tests": ["f(1) == 1"], "gold": "def f(x): return x", "oracle": "shared"},
    ]
    tasks.write_text("\n".join(map(json.dumps, rows)))

    done = assay("check", tasks)

    standings = [tuple(line.split("\t")[:2]) for line in done.stdout.splitlines()[:-1]]
    assert standings == [("s", "split"), ("b", "broken"), ("n", "no_gold"), ("h", "shared")]
    assert done.returncode == Exit.FOUND_FAULTS
    assert done.stdout.splitlines()[-1].startswith("4 tasks: ")


@pytest.mark.jail
@pytest.mark.parametrize(
    "file",
    [
        "code_tests.jsonl", "advantages.jsonl", "honest.jsonl", "hacks.jsonl", "own_honest.jsonl", "own_hacks.jsonl",
        "math.jsonl", "length.jsonl",
    ],
)  # fmt: skip
def test_conformity_files_pass(assay: Assay, cases: Path, file: str) -> None:
    """No honest program is denied and no hack is paid."""
    done = assay("cases", cases / file, timeout_s=900)

    lines = (cases / file).read_text(encoding="utf-8").count("\n")
    assert done.stdout.splitlines()[-1] == f"cases: {lines} passed, 0 failed", done.stdout
    assert done.returncode == Exit.OK


@pytest.mark.jail
def test_failed_cases_are_named_before_the_count(assay: Assay, tmp_path: Path) -> None:
    """A failure's id and deviation come before the last line, and the status is 1."""
    file = tmp_path / "wrong.jsonl"
    line = {
        "id": "denied", "style": "expr", "task": {"entry_point": "f", "tests": ["f(1) == 2"]},
        "completion": "def f(x): return x", "expected": {"outcome": "passed", "reward": 1.0},
    }  # fmt: skip
    file.write_text(json.dumps(line))

    done = assay("cases", file)

    assert done.stdout.splitlines()[0].startswith("FAILED denied: outcome: expected passed, got failed")
    assert done.stdout.splitlines()[-1] == "cases: 0 passed, 1 failed"
    assert done.returncode == Exit.FOUND_FAULTS


@pytest.mark.jail
@pytest.mark.shared
def test_humaneval_golds_pass_and_empty_bodies_do_not(assay: Assay, tmp_path: Path) -> None:
    """All 164 solutions pass; `return None` under the same prompts passes none."""
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(
        "\n".join(json.dumps({"task_id": f"HumanEval/{n}", "completion": "    return None\n"}) for n in range(164))
    )

    golds = assay("score", present(HUMANEVAL), "--format", "humaneval", "-o", tmp_path / "golds.jsonl")
    others = assay("score", HUMANEVAL, wrong, "--format", "humaneval", "-o", tmp_path / "others.jsonl")

    assert {line["outcome"] for line in read_lines(tmp_path / "golds.jsonl")} == {"passed"}, golds.stdout
    assert "passed" not in {line["outcome"] for line in read_lines(tmp_path / "others.jsonl")}, others.stdout


@pytest.mark.jail
@pytest.mark.shared
def test_mbpp_golds_pass_but_for_the_known_broken_ones(assay: Assay, tmp_path: Path) -> None:
    """The broken ones come out as task_error with a null reward, never as 0."""
    done = assay("score", present(MBPP), "--format", "mbpp", "-o", tmp_path / "results.jsonl", timeout_s=900)

    results = read_lines(tmp_path / "results.jsonl")
    odd = [line for line in results if line["outcome"] != "passed"]
    assert {line["outcome"] for line in odd} <= {"task_error"}, done.stdout
    assert {line["reward"] for line in odd} <= {None}
    assert MBPP_BROKEN - 2 <= len(odd) <= MBPP_BROKEN


@pytest.mark.jail
def test_doctor_finds_this_host_able(assay: Assay) -> None:
    """Where the other tests can run, doctor says so."""
    done = assay("doctor")

    assert done.returncode == Exit.OK, done.stdout
    assert "ok      jail" in done.stdout


def test_verifiers_are_listed_and_explained(assay: Assay) -> None:
    """Names and versions, one verifier's reference, and its schema."""
    listed, explained = assay("verifiers"), assay("verifiers", "python")
    schema = assay("verifiers", "python", "--schema")

    assert {"python", "run", "math", "detection"} <= {line.split("\t")[0] for line in listed.stdout.splitlines()}
    assert "entry_point" in explained.stdout
    assert "entry_point" in json.loads(schema.stdout)["properties"]


def test_an_unknown_verifier_is_refused(assay: Assay) -> None:
    """The refusal lists the known ones."""
    done = assay("verifiers", "psychic")

    assert done.returncode == Exit.REFUSED
    assert "python" in done.stderr


@pytest.mark.jail
@pytest.mark.redis
def test_the_demo_shows_the_whole_path(assay: Assay) -> None:
    """Results, rewards, advantages, and nothing left running."""
    done = assay("demo")

    assert done.returncode == Exit.OK, done.stderr
    table = [line.split() for line in done.stdout.splitlines() if line.startswith("code-0017")]
    assert [(row[3], row[-1]) for row in table] == [
        ("0.00", "-1.41"),
        ("0.50", "0.00"),
        ("1.00", "1.41"),
        ("0.50", "0.00"),
    ]
    assert done.stdout.splitlines()[-1] == "service: stopped"


@pytest.mark.jail
def test_insecure_results_are_flagged(assay: Assay, cases: Path) -> None:
    """Without isolation every result says so."""
    folder = cases / "worked-example"

    done = assay("score", folder / "task.json", folder / "group.jsonl", "--insecure")

    assert all("insecure" in json.loads(line)["flags"] for line in done.stdout.splitlines()), done.stderr
