"""A compose project that a test brings up, looks into, damages and takes down."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any  # Any: what the engine tells of its objects is unparsed JSON

import httpx

ROOT = Path(__file__).parents[2]
KEY = "a-key-of-the-tests"
_LOOK_S = 0.2
_DEADLINE_S = 240.0


@dataclass
class Project:
    """One project of its own name, on a free port of its own."""

    name: str
    compose: Sequence[str]
    images: Mapping[str, str]
    port: int = field(default_factory=lambda: free_port())
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The published address."""
        return f"http://127.0.0.1:{self.port}"

    def run(self, *arguments: str) -> str:
        """Run one compose command to its end and return what it printed. Fails the test if it fails."""
        variables = {"ASSAY_API_KEYS": KEY, "API_ADDRESS": f"127.0.0.1:{self.port}"}
        command = [*self.compose, "--project-name", self.name, *arguments]
        return output(command, {**self.images, **self.variables, **variables})

    def up(self, *, workers: int, worker_cpus: float = 2) -> None:
        """Bring the project up and wait until that many workers live."""
        self.variables["WORKER_CPUS"] = str(worker_cpus)
        self.run("up", "--detach", "--scale", f"worker={workers}")
        wait_for(lambda: self.live_workers() == workers, what=self.logs)

    def down(self) -> None:
        """Take it down, its volumes included."""
        self.run("down", "--volumes")

    def logs(self) -> str:
        """The last lines of every container."""
        return self.run("logs", "--tail", "30")

    def containers(self, service: str) -> list[str]:
        """The ids of a service's containers."""
        return self.run("ps", "--quiet", service).split()

    def left(self) -> list[str]:
        """Whatever the engine still has of it."""
        label = ["--quiet", "--filter", f"label=com.docker.compose.project={self.name}"]
        kinds = (["ps", "--all"], ["network", "ls"], ["volume", "ls"])
        return [thing for kind in kinds for thing in output(["docker", *kind, *label]).split()]

    def result_indexes(self, batch_id: str) -> list[int]:
        """The index of every result line of a batch, as the file of results has them."""
        address = f"{self.url}/v1/batches/{batch_id}/results.jsonl"
        answer = httpx.get(address, headers={"Authorization": f"Bearer {KEY}"}, timeout=60)
        return [json.loads(line)["index"] for line in answer.text.splitlines()]

    def live_workers(self) -> int:
        """How many workers the API counts; 0 while it does not answer."""
        try:
            answer = httpx.get(f"{self.url}/metrics", headers={"Authorization": f"Bearer {KEY}"}, timeout=5)
        except httpx.TransportError:
            return 0
        lines = answer.text.splitlines() if answer.status_code == 200 else []
        return sum(int(float(line.split()[-1])) for line in lines if line.startswith("assay_workers "))


@contextmanager
def taken_down(project: Project) -> Iterator[Project]:
    """Whatever happens in the block, take the project down after it."""
    try:
        yield project
    finally:
        project.down()


@contextmanager
def started(arguments: Sequence[str]) -> Iterator[str]:
    """Run a container for the duration of the block; gives its id."""
    container = output(["docker", "run", "--detach", *arguments]).strip()
    try:
        yield container
    finally:
        output(["docker", "rm", "--force", container])


def inspect(container: str) -> Any:
    """All that the engine knows of a container."""
    return json.loads(output(["docker", "inspect", container]))[0]


def output(command: Sequence[str], variables: Mapping[str, str] | None = None) -> str:
    """Run a command in the checkout and return what it printed. Fails the test, with its words, if it fails."""
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **(variables or {})}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr[-3000:]}"
    return done.stdout


def wait_for(condition: Callable[[], bool], *, what: Callable[[], str], within_s: float = _DEADLINE_S) -> None:
    """Wait until `condition` holds; after `within_s` the test fails and says `what`."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(_LOOK_S)


def free_port() -> int:
    """A port that nothing listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
