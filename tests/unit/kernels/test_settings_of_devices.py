"""The device that kernels are timed on is that of the settings that a command was given, wherever they came from."""

from pathlib import Path
from typing import Any

import pytest

from assay.cli.local import builtin_registry
from assay.errors import InfraFault
from assay.levels import Level
from assay.sandboxes.interface import Slot
from assay.settings import Settings, load_settings
from assay.verifiers import offers
from assay.verifiers.kernels import devices, judge_program
from assay.verifiers.kernels.task import Backend


class _Asked:
    """Stands for the driver: it has no device, and notes which it was asked for."""

    def __init__(self) -> None:
        self.devices: list[str] = []

    def __call__(self, device: str) -> Any:
        self.devices.append(device)
        raise InfraFault("no CUDA device")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> _Asked:
    """A driver, beside a variable that names another device than the file does."""
    driver = _Asked()
    monkeypatch.setattr(offers, "Nvml", driver)
    monkeypatch.setattr(devices, "Nvml", driver)
    return driver


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of a file, as with `--config FILE`."""
    file = tmp_path / "assay.toml"
    file.write_text('cuda_device = "3"\ncuda_lock_mhz = 1500\n')
    return load_settings({}, file)


def test_modules_and_names_are_of_the_device_in_the_file(asked: _Asked, settings: Settings) -> None:
    """Whether there is one, what it is compiled for, and what its lock is called."""
    assert offers.lacking(["device:cuda"], settings.cuda_device) == ["device:cuda"]
    assert devices.device_arch(settings.cuda_device) is None
    with pytest.raises(InfraFault):
        devices.device_name(Backend.CUDA, settings.cuda_device)
    assert asked.devices == ["3"] * 3


def test_a_registry_times_and_compiles_for_the_device_in_the_file(asked: _Asked, settings: Settings) -> None:
    """The verifier asks for that one alone."""
    verifier: Any = builtin_registry(settings).get("kernel")
    task: Any = verifier.task_model.model_construct(backend=Backend.CUDA)
    slot: Any = Slot

    with pytest.raises(InfraFault, match="no CUDA device"):
        verifier._measurer.measure(task, slot, None, slot)

    assert asked.devices == ["3"]
    assert verifier._builder.cuda_device == "3"


def test_a_judge_has_the_settings_of_its_worker(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """And none of its own surroundings."""
    monkeypatch.setenv("ASSAY_CUDA_DEVICE", "7")

    made = judge_program._settings(settings.model_dump(mode="json", exclude_unset=True), Level.INSECURE)

    assert (made.cuda_device, made.cuda_lock_mhz, made.insecure) == ("3", 1500, True)
