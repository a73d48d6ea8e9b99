"""Scores attempts in this process: the service's path from `evaluate` down, with no server and no Redis."""

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from assay.cli.inputs import Batch
from assay.cli.lanes import Lanes
from assay.cli.records.entries import Document
from assay.errors import InvalidRequest
from assay.extras import how_to_get, name_needs
from assay.maxima import check_asked, check_maxima
from assay.outcomes import Outcome
from assay.sandboxes.nowhere import NoPool
from assay.schema import Attempt, BatchOptions, Result, TaskBase, Verdict, check_equal
from assay.settings import Settings
from assay.verifiers.evaluate import CancelToken, Evaluation, Evaluator
from assay.verifiers.groups import Judged, Waiting, complete
from assay.verifiers.models.interface import Models, NoModels
from assay.verifiers.offers import lacking
from assay.verifiers.registry import Registry, parse
from assay.verifiers.results import Place, build_result
from assay.verifiers.scoring import MESSAGE_CHARACTERS

_RUNS, _MODELS = range(2)  # lanes
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
    cuda_device: str = "0"
    """On which kernels are timed, as the settings name it."""

    def score(self, jobs: Sequence[Job], options: BatchOptions) -> Generator[Result, None, None]:
        """Yield results as they are final, `seq` counting from 1. Whoever stops early cancels the rest."""
        return self.score_stream(jobs, options, Counter(job.group for job in jobs).__getitem__)

    def score_stream(
        self, jobs: Iterable[Job], options: BatchOptions, group_size: Callable[[str], int]
    ) -> Generator[Result, None, None]:
        """Do what `score` does for jobs of which only a few are held at once.

        Results with group terms wait until their group is complete: memory grows with the largest such group, and with
        what lies between the attempts of a group.
        """
        groups = Waiting(group_size)
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
        missing = lacking(job.task.requires, self.cuda_device)
        evaluation = (
            self._unjudged(job.task, missing)
            if missing
            else self.evaluator.evaluate(job.task, job.attempt.completion, token)
        )
        result = build_result(place, job.task, job.attempt, evaluation, options)
        return Judged(result, evaluation.verdict.standing)

    def _unjudged(self, task: TaskBase, missing: Sequence[str]) -> Evaluation:
        """Return what attempts come to whose task requires what is not here: without it they would only look wrong."""
        message = (
            f"the task requires {name_needs(missing)}, which this Python does not have: {how_to_get(missing)}; "
            "or score through a service whose workers have it"
        )
        verdict = Verdict(outcome=Outcome.INFRA_ERROR, reward=None, message=message[:MESSAGE_CHARACTERS])
        return Evaluation(verdict, 0.0, "", self.registry.get(task.verifier).version)

    def _judge_all(self, jobs: Iterable[Job], options: BatchOptions) -> Generator[Judged, None, None]:
        """Judge what runs something in threads, what asks models in others, and the rest here meanwhile: a thread
        costs more than most rules."""
        light: list[Job] = []
        lanes: Lanes[Judged] = Lanes((self.threads, self.model_calls))
        with lanes:
            for job in jobs:
                if job.task.runs_something() or job.task.asks_models():
                    judge = partial(self._judge, job, options, time.monotonic())
                    yield from lanes.start(_MODELS if job.task.asks_models() else _RUNS, judge)
                    continue
                light.append(job)
                if len(light) == _TOGETHER:
                    yield from self._judge_here(light, options)
                    yield from lanes.ended()
                    light = []
            yield from self._judge_here(light, options)
            yield from lanes.rest()

    def _judge_here(self, jobs: Sequence[Job], options: BatchOptions) -> list[Judged]:
        return [self._judge(job, options, time.monotonic()) for job in jobs]


def builtin_registry(settings: Settings | None = None) -> Registry:
    """Return the verifiers that come with Assay, and those of plugins, as whoever judges here needs them."""
    # Here, not at the top: commands that only talk to a service need no verifiers.
    from assay.verifiers.builtin import default_registry
    from assay.verifiers.kernels.judging import open_measurer

    chosen = settings or Settings()
    return default_registry(chosen.databases, open_measurer(chosen), cuda_device=chosen.cuda_device)


@dataclass(frozen=True)
class Needs:
    """What judging some tasks takes beside this process."""

    sandbox: bool = True
    models: bool = True

    @classmethod
    def of(cls, tasks: Iterable[TaskBase]) -> "Needs":
        """Return what all of these take together."""
        sandbox = models = False
        for task in tasks:
            sandbox, models = sandbox or task.runs_something(), models or task.asks_models()
        return cls(sandbox, models)


@contextmanager
def open_scorer(settings: Settings, registry: Registry, needs: Needs | None = None) -> Iterator[Scorer]:
    """Open the sandbox and the models' endpoints, unless it is known that nothing needs them, and yield a scorer.

    Raises IsolationUnavailable where attempts cannot be isolated, InvalidRequest where the endpoints are misconfigured.
    """
    needs = needs or Needs()
    with ExitStack() as stack:
        models: Models = NoModels()
        if needs.models:
            # Here, not at the top: few commands ask models.
            from assay.verifiers.models.opening import open_models

            models = open_models(settings)
            stack.callback(models.close)
        if not needs.sandbox:
            evaluator = Evaluator(registry, NoPool(), retries=settings.retries, models=models)
            yield Scorer(registry, evaluator, 1, settings.model_calls, settings.cuda_device)
            return
        # Here, not at the top: commands that only talk to a service need no sandbox.
        from assay.sandboxes.backends import open_pool
        from assay.sandboxes.devices.cores import keep_off

        keep_off(settings.timing_cores)
        pool = open_pool(settings)
        stack.callback(pool.close)
        evaluator = Evaluator(registry, pool, retries=settings.retries, models=models)
        yield Scorer(registry, evaluator, pool.size, settings.model_calls, settings.cuda_device)


@dataclass(frozen=True)
class TaskReader:
    """Types documents as tasks that are to be judged here; `profile` is the preset of those that name none."""

    registry: Registry
    settings: Settings
    profile: str | None

    def read(self, document: Document, path: str) -> TaskBase:
        """Return a task. Raises InvalidRequest. What it requires may be missing here."""
        asked: object = document
        if self.profile is not None:
            asked = self.registry.with_profile(document, self.profile, place=path, option="--profile")
        check_asked(asked, self.settings, path=f"{path}.limits")
        task = self.registry.parse_task(asked, path=path)
        check_maxima(task, self.settings, path=f"{path}.limits")
        return task

    def check_equal(self, known: Document, other: Document, path: str) -> None:
        """Raise InvalidRequest unless two documents are one task, however written; `path` is the second one's."""
        check_equal(self.read(known, path), self.read(other, path), path=path)


def build_jobs(registry: Registry, batch: Batch, settings: Settings) -> list[Job]:
    """Type a batch of documents, within what `settings` allow.

    Raises InvalidRequest naming the first fault's path.
    """
    tasks = _read_tasks(TaskReader(registry, settings, None), batch)
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


def _read_tasks(reader: TaskReader, batch: Batch) -> Mapping[str, TaskBase]:
    tasks: dict[str, TaskBase] = {}
    for number, document in enumerate(batch.tasks):
        path = f"{batch.tasks_name}[{number}]"
        task = reader.read(document, path)
        check_equal(tasks.setdefault(task.id, task), task, path=path)
    return tasks
