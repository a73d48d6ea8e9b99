"""Queries made wrong in small ways: a condition, a column, an aggregate, a limit, an order, repetition."""

import re
from collections.abc import Iterator

_CLAUSES = r"(?=\bGROUP\b|\bORDER\b|\bLIMIT\b|\bINTERSECT\b|\bEXCEPT\b|\bUNION\b|\)|$)"
_CHANGES: tuple[tuple[str, str, str], ...] = (
    ("drop the conditions", rf"\bWHERE\b.*?{_CLAUSES}", " "),
    ("drop a second condition", rf"\bAND\b.*?{_CLAUSES}", " "),
    ("and becomes or", r"\bAND\b", "OR"),
    ("equal becomes different", r"(?<=\bWHERE\b)(.*?)=", r"\1!="),
    ("more becomes less", r">", "<"),
    ("less becomes more", r"<", ">"),
    ("count one more", r"count\(([^)]*)\)", r"count(\1) + 1"),
    ("average becomes sum", r"avg\(", "sum("),
    ("sum becomes average", r"sum\(", "avg("),
    ("largest becomes smallest", r"max\(", "min("),
    ("smallest becomes largest", r"min\(", "max("),
    ("one more row", r"\bLIMIT 1\b", "LIMIT 2"),
    ("no limit", r"\bLIMIT \d+", ""),
    ("one row", r"$", " LIMIT 1"),
    ("descending becomes ascending", r"\bDESC\b", "ASC"),
    ("ascending becomes descending", r"\bASC\b", "DESC"),
    ("no order", r"\bORDER BY\b.*?(?=\bLIMIT\b|\)|$)", ""),
    ("repetition kept", r"\bDISTINCT\b", ""),
    ("repetition dropped", r"\bSELECT\b(?! DISTINCT)", "SELECT DISTINCT"),
    ("both becomes either", r"\bINTERSECT\b", "UNION"),
    ("without becomes with", r"\bEXCEPT\b", "UNION"),
    ("another column", r"\bSELECT (DISTINCT )?(T\d\.)?[`\w]+(?=\s*(,|FROM))", r"SELECT \1 \2rowid"),
    ("one column more", r"\bFROM\b", ", 1 FROM"),
)


def mutants(sql: str) -> Iterator[tuple[str, str]]:
    """Yield what was changed and the query with the first such thing changed, where there is one."""
    for name, pattern, instead in _CHANGES:
        changed = re.sub(pattern, instead, sql, count=1, flags=re.IGNORECASE | re.DOTALL)
        if changed != sql:
            yield name, changed
