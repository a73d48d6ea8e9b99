"""The example package of docs/plugins.md, installed as a user installs it, through command line and service."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.cli.exits import Exit
from assay.clients.client import Client
from assay.service.serve import embedded
from assay.settings import Settings, override

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "verifier_plugin"
CONVERSION = {"id": "walk", "verifier": "unit_conversion", "value": 5, "unit": "mi", "wanted": "km"}
GOLF = {"id": "hello", "verifier": "golf", "stdout": "hello", "par": 14}
ATTEMPTS = [
    {"task_id": "walk", "completion": "<answer>8.05 km</answer>"},
    {"task_id": "walk", "completion": "<answer>8.5 km</answer>"},
    {"task_id": "walk", "completion": "about eight"},
    {"task_id": "hello", "completion": "print('hello')"},
    {"task_id": "hello", "completion": "print('hello', flush=False)"},
    {"task_id": "hello", "completion": "1 / 0"},
    {"task_id": "hello", "completion": "while True: pass"},
]
ENDS = [
    ("passed", 1.0), ("failed", 0.0), ("no_answer", 0.0),
    ("passed", 1.0), ("failed", 0.5 + 0.5 * 14 / 27), ("runtime_error", 0.0), ("timeout", 0.0),
]  # fmt: skip
Assay = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the package was installed in."""
    folder = tmp_path_factory.mktemp("plugin")
    source = shutil.copytree(EXAMPLE, folder / "source")  # builds leave files beside the sources
    target = folder / "installed"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*command, "--target", target, source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def assay(installed: Path) -> Assay:
    """Run `assay` where the package is installed."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "assay", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(installed)}
        return subprocess.run(
            command, cwd=installed.parent, env=environment, capture_output=True, text=True, timeout=300
        )

    return run


def test_the_verifiers_are_listed_and_described(assay: Assay) -> None:
    """Beside those that come with Assay, with their fields, terms and profiles."""
    listed = {line.split("\t")[0] for line in assay("verifiers").stdout.splitlines()}
    entry = assay("verifiers", "unit_conversion").stdout
    schema = json.loads(assay("verifiers", "golf", "--schema").stdout)
    found = assay("doctor").stdout

    assert {"golf", "unit_conversion", "python"} <= listed
    for text in ("Largest relative error.", "school/hardened", "1 if it is the same length"):
        assert text in entry
    assert schema["properties"]["par"]["description"].startswith("Characters of a good program")
    assert "plugin: golf 1, of assay-example-verifiers 0.1.0" in found


@pytest.mark.jail
@pytest.mark.usefixtures("isolation")
def test_assay_score_judges_by_them(assay: Assay, tmp_path: Path) -> None:
    """A rule, and a verifier that runs programs in jails, both with the usual outcomes."""
    tasks, attempts = tmp_path / "tasks.json", tmp_path / "attempts.json"
    tasks.write_text(json.dumps([CONVERSION, {**GOLF, "limits": {"cpu_s": 1}}]))
    attempts.write_text(json.dumps(ATTEMPTS))

    done = assay("score", tasks, attempts)

    assert done.returncode == Exit.OK, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(result["outcome"], result["reward"]) for result in results] == ENDS
    said = [result["message"] for result in results]
    assert (said[1], said[4]) == ("8.5 km is not that length", "it is longer than 14 characters")


def test_a_profile_of_theirs_is_one_like_any(assay: Assay, tmp_path: Path) -> None:
    """`--profile` presets their fields, and is refused where nobody knows it."""
    tasks, attempts = tmp_path / "tasks.json", tmp_path / "attempts.json"
    tasks.write_text(json.dumps(CONVERSION))
    attempts.write_text(json.dumps([ATTEMPTS[0], {"task_id": "walk", "completion": "<answer>8046.7 m</answer>"}]))

    known = assay("score", tasks, attempts, "--profile", "school/hardened")
    unknown = assay("score", tasks, attempts, "--profile", "school/paper")

    right, other_unit = (json.loads(line) for line in known.stdout.splitlines())
    assert right["reward"] == 1.5
    assert (other_unit["reward"], other_unit["message"]) == (1.0, "it is not in km")
    assert unknown.returncode == Exit.REFUSED


@pytest.fixture
def url(isolation: None, installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A service whose processes find the package."""
    del isolation
    monkeypatch.setenv("PYTHONPATH", str(installed))
    settings = override(Settings(), {"port": 0, "data_dir": tmp_path / "data", "slots": 2, "log_level": "error"})
    with embedded(settings) as address:
        yield address


@pytest.mark.jail
@pytest.mark.redis
def test_the_service_judges_by_them(url: str) -> None:
    """Its API types their tasks, its workers judge them, its list names them."""
    with Client(url) as client:
        results = client.run([CONVERSION, {**GOLF, "limits": {"cpu_s": 1}}], ATTEMPTS)
        verifiers = client.verifiers()

    assert [(result.outcome, result.reward) for result in results] == ENDS
    assert {"golf", "unit_conversion"} <= {one.name for one in verifiers}
