"""What the rewards of a task lie between, told once: by its terms, or by its verifier."""

from assay.errors import InvalidRequest
from assay.schema import TaskBase
from assay.verifiers.interface import Ranged, Verifier
from assay.verifiers.rules.rule import ProfiledTask, Termed, range_of
from assay.verifiers.scoring import SLACK


def reward_range(verifier: Verifier, task: TaskBase) -> tuple[float, float] | None:
    """Return the lowest and the highest reward of a task, infinite where there is no bound; None if nobody knows.

    A violation may earn less than the lowest: no threshold lets it pass.
    """
    if isinstance(verifier, Ranged):
        return verifier.reward_range(task)
    if isinstance(verifier, Termed) and isinstance(task, ProfiledTask):
        return range_of(verifier.terms(task), task.weights)
    return None


def check_threshold(verifier: Verifier, task: TaskBase) -> None:
    """Raise InvalidRequest if no reward could reach the task's `pass_threshold`, or none could miss it.

    The lowest reward itself misses nothing: whatever earns it would pass.
    """
    known = None if task.pass_threshold is None else reward_range(verifier, task)
    if task.pass_threshold is None or known is None:
        return
    low, high = known
    if task.pass_threshold > high + SLACK:
        what = f"{task.pass_threshold:.15g} is above {high:.15g}, the highest reward of this task: nothing would pass"
        fix = f"give at most {high:.15g}"
    elif task.pass_threshold <= low:
        what = f"{task.pass_threshold:.15g} is not above {low:.15g}, the lowest reward of this task: all would pass"
        fix = f"give more than {low:.15g}" if low < high else "leave it out: every reward is the same"
    else:
        return
    raise InvalidRequest(what, path="pass_threshold", fix=fix)
