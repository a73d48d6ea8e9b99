"""The examples for CI: well-formed, of the known keys, and with commands that this command line takes."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.cli.commands import build_parser

EXAMPLES = Path(__file__).parents[2] / "docs/examples/ci"
ACTION, HOOKS = (EXAMPLES / name for name in ("github-action.yml", "pre-commit-config.yaml"))
STEP_KEYS = {"name", "uses", "with", "run", "if", "env", "id"}


def loaded(path: Path) -> Any:
    """The document of an example."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def commands() -> Iterator[str]:
    """Every command line of ours in the examples; a hook is given the file that it checks."""
    for step in loaded(ACTION)["jobs"]["rewards"]["steps"]:
        yield from re.findall(r"^assay .*$", step.get("run", ""), re.MULTILINE)
    for hook in loaded(HOOKS)["repos"][0]["hooks"]:
        yield from re.findall(r"\bassay .*?(?= \|\|)", hook["entry"])


@pytest.mark.parametrize("command", [*commands()])
def test_commands_of_the_examples_are_taken(command: str) -> None:
    """Every command and option exists, and what it is given is of the right form."""
    program, *arguments = shlex.split(command)

    parsed = build_parser().parse_args(arguments)

    assert program == "assay"
    assert callable(parsed.run)


def test_the_action_is_a_workflow() -> None:
    """Its steps are either an action, with a version, or a script."""
    workflow = loaded(ACTION)

    assert {"name", "permissions", "jobs"} <= workflow.keys()
    assert workflow.keys() & {"on", True}  # YAML 1.1 reads `on` as true
    for step in workflow["jobs"]["rewards"]["steps"]:
        assert step.keys() <= STEP_KEYS
        assert ("uses" in step) != ("run" in step)
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "actions/checkout@v4"))


def test_the_action_allows_jails_before_anything_runs_in_one() -> None:
    """A hosted Ubuntu forbids unprivileged user namespaces; where there is no such switch the step does nothing."""
    steps = [step.get("run", "") for step in loaded(ACTION)["jobs"]["rewards"]["steps"]]

    allowing = steps.index("sudo sysctl --ignore --write kernel.apparmor_restrict_unprivileged_userns=0")

    assert allowing < min(place for place, run in enumerate(steps) if re.search(r"^assay ", run, re.MULTILINE))


def test_the_hook_checks_every_file(tmp_path: Path) -> None:
    """pre-commit gives it several; the first that is not well ends it, with its status."""
    (hook,) = loaded(HOOKS)["repos"][0]["hooks"]
    seen = tmp_path / "seen"
    program = tmp_path / "assay"
    program.write_text(f'#!/bin/sh\necho "$2" >> {seen}\n[ "$2" = good ] || exit 3\n')
    program.chmod(0o755)
    path = f"{tmp_path}:{os.defpath}"

    done = subprocess.run([*shlex.split(hook["entry"]), "good", "bad", "good"], env={"PATH": path}, check=False)

    assert done.returncode == 3
    assert seen.read_text().split() == ["good", "bad"]


def test_the_hook_matches_files_of_tasks_alone() -> None:
    """As pre-commit wants a local hook: id, name, entry and language."""
    (hook,) = loaded(HOOKS)["repos"][0]["hooks"]

    assert {"id", "name", "entry", "language"} <= hook.keys()
    assert re.search(hook["files"], "tasks/math/train.jsonl")
    assert not re.search(hook["files"], "src/tasks.jsonl")
