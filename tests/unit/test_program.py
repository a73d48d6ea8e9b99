"""The verifier `program` without a jail: its tasks, what may be returned, and what is made of replies."""

import json
import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import msgpack
import numpy as np
import pytest

from assay.errors import Inconclusive, InvalidRequest, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Exit, Launch, Role
from assay.schema import TaskBase, Verdict
from assay.verifiers import killed
from assay.verifiers.builtin import default_registry
from assay.verifiers.program.returned import Returned, Unusable, read_returned
from assay.verifiers.split.report import frame

REGISTRY = default_registry()
SOURCE = "def verify(completion, task):\n    return 1\n"


def parse(**fields: Any) -> TaskBase:
    """A task with a source."""
    return REGISTRY.parse_task({"id": "t", "verifier": "program", "source": SOURCE, **fields})


class SayingSlot(FakeSlot):
    """Runs a process that says these words and ends."""

    def __init__(self, *words: Any, exit_: Exit = Exit(0, None), cut_by: Outcome | None = None) -> None:  # noqa: B008
        super().__init__([FakeChild(exit_, cut_by=cut_by)])
        self._words = words

    def start(self, launch: Launch) -> FakeChild:
        """Say all, at once."""
        for word in self._words:
            os.write(launch.fds[0], word if isinstance(word, bytes) else frame(msgpack.packb(word)))
        return super().start(launch)


def judge(slot: FakeSlot, completion: str = "x", **fields: Any) -> Verdict:
    """Judge with that slot."""
    return REGISTRY.get("program").judge(parse(**fields), completion, slot)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"source": ""}, "source"),
        ({"source": None}, "source"),
        ({"terms": {"a": {"low": 1, "high": 1}}}, "terms.a.low"),
        ({"terms": {"a": {"high": 1e300}}}, "terms.a.high"),
        ({"terms": {"a b": {}}}, "terms.a b"),
        ({"terms": {f"a{number}": {} for number in range(65)}}, "terms"),
        ({"terms": {"a": {}}, "weights": {"b": 1}}, "weights.b"),
        ({"data": float("nan")}, "data"),
        ({"on_error": "zero"}, "on_error"),
        ({"tests": []}, "tests"),
    ],
)
def test_faulty_tasks_are_refused(fields: Mapping[str, Any], place: str) -> None:
    """Ranges ascend, names are names, weights are of terms, data is JSON."""
    with pytest.raises(InvalidRequest) as caught:
        parse(**fields)

    assert caught.value.path == f"task.{place}"


def test_what_the_source_may_read_is_content() -> None:
    """Equal work is judged once: work is equal only where the source sees the same."""
    plain = parse().content_hash()

    assert parse().content_hash() == plain
    assert len({plain, parse(metadata={"a": 1}).content_hash(), parse(data=1).content_hash()}) == 3
    assert parse(id="u").content_hash() != plain


@pytest.mark.parametrize(
    ("answer", "terms", "message"),
    [
        (1, {"reward": 1.0}, ""),
        ((True, "well"), {"reward": 1.0}, "well"),
        (Fraction(1, 4), {"reward": 0.25}, ""),
        ({"a": 1, "b.c-d": -0.5}, {"a": 1.0, "b.c-d": -0.5}, ""),
        (({"a": 1}, "m" * 5000), {"a": 1.0}, "m" * 2000),
    ],
)
def test_numbers_and_dicts_are_read(answer: Any, terms: Mapping[str, float], message: str) -> None:
    """With a message or without."""
    assert read_returned(answer) == Returned(terms, message)


@pytest.mark.parametrize(
    "answer",
    [None, "1", b"1", [1], (1, 2), (1,), {}, {"a": None}, {1: 1}, {"": 1}, {"a\n": 1}, 1e10, float("nan"), 1j, 10**999,
     np.complex64(1 + 5j), np.complex128(1), np.str_("1"), np.bytes_(b"1")],
)  # fmt: skip
def test_anything_else_is_unusable(answer: Any) -> None:
    """It is never guessed what was meant."""
    with pytest.raises(Unusable):
        read_returned(answer)


def test_the_process_is_the_oracles_and_gets_text_and_task() -> None:
    """Without a network; with numpy where the source names it."""
    slot = SayingSlot(["ready"], ["answer", "", {"reward": 1.0}, ""])

    verdict = judge(slot, "text", data=[1], metadata={"m": 2}, source=SOURCE + "import numpy\n")

    (launch,) = slot.launches
    assert (launch.role, launch.flavour, launch.network) == (Role.ORACLE, "numeric", False)
    source, completion, document = msgpack.unpackb(launch.payload)
    assert (source, completion) == (SOURCE + "import numpy\n", "text")
    assert json.loads(document) == {"id": "t", "metadata": {"m": 2}, "data": [1]}
    assert (verdict.outcome, verdict.reward) == (Outcome.PASSED, 1.0)


