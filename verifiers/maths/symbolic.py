"""Asking the processes of `math`: each question has a jailed process of its own, ended from outside at its limits.

Pairs of values go to the light process that compares digits, and what that leaves open to the one with computer
algebra. Neither is given a text: values are data by then, so nothing that a completion wrote is parsed where a verdict
is reached. A text that only math-verify's grammar may know is read in a process that holds nothing else.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any  # Any: msgpack values

import msgpack

from assay.errors import InfraFault
from assay.extras import install_extras
from assay.sandboxes.interface import Launch, Role, Slot
from assay.schema import Limits, Usage
from assay.verifiers.maths import asking, digits_program, symbolic_program
from assay.verifiers.maths.comparison import Alternative, Alternatives
from assay.verifiers.maths.nodes import Node
from assay.verifiers.maths.packing import BadPacking, unpack
from assay.verifiers.maths.probing import comparison_of, points_of
from assay.verifiers.maths.scalars import Pair
from assay.verifiers.processes import listen
from assay.verifiers.scoring import add_usage, end_of
from assay.verifiers.spending import Budget

DIGITS, ALGEBRA = digits_program.__name__, symbolic_program.__name__
_FLAVOURS = {DIGITS: "digits", ALGEBRA: "math"}
_EQUAL, _DIFFERENT = "equal", "different"  # `probes.Finding`, which needs mpmath


class Said(Enum):
    """What came of a question."""

    YES = auto()
    NO = auto()
    UNDECIDED = auto()
    EXHAUSTED = auto()
    """A process reached a limit, or died of the work."""


@dataclass(frozen=True)
class Answer:
    """What was said; why not, if a process did not; and what a text says, if that was asked."""

    said: Said
    message: str = ""
    node: Node | None = None


@dataclass(frozen=True)
class _Reply:
    body: Any
    message: str


@dataclass
class Questions:
    """What one verification asks, within the limits of the task: each process has them, and all have the attempt's."""

    slot: Slot
    limits: Limits
    usage: Usage = field(default_factory=Usage)
    versions: Mapping[str, str] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._budget = Budget(self.limits, self.clock)

    def decide(self, alternatives: Alternatives) -> Answer:
        """Ask whether all pairs of an alternative are equal. Raises InfraFault, Inconclusive."""
        answer = Answer(Said.NO)
        for alternative in alternatives:
            found = self._decide(alternative)
            if found.said is Said.YES:
                return found
            answer = answer if found.said is Said.NO else found
        return answer

    def settle(self, values: list[Node]) -> Answer:
        """Ask whether the work that a comparison does on these values alone ends. Raises InfraFault, Inconclusive.

        The time it takes is the task's own.
        """
        self._budget = Budget(self.limits, self.clock)
        payload = asking.ask_alone((value, points_of(value, value)) for value in values)
        for program in (DIGITS, ALGEBRA):
            reply = self._ask(Role.ORACLE, program, payload)
            if reply.body is None:
                return Answer(Said.EXHAUSTED, reply.message)
            if reply.body is True:
                break
        return Answer(Said.YES)

    def read(self, text: str) -> Answer:
        """Ask what a text says. Raises InfraFault, Inconclusive."""
        reply = self._ask(Role.CANDIDATE, ALGEBRA, asking.ask_text(text))
        if reply.body is None:
            return Answer(Said.EXHAUSTED, reply.message)
        if reply.body == asking.MISSING:
            self._ask(Role.ORACLE, ALGEBRA, asking.ask_alone([]))  # the one that read the text is not believed
        try:
            return Answer(Said.YES, node=unpack(reply.body))
        except BadPacking:
            return Answer(Said.UNDECIDED)

    def _decide(self, alternative: Alternative) -> Answer:
        compared = [(pair, comparison_of(pair)) for pair in alternative]
        left = [pair for pair, comparison in compared if comparison is None]
        by_digits = [(pair, comparison) for pair, comparison in compared if comparison is not None]
        if by_digits:
            payload = asking.ask_digits(comparison for _, comparison in by_digits)
            undecided = self._narrow(DIGITS, payload, [pair for pair, _ in by_digits])
            if isinstance(undecided, Answer):
                return undecided
            left += undecided
        if left:
            payload = asking.ask_pairs((pair.gold, pair.answer, pair.tolerance) for pair in left)
            undecided = self._narrow(ALGEBRA, payload, left)
            if isinstance(undecided, Answer):
                return undecided
            left = undecided
        return Answer(Said.UNDECIDED if left else Said.YES)

    def _narrow(self, program: str, payload: bytes, pairs: list[Pair]) -> list[Pair] | Answer:
        """Ask for a finding on each of the pairs; return those it leaves open, or the answer if there is one."""
        reply = self._ask(Role.ORACLE, program, payload)
        if not isinstance(reply.body, list):
            return Answer(Said.EXHAUSTED, reply.message)
        if _DIFFERENT in reply.body:
            return Answer(Said.NO)
        return [pair for pair, found in zip(pairs, reply.body, strict=True) if found != _EQUAL]

    def _ask(self, role: Role, program: str, payload: bytes) -> _Reply:
        refusal = self._budget.refusal()
        if refusal is not None:
            return _Reply(None, refusal.message)
        wall_s = min(self.limits.wall_s, self._budget.left_s(0.0))
        limits = self.limits.model_copy(update={"wall_s": wall_s})
        launch = Launch(role, program, payload, limits, _FLAVOURS[program], network=False)
        child, said = listen(self.slot, launch, asking.MOST_BYTES, "a comparison", self._budget.start)
        self._budget.pause(child.starved_s())
        self.usage = add_usage(self.usage, child.usage)
        body, versions = _decoded(said) if child.cut_by is None else (None, {})
        if role is Role.ORACLE:
            self.versions = {**self.versions, **versions}
            if body == asking.MISSING:
                raise InfraFault(f"math_verify is not installed where attempts run: {install_extras('math')}")
        assert child.exit is not None
        return _Reply(body, end_of(child.exit, child.cut_by, limits)[1] if body is None else "")


def _decoded(said: bytes) -> tuple[Any, Mapping[str, str]]:
    """Return what was answered and with which libraries; None if it is not an answer at all."""
    try:
        body, versions = msgpack.unpackb(said)
        return body, {str(name): str(version) for name, version in versions.items()}
    except (ValueError, TypeError, AttributeError):
        return None, {}
