"""Every example of docs/examples/trainers runs against a service; those that need a heavy package are skipped here.

`script/test-trl` runs the ones of TRL, `datasets` and `verifiers`. Unsloth's, which needs a GPU, runs with stand-ins.
"""

import json
import os
import runpy
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "trainers"
STAND_INS = Path(__file__).parents[1] / "trainers" / "stand_ins"
PRINTED = {
    "verl_reward": "rewards: [1.0, 0.5, 1.0, 0.5]",
    "openrlhf_remote_rm": "rewards: [1.0, 0.0]",
    "slime_remote_rm": "rewards: [1.0, 0.5]",
    "nemo_gym_verify": "rewards: [1.0, 0.5]\nmean: 0.75",
    "open_r1_rewards": "rewards: [1.0, 1.0, 0.0, 0.25, 7.0]",
    "dataset_map": "rewards: [None, 1.0, 0.0]",
    "prime_environment": "rewards: [1.0, 0.0, None]",
    "trl_grpo": "reward",
}
NEEDS = {"dataset_map": "datasets", "prime_environment": "verifiers", "trl_grpo": "trl"}


def test_every_example_is_known_and_compiles() -> None:
    """No example lies there that no test names."""
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*PRINTED, "unsloth_grpo"}
    for path in EXAMPLES.glob("*.py"):
        compile(path.read_text(encoding="utf-8"), path, "exec")


@pytest.mark.parametrize("name", PRINTED)
def test_examples_print_their_rewards(
    name: str, compat_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run as a program, as its first lines say."""
    package = NEEDS.get(name)
    if package is not None and not any(one.name == package for one in distributions()):
        pytest.skip(f"{package} is not installed: a heavy package")
    monkeypatch.setenv("ASSAY_URL", compat_url)

    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")

    assert PRINTED[name] in capsys.readouterr().out


def test_the_example_of_unsloth_rewards_what_trl_hands_it(compat_url: str) -> None:
    """With stand-ins for both packages: the trainer gets the adapted model, and its calls their rewards."""
    environment = {**os.environ, "ASSAY_URL": compat_url, "PYTHONPATH": str(STAND_INS)}
    command = [sys.executable, EXAMPLES / "unsloth_grpo.py"]

    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["rewards"] == {"assay": [1.0, 0.0, 0.0, 1.0]}
    assert told["metrics"] == {"assay/missing_rewards": 0.0}
    assert told["model"] == told["tokenizer"] == "unsloth/Qwen3-0.6B"
    assert told["adapter"] == {"r": 16}
