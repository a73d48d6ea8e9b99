"""Control groups are found in both hierarchies and never assumed."""

import os
from pathlib import Path

import pytest

from assay.sandboxes import procfs
from assay.sandboxes.cgroup import Controllers, JailGroup, Shortage, fresh_name, kills_around, locate, open_group, sweep


def controllers(folder: Path) -> Controllers:
    """Version 1 controllers below `folder`, which stands for the hierarchy."""
    return Controllers(memory=folder, version=1)


def test_no_controller_means_no_group() -> None:
    """Where no memory controller can be written, none is found and no group is made."""
    found = locate("12:memory:/no/such/group\n0::/no/such/group\n")

    assert found == Controllers(None, None)
    assert open_group(found) is None


VERSION_2 = {
    "a systemd login": ("0::/user.slice/user-0.slice/session-3.scope\n", "user.slice/user-0.slice"),
    "a systemd service": ("0::/system.slice/assay.service\n", "system.slice"),
    "a container that sees the host's groups": ("0::/system.slice/docker-9d0c0b6f2a.scope\n", "system.slice"),
    "the root, without systemd": ("0::/\n", ""),
    "a hybrid machine's service": (
        "13:pids:/system.slice\n1:name=systemd:/system.slice/assay.service\n0::/system.slice/assay.service\n",
        "system.slice",
    ),
}
"""/proc/self/cgroup as systemd 252 and Docker 24 write it on version 2, and where groups belong then."""


