"""The scripted device keeps the contract that real ones keep."""

from scripted_kernels import script

from assay.sandboxes.devices.conformance import Kit, examine
from assay.sandboxes.devices.interface import Artifact, Call, FailureKind, Form, Launch, Pointer, RunnerLimits
from assay.sandboxes.devices.scripted import Invocation, ScriptedDevice, ScriptedRunner


def copy(call: Invocation) -> None:
    """Copy bytes from the first buffer to the second."""
    source, target, count = call.arguments
    assert isinstance(target, memoryview)
    size = int.from_bytes(count, "little")
    target[:size] = source[:size]


def kernel(name: str) -> Artifact:
    """A scripted kernel."""
    return Artifact(Form.SCRIPT, name.encode())


def scripted() -> ScriptedDevice:
    """A device that knows three kernels."""
    return ScriptedDevice(
        {
            b"honest": script(copy),
            b"endless": script(copy, 1e9),
            b"dying": script(copy, failure=lambda _: FailureKind.DIED),
        }
    )


KIT = Kit(kernel("honest"), kernel("endless"), kernel("dying"), kernel("broken"))


def test_it_keeps_the_contract() -> None:
    """Calls, separation, deadlines, deaths, what cannot be loaded, and the clock."""
    assert examine(scripted(), KIT) == ()


def test_the_checks_find_what_is_wrong() -> None:
    """Kernels in each other's place break the contract, and the checks say so."""
    swapped = Kit(kernel("dying"), kernel("honest"), kernel("endless"), kernel("honest"))

    faults = examine(scripted(), swapped)

    assert len(faults) == 4
    assert any("an honest call fails" in fault for fault in faults)
    assert any("expected deadline" in fault for fault in faults)
    assert any("what is no kernel starts" in fault for fault in faults)


def test_only_calls_and_pauses_make_time_go_by() -> None:
    """Opening, staging and settling take none."""
    on = scripted()
    runner = on.open(kernel("honest"), 4096, RunnerLimits())
    assert isinstance(runner, ScriptedRunner)
    runner.stage(Call(0, 64, (Launch("copy", (Pointer(0), Pointer(0))),), 1.0))
    on.settle()
    assert on.now_s() == 0.0

    on.pause(2.0)

    assert on.now_s() == 2.0
