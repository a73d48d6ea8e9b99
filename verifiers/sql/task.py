"""The task model of `sql`."""

import base64
import binascii
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self  # Any: documents before validation

from pydantic import ConfigDict, Field, field_validator, model_validator

from assay.canonical import content_hash
from assay.verifiers.refusals import misplaced
from assay.verifiers.requirements import document_including
from assay.verifiers.rules.answering import AnsweringTask
from assay.verifiers.sql.choices import EmptyGold, Order, Refused
from assay.verifiers.sql.comparison import Columns, Nulls, Rows, Rules
from assay.verifiers.sql.extraction import Layout, Need, Pick, Places
from assay.verifiers.sql.images import LONGEST_NAME, MOST_BYTES, is_database
from assay.verifiers.sql.lexing import is_blank, is_ordered, mentions_order
from assay.verifiers.sql.profiles import PROFILES
from assay.verifiers.sql.results import Caps, Table

Value = None | bool | int | float | str
"""A cell of a row that a task gives."""
ColumnName = Annotated[str, Field(min_length=1, max_length=1000)]
ColumnPlace = Annotated[int, Field(ge=1, le=10_000)]
Tolerance = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]

_ENGINE = "duckdb"
_MOST_SIGNED, _MOST_UNSIGNED = 2**63 - 1, 2**64 - 1


