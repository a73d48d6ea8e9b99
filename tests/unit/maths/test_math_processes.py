"""What is asked of processes, and what is made of what they say."""

import os
from collections.abc import Callable
from typing import Any

import msgpack
import pytest

from assay.errors import Inconclusive, InfraFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Exit, Launch, Role
from assay.schema import Limits, Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.maths import asking
from assay.verifiers.maths.building import multiply, number
from assay.verifiers.maths.nodes import Symbol
from assay.verifiers.maths.packing import pack
from assay.verifiers.maths.scalars import Pair
from assay.verifiers.maths.symbolic import ALGEBRA, DIGITS, Questions, Said

VERSIONS = {"sympy": "9.9"}
Reply = bytes | Outcome


class AnsweringSlot(FakeSlot):
    """Ends every process at once: with what it is told to say, or by a limit."""

    def __init__(self, reply: Callable[[Launch, str, Any], Reply]) -> None:
        super().__init__()
        self._reply = reply

    def start(self, launch: Launch) -> FakeChild:
        """Answer."""
        reply = self._reply(launch, *asking.read_question(launch.payload))
        if isinstance(reply, Outcome):
            self.children = [FakeChild(Exit(None, 9), cut_by=reply)]
        else:
            os.write(launch.fds[0], reply)
            self.children = [FakeChild(Exit(0, None))]
        return super().start(launch)


def say(body: Any) -> bytes:
    """An answer as processes give it."""
    return bytes(msgpack.packb([body, VERSIONS]))


def judge(slot: AnsweringSlot, boxed: str = r"2\sqrt2", answer: str = r"\sqrt8") -> Verdict:
    """Judge an answer whose value is open."""
    registry = default_registry()
    task = registry.parse_task({"id": "t", "verifier": "math", "answer": answer})
    return registry.get("math").judge(task, f"\\boxed{{{boxed}}}", slot)


def always(body: Any) -> AnsweringSlot:
    """A slot whose processes all say the same."""
    return AnsweringSlot(lambda *_: say(body))


@pytest.mark.parametrize(("body", "reward"), [(["equal"], 1.0), (["different"], 0.0)])
def test_digits_decide(body: list[str], reward: float) -> None:
    """One light process, without a network, which is given values and no text."""
    slot = always(body)

    verdict = judge(slot)

    assert verdict.reward == reward
    assert verdict.flags == ()
    assert verdict.versions["sympy"] == "9.9"
    (launch,) = slot.launches
    assert (launch.role, launch.program, launch.flavour, launch.network) == (Role.ORACLE, DIGITS, "digits", False)
    assert b"boxed" not in launch.payload
    assert b"sqrt" not in launch.payload


def test_what_digits_leave_open_goes_to_algebra() -> None:
    """With the pairs that are still open."""
    slot = AnsweringSlot(lambda launch, *_: say(["open"] if launch.program == DIGITS else ["equal"]))

    assert judge(slot).reward == 1.0
    assert [launch.program for launch in slot.launches] == [DIGITS, ALGEBRA]
    assert slot.launches[1].flavour == "math"


def test_what_nobody_can_decide_is_worth_nothing_and_says_so() -> None:
    """It could be farmed if it were null."""
    verdict = judge(always(["open"]))

    assert (verdict.outcome, verdict.reward, verdict.flags) == (Outcome.FAILED, 0.0, ("undecided",))


def test_an_answer_that_exhausts_the_limits_is_worth_nothing() -> None:
    """If the gold alone does not."""
    slot = AnsweringSlot(lambda _, kind, __: say(True) if kind == "alone" else Outcome.TIMEOUT)

    verdict = judge(slot)

    assert (verdict.outcome, verdict.reward, verdict.flags) == (Outcome.FAILED, 0.0, ("undecided",))
    assert "longer than" in verdict.message


def test_a_gold_that_exhausts_them_alone_is_the_tasks_fault() -> None:
    """But an answer that is the gold word for word, or that no process is needed for, is judged all the same."""
    registry = default_registry()
    verifier = registry.get("math")
    task = registry.parse_task({"id": "t", "verifier": "math", "answer": r"\sqrt8"})
    slot = AnsweringSlot(lambda *_: Outcome.MEMORY_EXCEEDED)

    for _ in range(2):
        with pytest.raises(TaskFault, match="alone is too much"):
            verifier.judge(task, r"\boxed{2\sqrt2}", slot)
        assert verifier.judge(task, r"\boxed{\sqrt8}", slot).reward == 1.0
        assert verifier.judge(task, r"\boxed{3}", slot).reward == 0.0
    assert len(slot.launches) == 4  # it is not remembered: it may have been the machine


