"""Small rules of the service: problems, exposure, telemetry, memory of verdicts, admission in other orders."""

import json
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from pydantic import SecretStr
from redis.exceptions import RedisError

from assay.cli.inputs import Batch
from assay.cli.local import build_jobs
from assay.errors import InfraFault, InvalidRequest, QueueFull, ServiceUnavailable, Unauthorized
from assay.outcomes import Outcome
from assay.schema import Verdict
from assay.service.admission import read_batch
from assay.service.bodies import Kind
from assay.service.chunks import Entry, Member, TaskRef, Terms
from assay.service.connection import translated
from assay.service.draft import Draft, NewBatch
from assay.service.fakes import EchoTask, fake_registry
from assay.service.problems import of_error, of_unknown_path
from assay.service.recording import judged, unjudged
from assay.service.serve import check_exposure, serve
from assay.service.telemetry import Gauges, Tally, render
from assay.service.verdict_cache import VerdictCache
from assay.settings import Settings
from assay.verifiers.evaluate import Evaluation

TASK = EchoTask(id="t", tests=("a",))


def evaluation(outcome: Outcome, stdout: str = "") -> Evaluation:
    """An evaluation with an outcome."""
    return Evaluation(Verdict(outcome=outcome, reward=0.0, stdout=stdout), 1.5, "fake", "1")


@dataclass(frozen=True)
class Stored:
    """Tasks that were stored before: references by id, documents by key."""

    refs: Mapping[str, TaskRef] = field(default_factory=dict)
    texts: Mapping[str, bytes] = field(default_factory=dict)

    def resolve(self, ids: Set[str]) -> Mapping[str, TaskRef]:
        """Return the references that are there."""
        return {one: self.refs[one] for one in ids if one in self.refs}

    def documents(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """Return the documents that are there."""
        return {one: self.texts[one] for one in names if one in self.texts}


def read(body: bytes, stored: dict[str, TaskRef] | None = None) -> NewBatch:
    """Read a JSON batch with some stored tasks."""
    return read_batch(body, Kind.JSON, {}, Draft(fake_registry(), Settings()), Stored(stored or {}))


def test_problems_tell_status_path_fix_and_headers() -> None:
    """Refusals keep their path and fix; a full queue says when to come again; a key is asked for as Bearer."""
    problem = of_error(InvalidRequest("bad", path="a[0]", fix="mend it"))

    assert problem.body() == (
        '{"type":"urn:assay:problem:invalid-request","title":"Unprocessable Entity","status":422,'
        '"detail":"bad","path":"a[0]","fix":"mend it"}'
    )
    assert of_error(QueueFull("full", retry_after_s=7)).headers == {"Retry-After": "7"}
    assert of_error(Unauthorized("no")).headers == {"WWW-Authenticate": "Bearer"}
    assert of_error(InfraFault("down")).status == 503


@pytest.mark.parametrize(
    ("changes", "refused_for"),
    [({}, ""), ({"scoring": "share"}, ""), ({"tests": ["b"]}, "content"), ({"metadata": {"n": 1}}, "metadata")],
)
def test_all_ways_in_agree_on_which_tasks_are_equal(changes: dict[str, object], refused_for: str) -> None:
    """One id may come twice with equal content, however written, and equal metadata; to HTTP and to `assay score`."""
    first = {"id": "t", "verifier": "echo", "tests": ["a"]}
    tasks, attempts = [first, {**first, **changes}], [{"task_id": "t", "completion": ""}]
    ways: list[Callable[[], object]] = [
        lambda: read(json.dumps({"tasks": tasks, "attempts": attempts}).encode()),
        lambda: build_jobs(fake_registry(), Batch(tuple(tasks), tuple(attempts)), Settings()),
    ]

    for way in ways:
        if not refused_for:
            way()
            continue
        with pytest.raises(InvalidRequest, match=f"has other {refused_for}") as caught:
            way()
        assert caught.value.path == "tasks[1].id"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_no_service_beyond_loopback_without_keys(host: str) -> None:
    """Without keys the service is not offered to other machines."""
    with pytest.raises(InvalidRequest, match="without keys"):
        check_exposure(Settings(host=host))

    check_exposure(Settings(host=host, api_keys=(SecretStr("k"),)))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_loopback_needs_no_keys(host: str) -> None:
    """On loopback a service may run without keys."""
    check_exposure(Settings(host=host))


@pytest.mark.parametrize("name", ["models", "databases"])
def test_a_service_whose_files_are_missing_is_refused_before_it_starts(name: str, tmp_path: Path) -> None:
    """By the setting; with no worker here, they are those of other machines."""
    settings = Settings.model_validate({"data_dir": tmp_path / "data", name: tmp_path / "none", "workers": 1})

    with pytest.raises(InvalidRequest, match="none") as caught:
        serve(settings)

    assert caught.value.path == name
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("path", "fix"),
    [("/v1/v1/batches", "without /v1"), ("/v1/batch", "/v1/batches"), ("/v1/scores/", "/v1/score"), ("/x", "docs/")],
)
def test_an_unknown_path_is_told_the_one_that_was_meant(path: str, fix: str) -> None:
    """Also where a client's address ends in /v1."""
    problem = of_unknown_path(path, ["/v1/batches", "/v1/score", "/healthz"])

    assert (problem.status, problem.slug) == (404, "not-found")
    assert path in problem.detail
    assert fix in problem.fix


