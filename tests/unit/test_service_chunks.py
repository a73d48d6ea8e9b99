"""Chunks: packing, sizes, interleaving."""

from assay.service.chunks import Entry, Member, TaskRef, Terms, choose_size, cut, interleave, pack, to_ref, unpack


def member(index: int, task: str = "t", batch: str = "b", completion: str = "x") -> Member:
    """A member of some chunk."""
    terms = Terms(batch, accepted=1.5, deadline=2.5, mask_truncated=True, cache=False)
    return Member(
        terms, Entry(index, str(index), TaskRef(task, f"key-{task}", "c", "echo", ("numpy",)), "g", completion)
    )


def test_packing_keeps_everything() -> None:
    """A chunk of several batches and tasks comes back equal, lone surrogates included."""
    members = [member(0), member(1, "u\ud83d", "b2", "\ud83d\x00é"), member(2, "t", "b2")]

    assert unpack(pack(members)) == members


def test_attempts_of_one_task_are_spread_over_a_window() -> None:
    """No chunk holds two attempts of a task while the window has enough tasks; within a task the order stays."""
    members = [member(index, f"t{index // 8}") for index in range(128)]

    spread = interleave(members, 16)

    first, *_ = cut(spread, 16)
    assert len({one.entry.task.id for one in first}) == 16
    assert sorted(one.entry.index for one in spread) == list(range(128))
    assert [one.entry.index for one in spread if one.entry.task.id == "t3"] == list(range(24, 32))


def test_groups_complete_while_a_large_batch_runs() -> None:
    """Interleaving reaches no further than its window."""
    members = [member(index, f"t{index // 8}") for index in range(1280)]

    spread = interleave(members, 16)

    assert {one.entry.index for one in spread[:128]} == set(range(128))


def test_sizes_follow_cost_and_leave_work_for_every_slot() -> None:
    """Large batches are cut by expected cost between 16 and 64; small ones so that every slot has several chunks."""
    assert choose_size(100_000, 4, None) == 64
    assert choose_size(100_000, 4, 0.01) == 50
    assert choose_size(100_000, 4, 5.0) == 16
    assert choose_size(100_000, 4, 0.0001) == 64
    assert choose_size(64, 4, None) == 4
    assert choose_size(1, 4, None) == 1


def test_cutting_loses_nothing() -> None:
    """The pieces together are the whole."""
    members = [member(index) for index in range(10)]

    assert [len(part) for part in cut(members, 4)] == [4, 4, 2]


def test_task_references_of_older_versions_are_read() -> None:
    """Those had nothing to say about models: their tasks ask none."""
    older = ["t", "k", "c", "echo", ["numpy"], "{}"]

    assert to_ref(older) == TaskRef("t", "k", "c", "echo", ("numpy",), "{}", asks_models=False)
    assert to_ref([*older, True]).asks_models
