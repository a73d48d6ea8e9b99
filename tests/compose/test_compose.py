"""The composed service judges, survives the loss of a worker, keeps what it promised to keep, and leaves nothing."""

import gzip
import json
from collections import Counter

import pytest
from compose_files import interpolated, rootless_worker, run_options
from projects import KEY, ROOT, Project, inspect, output, started, wait_for
from published import DATA

from assay.clients import Client
from assay.clients.formats import Format, task_of_record
from assay.schema import BatchOptions
from assay.settings import required_neighbours

pytestmark = pytest.mark.docker

HUMANEVAL = DATA / "HumanEval.jsonl.gz"
WORKED_EXAMPLE = ROOT / "tests" / "cases" / "worked-example"
MANY = 164
SOME = 8
SLOW = 0.5  # cores of a worker: there must be a middle of the batch to kill one in

Documents = list[dict[str, object]]


def batch() -> tuple[Documents, Documents]:
    """HumanEval's tasks with their golds; where the file is absent (never in CI), as many of the worked example."""
    if HUMANEVAL.exists() or "docker" in required_neighbours():
        rows = [json.loads(line) for line in gzip.decompress(HUMANEVAL.read_bytes()).splitlines()]
        tasks = [task_of_record(Format.HUMANEVAL, row) for row in rows]
        return tasks, [{"task_id": task["id"], "completion": task["gold"]} for task in tasks]
    task = json.loads((WORKED_EXAMPLE / "task.json").read_text())
    lines = (WORKED_EXAMPLE / "group.jsonl").read_text().splitlines()
    good = next(attempt for attempt in map(json.loads, lines) if "== 0" in attempt["completion"])
    return [task], [{**good, "attempt": number} for number in range(MANY)]


def test_every_attempt_has_one_result_though_a_worker_is_killed(project: Project) -> None:
    """Killed in mid-batch, a worker costs no attempt its one result, and none is our fault; `down` leaves nothing."""
    tasks, attempts = batch()
    project.up(workers=2, worker_cpus=SLOW)
    [victim, _] = project.containers("worker")
    with Client(project.url, api_key=KEY) as client:
        accepted = client.submit(tasks, attempts, options=BatchOptions(cache=False))

        wait_for(lambda: client.status(accepted.batch_id).done >= SOME, what=project.logs)
        output(["docker", "kill", victim])
        after_kill = client.status(accepted.batch_id)
        results = client.wait(accepted.batch_id)
        indexes = project.result_indexes(accepted.batch_id)
    project.down()

    assert after_kill.done < after_kill.total, "the batch was over before the worker was killed"
    assert sorted(indexes) == list(range(MANY))
    assert Counter(str(result.outcome) for result in results) == {"passed": MANY}
    assert {result.sandbox for result in results} == {"namespaces"}
    assert project.left() == []


def test_results_outlive_the_containers(project: Project) -> None:
    """Results are there again after `down` without --volumes and a new `up`."""
    task = json.loads((WORKED_EXAMPLE / "task.json").read_text())
    attempts = [json.loads(line) for line in (WORKED_EXAMPLE / "group.jsonl").read_text().splitlines()]
    project.up(workers=1)
    with Client(project.url, api_key=KEY) as client:
        accepted = client.submit([task], attempts)
        before = client.wait(accepted.batch_id)

    project.run("down")
    project.up(workers=1)
    with Client(project.url, api_key=KEY) as client:
        after = client.wait(accepted.batch_id)

    assert [result.reward for result in sorted(after, key=lambda one: one.index)] == [0.0, 0.5, 1.0, 0.5]
    assert after == before


def test_containers_are_what_the_file_says(running: Project) -> None:
    """As the engine sees them, containers have limits and no socket; a worker's first process has no rights."""
    [worker] = running.containers("worker")
    status = output(["docker", "exec", worker, "cat", "/proc/1/status"])
    rights = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)

    for container in (worker, *running.containers("api"), *running.containers("redis")):
        host = inspect(container)["HostConfig"]
        assert not host["Privileged"]
        assert host["CapDrop"] == ["ALL"]
        assert host["ReadonlyRootfs"]
        assert host["Memory"] > 0
        assert host["NanoCpus"] > 0
        assert host["PidsLimit"] > 0
        assert "docker.sock" not in json.dumps(inspect(container)["Mounts"])
    assert rights["Uid"].split() == ["1000"] * 4
    assert [rights[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")] == ["0" * 16] * 5
    assert rights["NoNewPrivs"] == "1"
    assert rights["Seccomp"] == "2"


def test_workers_are_on_the_internal_network_alone(running: Project) -> None:
    """A worker's container shares one network with Redis and the API, from which the engine forwards nothing."""
    [worker] = running.containers("worker")

    networks = list(inspect(worker)["NetworkSettings"]["Networks"])
    facts = json.loads(output(["docker", "network", "inspect", *networks]))

    assert networks == [f"{running.name}_inside"]
    assert facts[0]["Internal"] is True


def test_health_is_told(running: Project) -> None:
    """Every container becomes healthy by its own check."""
    everyone = [one for service in ("api", "redis", "worker") for one in running.containers(service)]

    wait_for(lambda: all(inspect(one)["State"]["Health"]["Status"] == "healthy" for one in everyone), what=running.logs)


def test_workers_can_do_without_root_from_the_start(running: Project) -> None:
    """A container as deploy/compose-rootless.yml has it works and is healthy; `docker run` stands in for Compose v2."""
    service = rootless_worker()
    check = interpolated(service["healthcheck"]["test"])[1:]

    with started(run_options(service, running)) as container:
        wait_for(lambda: running.live_workers() == 2, what=running.logs)
        output(["docker", "exec", container, *check])
        host = inspect(container)["HostConfig"]
        output(["docker", "stop", container])

    assert host["CapAdd"] is None
    wait_for(lambda: running.live_workers() == 1, what=running.logs)
