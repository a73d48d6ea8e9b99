"""Scores attempts in this process: the service's path from `evaluate` down, with no server and no Redis."""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from assay.cli.inputs import Batch
from assay.errors import InvalidRequest
from assay.extras import how_to_get
from assay.maxima import check_maxima
from assay.sandboxes.nowhere import NoPool
from assay.schema import Attempt, BatchOptions, Result, TaskBase, check_equal
from assay.settings import Settings
from assay.verifiers.evaluate import CancelToken, Evaluator
from assay.verifiers.groups import Judged, Waiting, complete
from assay.verifiers.models.interface import Models, NoModels
from assay.verifiers.registry import Registry, parse
from assay.verifiers.requirements import missing_modules
from assay.verifiers.results import Place, build_result

_TOGETHER = 32  # results of rules judged before the first is handed on: doing both by turns costs a tenth more


@dataclass(frozen=True)
class Job:
    """One attempt with its task, at its place in the input."""

    place: Place
    task: TaskBase
    attempt: Attempt

    @property
    def group(self) -> str:
        """The group that it is compared with."""
        return self.task.id if self.attempt.group is None else self.attempt.group


@dataclass(frozen=True)
class Scorer:
    """What one-off commands judge with: a registry, an evaluator, a thread for each slot, and some that ask models."""

    registry: Registry
    evaluator: Evaluator
    threads: int
    model_calls: int = 1

    def score(self, jobs: Sequence[Job], options: BatchOptions) -> Generator[Result, None, None]:
        """Yield results as they are final, `seq` counting from 1. Whoever stops early cancels the rest.

        Those with group terms wait until their group is complete.
        """
        groups = Waiting(Counter(job.group for job in jobs))
        seq = 0
        with closing(self._judge_all(jobs, options)) as results:
            for judged in results:
                for result in groups.take(judged):
                    seq += 1
                    yield result.model_copy(update={"seq": seq})

    def judge(self, job: Job, options: BatchOptions, token: CancelToken | None = None) -> Result:
        """Judge one job, a group of its own, in the calling thread.

        Never raises for what the completion or the task does.
        """
        (result,) = complete([self._judge(job, options, time.monotonic(), token)])
        return result

    def _judge(self, job: Job, options: BatchOptions, since: float, token: CancelToken | None = None) -> Judged:
        place = replace(job.place, queued_s=time.monotonic() - since)
        evaluation = self.evaluator.evaluate(job.task, job.attempt.completion, token)
        result = build_result(place, job.task, job.attempt, evaluation, options)
        return Judged(result, evaluation.verdict.standing)

    def _judge_all(self, jobs: Sequence[Job], options: BatchOptions) -> Generator[Judged, None, None]:
        """Judge what runs something in threads, what asks models in others, and the rest here meanwhile: a thread
        costs more than most rules."""
        asking = [job for job in jobs if job.task.asks_models()]
        running = [job for job in jobs if job.task.runs_something() and not job.task.asks_models()]
        since = time.monotonic()
        with _Threads(self.model_calls) as askers, _Threads(self.threads) as runners:
            futures = [askers.start(partial(self._judge, job, options, since)) for job in asking]
            futures += [runners.start(partial(self._judge, job, options, since)) for job in running]
            light = (job for job in jobs if not job.task.runs_something() and not job.task.asks_models())
            while part := [self._judge(job, options, since) for job in itertools.islice(light, _TOGETHER)]:
                yield from part
            yield from (future.result() for future in as_completed(futures))


class _Threads:
    """Threads that judge; whatever still runs or waits when the context ends is cancelled and waited for."""

    def __init__(self, count: int) -> None:
        self._executor = ThreadPoolExecutor(count)
        self._tokens: list[CancelToken] = []

    def start(self, judge: Callable[[CancelToken], Judged]) -> Future[Judged]:
        """Have a job judged."""
        self._tokens.append(CancelToken())
        return self._executor.submit(judge, self._tokens[-1])

    def __enter__(self) -> "_Threads":
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
        for token in self._tokens:
            token.cancel()
        self._executor.shutdown(wait=True)


def builtin_registry(settings: Settings | None = None) -> Registry:
    """Return the verifiers that come with Assay, and those of plugins, as whoever judges here needs them."""
    # Here, not at the top: commands that only talk to a service need no verifiers.
    from assay.verifiers.builtin import default_registry
    from assay.verifiers.kernels.judging import open_measurer

    chosen = settings or Settings()
    return default_registry(chosen.databases, open_measurer(chosen))


@contextmanager
def open_scorer(settings: Settings, registry: Registry, jobs: Sequence[Job] | None = None) -> Iterator[Scorer]:
    """Open the sandbox and the models' endpoints, unless it is known that no job needs them, and yield a scorer.

    Raises IsolationUnavailable where attempts cannot be isolated, InvalidRequest where the endpoints are misconfigured.
    """
    with ExitStack() as stack:
        models: Models = NoModels()
        if jobs is None or any(job.task.asks_models() for job in jobs):
            # Here, not at the top: few commands ask models.
            from assay.verifiers.models.opening import open_models

            models = open_models(settings)
            stack.callback(models.close)
        if jobs is not None and not any(job.task.runs_something() for job in jobs):
            evaluator = Evaluator(registry, NoPool(), retries=settings.retries, models=models)
            yield Scorer(registry, evaluator, 1, settings.model_calls)
            return
        # Here, not at the top: commands that only talk to a service need no sandbox.
        from assay.sandboxes.backends import open_pool
        from assay.sandboxes.devices.cores import keep_off

        keep_off(settings.timing_cores)
        pool = open_pool(settings)
        stack.callback(pool.close)
        evaluator = Evaluator(registry, pool, retries=settings.retries, models=models)
        yield Scorer(registry, evaluator, pool.size, settings.model_calls)


def build_jobs(registry: Registry, batch: Batch, settings: Settings, profile: str | None = None) -> list[Job]:
    """Type a batch of documents, within what `settings` allow; `profile` is that of tasks that name none.

    Raises InvalidRequest naming the first fault's path.
    """
    tasks = _parse_tasks(registry, batch, settings, profile)
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


def _parse_tasks(registry: Registry, batch: Batch, settings: Settings, profile: str | None) -> Mapping[str, TaskBase]:
    tasks: dict[str, TaskBase] = {}
    for number, row in enumerate(batch.tasks):
        path = f"{batch.tasks_name}[{number}]"
        document = row if profile is None else registry.with_profile(row, profile, place=path, option="--profile")
        task = registry.parse_task(document, path=path)
        check_maxima(task, settings, path=f"{path}.limits")
        missing = missing_modules(task.requires)
        if missing:
            raise InvalidRequest(
                f"the task requires {', '.join(missing)}, which this Python does not have",
                path=f"{path}.requires",
                fix=f"{how_to_get(missing)}; or score through a service whose workers have it",
            )
        check_equal(tasks.setdefault(task.id, task), task, path=path)
    return tasks
