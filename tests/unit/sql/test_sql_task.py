"""Tasks that are refused, images, answers of processes that lie."""

import base64
import hashlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import msgpack
import pytest

from assay.errors import InfraFault, InvalidRequest, TaskFault
from assay.verifiers.builtin import default_registry
from assay.verifiers.sql.images import Images, read_named, without_wal
from assay.verifiers.sql.results import BadAnswer, Caps, Question, Table, pack_question, unpack_answer, unpack_question

REGISTRY = default_registry()
DIGEST = "0" * 64


def parse(**fields: Any) -> Any:
    """A task of these fields."""
    return REGISTRY.parse_task({"id": "t", "verifier": "sql", "gold_sql": "SELECT 1", **fields})


def test_what_was_probably_meant_is_told() -> None:
    """Of a gold that is no query, and of columns that are counted from 0."""
    task = {"id": "t", "verifier": "sql", "schema": "CREATE TABLE t(x)"}

    with pytest.raises(InvalidRequest, match="`gold` is a whole completion"):
        REGISTRY.parse_task({**task, "gold": "SELECT 1"})
    with pytest.raises(InvalidRequest, match="counted from 1"):
        REGISTRY.parse_task({**task, "gold_sql": "SELECT 1", "order": "required", "order_keys": [0]})


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({}, "task"),
        ({"schema": "x", "database": "a.db", "database_sha256": DIGEST}, "task"),
        ({"database": "a.db"}, "task"),
        ({"database": "../a.db", "database_sha256": DIGEST}, "task.database"),
        ({"database": "/etc/passwd", "database_sha256": DIGEST}, "task.database"),
        ({"database": "a/./b", "database_sha256": DIGEST}, "task.database"),
        ({"database": f"a/{'x' * 256}", "database_sha256": DIGEST}, "task.database"),
        ({"database": "ä" * 128, "database_sha256": DIGEST}, "task.database"),
        ({"database": "a.db", "database_sha256": "abc"}, "task.database_sha256"),
        ({"database_base64": "%%%"}, "task"),
        ({"database_base64": base64.b64encode(b"no database").decode()}, "task"),
        ({"schema": "x", "gold_sql": " ; -- nothing"}, "task.gold_sql"),
        ({"database_base64": "", "rows": {"t": [[1]]}}, "task"),
        ({"schema": "x", "rows": {"t": [[[1]]]}}, "task.rows"),
        ({"schema": "x", "rows": {"t": [[1], [2**63]]}}, "task.rows.t[1][0]"),
        ({"schema": "x", "rows": {"t": [[-(2**63) - 1]]}}, "task.rows.t[0][0]"),
        ({"schema": "x", "rows": {"t": [[1, 2**64]]}, "dialect": "duckdb"}, "task.rows.t[0][1]"),
        ({"schema": "x", "compare": "set", "order": "required"}, "task"),
        ({"schema": "x", "dialect": "oracle"}, "task.dialect"),
        ({"schema": "x", "order_keys": ["a"]}, "task"),
        ({"schema": "x", "tag": "required", "answer_tag": None}, "task.tag"),
        ({"schema": "x", "profile": "sql-r1/code", "answer_tag": None}, "task"),
        ({"schema": "x", "order_keys": [0], "order": "required"}, "task.order_keys"),
        ({"schema": "x", "order_keys": [True], "order": "required"}, "task.order_keys"),
    ],
)
def test_tasks_without_a_meaning_are_refused(fields: dict[str, Any], path: str) -> None:
    """Where they are parsed, with the path of the fault."""
    with pytest.raises(InvalidRequest) as caught:
        parse(**fields)

    assert caught.value.path.startswith(path)


def test_integers_of_rows_are_those_that_travel() -> None:
    """The widest that a task may give reach the process that makes the database."""
    for dialect, most in (("sqlite", 2**63 - 1), ("duckdb", 2**64 - 1)):
        task = parse(schema="x", rows={"t": [[-(2**63), most]]}, dialect=dialect)
        question = Question(None, "x", tuple(task.rows.items()), task.caps, 256)

        assert unpack_question(pack_question(question)).tables == [["t", [[-(2**63), most]]]]


def test_order_keys_are_columns_of_the_golds_result() -> None:
    """By name, letter case aside, or place from 1; what is not exactly one of them is told."""
    gold = Table(("Name", "pay", "x", "x"), ())
    task = parse(schema="x", gold_sql="SELECT 1 ORDER BY 1", order_keys=["name", 2])

    assert task.rules_for(gold).keys == (0, 1)
    for wrong in ("nme", "x", 5):
        with pytest.raises(KeyError):
            parse(schema="x", order="required", order_keys=[wrong]).rules_for(gold)


