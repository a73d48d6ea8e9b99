"""Control groups are found in both hierarchies and never assumed."""

import os
from pathlib import Path

from assay.sandboxes.cgroup import Controllers, JailGroup, find_controllers, open_group, sweep


def controllers(folder: Path) -> Controllers:
    """Version 1 controllers below `folder`, which stands for the hierarchy."""
    return Controllers(memory=folder, version=1)


def test_no_controller_means_no_group() -> None:
    """Where no memory controller can be written, none is found and no group is made."""
    found = find_controllers("12:memory:/no/such/group\n0::/no/such/group\n")

    assert found == Controllers(None, None)
    assert open_group(found) is None


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

    assert group.killed_since_last_look() is True
    assert group.killed_since_last_look() is False


def test_groups_of_dead_workers_are_swept(tmp_path: Path) -> None:
    """A group whose worker is gone is removed, a live worker's stays."""
    dead, alive = tmp_path / "assay-999999999-0", tmp_path / "assay-1-0"
    dead.mkdir()
    alive.mkdir()

    assert sweep(controllers(tmp_path)) == 1
    assert not dead.exists()
    assert alive.exists()


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
