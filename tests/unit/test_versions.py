"""What results say of the libraries that a verdict depends on."""

import importlib.metadata

import pytest

from assay.sandboxes.fakes import FakeSlot
from assay.verifiers.builtin import default_registry
from assay.verifiers.optimisation.libraries import named_in
from assay.verifiers.requirements import missing_modules, versions_in

REGISTRY = default_registry()


def test_versions_are_those_of_the_place_where_attempts_run() -> None:
    """Here, of what is installed; of an image its digest tells all, and this machine's packages nothing."""
    here = versions_in({}, ("msgpack", "no-such-package"))

    assert here == {"msgpack": importlib.metadata.version("msgpack")}
    assert versions_in({"image": "sha256:0"}, ("msgpack",)) == {}


def test_a_program_depends_on_the_libraries_that_it_names() -> None:
    """Whole words, each distribution once."""
    program = "import highspy as h\nfrom scipy.optimize import linprog\nimport ortools.sat, ortools.init\npulpit = 1"

    assert named_in(program) == ("scipy", "highspy", "ortools")


@pytest.mark.skipif(bool(missing_modules(["gymnasium", "minigrid"])), reason="needs the extra `environments`")
def test_an_episode_depends_on_its_library_and_on_the_environments_own() -> None:
    """As soon as a task asks for it, even where there was no answer."""
    task = REGISTRY.parse_task(
        {"id": "t", "verifier": "environment", "env": "MiniGrid-Empty-5x5-v0", "success_return": 0.5}
    )

    verdict = REGISTRY.get("environment").judge(task, "", FakeSlot())

    assert sorted(verdict.versions) == ["gymnasium", "minigrid"]