def test_duckdb_is_required_where_it_is_used() -> None:
    """Whatever else the task requires."""
    assert parse(schema="x", dialect="duckdb", requires=["numpy"]).requires == ("numpy", "duckdb")
    assert parse(schema="x").requires == ()


def test_the_database_is_part_of_what_a_task_is() -> None:
    """Another digest, another content: nothing is answered from what the old file gave."""
    one, other = (parse(database="a.db", database_sha256=digit * 64) for digit in "01")

    assert one.content_hash() != other.content_hash()
    assert one.image_name != other.image_name


def test_named_databases(tmp_path: Path) -> None:
    """Below the folder, with the digest; links out of it lead nowhere."""
    folder = tmp_path / "databases"
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "a.db").write_bytes(b"content")
    (tmp_path / "secret").write_bytes(b"content")
    (folder / "link").symlink_to(tmp_path / "secret")
    digest = hashlib.sha256(b"content").hexdigest()

    assert read_named(folder, "shop/a.db", digest) == b"content"
    for name, said in (("shop/b.db", "no database"), ("link", "no database"), ("shop", "no database")):
        with pytest.raises(TaskFault, match=said):
            read_named(folder, name, digest)
    (folder / "round").symlink_to(folder / "round")
    for name in ("x" * 300, "round", "round/a.db", "shop/a.db/b", "a\0b", "\ud800"):
        with pytest.raises(TaskFault, match="database"):
            read_named(folder, name, digest)
    with pytest.raises(TaskFault, match=f"has the SHA-256 {digest}"):
        read_named(folder, "shop/a.db", DIGEST)
    with pytest.raises(InfraFault, match="ASSAY_DATABASES"):
        read_named(None, "shop/a.db", digest)


def test_images_are_kept_sealed_and_bounded() -> None:
    """Made once while there is room; nobody can write one."""
    images, made = Images(most_bytes=10), list[str]()

    def lend(name: str) -> bytes:
        def make() -> bytes:
            made.append(name)
            return name.encode() * 6

        with images.lend(name, make) as fd:
            with pytest.raises(PermissionError):
                os.pwrite(fd, b"x", 0)
            return os.pread(fd, 100, 0)

    assert [lend(name) for name in "aab"] == [b"aaaaaa", b"aaaaaa", b"bbbbbb"]
    assert made == ["a", "b"]
    assert lend("a") == b"aaaaaa"
    assert made == ["a", "b", "a"]


def test_a_database_in_wal_mode_can_be_opened_in_memory(tmp_path: Path) -> None:
    """Its image says so no more."""
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES (7);")
    connection.close()
    copy = sqlite3.connect(":memory:")

    copy.deserialize(without_wal((tmp_path / "a.db").read_bytes(), "sqlite"))

    assert copy.execute("SELECT x FROM t").fetchall() == [(7,)]
    copy.close()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\xc1",
        msgpack.packb(7),
        msgpack.packb(["rows", "3", ["a"], [[1, 2]]]),
        msgpack.packb(["rows", "3", ["a"], [[{}]]]),
        msgpack.packb(["rows", "3", ["a"], [[[1]]]]),
        msgpack.packb(["rows", "3", [1], [[1]]]),
        msgpack.packb(["rows", "3", ["a"], [[1]] * 4]),
        msgpack.packb(["rows", "3", ["a"], 7]),
        msgpack.packb(["rows", "3", ["a"], [[msgpack.ExtType(2, b"9" * 5000)]]]),
        msgpack.packb(["rows", "3", ["a"], [[msgpack.ExtType(2, b"x")]]]),
        msgpack.packb(["rows", "3", ["a"], [[msgpack.ExtType(1, b"\x01")]]]),
        msgpack.packb(["rows", "3", ["a"], [[msgpack.ExtType(9, b"")]]]),
        msgpack.packb(["rows", ["a"], [[1]]]),
        msgpack.packb(["rows", 3, ["a"], [[1]]]),
        msgpack.packb(["passed", "yes"]),
        msgpack.packb(["built", b"image"]),
        b"\x91" * 4000,
    ],
)
def test_answers_that_are_none_are_told_apart(said: bytes) -> None:
    """Whatever a process sends."""
    with pytest.raises(BadAnswer):
        unpack_answer(said, Question("SELECT 1", "", (), Caps(3, 1_000_000), 64))