@pytest.mark.parametrize(
    "words",
    [
        [["ready"], ["failed", "it raised", ""]],
        [["ready"]],
        [["ready"], ["answer", "", {"reward": 2.0}, ""]],
        [["ready"], ["answer", "", {"reward": float("nan")}, ""]],
        [["ready"], ["answer", "", {"other": 0.5, "more": 2.0}, ""]],
        [["ready"], ["answer", "", "reward", ""]],
        [["ready"], ["answer", "", {}]],
        [["ready"], ["answer"]],
        [["ready"], ["failed", "it raised"]],
        [["ready"], frame(b"\xc1")],
        [["ready"], 7],
        [["ready"], [["ready"]]],
    ],
)
def test_failures_on_a_completion_follow_the_task(words: list[Any]) -> None:
    """A null reward by default, the lowest where a gold has passed or the task says so, never for the gold itself."""
    with pytest.raises(TaskFault, match="on this completion"):
        judge(SayingSlot(*words))
    for fields in ({"gold": "gold"}, {"on_error": "lowest"}):
        verdict = judge(SayingSlot(*words), **fields)
        assert (verdict.outcome, verdict.reward, verdict.flags) == (Outcome.FAILED, 0.0, ("undecided",))
    with pytest.raises(TaskFault):
        judge(SayingSlot(*words), "gold", gold="gold", on_error="lowest")


@pytest.mark.parametrize(
    "words", [[["broken", "SyntaxError"]], [], [b"\xff\xff\xff\xff"], [frame(b"\xc1")], [["other", 1]]]
)
def test_a_source_that_cannot_be_set_up_is_the_tasks_fault(words: list[Any]) -> None:
    """So is one that writes to our channel itself before it is ready."""
    with pytest.raises(TaskFault):
        judge(SayingSlot(*words), on_error="lowest")


def test_a_process_is_ready_once() -> None:
    """Its time to answer begins there; saying so again and again would give it time for ever."""
    slot = SayingSlot(["ready"], ["ready"], ["ready"], ["answer", "", {"reward": 1.0}, ""])
    child = slot.children[0]
    started: list[bool] = []
    child.start_clock = lambda **_: started.append(True)  # type: ignore[method-assign]

    judge(slot)

    assert len(started) == 2


@pytest.mark.parametrize("gold", ["gold", None])
def test_the_gold_of_a_composite_is_that_of_its_parts(gold: str | None) -> None:
    """Once it has passed the part's source works: what upsets it is then the completion's loss, and else a null."""
    parts = [{"name": "p", "verifier": "program", "task": {"source": SOURCE}, "weight": 2}]
    task = REGISTRY.parse_task({"id": "t", "verifier": "composite", "terms": parts, "gold": gold})
    failing = (["ready"], ["failed", "it raised ValueError", ""])

    if gold is None:
        with pytest.raises(TaskFault, match=r"^p: .*it raised ValueError"):
            REGISTRY.get("composite").judge(task, "x", SayingSlot(*failing))
        return
    verdict = REGISTRY.get("composite").judge(task, "x", SayingSlot(*failing))

    assert (verdict.outcome, verdict.reward, verdict.flags) == (Outcome.FAILED, 0.0, ("undecided",))
    with pytest.raises(TaskFault, match=r"^p: .*it raised ValueError"):
        REGISTRY.get("composite").judge(task, gold, SayingSlot(*failing))


def test_our_own_failures_are_nobody_elses() -> None:
    """A busy machine."""
    with pytest.raises(Inconclusive):
        judge(SayingSlot(["ready"], cut_by=Outcome.INCONCLUSIVE), on_error="lowest")


def test_a_process_killed_from_outside_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: what is killed again does that itself, unless the kernel had to make room meanwhile."""
    monkeypatch.setattr(killed, "memory_kills", lambda: 7)
    slot = SayingSlot(["ready"], exit_=Exit(None, 9))
    slot.children *= 3

    verdict = judge(slot, on_error="lowest")

    assert (verdict.outcome, verdict.flags) == (Outcome.FAILED, ("undecided",))
    assert "SIGKILL" in verdict.message


def test_a_source_that_kills_itself_before_it_is_ready_is_the_tasks_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the completion, and whatever the task says of failures."""
    monkeypatch.setattr(killed, "memory_kills", lambda: 7)
    slot = SayingSlot(exit_=Exit(None, 9))
    slot.children *= 3

    with pytest.raises(TaskFault, match="SIGKILL"):
        judge(slot, on_error="lowest")


def test_declared_terms_come_every_time() -> None:
    """A dict that lacks one, or has another, is unusable."""
    terms: dict[str, Any] = {"a": {}, "b": {"low": -1}}

    for given in ({"a": 1.0}, {"a": 1.0, "b": 0.0, "c": 1.0}, {"a": 1.0, "b": -2.0}):
        with pytest.raises(TaskFault):
            judge(SayingSlot(["ready"], ["answer", "", given, ""]), terms=terms)
    assert judge(SayingSlot(["ready"], ["answer", "", {"a": 1.0, "b": -1.0}, ""]), terms=terms).reward == 0.0


def test_beside_others_reward_alone_counts() -> None:
    """Unless the task weighs another."""
    said = [["ready"], ["answer", "", {"reward": 0.5, "length": 0.25, "other": 9.0}, ""]]

    assert judge(SayingSlot(*said)).reward == 0.5
    assert judge(SayingSlot(*said), weights={"length": 2}).reward == 1.0
    with pytest.raises(TaskFault):
        judge(SayingSlot(*said), weights={"nothing": 1})