@pytest.mark.parametrize(("text", "below"), VERSION_2.values(), ids=VERSION_2)
def test_groups_of_version_2_lie_beside_our_own(tmp_path: Path, text: str, below: str) -> None:
    """A group with processes in it may have none below it, so the parent's are used, if memory is passed down to us."""
    own = tmp_path / text.splitlines()[-1].split(":")[2].lstrip("/")
    for folder in (own, *own.parents):
        if folder.is_relative_to(tmp_path):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "cgroup.procs").touch()
            (folder / "cgroup.subtree_control").write_text("memory pids\n")
            (folder / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")

    found = locate(text, tmp_path)
    (own / "cgroup.controllers").write_text("pids\n")
    without = locate(text, tmp_path)

    assert found == Controllers(tmp_path / below, 2)
    assert without == Controllers(None, None)


def test_a_group_that_nothing_can_be_moved_into_is_not_used(tmp_path: Path) -> None:
    """On version 2 a group with processes in it passes nothing on: that ends in no group, not in a fault."""
    (tmp_path / "cgroup.subtree_control").mkdir()  # cannot be written, whoever tries

    assert open_group(Controllers(tmp_path, 2)) is None


def test_limits_are_written_once(tmp_path: Path) -> None:
    """The limit is written with slack, and again only when it changes."""
    group = JailGroup(controllers(tmp_path), "assay-1-1")
    limit = tmp_path / "assay-1-1" / "memory.limit_in_bytes"

    group.limit(100)
    first = limit.read_text()
    limit.unlink()
    group.limit(100)

    assert int(first) == (100 + 16) * 2**20
    assert not limit.exists()


def test_kills_are_seen_once(tmp_path: Path) -> None:
    """A kill by the kernel is reported to the attempt it happened in and to no later one."""
    group = JailGroup(controllers(tmp_path), "assay-1-1")
    control = tmp_path / "assay-1-1" / "memory.oom_control"

    control.write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    (tmp_path / "assay-1-1" / "memory.failcnt").write_text("3\n")

    assert group.shortage() is Shortage.OWN
    assert group.shortage() is Shortage.NONE


@pytest.mark.parametrize("version", [1, 2])
def test_memory_that_runs_out_around_a_group_is_told_from_its_own(tmp_path: Path, version: int) -> None:
    """The kernel counts kills for want of memory anywhere; only a group at its limit has refused a page itself."""
    group = JailGroup(Controllers(tmp_path, version), "assay-1-1")
    folder = tmp_path / "assay-1-1"
    found = []

    for kills, refusals in ((1, 0), (2, 5), (3, 5), (3, 6)):
        (folder / "memory.failcnt").write_text(f"{refusals}\n")
        (folder / "memory.oom_control").write_text(f"under_oom 0\noom_kill {kills}\n")
        (folder / "memory.events").write_text(f"max 9\noom {refusals}\noom_kill {kills}\n")
        found.append(group.shortage())

    assert found == [Shortage.AROUND, Shortage.OWN, Shortage.AROUND, Shortage.NONE]


@pytest.mark.parametrize(
    ("groups", "file"),
    [
        ("4:memory:/pod\n0::/\n", "memory/pod/memory.oom_control"),
        ("0::/pod\n", "pod/memory.events"),
        ("0::/\n", "memory.events"),
    ],
)
def test_kills_around_the_jails_are_those_of_our_own_group(tmp_path: Path, groups: str, file: str) -> None:
    """What runs out elsewhere on the machine is nobody's excuse; without a group to ask it has to do."""
    proc_cgroup = tmp_path / "cgroup"
    proc_cgroup.write_text(groups)
    machine = kills_around(proc_cgroup, tmp_path)
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("oom 1\noom_kill 123456789\n")

    assert machine == procfs.memory_kills() != 123456789
    assert kills_around(proc_cgroup, tmp_path) == 123456789


def test_groups_of_dead_workers_are_swept(tmp_path: Path) -> None:
    """A group whose worker is gone is removed, a live worker's stays."""
    dead, alive = tmp_path / "assay-999999999-0", tmp_path / "assay-1-0"
    dead.mkdir()
    alive.mkdir()

    assert sweep(controllers(tmp_path)) == 1
    assert not dead.exists()
    assert alive.exists()


def test_groups_of_workers_in_another_pid_namespace_stay(tmp_path: Path) -> None:
    """Their processes have other numbers here: a live worker would lose a group that it has just made."""
    pid, namespace, mark = fresh_name().removeprefix("assay-").split("-")
    kept = {f"assay-999999999-{int(namespace) + 1}-{mark}", f"assay-{pid}-{namespace}-{mark}"}
    for name in (*kept, f"assay-999999999-{namespace}-{mark}"):
        (tmp_path / name).mkdir()

    assert sweep(controllers(tmp_path)) == 1
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_removal_of_a_group_that_is_gone_is_no_fault(tmp_path: Path) -> None:
    """Removing twice does nothing."""
    group = JailGroup(controllers(tmp_path), "assay-1-1")

    group.remove()
    group.remove()

    assert not (tmp_path / "assay-1-1").exists()


def test_processor_time_is_read_from_either_version(tmp_path: Path) -> None:
    """Version 1 tells nanoseconds in a hierarchy of its own, version 2 microseconds in every group."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "cpu").mkdir()
    first = JailGroup(Controllers(tmp_path / "memory", 1, tmp_path / "cpu"), "assay-1-1")
    (tmp_path / "cpu" / "assay-1-1" / "cpuacct.usage").write_text("1500000000\n")
    (tmp_path / "cgroup.subtree_control").touch()
    second = JailGroup(Controllers(tmp_path, 2), "assay-1-2")
    (tmp_path / "assay-1-2" / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\nsystem_usec 1\n")

    assert first.cpu_s() == 1.5
    assert second.cpu_s() == 2.5
    assert JailGroup(Controllers(tmp_path / "memory", 1), "assay-1-3").cpu_s() is None


def test_groups_of_every_hierarchy_go(tmp_path: Path) -> None:
    """What was made for processor time is removed with the rest."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "cpu").mkdir()
    group = JailGroup(Controllers(tmp_path / "memory", 1, tmp_path / "cpu"), "assay-1-1")

    group.remove()

    assert [*tmp_path.glob("*/*")] == []


def test_every_group_is_its_jails_own(tmp_path: Path) -> None:
    """Two pools of one process share no group: closing one would wait for, and limit, the other's processes."""
    groups = [open_group(controllers(tmp_path)) for _ in range(2)]

    assert None not in groups
    assert len(list(tmp_path.glob(f"assay-{os.getpid()}-*"))) == 2
