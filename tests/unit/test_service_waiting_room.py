"""The waiting room: who is next, and who is no longer wanted."""

from concurrent.futures import ThreadPoolExecutor

from assay.outcomes import Outcome
from assay.schema import TaskBase, Verdict
from assay.service.chunks import Entry, Member, TaskRef, Terms
from assay.service.fakes import EchoTask
from assay.service.queue import Claim, Lane
from assay.service.waiting_room import Held, WaitingRoom, Work
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Asked
from assay.verifiers.interface import Prepared
from assay.verifiers.models.judge import JudgeTask
from assay.verifiers.rules.classification import ClassificationTask

TASK = EchoTask(id="t", tests=("a",))
TIMED = default_registry().parse_task({"id": "t", "verifier": "kernel", "kernel": "axpy/float32"})
LIGHT = ClassificationTask(id="t", label="cat")
ASKING = JudgeTask(id="t", endpoint="m", kind="rubric", rubric="100 for a cat")
ASKED = Asked({"": Prepared(lambda _: Verdict(outcome=Outcome.PASSED, reward=1.0), needs_slot=True)})


def work(
    index: int, *, interactive: bool = False, priority: int = 0, deadline: float | None = None, task: TaskBase = TASK
) -> Work:
    """A piece of work in some lane."""
    claim = Claim(Lane(interactive, priority), "chunk", 1, b"")
    entry = Entry(index, str(index), TaskRef("t", "k", "c", "echo"), "g", "")
    return Work(Held(claim, frozenset({"b"}), 1), Member(Terms("b", 0.0, deadline), entry), task)


def taken(room: WaitingRoom) -> int:
    """The index of what comes next."""
    next_work = room.take()
    assert next_work is not None
    return next_work.member.entry.index


def test_interactive_work_comes_first_then_priority_then_order() -> None:
    """Somebody who waits on the line is served first; batches by priority; equals first come first served."""
    room = WaitingRoom(8, 2)
    room.add([work(0), work(1), work(2, priority=3), work(3, interactive=True), work(4, priority=-1)])

    assert [taken(room) for _ in range(5)] == [3, 2, 0, 1, 4]


def test_batches_leave_slots_for_interactive_work() -> None:
    """With all batch slots busy, batch work is not handed out, interactive work is."""
    room = WaitingRoom(4, 1)
    room.add([work(index) for index in range(4)])
    running = [taken(room) for _ in range(3)]
    room.add([work(9, interactive=True)])

    assert running == [0, 1, 2]
    assert taken(room) == 9


def test_a_single_slot_serves_both() -> None:
    """With one slot there is no share to reserve."""
    room = WaitingRoom(1, 0)
    room.add([work(0)])

    assert taken(room) == 0


def test_work_for_a_device_leaves_half_of_the_slots_to_others() -> None:
    """Batches' and interactive together; what is passed over comes when another such attempt has ended."""
    room = WaitingRoom(5, 1)
    timed = [work(index, task=TIMED) for index in range(4)]
    room.add([*timed, work(4, interactive=True, task=TIMED), work(5), work(6)])

    order = [taken(room) for _ in range(4)]
    room.leave(next(one for one in room.running() if one.member.entry.index == 4))

    assert order == [4, 0, 5, 6]
    assert taken(room) == 1


def test_chunks_for_a_device_are_claimed_by_themselves() -> None:
    """Any number of them that waits keeps no other chunk from being claimed."""
    room = WaitingRoom(4, 0)
    room.add([work(index, task=TIMED) for index in range(9)])
    lanes = [Lane(False, 0, uses_device=True), Lane(False, 0)]

    assert room.wanted(lanes) == lanes[1:]
    assert len({lane.name for lane in lanes}) == 2


def test_light_work_is_taken_together_and_never_by_slots() -> None:
    """What runs nothing waits for no slot and takes none, several at once, the most urgent first."""
    room = WaitingRoom(1, 0)
    room.add([work(0), *(work(index, task=LIGHT) for index in (1, 2, 3)), work(4, interactive=True, task=LIGHT)])

    slot = taken(room)
    light = room.take_light(3)
    rest = room.take_light(3)

    assert slot == 0
    assert [one.member.entry.index for one in light] == [4, 1, 2]
    assert [one.member.entry.index for one in rest] == [3]
    assert len(room.running()) == 5


def test_light_work_that_is_done_makes_room_for_nothing_else() -> None:
    """Slots stay taken while light work leaves."""
    room = WaitingRoom(2, 1)
    room.add([work(0), work(1, task=LIGHT), work(2)])
    taken(room)

    room.leave(*room.take_light(8))

    assert [one.member.entry.index for one in room.running()] == [0]
    assert room.wait_until_idle(0.0) is False


def test_work_that_asks_models_takes_no_slot_until_they_have_answered() -> None:
    """It has threads of its own, the most urgent first; then it waits for a slot like any other."""
    room = WaitingRoom(1, 0, model_calls=2)
    room.add([work(0, task=ASKING), work(1, interactive=True, task=ASKING), work(2)])

    first, second = room.take_asking(), room.take_asking()
    assert first is not None
    assert second is not None
    room.hand_over(second, ASKED)

    assert [one.member.entry.index for one in (first, second)] == [1, 0]
    assert taken(room) == 2
    assert sorted(one.member.entry.index for one in room.running()) == [1, 2]
    room.leave(first, *(one for one in room.running() if one.task is TASK))
    assert taken(room) == 0


