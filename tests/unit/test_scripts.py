"""Scripts can be run, and the lock covers what pyproject.toml asks for."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from assay.extras import EXTRAS
from assay.verifiers.languages.launcher_program import PATH

ROOT = Path(__file__).parents[2]
SCRIPTS = [*sorted((ROOT / "script").iterdir()), ROOT / ".ci" / "run"]


def normalised(requirement: str) -> str:
    """The name of a requirement as package indexes compare it."""
    name = re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_parse_and_may_be_executed(script: Path) -> None:
    """Every script is a POSIX shell program with its permission set."""
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").startswith("#!/bin/sh\n")
    assert subprocess.run(["sh", "-n", script]).returncode == 0


def test_the_lock_pins_everything_that_is_asked_for() -> None:
    """Each direct dependency has one exact version, but for those of extras that script/setup leaves out."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    left_out = {extra.name for extra in EXTRAS if not extra.by_setup}
    extras = {name: extra for name, extra in project["optional-dependencies"].items() if name not in left_out}
    asked = [*project["dependencies"], *(one for extra in extras.values() for one in extra)]
    wanted = {normalised(one) for one in asked} - {"assay"}

    lines = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")]
    pinned = {normalised(line) for line in lines if "==" in line}

    assert wanted - pinned == set()
    assert len(pinned) == len(lines)


def test_ci_runs_script_test_and_lets_nothing_be_skipped() -> None:
    """.ci/run checks and ends with script/test, and requires all that could be skipped."""
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").strip().splitlines()

    assert "script/check --static" in lines
    assert lines[-1] == "script/test --unchecked"
    assert "export ASSAY_REQUIRE=redis,jail,docker,gcc,nvcc,languages,parquet,peers" in lines


def test_tools_outside_of_where_jails_look_are_not_there(tmp_path: Path) -> None:
    """A compiler in a user's home, first on the PATH, is none that an attempt could run."""
    tool = tmp_path / "tool-of-a-user"
    tool.write_text("#!/bin/sh\n", encoding="utf-8")
    tool.chmod(0o755)
    path = {"PATH": f"{tmp_path}:{PATH}"}

    assert subprocess.run([tool.name], env=path).returncode == 0
    assert subprocess.run([ROOT / "script" / "seen-in-jails", "sh"], env=path).returncode == 0
    assert subprocess.run([ROOT / "script" / "seen-in-jails", "sh", tool.name], env=path).returncode == 1
