"""What every call of a runner takes, whatever its kernel does."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from assay.sandboxes.devices.interface import Form, Reply

_LEFT = 0.05
_ENOUGH = 4
_UNKNOWN = (float("inf"), float("inf"))

Account = dict[tuple[Form, bool], tuple[float, float]]
"""Wall and processor seconds of an empty call by form of kernel, from cold caches (True) and from warm ones."""


@dataclass
class Toll:
    """What an empty call takes, by the least of a device's runners: no candidate can change it for anybody else.

    Kernels of ours and of tasks tell it. What candidates tell is used for a form that none of those has, for
    candidates alone, and only where it is less: who tells less has less taken off. Of each runner the usual empty call
    counts by processor time: what is left on its calls would hide a part of what a quick kernel gains. On the wall it
    is a quick one, as others have waited for the processor.
    """

    ours: Account = field(default_factory=dict)
    theirs: Account = field(default_factory=dict)
    weighed: dict[Form, int] = field(default_factory=dict)
    """Runners of ours that were asked so far."""


@dataclass(frozen=True)
class Share:
    """The toll as one runner has it."""

    toll: Toll
    form: Form
    is_ours: bool

    @property
    def is_known(self) -> bool:
        """Whether asking this runner would tell nothing new: so many were asked, or it is not the one to be asked."""
        return self.toll.weighed.get(self.form, 0) >= (_ENOUGH if self.is_ours else 1)

    def learn(self, replies: Sequence[Reply], *, is_cold: bool) -> None:
        """Take in the empty calls of this runner; those from cold caches are its last."""
        account = self.toll.ours if self.is_ours else self.toll.theirs
        known = account.get((self.form, is_cold), _UNKNOWN)
        walls, cpus = sorted(reply.wall_s for reply in replies), sorted(reply.cpu_s or 0.0 for reply in replies)
        account[self.form, is_cold] = _least([known, (walls[len(walls) // 10], cpus[len(cpus) // 2])])
        if self.is_ours and is_cold:
            self.toll.weighed[self.form] = self.toll.weighed.get(self.form, 0) + 1

    def take_off(self, reply: Reply, *, is_cold: bool) -> Reply:
        """Return what the kernel itself took, never below a small share of an empty call: no time is zero."""
        wall_s, cpu_s = self._of_call(is_cold)
        cpu = None if reply.cpu_s is None else _without(reply.cpu_s, cpu_s)
        return replace(reply, wall_s=_without(reply.wall_s, wall_s), cpu_s=cpu, empty_s=wall_s)

    def _of_call(self, is_cold: bool) -> tuple[float, float]:
        """Return wall and processor seconds of an empty call; nothing, as long as none of ours was asked."""
        ours = self.toll.ours
        if (self.form, is_cold) in ours:
            return ours[self.form, is_cold]
        others = [told for (_, cold), told in ours.items() if cold == is_cold]
        return _least([*others, self.toll.theirs.get((self.form, is_cold), _UNKNOWN)]) if others else (0.0, 0.0)


def _least(told: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return min(wall_s for wall_s, _ in told), min(cpu_s for _, cpu_s in told)


def _without(seconds: float, toll_s: float) -> float:
    return max(seconds - toll_s, _LEFT * max(seconds, toll_s))