class SqlTask(AnsweringTask):
    """A query on a database, judged by the rows it gives; the gold query runs in a process of its own, once.

    Terms `format`, `execution`, `match` and `length`; the reward is their weighted sum, by default
    0.1 x execution + 0.9 x match: 1 for the right rows, 0.1 for any rows, 0 for none.

    The database is `schema` with `rows`, or `database_base64`, or `database` with `database_sha256`. Every query gets a
    copy of its own, which it may only read; one that would write, attach, load, or set anything is refused before it
    does. Exactly one statement is judged; comments and a semicolon after it are allowed. `limits` bound each query:
    what runs too long is `timeout`, whatever the database does not understand is `runtime_error`, more than `max_rows`
    rows are `output_exceeded`. A gold query that fails, writes or exceeds a limit is `task_error`.

    Values are equal as Python's are: 20 and 20.0, true and 1; text '3' is not 3; dates and other types go by type and
    text, dates and times as Python holds them: to the microsecond, and infinity as its last day. Rows in the order of
    the gold, where that counts, must be exactly in it, even where the gold leaves ties: let it order by enough columns,
    or name those that it orders by (`order_keys`). A query is judged by its rows alone: `VALUES` with the right ones is
    right, so prefer databases whose answers cannot be read off the prompt, and mind golds that give no rows
    (`empty_gold`).
    Source: arXiv:2505.20315; arXiv:2010.02840.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "crew",
                    "verifier": "sql",
                    "schema": "CREATE TABLE crew(id INTEGER PRIMARY KEY, name TEXT, pay REAL);",
                    "rows": {"crew": [[1, "Ada", 30.0], [2, "Bo", 20.0]]},
                    "gold_sql": "SELECT name FROM crew WHERE pay <= 20",
                }
            ]
        },
    )
    PROFILES: ClassVar = PROFILES

    verifier: Literal["sql"] = "sql"
    dialect: Literal["sqlite", "duckdb"] = "sqlite"
    """The engine. `duckdb` needs the extra `sql` on the worker. Queries are SELECT, VALUES and WITH; in DuckDB also
    FROM, TABLE, PIVOT, UNPIVOT, SUMMARIZE, DESCRIBE and SHOW. So are pragmas that only tell of the database, such as
    `table_info`; others are refused. EXPLAIN is a `runtime_error` in both: its rows are a plan, no answer."""
    database_schema: str = Field("", alias="schema", max_length=10_000_000)
    """Statements that make the tables."""
    rows: dict[str, tuple[tuple[Value, ...], ...]] = Field(default_factory=dict)
    """Rows by table, inserted in this order; each has a value for every column. Integers have 64 bits, with a sign or,
    in DuckDB, without."""
    database_base64: str = ""
    """The file itself, in base64; what lies in a log beside it is not part of it."""
    database: str = Field("", max_length=500)
    """A file below the folder of databases that the operator configured, by its relative path."""
    database_sha256: str = Field("", pattern=r"^([0-9a-f]{64})?$")
    """The SHA-256 of that file, in hexadecimal: a file with another is `task_error`. The cache goes by it."""
    gold_sql: str = Field(min_length=1, max_length=1_000_000)
    """A query that gives the right rows."""
    tag: Need = Need.OPTIONAL
    """Whether the answer must stand in a block of `answer_tag`, which then is not null; else the text after the
    reasoning is read too."""
    answer_tag: str | None = Field("answer", pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=64)
    """The tag; null looks for none."""
    fence: Need = Need.OPTIONAL
    """Whether the query must stand in a closed ```sql block; else one that nothing closes, one of another dialect or of
    no language, the only inline code that begins as a query, or the bare text, is read too. Words around a bare query
    are errors of its syntax: have the prompt ask for a block or the tag."""
    pick: Pick = Pick.LAST
    """Which of several blocks counts, of tags as of fences."""
    layout: Layout = Layout.SQL_R1
    """What the term `format` asks for."""
    format_gate: bool = False
    """Whether nothing is run, nor any other term paid or charged, where `format` is not met: all are, if that alone
    earned more than wrong rows do."""
    signed: bool = False
    """Whether a term that is not met is -1 instead of 0. Where a query gives no rows, `match` stays 0, unless that
    earned more than wrong rows do: then it is -1. No answer earns the lowest reward, and so does a statement that would
    do more than read where `refused` is `violation`; where it is `mismatch` that earns what wrong rows do, which may be
    more than what a query that fails earns: under `sql-r1/code` 0, a syntax error -1."""
    compare: Rows = Rows.BAG
    """Whether rows count as often as they occur."""
    order: Order = Order.AUTO
    """When the order of rows matters. With `compare` set it never does, whatever this says."""
    order_keys: tuple[ColumnName | ColumnPlace, ...] = Field((), max_length=100)
    """Columns of the gold's result that its order is by, by name (letter case aside) or place from 1: rows that are
    equal in all of them may come in any order. Empty: every row has its one place. Only where the order matters."""
    columns: Columns = Columns.ORDERED
    """Which column is compared with which. An assignment that takes too long to find is no match. Where the gold's own
    columns are why, it is `task_error`, as it is where very many of the gold's rows are within the tolerances of others
    in two columns of numbers or more."""
    nulls: Nulls = Nulls.EQUAL
    """What NULL is equal to."""
    absolute_tolerance: Tolerance = 0.0
    """Numbers that differ by no more are equal."""
    relative_tolerance: Tolerance = 1e-9
    """So are numbers that differ by no more than this share of the larger, where the gold's is no integer: sums of
    fractions depend on the order of their terms. An integer of the gold, a whole DECIMAL too, wants that integer, or a
    fraction that only rounding keeps from it: by 2^-20, or half the distance of floats of that size if that is more.
    """
    distinct: Literal["kept", "dropped"] = "kept"
    """Whether the word DISTINCT is deleted from both queries before they run (Spider's and SQL-R1's evaluation)."""
    empty_gold: EmptyGold = EmptyGold.ALLOW
    """What a gold query that gives no rows means."""
    refused: Refused = Refused.VIOLATION
    """What a statement is that would do more than read."""
    max_rows: int = Field(100_000, ge=1, le=1_000_000)
    """Rows that a result may have; more are `output_exceeded`."""
    max_result_bytes: int = Field(4_000_000, ge=1_000, le=50_000_000)
    """Bytes that a result may have, packed; more are `output_exceeded`."""

    @model_validator(mode="before")
    @classmethod
    def _require_the_engine(cls, document: Any) -> Any:
        if not isinstance(document, Mapping) or document.get("dialect") != _ENGINE:
            return document
        return document_including(document, (_ENGINE,))

    @model_validator(mode="before")
    @classmethod
    def _tell_the_gold_from_its_query(cls, document: Any) -> Any:
        if isinstance(document, Mapping) and "gold" in document and "gold_sql" not in document:
            what = "required: a query that gives the right rows; `gold` is a whole completion"
            raise misplaced(("gold_sql",), what, "say the query in `gold_sql`", absent=True)
        return document

    @field_validator("order_keys", mode="before")
    @classmethod
    def _count_from_one(cls, keys: Any) -> Any:
        if isinstance(keys, list | tuple) and any(type(key) is int and key < 1 for key in keys):
            raise ValueError("columns are counted from 1")
        return keys

    @field_validator("database")
    @classmethod
    def _stay_below_the_folder(cls, name: str) -> str:
        parts = name.split("/")
        if name and any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in parts):
            raise ValueError("a database is named by its path below the folder of databases, such as shop/shop.sqlite")
        if any(len(part.encode("utf-8", "surrogatepass")) > LONGEST_NAME for part in parts):
            raise ValueError(f"no file or folder has a name of more than {LONGEST_NAME} bytes")
        return name

    @model_validator(mode="after")
    def _hold_no_wide_integers(self) -> Self:
        most = _MOST_SIGNED if self.dialect == "sqlite" else _MOST_UNSIGNED
        for table, rows in self.rows.items():
            for number, row in enumerate(rows):
                for column, cell in enumerate(row):
                    if type(cell) is int and not -_MOST_SIGNED - 1 <= cell <= most:
                        what = f"integers of rows lie between {-_MOST_SIGNED - 1} and {most}"
                        fix = "write it as text, which the column's type converts, or as a number with a fraction"
                        raise misplaced(("rows", table, number, column), what, fix)
        return self

    @field_validator("gold_sql")
    @classmethod
    def _say_something(cls, sql: str) -> str:
        if is_blank(sql):
            raise ValueError("there is no statement")
        return sql

    @model_validator(mode="after")
    def _name_a_required_tag(self) -> Self:
        if self.tag is Need.REQUIRED and self.answer_tag is None:
            what = "there is no tag to be required: `answer_tag` is null"
            raise misplaced(("tag",), what, "name it in answer_tag, or leave `tag` out")
        return self

    @model_validator(mode="after")
    def _have_one_database(self) -> Self:
        texts = {
            "schema": self.database_schema, "database_base64": self.database_base64, "database": self.database,
        }  # fmt: skip
        given = [name for name, text in texts.items() if text]
        if len(given) != 1:
            raise misplaced(
                (given[1] if given else "schema",),
                f"there are {' and '.join(given)}" if given else "there is no database",
                "give exactly one of schema (with rows), database_base64 and database",
                absent=not given,
            )
        if self.rows and not self.database_schema:
            raise misplaced(("rows",), "rows go with schema only", "leave them out, or give a schema")
        if bool(self.database) != bool(self.database_sha256):
            raise misplaced(
                ("database_sha256",),
                "database and database_sha256 go together: the file and the SHA-256 of its content",
                "give both or neither",
            )
        if self.database_base64:
            self._check_file()
        return self

    @model_validator(mode="after")
    def _order_what_has_an_order(self) -> Self:
        if self.compare is Rows.SET and self.order is Order.REQUIRED:
            raise misplaced(
                ("order",),
                "'required' means nothing where rows are compared as a set",
                "give another order, or another compare",
            )
        if self.order_keys and not self._is_ordered():
            raise misplaced(
                ("order_keys",),
                "they mean nothing where the order of rows does not matter",
                "leave them out, or give `order` and a gold query by which it matters",
            )
        return self

    def _check_file(self) -> None:
        try:
            head = base64.b64decode(self.database_base64, validate=True)
        except binascii.Error as error:
            raise misplaced(("database_base64",), f"this is not base64: {error}") from error
        if len(head) > MOST_BYTES:
            raise misplaced(("database_base64",), f"it holds more than {MOST_BYTES} bytes")
        if not is_database(head[:100], self.dialect):
            raise misplaced(("database_base64",), f"it does not hold a database of {self.dialect}")

    def runs_something(self) -> bool:
        """Queries run in jails."""
        return True

    @property
    def places(self) -> Places:
        """Where the query is looked for."""
        return Places(self.answer_tag, self.tag, self.fence, self.pick, self.reasoning == "kept")

    @property
    def caps(self) -> Caps:
        """What a result may hold."""
        return Caps(self.max_rows, self.max_result_bytes)

    def rules_for(self, gold: Table) -> Rules:
        """Return what makes a result the same as the gold's. Raises KeyError for a key that is no column of it."""
        return Rules(
            self.compare,
            self._is_ordered(),
            self._key_places(gold),
            self.columns,
            self.nulls,
            self.absolute_tolerance,
            self.relative_tolerance,
        )

    def _key_places(self, gold: Table) -> tuple[int, ...]:
        names = [name.casefold() for name in gold.columns]
        places = []
        for key in self.order_keys:
            found = [key - 1] if isinstance(key, int) else [n for n, name in enumerate(names) if name == key.casefold()]
            if len(found) != 1 or found[0] >= len(names):
                raise KeyError(key)
            places += found
        return tuple(places)

    def _is_ordered(self) -> bool:
        if self.compare is Rows.SET:
            return False
        if self.order is Order.AUTO:
            return is_ordered(self.gold_sql)
        return mentions_order(self.gold_sql) if self.order is Order.MENTIONED else self.order is Order.REQUIRED

    @cached_property
    def image_name(self) -> str:
        """The name of the database, which its content decides."""
        if self.database:
            return f"{self.dialect} sha256 {self.database_sha256}"
        made_of = [self.dialect, self.database_schema, self.model_dump(mode="json")["rows"], self.database_base64]
        return content_hash(made_of)
