"""The tasks of `environment`, and what is judged without an episode."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from environment_episodes import REGISTRY, parse

from assay.errors import InvalidRequest, SandboxFault
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Launch
from assay.verifiers.environment.verifier import EnvironmentVerifier


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"success_return": None}, "source"),
        ({"source": "def verify(t, f): return 1"}, "success_return"),
        ({"env": ""}, "env"),
        ({"env": "a b"}, "env"),
        ({"seed": -1}, "seed"),
        ({"max_steps": 0}, "max_steps"),
        ({"max_steps": 1000000}, "max_steps"),
        ({"illegal": "noop"}, "noop_action"),
        ({"noop_action": 0}, "noop_action"),
        ({"illegal": "skip"}, "illegal"),
        ({"progress": True}, "progress"),
        ({"info": True}, "info"),
        ({"forbid": ["gymnasium"]}, "forbid"),
        ({"player": "policy", "answer_tag": "answer"}, "answer_tag"),
        ({"return_range": [1, 1]}, "return_range"),
        ({"kwargs": {"render_mode": "human"}}, "kwargs"),
        ({"kwargs": {"x": float("inf")}}, "kwargs"),
        ({"success_return": float("nan")}, "success_return"),
        ({"scoring": "all"}, "scoring"),
        ({"weights": {"progress": 1}}, "weights.progress"),
    ],
)
def test_faulty_tasks_are_refused(fields: dict[str, Any], place: str) -> None:
    """Each field has its meaning, and is refused by its name where it has none."""
    with pytest.raises(InvalidRequest) as caught:
        parse(**fields)

    assert caught.value.path == f"task.{place}"


def test_libraries_are_always_required() -> None:
    """Workers without them never get the task."""
    assert parse().requires == ("gymnasium",)
    assert parse(requires=["ale_py"]).requires == ("ale_py", "gymnasium")
    assert parse(env="MiniGrid-Empty-5x5-v0").requires == ("minigrid", "gymnasium")
    assert parse(env="BabyAI-GoToObj-v0", requires=["minigrid"]).requires == ("minigrid", "gymnasium")


def test_the_paper_profile_is_the_verification_alone() -> None:
    """1 or 0, nothing shaped."""
    task = parse(profile="sima2/paper")

    assert task.weights == {"verified": 1.0}


def test_no_episode_earns_the_least() -> None:
    """Also where the task charges for steps: giving no answer must not be cheaper than trying."""
    task = parse(weights={"verified": 1, "steps": -0.01, "format": 0.5}, max_steps=50)

    verdict = REGISTRY.get("environment").judge(task, "no list", FakeSlot())

    assert (verdict.outcome, verdict.reward) == (Outcome.NO_ANSWER, -0.5)
    assert verdict.terms == {"verified": 0.0, "illegal": 0.0, "steps": 50.0, "format": 0.0}


def test_nothing_heavy_is_imported_here() -> None:
    """API and workers load no environment, not even to judge in one."""
    program = (
        "import sys\n"
        "from assay.verifiers.builtin import default_registry\n"
        "import assay.verifiers.environment.actions_program, assay.verifiers.environment.policy_program\n"
        "default_registry()\n"
        "print(sorted({'gymnasium', 'minigrid', 'pygame'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_the_guide_says_of_the_format_what_the_term_does() -> None:
    """One sentence in both: what is paid for layout must not be read in two ways."""
    guide = (Path(__file__).parents[3] / "docs" / "environments.md").read_text(encoding="utf-8")
    (term,) = (one for one in EnvironmentVerifier().terms(parse()) if one.name == "format")

    assert f"| `format` | {term.about} | 0 |" in guide


class _Broken(FakeSlot):
    def start(self, launch: Launch) -> FakeChild:
        """Note what is launched, and fail."""
        self.launches.append(launch)
        raise SandboxFault("no jail can be made")


def test_lists_run_in_the_oracles_jail_alone() -> None:
    """No process holds the completion's code; where none can be started, nobody guesses."""
    slot = _Broken()

    with pytest.raises(SandboxFault, match="no jail can be made"):
        REGISTRY.get("environment").judge(parse(), "<answer>[1]</answer>", slot)

    (launch,) = slot.launches
    assert (str(launch.role), launch.flavour, launch.network) == ("oracle", "environments", False)
