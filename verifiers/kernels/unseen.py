"""Work that the score clock did not see: refused where nothing else explains it, and charged in any case.

A busy machine holds calls up, and uses processor time around them; that must accuse nobody. So an accusation compares
the candidate with both honest calls of its own round, and does not ask how much a machine may do. What falls short of
one is charged: of two clocks that disagree, the slower tells the candidate's time.
"""

import math
from collections.abc import Sequence

import numpy as np

from assay.sandboxes.devices.interface import Clock, Reply
from assay.verifiers.kernels.dtypes import Floats
from assay.verifiers.kernels.rounds import RoundLog, clocked, late_s
from assay.verifiers.kernels.schedule import Slot
from assay.verifiers.kernels.speed import exact_interval

DOUBT = 1e-6
"""The probability at most, at one shape, that a machine alone leads to an accusation."""
CHANCE = 1e-3
"""The probability that a machine alone has all calls charged where the kernel tells of waiting."""
BLUR = 1e-3
"""The probability that honest calls differ by more than is taken for their difference."""
USUAL_SHARE = 0.95
"""Of honest calls: what more hides than as many of them do is charged to the call itself."""


def is_beyond_doubt(mine: Floats, honest: Sequence[Floats], margin_s: float, doubt: float = DOUBT) -> bool:
    """Say whether the candidate is above both honest calls, by a margin, in more rounds than chance allows.

    The three calls of a round come in a secret random order. If the machine is the cause, whatever it does and however
    rounds hang together, each of the three is the largest in one round of three. Bounded by Chernoff's inequality:
    P(binomial(n, 1/3) >= k) <= exp(-n KL(k / n, 1/3)); fewer than 13 rounds accuse nobody.
    """
    count = mine.size
    share = float(np.mean(mine > np.maximum.reduce(honest) + margin_s)) if count else 0.0
    if share <= 1 / 3:
        return False
    distance = share * math.log(3 * share) + (0.0 if share == 1 else (1 - share) * math.log(1.5 * (1 - share)))
    return math.exp(-count * distance) <= doubt


def late_work(log: RoundLog, margin_s: float) -> str:
    """Say what was computed after answers; empty if a machine could have done it. It is charged then (`clocked`).

    What a call leaves undone must be in its frame when the runner is frozen, and no later call has the same inputs.
    """
    late = {slot: np.array([late_s(reply) for reply in replies]) for slot, replies in log.replies.items()}
    mine = late[Slot.CANDIDATE]
    if not is_beyond_doubt(mine, (late[Slot.REFERENCE], late[Slot.TWIN]), margin_s):
        return ""
    beyond = float(np.median(mine)) * 1e3
    return f"post-reply CPU: {beyond:.3f} ms in the usual of {mine.size} calls"


def two_clock_excess(log: RoundLog, clock: Clock, margin_s: float) -> str:
    """Say how much of a call is on the wall clock alone; empty if a machine could have done it. It is charged then.

    One that is slower than the reference by the score clock is not accused: longer calls meet more of what a machine
    does. It is charged as all are (`charges`).
    """
    if clock is Clock.WALL or not log.orders:
        return ""
    told = {slot: clocked(replies, clock) for slot, replies in log.replies.items()}
    unseen = {slot: unseen_s(replies, clock) for slot, replies in log.replies.items()}
    honest = unseen[Slot.REFERENCE], unseen[Slot.TWIN]
    is_slower = np.median(told[Slot.CANDIDATE]) > np.median(told[Slot.REFERENCE])
    if is_slower or not is_beyond_doubt(unseen[Slot.CANDIDATE], honest, margin_s):
        return ""
    excess = float(np.median(unseen[Slot.CANDIDATE]) - np.median(np.concatenate(honest)))
    return f"two clocks: {excess * 1e3:.3f} ms of a call are on the wall clock and not on the {clock} clock"


def unseen_s(replies: Sequence[Reply], clock: Clock) -> Floats:
    """Return what calls took on the wall beyond a clock, without what the kernel knows to be waiting; 0 at least."""
    waited = np.array([reply.waited_s or 0.0 for reply in replies], dtype=np.float64)
    return np.maximum(clocked(replies, Clock.WALL) - waited - clocked(replies, clock), 0.0)


def charges(log: RoundLog, clock: Clock, resolution: float) -> Floats:
    """Return what is added to each of the candidate's times by a clock, for what the wall alone shows; seconds.

    To all of them, what its usual call takes on the wall beyond its usual time and beyond what honest calls do, if that
    is more than the device resolves (`resolution`, a share of the reference's time) and than honest calls differ by
    (`_blur_s`). To a call that hides more than nearly all honest calls do, what it hides: means of ratios see single
    calls. Honest calls are scaled up to longer ones.
    """
    mine, theirs = (clocked(log.replies[slot], clock) for slot in (Slot.CANDIDATE, Slot.REFERENCE))
    if clock is Clock.WALL or not mine.size:
        return np.zeros_like(mine)
    longer = max(1.0, float(np.median(mine)) / max(float(np.median(theirs)), 1e-12))
    least = max(resolution * float(np.median(theirs)), longer * _blur_s(log, clock))
    honest = np.concatenate([unseen_s(log.replies[slot], clock) for slot in (Slot.REFERENCE, Slot.TWIN)])
    usual, most = (longer * float(np.quantile(honest, share)) for share in (0.5, USUAL_SHARE))
    unseen = unseen_s(log.replies[Slot.CANDIDATE], clock)
    common = float(np.median(mine + unseen) - np.median(mine)) - usual
    common = common if common > least and _is_told(log, clock) else 0.0
    return np.where(unseen - usual > max(most - usual, least), np.maximum(unseen - usual, common), common)


def _is_told(log: RoundLog, clock: Clock) -> bool:
    """Say whether the candidate's excess is more than chance; taken for granted where nobody tells of waiting."""
    pair = [log.replies[slot] for slot in (Slot.REFERENCE, Slot.TWIN)]
    if any(reply.waited_s is None for replies in pair for reply in replies):
        return True
    honest = [unseen_s(replies, clock) for replies in pair]
    return is_beyond_doubt(unseen_s(log.replies[Slot.CANDIDATE], clock), honest, 0.0, CHANCE)


def _blur_s(log: RoundLog, clock: Clock) -> float:
    """Return the half-width of the median difference between reference and twin in what the clock does not see.

    0 where the kernel does not tell of waiting: a machine's stalls must not pay for work that hides among them.
    """
    pair = [log.replies[slot] for slot in (Slot.REFERENCE, Slot.TWIN)]
    if any(reply.waited_s is None for replies in pair for reply in replies):
        return 0.0
    reference, twin = (unseen_s(replies, clock) for replies in pair)
    differences = reference - twin
    half_width = exact_interval(differences, BLUR).half_width
    return half_width if math.isfinite(half_width) else float(np.ptp(differences)) / 2
