"""What is to be scored on disk: labels, groups, samples, names of contents, and lines that wait for their turn."""

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from assay.cli.output import InTurn, open_lines
from assay.cli.records.entries import AttemptEntry, Entry, TaskEntry
from assay.cli.remote import windows
from assay.cli.spool import Spool
from assay.errors import InvalidRequest


def tasks(*names: str, **fields: Any) -> list[TaskEntry]:
    """Tasks of these ids."""
    return [TaskEntry({"id": name, **fields}, f"t[{number}]") for number, name in enumerate(names)]


def attempts(*pairs: tuple[str, str], **fields: Any) -> list[AttemptEntry]:
    """Attempts of (task, completion)."""
    return [
        AttemptEntry({"task_id": task, "completion": text, **fields}, f"a[{number}]")
        for number, (task, text) in enumerate(pairs)
    ]


def spooled(entries: Iterable[Entry], *, sample: int | None = None, **options: Any) -> Spool:
    """A settled spool of these."""
    spool = Spool(**options)
    spool.fill(entries)
    if sample is not None:
        spool.sample(sample)
    spool.settle()
    return spool


def task_names(spool: Spool) -> set[str]:
    """The tasks that have attempts."""
    return {json.loads(key) for key in spool.task_keys()}


def test_attempts_come_back_group_by_group() -> None:
    """Groups in the order of their first attempts, each attempt with its index and its label among the task's."""
    spool = spooled([*tasks("s", "t"), *attempts(("t", "1"), ("s", "2"), ("t", "3"), ("s", "4"))])

    assert [(one.index, one.group, one.label) for one in spool.attempts()] == [
        (0, "t", "0"), (2, "t", "1"), (1, "s", "0"), (3, "s", "1"),
    ]  # fmt: skip
    assert [spool.left(), spool.left("t"), spool.total()] == [4, 2, 4]
    assert spool.groups(1).__dict__ == {"first": ("t",), "several": 2, "lone": 0}


def test_texts_may_hold_lone_surrogates() -> None:
    """A cut escape in a task, a label, a group or a completion is kept as it is."""
    odd = "\ud83d"
    entry = AttemptEntry({"task_id": "t", "completion": odd, "attempt": odd, "group": odd}, "a[0]")

    (one,) = spooled([*tasks("t", prompt=odd), entry]).attempts()

    assert (one.group, one.label, json.loads(one.document)["completion"]) == (odd, odd, odd)


def test_names_of_contents_hold_all_that_is_judged() -> None:
    """The task, the completion, the group, the flags and the preset; not the label, nor the place."""

    def name(task: dict[str, Any], attempt: dict[str, Any], profile: str | None = None) -> str:
        entry = AttemptEntry({"task_id": "t", "completion": "c", **attempt}, "a[0]")
        (one,) = spooled([*tasks("t", **task), entry], profile=profile).attempts()
        return one.hash

    plain = name({}, {})

    assert name({}, {"attempt": "x"}) == plain
    others = [
        name({"prompt": "p"}, {}), name({}, {"completion": "d"}), name({}, {"group": "g"}),
        name({}, {"truncated": True}), name({}, {"metadata": {"k": 1}}), name({}, {}, "p"),
    ]  # fmt: skip
    assert len({plain, *others}) == 7


def test_a_sample_depends_on_seed_and_ids_alone() -> None:
    """It is the same in any order, its groups are whole, and a larger one holds it."""
    names = [f"t{number}" for number in range(20)]
    pairs = [(name, text) for text in "xy" for name in names]

    def drawn(count: int, seed: int, order: int = 1) -> set[str]:
        spool = spooled([*tasks(*names[::order]), *attempts(*pairs[::order])], sample=count, seed=seed)
        assert {spool.left(name) for name in task_names(spool)} == {2}
        return task_names(spool)

    assert len(drawn(5, 1)) == 5
    assert drawn(5, 1) == drawn(5, 1, order=-1)
    assert drawn(5, 1) < drawn(8, 1)
    assert drawn(5, 1) != drawn(5, 2)


def test_one_id_is_one_task() -> None:
    """The same task again is the same; other content under its id is refused."""
    assert spooled([*tasks("t"), *tasks("t"), *attempts(("t", "x"))]).total() == 1
    with pytest.raises(InvalidRequest, match="other content") as caught:
        spooled([*tasks("t"), *tasks("t", prompt="p")])

    assert caught.value.path == "t[0].id"


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        (TaskEntry({"tests": []}, "t[0]"), "t[0].id"),
        (TaskEntry({"id": "t", "limit": float("nan")}, "t[0]"), "t[0]"),
        (AttemptEntry({"task_id": "t", "completion": None}, "a[0]"), "a[0].completion"),
        (AttemptEntry({"task_id": "t", "completion": "", "extra": 1}, "a[0]"), "a[0].extra"),
    ],
)
def test_what_is_no_task_or_attempt_is_refused(entry: Entry, path: str) -> None:
    """The refusal names the place."""
    with pytest.raises(InvalidRequest) as caught:
        spooled([entry])

    assert caught.value.path == path


def test_windows_hold_whole_groups() -> None:
    """Each is about as large as asked for; a larger group stands alone, with its tasks, labels and places."""
    pairs = [("s", "1"), ("t", "2"), ("u", "3"), ("t", "4"), ("t", "5"), ("v", "6")]
    spool = spooled([*tasks("s", "t", "u"), *attempts(*pairs)])
    spool.add_unknown_tasks()

    found = list(windows(spool, attempts=2))

    assert [[one.index for one in window.attempts] for window in found] == [[0], [1, 3, 4], [2, 5]]
    assert [list(map(dict, window.documents()[0])) for window in found] == [[{"id": "s"}], [{"id": "t"}], [{"id": "u"}]]
    assert [one["attempt"] for one in found[1].documents()[1]] == ["0", "1", "2"]
    assert found[1].locate("attempts[2].completion") == "a[4].completion"
    assert found[1].locate("tasks[0].tests") == "t[1].tests"
    assert found[1].locate("options.profile") == "options.profile"


def test_lines_wait_for_their_turn() -> None:
    """A stream gets them in input order, each as soon as all before it are there."""
    stream = io.StringIO()
    lines = InTurn(stream, spooled([*tasks("t"), *attempts(*[("t", str(n)) for n in range(4)])]))
    seen = []

    for index in (2, 0, 3, 1):
        lines.add(index, str(index), at_once=False)
        seen.append(stream.getvalue().split())

    assert seen == [[], ["0"], ["0"], ["0", "1", "2", "3"]]


def test_a_file_has_lines_as_they_come_and_in_order_at_the_end(tmp_path: Path) -> None:
    """Whoever dies in between leaves what was written; a link stays one."""
    spool = spooled([*tasks("t"), *attempts(*[("t", str(n)) for n in range(3)])])
    file, link = tmp_path / "out", tmp_path / "link"
    file.write_text("old\n")
    link.symlink_to(file)

    with open_lines(link, spool) as lines:
        for index in (2, 0, 1):
            lines.add(index, str(index), at_once=True)
        assert file.read_text() == "2\n0\n1\n"

    assert file.read_text() == "0\n1\n2\n"
    assert link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [link, file]
