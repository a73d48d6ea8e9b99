"""What every call of a runner takes, whatever its kernel does."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from assay.sandboxes.devices.interface import Reply

_LEFT = 0.05
_ENOUGH = 4


@dataclass
class Toll:
    """What an empty call takes, by the least of all runners of a device: none can raise it for itself.

    Of each runner the usual one counts by processor time: what is left on its calls would hide a part of what a quick
    kernel gains. On the wall it is a quick one, as others have waited for the processor.
    """

    least: dict[bool, tuple[float, float]] = field(default_factory=dict)
    """Wall and processor seconds, from cold caches (True) and from warm ones."""
    weighed: int = 0
    """Runners that were asked so far."""

    @property
    def is_known(self) -> bool:
        """Whether so many runners were asked that more would hardly tell anything new."""
        return self.weighed >= _ENOUGH

    def learn(self, replies: Sequence[Reply], *, is_cold: bool) -> None:
        """Take in the empty calls of a runner."""
        known = self.least.get(is_cold, (float("inf"), float("inf")))
        walls, cpus = sorted(reply.wall_s for reply in replies), sorted(reply.cpu_s or 0.0 for reply in replies)
        wall_s, cpu_s = walls[len(walls) // 10], cpus[len(cpus) // 2]
        self.least[is_cold] = (min(known[0], wall_s), min(known[1], cpu_s))

    def take_off(self, reply: Reply, *, is_cold: bool) -> Reply:
        """Return what the kernel itself took, never below a small share of an empty call: no time is zero."""
        wall_s, cpu_s = self.least.get(is_cold, (0.0, 0.0))
        cpu = None if reply.cpu_s is None else _without(reply.cpu_s, cpu_s)
        return replace(reply, wall_s=_without(reply.wall_s, wall_s), cpu_s=cpu, empty_s=wall_s)


def _without(seconds: float, toll_s: float) -> float:
    return max(seconds - toll_s, _LEFT * max(seconds, toll_s))