def test_metrics_are_cumulative_histograms_and_counters() -> None:
    """Buckets count all that is not larger; outcomes carry verifier and outcome."""
    counters = {
        b"outcome:python:passed": b"3",
        b"timed_kernel:0.95 to 1.05:inconclusive": b"2",
        b"run_s:bucket:0": b"1",
        b"run_s:bucket:2": b"2",
        b"run_s:count": b"3",
        b"run_s:sum": b"0.04",
    }

    text = render(counters, Gauges(5, {"assay-batch+0": 2}, 1, 4, {"a b": 2, "": 1})).decode()

    assert 'assay_results_total{outcome="passed",verifier="python"} 3.0' in text
    assert 'assay_timed_kernels_total{result="inconclusive",speedup="0.95 to 1.05"} 2.0' in text
    assert 'assay_run_seconds_bucket{le="0.01"} 1.0' in text
    assert 'assay_run_seconds_bucket{le="0.02"} 3.0' in text
    assert "assay_run_seconds_count 3.0" in text
    assert 'assay_queue_chunks{lane="assay-batch+0"} 2.0' in text
    assert 'assay_unserved_chunks{modules="a b"} 2.0' in text
    assert 'assay_unserved_chunks{modules=""} 1.0' in text


def test_run_times_are_of_what_was_judged() -> None:
    """A rule's verdict has a run time though no sandbox was used; a cancelled attempt has none."""
    entry = Entry(0, "0", TaskRef("t", "k", "c", "echo"), "g", "x")
    member = Member(Terms("b", 0.0), entry)
    tally = Tally()

    tally.add(judged(member, TASK, replace(evaluation(Outcome.FAILED), sandbox=""), 0.0))
    tally.add(unjudged(member, Outcome.CANCELLED, "cancelled"))

    counts = tally.take().integers
    assert (counts["queue_s:count"], counts["run_s:count"]) == (2, 1)