def test_a_busy_machine_is_nobodys_fault() -> None:
    """The attempt is tried again."""
    with pytest.raises(Inconclusive):
        judge(AnsweringSlot(lambda *_: Outcome.INCONCLUSIVE))


def test_without_the_extra_it_says_what_is_missing() -> None:
    """The fast path works all the same."""
    slot = always(asking.MISSING)

    with pytest.raises(InfraFault, match=r"'\.\[math\]'"):
        judge(slot)
    assert judge(slot, "0.5", r"\frac12").reward == 1.0
    assert judge(slot, "9", r"\sqrt8").reward == 0.0


def test_a_text_is_read_where_nothing_else_is_known() -> None:
    """In a candidate's jail, without the gold; what comes back is a value."""
    twice = pack(multiply(number(2), Symbol("x")))
    slot = AnsweringSlot(lambda *_: say(twice))

    assert judge(slot, r"\frac{d}{dx} x^2", "2x").reward == 1.0
    (launch,) = slot.launches
    assert (launch.role, launch.flavour) == (Role.CANDIDATE, "math")
    assert launch.payload == asking.ask_text(r"\frac{d}{dx} x^2")


@pytest.mark.parametrize("reply", [b"", b"\xff\xff", say(["f", "eval", ["s", "x"]]), say({"a": 1}), say(None),
say("equal"), say(["equal"]),
                                   msgpack.packb(5), msgpack.packb([1, 2, 3]), say(asking.FAILED)])  # fmt: skip
def test_whatever_its_reader_says_an_answer_earns_no_more_than_what_it_says(reply: bytes) -> None:
    """Not a verdict, not an outcome, not a fault of ours."""
    verdict = judge(AnsweringSlot(lambda *_: reply), r"\frac{d}{dx} x^2", "2x")

    assert verdict.reward == 0.0
    assert verdict.outcome is Outcome.FAILED


def test_a_reader_is_not_believed_that_the_extra_is_missing() -> None:
    """Another process is asked, which has read nothing."""
    slot = AnsweringSlot(lambda _, kind, __: say(asking.MISSING if kind == "text" else True))

    assert judge(slot, r"\frac{d}{dx} x^2", "2x").reward == 0.0
    assert [launch.role for launch in slot.launches] == [Role.CANDIDATE, Role.ORACLE]


def test_what_a_jail_takes_to_start_is_not_the_attempts_time() -> None:
    """On a busy machine an interpreter with its libraries takes long to come up; the processes after it still run."""
    now = [0.0]

    def reply(launch: Launch, *_: object) -> bytes:
        now[0] += 100.0
        return say(["open"] if launch.program == DIGITS else ["equal"])

    slot = AnsweringSlot(reply)
    pair = Pair(multiply(number(2), Symbol("x")), multiply(number(2), Symbol("y")))

    answer = Questions(slot, Limits(wall_s=3, attempt_wall_s=6), clock=lambda: now[0]).decide(((pair,),))

    assert answer.said is Said.YES
    assert [launch.program for launch in slot.launches] == [DIGITS, ALGEBRA]
    assert [launch.limits.wall_s for launch in slot.launches] == [3.0, 3.0]


def test_all_processes_of_an_attempt_share_its_time() -> None:
    """When it is used up nothing is started any more."""
    registry = default_registry()
    fields = {"id": "t", "verifier": "math", "answer": r"\sqrt8", "limits": {"wall_s": 5, "attempt_wall_s": 0.000001}}
    slot = AnsweringSlot(lambda _, kind, __: say(True if kind == "alone" else ["open"]))

    verdict = registry.get("math").judge(registry.parse_task(fields), r"\boxed{2\sqrt2}", slot)

    assert verdict.flags == ("undecided",)
    assert all(launch.limits.wall_s <= 0.000001 for launch in slot.launches[:1])
