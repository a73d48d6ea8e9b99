"""Scores attempts in this process: the service's path from `evaluate` down, with no server and no Redis."""

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass

from assay.cli.inputs import Batch
from assay.errors import InvalidRequest
from assay.maxima import check_maxima
from assay.sandboxes.nowhere import NoPool
from assay.schema import Attempt, BatchOptions, Result, TaskBase, Timing, check_equal
from assay.settings import Settings
from assay.verifiers.evaluate import CancelToken, Evaluator
from assay.verifiers.registry import Registry, parse
from assay.verifiers.requirements import missing_modules
from assay.verifiers.results import Place, build_result


@dataclass(frozen=True)
class Job:
    """One attempt with its task, at its place in the input."""

    place: Place
    task: TaskBase
    attempt: Attempt


@dataclass(frozen=True)
class Scorer:
    """What one-off commands judge with: a registry, an evaluator and as many threads as there are slots."""

    registry: Registry
    evaluator: Evaluator
    threads: int

    def score(self, jobs: Sequence[Job], options: BatchOptions) -> Generator[Result, None, None]:
        """Yield results as they finish, `seq` counting from 1. Whoever stops early cancels the rest."""
        started = time.monotonic()
        with closing(self._judge_all(jobs, options)) as results:
            for seq, result in enumerate(results, 1):
                queued_s = max(0.0, time.monotonic() - started - result.timing.run_s)
                timing = Timing(queued_s=round(queued_s, 6), run_s=result.timing.run_s)
                yield result.model_copy(update={"seq": seq, "timing": timing})

    def judge(self, job: Job, options: BatchOptions, token: CancelToken | None = None) -> Result:
        """Judge one job in the calling thread; never raises for what the completion or the task does."""
        evaluation = self.evaluator.evaluate(job.task, job.attempt.completion, token)
        return build_result(job.place, job.task, job.attempt, evaluation, options)

    def _judge_all(self, jobs: Sequence[Job], options: BatchOptions) -> Generator[Result, None, None]:
        """Judge what runs something in threads, and the rest here meanwhile: a thread costs more than most rules."""
        running = [job for job in jobs if job.task.runs_something()]
        tokens = [CancelToken() for _ in running]
        with ThreadPoolExecutor(self.threads) as threads:
            pairs = zip(running, tokens, strict=True)
            futures = [threads.submit(self.judge, job, options, token) for job, token in pairs]
            try:
                yield from (self.judge(job, options) for job in jobs if not job.task.runs_something())
                yield from (future.result() for future in as_completed(futures))
            finally:
                threads.shutdown(wait=False, cancel_futures=True)
                for token in tokens:
                    token.cancel()


def builtin_registry() -> Registry:
    """Return the verifiers that come with Assay."""
    # Here, not at the top: commands that only talk to a service need no verifiers.
    from assay.verifiers.builtin import default_registry

    return default_registry()


@contextmanager
def open_scorer(settings: Settings, registry: Registry, jobs: Sequence[Job] | None = None) -> Iterator[Scorer]:
    """Open the sandbox, unless it is known that no job runs anything, and yield a scorer.

    Raises IsolationUnavailable where attempts cannot be isolated.
    """
    if jobs is not None and not any(job.task.runs_something() for job in jobs):
        yield Scorer(registry, Evaluator(registry, NoPool(), retries=settings.retries), 1)
        return
    # Here, not at the top: commands that only talk to a service need no sandbox.
    from assay.sandboxes.backends import open_pool

    pool = open_pool(settings)
    try:
        yield Scorer(registry, Evaluator(registry, pool, retries=settings.retries), pool.size)
    finally:
        pool.close()


def build_jobs(registry: Registry, batch: Batch, settings: Settings) -> list[Job]:
    """Type a batch of documents, within what `settings` allow. Raises InvalidRequest naming the first fault's path."""
    tasks = _parse_tasks(registry, batch, settings)
    counts: dict[str, int] = dict.fromkeys(tasks, 0)
    jobs = []
    for index, document in enumerate(batch.attempts):
        path = f"{batch.attempts_name}[{index}]"
        attempt = parse(Attempt, document, path=path)
        if attempt.task_id not in tasks:
            raise InvalidRequest(
                f"no task has the id {attempt.task_id!r}",
                path=f"{path}.task_id",
                fix="add the task, or correct the id",
            )
        label = str(counts[attempt.task_id]) if attempt.attempt is None else attempt.attempt
        counts[attempt.task_id] += 1
        jobs.append(Job(Place("local", index, label), tasks[attempt.task_id], attempt))
    return jobs


def in_input_order(results: Iterable[Result]) -> Iterator[Result]:
    """Yield results by index, each as soon as all before it are there."""
    waiting: dict[int, Result] = {}
    following = 0
    for result in results:
        waiting[result.index] = result
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def _parse_tasks(registry: Registry, batch: Batch, settings: Settings) -> Mapping[str, TaskBase]:
    tasks: dict[str, TaskBase] = {}
    for number, document in enumerate(batch.tasks):
        path = f"{batch.tasks_name}[{number}]"
        task = registry.parse_task(document, path=path)
        check_maxima(task, settings, path=f"{path}.limits")
        missing = missing_modules(task.requires)
        if missing:
            raise InvalidRequest(
                f"the task requires {', '.join(missing)}, which this Python does not have",
                path=f"{path}.requires",
                fix="install it, or score through a service whose workers have it",
            )
        check_equal(tasks.setdefault(task.id, task), task, path=path)
    return tasks
