"""The Docker backend's decisions, without an engine."""

import importlib
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from assay.sandboxes import seccomp, wire
from assay.sandboxes.containers.container import Container
from assay.sandboxes.containers.fleet import Fleet
from assay.sandboxes.containers.hardening import Plan, container_document, seccomp_profile
from assay.sandboxes.containers.keeper import Keeper, memory_kills
from assay.sandboxes.containers.ownership import Machine, is_orphan, labels_of, this_machine
from assay.sandboxes.containers.sources import source_digest

ALLOW = "SCMP_ACT_ALLOW"
CLOSING = {"mount", "umount2", "pivot_root", "unshare"}  # what jails are made with
PLAN = Plan("sha256:1", "runc", "/s", 3, frozenset({0, 2}), 1000 * 2**20, None, {"assay.worker": "1"})


class FakeKeeper:
    """The other end of a container's control socket; `kills` is what it answers when asked."""

    def __init__(self, kills: int = 0) -> None:
        self.ours, self.sock = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.heard: list[str] = []
        self._kills = kills
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while (received := wire.receive(self.ours)) is not None:
            (kind, *_), fds = received
            self.heard.append(kind)
            for fd in fds:
                os.close(fd)
            if kind == "start":
                wire.send(self.ours, ["started", 7])
            if kind == "kills":
                wire.send(self.ours, ["kills", self._kills])

    def end(self) -> None:
        """Die."""
        self.ours.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self.ours.close()


def test_the_profile_is_an_allow_list() -> None:
    """What it does not name is refused."""
    profile = json.loads(seccomp_profile())

    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert {rule["action"] for rule in profile["syscalls"]} == {ALLOW, "SCMP_ACT_ERRNO"}


@pytest.mark.parametrize("machine", seccomp.MACHINES.values(), ids=seccomp.MACHINES)
def test_the_profile_allows_nothing_that_jails_forbid(machine: seccomp.Machine) -> None:
    """Of the calls that end a candidate or are refused to it, only those that make the jail are allowed at all."""
    rules = json.loads(seccomp_profile())["syscalls"]

    allowed = {name for rule in rules if rule["action"] == ALLOW for name in rule["names"]}

    assert allowed & set(machine.kill) == CLOSING & set(machine.kill)
    assert allowed & set(machine.refuse) <= {"sethostname", "memfd_create"}  # the host's and the worker's own


def test_a_container_gets_what_the_plan_says() -> None:
    """Nine tenths of the memory, room for the slots' processes, the worker's cores, its labels."""
    document = container_document(PLAN)

    host = document["HostConfig"]
    assert isinstance(host, dict)
    assert (host["Memory"], host["MemorySwap"]) == (900 * 2**20, 900 * 2**20)
    assert (host["PidsLimit"], host["CpusetCpus"]) == (256 + 3 * 1024, "0,2")
    assert document["Labels"] == {"assay.worker": "1"}


def test_a_living_workers_container_is_no_orphan() -> None:
    """This process lives."""
    machine = this_machine()

    assert not is_orphan(labels_of(os.getpid(), machine), machine, running=True)


def test_a_dead_workers_container_is_an_orphan() -> None:
    """A process that has ended, and one whose id another process has now, are gone."""
    machine = this_machine()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    labels = labels_of(child.pid, machine)
    child.communicate(b"\n")
    reused = {**labels_of(os.getpid(), machine), "assay.start": "1"}

    assert is_orphan(labels, machine, running=True)
    assert is_orphan(reused, machine, running=True)


@pytest.mark.parametrize(("running", "orphan"), [(True, False), (False, True)])
def test_a_container_of_another_boot_is_left_alone_while_it_runs(running: bool, orphan: bool) -> None:
    """It may belong to a worker on another machine that uses the same engine."""
    labels = labels_of(os.getpid(), Machine("another", "pid:[1]"))

    assert is_orphan(labels, this_machine(), running=running) is orphan


def test_a_worker_in_another_pid_namespace_is_not_judged() -> None:
    """Its process id means nothing here."""
    machine = this_machine()
    labels = labels_of(2**22 + 1, Machine(machine.boot, "pid:[1]"))

    assert not is_orphan(labels, machine, running=True)


@pytest.mark.parametrize(
    "text",
    ["low 0\nhigh 0\noom 3\noom_kill 2\n", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"],
    ids=["version 2", "version 1"],
)
def test_memory_kills_are_counted_in_both_versions(text: str, tmp_path: Path) -> None:
    """The layouts as a kernel of 6.18 writes them."""
    file = tmp_path / "events"
    file.write_text(text)

    assert memory_kills([tmp_path / "absent", file]) == 2


def test_a_container_that_lost_memory_is_retired() -> None:
    """Attempts in it may have lost processes: they ask, and nobody starts there any more."""
    keeper = FakeKeeper(kills=1)
    container = Container("c", keeper.sock, "3.11")

    lost = container.has_killed_for_memory()

    assert lost
    assert container.is_retired
    container.close()
    keeper.end()
    assert keeper.heard == ["kills", "retire"]


def test_a_fleet_replaces_a_retired_container() -> None:
    """New interpreters start in another container; the old one is hung up on when it has ended."""
    first, second = FakeKeeper(), FakeKeeper()
    containers = [Container("1", first.sock, "3.11"), Container("2", second.sock, "3.11")]
    fleet = Fleet(containers[0], lambda: containers[1], recycle_after=2)
    old = fleet.start_zygote({})

    told = [fleet.attempted() for _ in range(3)]
    new = fleet.start_zygote({})

    assert told == [False, True, False]
    assert (old.is_retired(), new.is_retired()) == (True, False)
    old.control.close()
    new.control.close()
    assert fleet.close() == ["1", "2"]
    first.end()
    second.end()
    assert (first.heard, second.heard) == (["start", "retire"], ["start"])


def test_a_keeper_ends_with_its_worker() -> None:
    """When the worker's end of the connection closes, serving ends."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    keeper = threading.Thread(target=Keeper(theirs).serve)
    keeper.start()

    ours.close()
    keeper.join(10)

    theirs.close()
    assert not keeper.is_alive()


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("assay", "more.py"),
        ("assay.sandboxes", "more.py"),
        ("assay.sandboxes", "containers/more.py"),
        ("assay.verifiers", "languages/more.py"),
    ],
)
def test_the_digest_is_that_of_the_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, place: str) -> None:
    """Another module makes another digest, in whichever package it lies."""
    package = importlib.import_module(name)
    before = source_digest()
    more = tmp_path / place
    more.parent.mkdir(exist_ok=True)
    more.write_text("")

    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])

    assert source_digest() != before
