"""Runners of a session on the fake clock: what each of them sees, and how they end."""

import numpy as np
import pytest
from scripted_kernels import (
    device,
    gemm_task,
    lognormal,
    multiply,
    operands,
    refused,
    run,
    script,
    speed,
)

from assay.errors import Inconclusive, TaskFault
from assay.sandboxes.devices.interface import FailureKind
from assay.sandboxes.devices.scripted import Invocation, Script
from assay.verifiers.kernels.buffers import FRAME_ALIGN
from assay.verifiers.kernels.findings import Measured, Reason, Refused


def test_no_content_and_no_order_of_addresses_comes_twice() -> None:
    """Inputs of every call are fresh; a round's three calls share theirs, at places of their own."""
    seen: dict[str, list[bytes]] = {"reference": [], "candidate": []}
    places: set[tuple[int, ...]] = set()

    def noting(name: str) -> Script:
        def work(call: Invocation) -> None:
            seen[name].append(operands(call)[0].tobytes() + operands(call)[1].tobytes())
            places.add(call.addresses)
            multiply(call)

        return script(work)

    on = device(noting("candidate"), noting("reference"))

    found = speed(run(script(), on=on))

    mine = seen["candidate"]
    shared = set(mine) & set(seen["reference"])
    assert len(shared) >= found.rounds
    once_checked_twice = len(gemm_task().shapes)  # the first case of each shape is asked again, for its bits
    assert len(mine) - len(set(mine)) == once_checked_twice
    assert len(places) > 0.9 * len(on.calls)


def test_nothing_of_a_call_is_left_for_the_next() -> None:
    """Runners may share memory: the reference's output must not be there when the candidate is called.

    Beside a call's own frame there is the ground alone: one page of bytes that mean nothing, over and over.
    """
    beside: list[set[bytes]] = []

    def look_around(call: Invocation) -> None:
        multiply(call)
        first, count = call.call.offset // FRAME_ALIGN, call.call.size_bytes // FRAME_ALIGN
        pages = np.frombuffer(call.segment, np.uint8).reshape(-1, FRAME_ALIGN)
        beside.append(set(map(bytes, np.delete(pages, slice(first, first + count), axis=0))))

    run(script(look_around))

    (ground,) = set[bytes]().union(*beside)
    assert any(ground)
    assert sum(map(bool, beside)) > 40


def test_the_timed_runner_is_a_fresh_one() -> None:
    """Nothing that a candidate kept from its checks is there when it is timed; every runner ends with the session."""
    on = device(script())

    run(script(), on=on)

    checks, gate, generation = [b"reference", b"candidate"], [b"reference"] * 2, [b"reference"] * 2 + [b"candidate"]
    assert on.opened == checks + gate + generation
    assert on.running == []


def test_every_generation_of_rounds_has_fresh_runners() -> None:
    """What processes differ by is part of the noise; nothing that one of them kept is there for the next."""
    timing = {"warm_up_s": 0.01, "time_s": 0.6, "first_look_s": None}
    on = device(script())

    found = speed(run(script(), gemm_task(timing=timing), on))

    assert (found.generations, found.rounds) == (7, 7 * 30)
    assert on.opened[4:] == [b"reference", b"reference", b"candidate"] * 7


@pytest.mark.parametrize("ends", [FailureKind.DIED, None])
def test_runners_end_however_the_session_does(ends: FailureKind | None) -> None:
    """Refused or inconclusive, none is left."""
    dying = script(failure=lambda call: ends if call.number == 30 else None)
    on = device(dying, noise=(lambda: 1.0) if ends else lognormal(1.0))

    if ends:
        assert isinstance(run(dying, on=on), Refused)
    else:
        with pytest.raises(Inconclusive):
            run(dying, on=on)

    assert on.running == []


def test_a_reference_that_is_known_is_not_checked_again() -> None:
    """What one session found serves the next ones of the task."""
    first = run(script())
    assert isinstance(first, Measured)
    on = device(script())

    again = run(script(), on=on, known_diffs=first.reference_diffs)

    assert on.opened[0] == b"candidate"
    assert isinstance(again, Measured)
    assert again.reference_diffs == first.reference_diffs


def test_a_candidate_that_takes_the_attempts_time_is_late() -> None:
    """Its own calls are most of it: the minimum, not an excuse."""
    slow = script(seconds=1.0)
    task = gemm_task(limits={"attempt_wall_s": 20})

    assert "of the attempt's 20 s" in refused(run(slow, task), Reason.DEADLINE)


def test_an_attempt_too_short_for_its_reference_is_inconclusive() -> None:
    """That is no fault of the candidate."""
    task = gemm_task(limits={"attempt_wall_s": 20})
    on = device(script(), script(seconds=1.0))

    with pytest.raises(Inconclusive, match="attempt_wall_s"):
        run(script(), task, on)


def test_a_reference_that_dies_is_the_tasks_fault() -> None:
    """Nobody is paid or blamed for it."""
    on = device(script(), script(failure=lambda _: FailureKind.DIED))

    with pytest.raises(TaskFault, match="the reference failed: runner died"):
        run(script(), on=on)


def test_a_kernel_that_cannot_be_loaded_earns_the_minimum() -> None:
    """It never starts."""
    on = device(script())
    on.scripts = {b"reference": script()}

    assert "runner died" in refused(run(script(), on=on), Reason.DIED)