def test_faults_of_a_verifiers_code_are_counted_by_its_name() -> None:
    """Also where it judged a part: the operator sees whose code takes rewards away."""
    entry = Entry(0, "0", TaskRef("t", "k", "c", "echo"), "g", "x")
    found = evaluation(Outcome.INFRA_ERROR)
    flagged = found.verdict.model_copy(update={"reward": None, "flags": ("models", "verifier_fault:golf")})
    tally = Tally()

    tally.add(judged(Member(Terms("b", 0.0), entry), TASK, replace(found, verdict=flagged), 0.0))

    counters = {name.encode(): str(count).encode() for name, count in tally.take().integers.items()}
    assert 'assay_verifier_faults_total{verifier="golf"} 1.0' in render(counters, Gauges(0, {}, 1, 4)).decode()


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FAILED, Outcome.COMPILE_ERROR, Outcome.NO_ANSWER])
def test_repeatable_verdicts_are_remembered(outcome: Outcome) -> None:
    """What cannot depend on the machine's load is remembered, with no run time of its own."""
    cache = VerdictCache()

    cache.learn(TASK, "x", evaluation(outcome))

    known = cache.recall(TASK, "x")
    assert known is not None
    assert (known.verdict.outcome, known.run_s) == (outcome, 0.0)
    assert cache.recall(TASK, "y") is None


@pytest.mark.parametrize(
    "outcome", [Outcome.TIMEOUT, Outcome.MEMORY_EXCEEDED, Outcome.INFRA_ERROR, Outcome.TASK_ERROR, Outcome.CANCELLED]
)
def test_what_may_differ_next_time_is_not_remembered(outcome: Outcome) -> None:
    """Limits, faults and cancellations are judged again."""
    cache = VerdictCache()

    cache.learn(TASK, "x", evaluation(outcome))

    assert cache.recall(TASK, "x") is None


def test_the_memory_of_verdicts_is_bounded() -> None:
    """The verdict that was not asked for longest is forgotten first; large outputs are not kept at all."""
    cache = VerdictCache(capacity=2)
    for completion in ("a", "b", "a", "c"):
        if cache.recall(TASK, completion) is None:
            cache.learn(TASK, completion, evaluation(Outcome.FAILED))
    cache.learn(TASK, "big", evaluation(Outcome.FAILED, stdout="x" * 30_000))

    assert [cache.recall(TASK, one) is not None for one in ("a", "b", "c", "big")] == [True, False, True, False]


def test_attempts_may_stand_before_their_tasks() -> None:
    """The order of the fields of a JSON object does not matter."""
    body = (
        b'{"attempts": [{"task_id": "t", "completion": "x"}], "tasks": [{"id": "t", "verifier": "echo", "tests": []}]}'
    )

    batch = read(body)

    assert batch.entries[0].task.verifier == "echo"
    assert all(batch.documents.values())


def test_a_task_that_came_along_wins_over_a_stored_one() -> None:
    """An id means the stored task only where the request brings none."""
    stored = {name: TaskRef(name, f"key-{name}", "c", "echo") for name in ("t", "u")}
    body = (
        b'{"tasks": [{"id": "t", "verifier": "echo", "tests": []}],'
        b' "attempts": [{"task_id": "t", "completion": ""}, {"task_id": "u", "completion": ""}]}'
    )

    batch = read(body, stored)

    assert batch.entries[0].task.key != "key-t"
    assert batch.entries[1].task == stored["u"]
    assert batch.documents["key-u"] == b""


def test_labels_count_per_task() -> None:
    """The default label is the index among the task's attempts, labelled ones included."""
    attempts = [{"task_id": task_id, "completion": ""} for task_id in ("a", "b", "a", "a")]
    attempts[2]["attempt"] = "9"
    stored = {name: TaskRef(name, name, "c", "echo") for name in "ab"}

    batch = read(json.dumps({"attempts": attempts}).encode(), stored)

    assert [entry.label for entry in batch.entries] == ["0", "0", "9", "2"]


@pytest.mark.parametrize(
    ("error", "said"), [(RedisError("no route"), "Redis: no route"), (RedisError(), "Redis: RedisError")]
)
def test_what_redis_does_wrong_is_told_in_words(error: RedisError, said: str) -> None:
    """No class name stands before the words, unless there are none."""
    with pytest.raises(ServiceUnavailable) as caught, translated():
        raise error

    assert str(caught.value) == said
