"""Judges the completions of conformity lines through the real path, and compares numbers."""

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from assay.canonical import dump_line
from assay.cli.conformity.lines import Document
from assay.cli.inputs import Batch
from assay.cli.local import Scorer, build_jobs
from assay.errors import InvalidRequest
from assay.schema import BatchOptions
from assay.settings import Settings
from assay.verifiers.evaluate import CancelToken

INVALID_REQUEST = "invalid_request"
"""Stands for an outcome where the request itself is refused (a 4xx answer)."""

TOLERANCE = 1e-6
"""Rewards and advantages in conformity files are rounded to six decimals."""

_OPTIONS = BatchOptions(cache=False, keep_output=True)


@dataclass(frozen=True)
class Judged:
    """What one completion came to; `handed_back` is all that a caller would see of it."""

    outcome: str
    reward: float | None
    terms: Mapping[str, float] = field(default_factory=dict)
    passed: tuple[int, ...] = ()
    exit_code: int | None = None
    stdout: str = ""
    run_s: float = 0.0
    message: str = ""
    handed_back: str = ""


class StartToken(CancelToken):
    """Also says when the attempt has begun to run."""

    def __init__(self) -> None:
        super().__init__()
        self.started = threading.Event()

    def attach(self, kill: Callable[[], None] | None) -> None:
        """Note the start, and then do what a cancel token does."""
        super().attach(kill)
        self.started.set()


@dataclass(frozen=True)
class Judge:
    """Judges one completion at a time per calling thread; at most `threads` run at once."""

    scorer: Scorer

    @property
    def threads(self) -> int:
        """How many completions run at once."""
        return self.scorer.threads

    def judge(self, task: Document, completion: str | None, token: CancelToken | None = None) -> Judged:
        """Return what the completion came to; a refused request is an answer too."""
        try:
            batch = Batch((task,), ({"task_id": task["id"], "completion": completion},))
            (job,) = build_jobs(self.scorer.registry, batch, Settings())
        except InvalidRequest as error:
            text = f"{error.path}: {error.detail}"
            return Judged(INVALID_REQUEST, None, message=text, handed_back=text)
        result = self.scorer.judge(job, _OPTIONS, token)
        return Judged(
            outcome=str(result.outcome),
            reward=result.reward,
            terms=result.terms,
            passed=result.passed,
            exit_code=result.exit_code,
            stdout=result.stdout,
            run_s=result.timing.run_s,
            message=result.message,
            handed_back=dump_line(result.model_dump(mode="json")),
        )


def agree(expected: float | None, got: float | None) -> bool:
    """Say whether two rewards are the same: null only equals null, numbers within the tolerance."""
    if expected is None or got is None:
        return expected is got
    return math.isfinite(got) and abs(expected - got) <= TOLERANCE