def test_what_has_asked_models_leaves_reserved_slots_alone() -> None:
    """A batch's attempt is a batch's attempt, also on its second step."""
    room = WaitingRoom(2, 1, model_calls=2)
    room.add([work(0), work(1, task=ASKING)])
    slot = room.take()
    asking = room.take_asking()
    assert slot is not None
    assert asking is not None
    room.hand_over(asking, ASKED)
    room.add([work(2, interactive=True)])

    assert taken(room) == 2
    room.leave(slot)
    assert taken(room) == 1


def test_batches_leave_threads_that_ask_to_interactive_work() -> None:
    """Whoever waits on the line asks models at once, however many attempts of batches do."""
    room = WaitingRoom(1, 0, model_calls=1)
    room.add([work(0, task=ASKING), work(1, task=ASKING), work(2, interactive=True, task=ASKING)])

    order = []
    for _ in range(2):
        next_work = room.take_asking()
        assert next_work is not None
        order.append(next_work)
    room.add([work(3, interactive=True, task=ASKING)])
    third = room.take_asking()
    room.leave(order[1])
    last = room.take_asking()

    assert [one.member.entry.index for one in order] == [2, 0]
    assert third is not None
    assert third.member.entry.index == 3
    assert last is not None
    assert last.member.entry.index == 1


def test_work_that_asks_models_is_wanted_apart() -> None:
    """However much of it waits, other lanes are served; of its own as much is wanted as is asked at once."""
    room = WaitingRoom(2, 0, model_calls=3)
    asking, other = Lane(False, 0, asks_models=True), Lane(False, 0)

    room.add([work(index, task=ASKING) for index in range(2)])
    some = room.wanted([asking, other])
    room.add([work(2, task=ASKING)])
    enough = room.wanted([asking, other])

    assert some == [asking, other]
    assert enough == [other]


def test_what_has_asked_models_is_never_late() -> None:
    """It was in time when it began."""
    room = WaitingRoom(1, 0)
    room.add([work(0, deadline=10.0, task=ASKING), work(1, deadline=10.0, task=ASKING)])
    asking = room.take_asking()
    assert asking is not None
    room.hand_over(asking, ASKED)

    late = room.take_late(now=20.0)

    assert [one.member.entry.index for one in late] == [1]
    assert taken(room) == 0


def test_cancelling_reaches_work_between_its_steps() -> None:
    """The token is the same throughout."""
    room = WaitingRoom(1, 0)
    room.add([work(0, task=ASKING)])
    asking = room.take_asking()
    assert asking is not None
    room.hand_over(asking, ASKED)

    room.cancel([("b", 0)])

    assert asking.token.cancelled


def test_quick_work_is_fetched_ahead() -> None:
    """As much is wanted as was done a moment ago, so that slots never wait for a chunk; no more once all is slow."""
    moments = [0.0]
    room = WaitingRoom(2, 0, clock=lambda: moments[0])
    lane = Lane(interactive=False, priority=0)
    room.add([work(index) for index in range(20)])
    for _ in range(12):
        done = room.take()
        assert done is not None
        room.leave(done)

    quick = room.wanted([lane])
    moments[0] = 10.0
    slow = room.wanted([lane])

    assert quick == [lane]
    assert slow == []


def test_a_full_room_wants_only_what_is_more_urgent() -> None:
    """Once enough waits, chunks are left to other workers, except from lanes above all that waits."""
    room = WaitingRoom(4, 1)
    room.add([work(index, priority=1) for index in range(3)])
    lanes = [Lane(True, 0), Lane(False, 2), Lane(False, 1), Lane(False, 0)]

    assert room.wanted(lanes) == [Lane(True, 0), Lane(False, 2)]


def test_cancelling_reaches_work_wherever_it_is() -> None:
    """Waiting, running and not yet arrived attempts are cancelled; others are not."""
    room = WaitingRoom(4, 1)
    works = [work(index) for index in range(4)]
    room.add(works[:3])
    room.take()

    room.cancel([("b", 0), ("b", 1), ("b", 3)])
    room.add(works[3:])

    assert [one.token.cancelled for one in works] == [True, True, False, True]


def test_late_work_is_taken_out() -> None:
    """Waiting work whose deadline has passed is removed and returned; the rest stays."""
    room = WaitingRoom(4, 1)
    room.add([work(0, deadline=10.0), work(1, deadline=30.0), work(2)])

    late = room.take_late(now=20.0)

    assert [one.member.entry.index for one in late] == [0]
    assert [taken(room), taken(room)] == [1, 2]


def test_a_closed_room_starts_nothing() -> None:
    """After closing, slots are sent home though work waits."""
    room = WaitingRoom(4, 1)
    room.add([work(0)])

    room.close()

    assert room.take() is None
    assert room.take_light(1) == []
    assert room.take_asking() is None


def test_a_slot_that_a_batch_has_again_is_told_to_who_waits() -> None:
    """Also if whoever gave it up does not come back for it."""
    room = WaitingRoom(3, 2)
    room.add([work(0), work(1)])
    first = room.take()
    assert first is not None

    with ThreadPoolExecutor(1) as others:
        waiting = others.submit(taken, room)
        room.leave(first)

        assert waiting.result(timeout=60) == 1


def test_the_end_of_a_worker_waits_for_no_work_that_was_handed_over() -> None:
    """It waits for a slot then, and does not run."""
    room = WaitingRoom(2, 1)
    room.add([work(0, task=ASKING)])
    asking = room.take_asking()
    assert asking is not None

    with ThreadPoolExecutor(1) as others:
        ending = others.submit(room.wait_until_idle, 120)
        room.hand_over(asking, ASKED)

        assert ending.result(timeout=60)
