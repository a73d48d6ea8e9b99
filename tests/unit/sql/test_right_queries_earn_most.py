"""No query earns more than the right one, whatever the weights, and none that gives no rows more than wrong rows do."""

import importlib
import os

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Exit, Launch
from assay.verifiers.builtin import default_registry

_REGISTRY = default_registry()
_TASK = {
    "id": "t", "verifier": "sql", "schema": "CREATE TABLE crew(id INTEGER, name TEXT, pay REAL)",
    "rows": {"crew": [[1, "Ada", 30.5], [2, "Bo", 20.25], [3, None, 20.25]]},
    "gold_sql": "SELECT name, pay FROM crew WHERE pay < 25",
}  # fmt: skip
_RIGHT = ("SELECT name, pay FROM crew WHERE id > 1", "SELECT name, pay FROM crew WHERE pay < 30 ORDER BY id DESC")
_WRONG = ("SELECT name, pay FROM crew", "SELECT pay FROM crew", "SELECT 1, 2", "SELECT 1 WHERE 0", "SELECT NULL, 20.25")
_NO_ROWS = (
    "SELECT",
    "SELECT x FROM crew",
    "SELECT 1; SELECT 2",
    "EXPLAIN SELECT 1",
    "SELECT abs(-9223372036854775808)",
)
_REFUSED = (
    "DROP TABLE crew",
    "DELETE FROM crew",
    "ATTACH 'x' AS y",
    "PRAGMA writable_schema = 1",
    "SELECT readfile('x')",
)
_SILENT = ("", "-- nothing")


class _InProcess(FakeSlot):
    """Runs programs right here: SQLite's answers from memory and needs no jail for queries that these tests wrote."""

    def start(self, launch: Launch) -> FakeChild:
        """Run it to its end."""
        fds = tuple(map(os.dup, launch.fds))
        try:
            code = importlib.import_module(launch.program).main(launch.payload, fds)
        finally:
            for fd in fds[1:]:
                os.close(fd)  # the program closes the first
        self.children.append(FakeChild(Exit(code, None)))
        return super().start(launch)


_FIELDS = st.fixed_dictionaries(
    {
        "weights": st.dictionaries(st.sampled_from(("format", "execution", "match", "length")), st.floats(0, 4)),
        "signed": st.booleans(),
        "format_gate": st.booleans(),
        "refused": st.sampled_from(("violation", "mismatch")),
        "columns": st.sampled_from(("ordered", "any", "by_name")),
        "compare": st.sampled_from(("bag", "set")),
    }
)


@settings(deadline=None, max_examples=25, derandomize=True)
@given(fields=_FIELDS)
def test_rewards_fall_from_right_rows_to_none(fields: dict[str, object]) -> None:
    """Answers of one layout: right rows, wrong rows, no rows, and at the bottom what is refused or says nothing."""
    task, verifier, slot = _REGISTRY.parse_task({**_TASK, **fields}), _REGISTRY.get("sql"), _InProcess()

    def rewards(queries: tuple[str, ...]) -> list[float]:
        verdicts = [verifier.judge(task, f"<answer>\n```sql\n{query}\n```\n</answer>", slot) for query in queries]
        return [verdict.reward for verdict in verdicts if verdict.reward is not None]

    right, wrong, no_rows, refused, silent = map(rewards, (_RIGHT, _WRONG, _NO_ROWS, _REFUSED, _SILENT))

    assert [len(found) for found in (wrong, no_rows, refused, silent)] == [5, 5, 5, 2], "no reward is null"
    assert min(right) >= max(wrong) >= min(wrong) >= max(no_rows)
    assert min(wrong) >= max(refused)
    assert max(silent) <= min(*no_rows, *refused, *wrong)
