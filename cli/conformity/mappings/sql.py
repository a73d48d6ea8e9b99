"""The family of SQL queries."""

from collections.abc import Iterator, Mapping

from assay.cli.conformity.judging import Judge, Judged, agree
from assay.cli.conformity.lines import Document, FamilyLine
from assay.cli.conformity.mappings.mapping import Check, FamilyMapping

_FIELDS = ("dialect", "schema", "rows", "database_base64", "gold_sql")
_ARCTIC = {"profile": "arctic/paper"}
_SPIDER = {"profile": "spider/code", "columns": "ordered"}  # as the component `bag_match`, which it stands for
_WITHOUT_LENGTH = {"format": 1.0, "execution": 2.0, "match": 3.0, "length": 0.0}
_ANY_GOLD = "SELECT 1"
_LENIENT = {"tag": "optional", "fence": "optional"}


def _task(task: Document) -> Document:
    """`timeout_s` is our `limits.wall_s`; `read_only` is what every task of ours is. Other keys are fields of ours."""
    own = {"timeout_s", "read_only", "policy", "note", *_FIELDS}
    document = {key: task[key] for key in _FIELDS if key in task} | {k: v for k, v in task.items() if k not in own}
    if "timeout_s" in task:
        document["limits"] = {"wall_s": task["timeout_s"]}
    return {"verifier": "sql", **document}


def _headline(task: Document) -> Document:
    return {**_ARCTIC, **_task(task)}


_SQL = FamilyMapping(
    _headline,
    profiles={
        "arctic_set_compare": _ARCTIC,
        "spider_bag_compare": _SPIDER,
        "sql_r1_score_without_length": {"profile": "sql-r1/code", "weights": _WITHOUT_LENGTH},
        "fence_optional": {**_ARCTIC, "fence": "optional"},
    },
    hardened={"profile": "sql/hardened"},
)


def _check(line: FamilyLine, judge: Judge) -> list[str]:
    """Components are statuses and comparisons of the rows, whatever the layout: each has a task of its own."""
    expected = dict(line.expected)
    components = expected.pop("components", {})
    if expected.get("flag") == "code_bug":  # where the released code is at fault `sql-r1/code` says how it differs
        profiles = expected.get("profiles", {})
        expected["profiles"] = {name: value for name, value in profiles.items() if not name.startswith("sql_r1")}
    problems = _SQL(line.model_copy(update={"expected": expected}), judge)
    return [*problems, *_differences(line, components, judge)]


def _differences(line: FamilyLine, components: Document, judge: Judge) -> Iterator[str]:
    for name, value in components.items():
        found = _component(line, name, judge)
        if found != value if isinstance(value, str) else not agree(float(value), _number(found)):
            yield f"{name}: expected {value}, got {found}"


def _component(line: FamilyLine, name: str, judge: Judge) -> str | float | None:
    match name:
        case "gold_status":
            return "err" if _judged(line, judge, {}).reward is None else "ok"
        case "pred_status":
            return "ok" if _judged(line, judge, {"gold_sql": _ANY_GOLD}).terms.get("execution") == 1.0 else "err"
        case "set_match":
            return _judged(line, judge, {"profile": "arctic/paper"}).terms.get("match", 0.0)
        case "bag_match":
            return _judged(line, judge, {"profile": "sql/hardened"}).terms.get("match", 0.0)
        case _:
            return _judged(line, judge, {}).terms.get(name)


def _number(found: str | float | None) -> float | None:
    return found if found is None else float(found)


def _judged(line: FamilyLine, judge: Judge, fields: Document) -> Judged:
    return judge.judge({"id": line.id, **_task(line.task), **_LENIENT, **fields}, line.completion)


FAMILIES: Mapping[str, Check] = {"sql": _check}
"""By the name of the family."""
