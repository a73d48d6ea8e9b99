"""When attempts wait in vain: decided from what the live workers say, and told once."""

import logging

import pytest

from assay.answers import Lack
from assay.extras import CUDA_DEVICE
from assay.service.fleet import WorkerInfo
from assay.service.shortages import SETTLED_S, ShortageLog, find_lack, lack_of


def worker(*lacks: str) -> WorkerInfo:
    """A live worker that lacks these modules, as far as it has seen."""
    return WorkerInfo("w", "h", 1, 2, ("python",), lacks)


@pytest.mark.parametrize(
    ("requires", "workers", "lack"),
    [
        ((), [], lack_of()),
        (("a",), [], lack_of()),
        ((), [worker("a")], None),
        (("a",), [worker("a"), worker("b")], None),
        (("a",), [worker("a"), worker("a", "b")], lack_of(("a",))),
        (("a", "b", "c"), [worker("a", "b"), worker("a")], lack_of(("a",))),
        (("a", "b"), [worker("a", "b")], lack_of(("a", "b"))),
        (("a", "b"), [worker("a"), worker("b")], lack_of(("a", "b"), together=True)),
    ],
)
def test_a_lack_is_what_every_worker_lacks(
    requires: tuple[str, ...], workers: list[WorkerInfo], lack: Lack | None
) -> None:
    """A worker that has not looked yet may still take it: nothing is said then."""
    assert find_lack(requires, workers) == lack


def test_a_lack_names_modules_and_their_extra() -> None:
    """One module or several, from extras or from elsewhere, or any worker."""
    assert lack_of(("gymnasium",)).detail == "no running worker has the module gymnasium"
    assert lack_of((CUDA_DEVICE,)).detail == "no running worker has a CUDA device"
    assert lack_of(("triton", CUDA_DEVICE)).detail == "no running worker has the module triton and a CUDA device"
    assert "CUDA" in lack_of((CUDA_DEVICE,)).fix
    assert lack_of(("osqp", "scipy")).detail == "no running worker has the modules osqp, scipy"
    assert "pip install '.[simulator]'" in lack_of(("osqp", "scipy")).fix
    assert "script/setup" in lack_of(("gymnasium",)).fix
    assert lack_of(("a", "b"), together=True).detail == "no running worker has all of the modules a, b"
    assert lack_of().document() == {
        "modules": (),
        "detail": "no worker is alive",
        "fix": "start one: `assay worker`, or `assay serve` with ASSAY_WORKERS above 0",
    }


def test_what_lasts_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Not while workers may just be replaced; again only after it was over."""
    caplog.set_level(logging.INFO)
    told = ShortageLog()
    waiting = {lack_of(("a",)): 3}

    told.note(waiting, 0.0)
    told.note(waiting, SETTLED_S / 2)
    before = list(caplog.messages)
    for moment in (SETTLED_S, SETTLED_S + 1, SETTLED_S + 2):
        told.note(waiting, moment)
    told.note({}, SETTLED_S + 3)
    told.note(waiting, SETTLED_S + 4)
    told.note(waiting, 2 * SETTLED_S + 4)

    assert before == []
    assert [message.split(" (")[0] for message in caplog.messages] == [
        "chunks_unserved chunks=3 reason=no running worker has the module a",
        "chunks_unserved_over reason=no running worker has the module a",
        "chunks_unserved chunks=3 reason=no running worker has the module a",
    ]
