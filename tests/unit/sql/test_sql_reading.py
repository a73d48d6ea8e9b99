"""From completions to queries, and from queries to tokens."""

import time
from dataclasses import replace

import pytest

from assay.verifiers.sql.extraction import Layout, Need, Pick, Places, find_query, has_layout
from assay.verifiers.sql.lexing import (
    is_blank,
    is_ordered,
    leading_words,
    mentions_order,
    only_statement,
    tokens,
    without_distinct,
)

LENIENT = Places("answer", Need.OPTIONAL, Need.OPTIONAL, Pick.LAST)
STRICT = Places("answer", Need.REQUIRED, Need.REQUIRED, Pick.LAST)


@pytest.mark.parametrize(
    ("completion", "lenient", "strict"),
    [
        ("<answer>```sql\nSELECT 1\n```</answer>", "SELECT 1", "SELECT 1"),
        ("<answer>SELECT 1</answer>", "SELECT 1", None),
        ("```sql\nSELECT 1\n```", "SELECT 1", None),
        ("<answer>```\nSELECT 1\n```</answer>", "SELECT 1", None),
        ("<answer>```SQLite\nSELECT 1\n```</answer>", "SELECT 1", "SELECT 1"),
        ("<answer>```sql SELECT 1```</answer>", "SELECT 1", "SELECT 1"),
        ("<answer>```python\nprint(1)\n```</answer>", None, None),
        ("<answer>```sql\nSELECT 1\n</answer>", "SELECT 1", None),
        ("Here:\n```sql\nSELECT 1", "SELECT 1", None),
        ("```sql\nSELECT 1\n```\n```", "SELECT 1", None),
        ("```sql\nSELECT 1\n```\n```python\nprint(1)", "SELECT 1", None),
        ("<answer>````sql\nSELECT 1\n````</answer>", "SELECT 1", "SELECT 1"),
        ("<answer>```postgresql\nSELECT 1\n```</answer>", "SELECT 1", None),
        ("<answer>```MySQL\nSELECT 1\n```</answer>", "SELECT 1", None),
        ("<answer>```text\nSELECT 1\n```</answer>", "SELECT 1", None),
        ("<answer>```sql\nSELECT 1\n```\n```text\n1\n```</answer>", "SELECT 1", "SELECT 1"),
        ("```\nSELECT 1\n```\n```", "SELECT 1", None),
        ("<answer>```mysql SELECT 1```</answer>", "SELECT 1", None),
        ("<answer>```SELECT 1```</answer>", "SELECT 1", None),
        ("<answer>```sql\nSELECT 1\n``` or ```sql\nSELECT 2\n```</answer>", "SELECT 2", "SELECT 2"),
        ("<think>```sql\nSELECT 0\n```</think>SELECT 1", "SELECT 1", None),
        ("<think>SELECT 0", None, None),
        ("<THINK>```sql\nSELECT 0\n```", None, None),
        ("<thinking>```sql\nSELECT 0\n```", None, None),
        ("<think><answer>```sql\nSELECT 0\n```</answer>", None, None),
        ("<think><answer>```sql\nSELECT 0\n```</answer></think>```sql\nSELECT 1\n```", "SELECT 1", None),
        ("So <answer>SELECT 1", "SELECT 1", None),
        ("<answer>\n```sql\nSELECT 1\n```\n", "SELECT 1", None),
        ("```sql\nSELECT 0\n```\n<answer>SELECT 1", "SELECT 1", None),
        ("```sql\nSELECT 0\n```\n<answer>I take `SELECT 1`.", "SELECT 1", None),
        ("```sql\nSELECT 1\n```\nI left the <answer> tag out.", "SELECT 1", None),
        ("```sql\nSELECT '<answer>'\n```", "SELECT '<answer>'", None),
        ("Of `t` I take `SELECT 1`.", "SELECT 1", None),
        ("SELECT `select x` FROM t", "SELECT `select x` FROM t", None),
        ("`SELECT 1` or `SELECT 2`", "`SELECT 1` or `SELECT 2`", None),
        ("", None, None),
    ],
)
def test_where_a_query_is_found(completion: str, lenient: str | None, strict: str | None) -> None:
    """In the last block, in the bare text if that will do, never in the reasoning."""
    found = [find_query(completion, places) for places in (LENIENT, STRICT)]

    assert [one and one.sql for one in found] == [lenient, strict]


def test_a_draft_counts_if_asked() -> None:
    """As published code reads it: the last block of the tag, wherever it stands."""
    draft = "<think><answer>```sql\nSELECT 0\n```</answer></think>"
    found = find_query(draft, replace(STRICT, drafts=True))

    assert found is not None
    assert found.sql == "SELECT 0"
    assert has_layout(draft, replace(STRICT, drafts=True), Layout.FENCE)
    assert not has_layout(draft, STRICT, Layout.FENCE)


def test_the_first_block_counts_if_asked() -> None:
    """Of tags and of fences."""
    places = Places("answer", Need.REQUIRED, Need.REQUIRED, Pick.FIRST)
    found = find_query("<answer>```sql\nA\n``````sql\nB\n```</answer><answer>```sql\nC\n```</answer>", places)

    assert found is not None
    assert found.sql == "A"


def test_layouts() -> None:
    """SQL-R1 wants four tags once and in order; a fence alone will do otherwise."""
    good = "<think>t</think><answer>```sql\nSELECT 1\n```</answer>"
    bad = ["<answer>```sql\nSELECT 1\n```</answer>", f"<think></think>{good}", good.replace("```sql", "```"), ""]

    assert has_layout(good, LENIENT, Layout.SQL_R1)
    assert not any(has_layout(text, LENIENT, Layout.SQL_R1) for text in bad)
    assert has_layout(bad[0], LENIENT, Layout.FENCE)


@pytest.mark.parametrize(
    ("sql", "ordered", "mentioned"),
    [
        ("SELECT a FROM t ORDER BY a", True, True),
        ("select a from t order /* by */\n by a", True, False),
        ("(SELECT a FROM t ORDER BY a)", True, True),
        ("((SELECT a FROM t ORDER BY a));", True, True),
        ("SELECT * FROM (SELECT a FROM t ORDER BY a)", False, True),
        ("WITH x AS (SELECT a FROM t ORDER BY a) SELECT * FROM x", False, True),
        ("SELECT rank() OVER (ORDER BY a) FROM t", False, True),
        ("SELECT 'order by' FROM t", False, True),
        ("SELECT a FROM t -- ORDER BY a", False, True),
        ('SELECT "ORDER" BY', False, False),
        ("(SELECT a FROM t ORDER BY a) UNION (SELECT 1)", False, True),
        ("SELECT a FROM t GROUP BY a", False, False),
    ],
)
def test_which_statements_are_ordered(sql: str, ordered: bool, mentioned: bool) -> None:
    """At their top level; Spider looks for the words alone."""
    assert (is_ordered(sql), mentions_order(sql)) == (ordered, mentioned)


@pytest.mark.parametrize(
    ("sql", "only"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT 1; -- done\n ;", "SELECT 1"),
        ("SELECT ';' AS \"a;b\", [c;d]; /* ; */", "SELECT ';' AS \"a;b\", [c;d]"),
        ("SELECT 1; SELECT 2", None),
        ("SELECT 1;;x", None),
        ("SELECT '; DROP TABLE t", "SELECT '; DROP TABLE t"),
    ],
)
def test_only_one_statement(sql: str, only: str | None) -> None:
    """Semicolons in quotes and comments end nothing."""
    assert only_statement(sql) == only


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("pragma Table_Info('t')", ["PRAGMA", "TABLE_INFO"]),
        ("-- why\n((/* not */ select a", ["SELECT", "A"]),
        ("; INSTALL httpfs", ["INSTALL", "HTTPFS"]),
        ("VALUES (1)", ["VALUES"]),
        ("'SELECT' x", []),
        ("7 SELECT", []),
        ("", []),
    ],
)
def test_leading_words(sql: str, words: list[str]) -> None:
    """In capitals, up to what is no word; parentheses and comments before them do not count."""
    assert leading_words(sql, 2) == words


def test_distinct_is_deleted_outside_quotes() -> None:
    """Whatever its letter case; names that hold the word stay."""
    assert without_distinct("SELECT Distinct a, 'distinct', count(DISTINCT b), distinct_c") == (
        "SELECT  a, 'distinct', count( b), distinct_c"
    )


def test_nothing_but_comments_is_blank() -> None:
    """And semicolons."""
    assert is_blank(" ; -- x\n /* y */ ")
    assert not is_blank("1")


@pytest.mark.parametrize(
    "part", ["'", '"', "/*", "/**", "*/", "--", "(", "((SELECT", "[", "`", ";", "```sql\n", "<answer>"]
)
def test_hostile_texts_are_read_in_time(part: str) -> None:
    """Much of anything: what takes quadratic time takes far longer than this. The token texts are the whole again."""
    text = part * (200_000 // len(part))
    started = time.process_time()

    assert "".join(token.text for token in tokens(text)) == text
    is_ordered(text)
    find_query(text, LENIENT)
    has_layout(text, LENIENT, Layout.SQL_R1)
    assert time.process_time() - started < 20


@pytest.mark.parametrize("piece", [";", "; ", "--\n", "/**/", " "])
def test_what_says_nothing_is_one_token_however_long(piece: str) -> None:
    """A token for each would cost the worker seconds of its one interpreter."""
    sql = piece * (900_000 // len(piece))

    (token,) = tokens(sql)

    assert token.text == sql
    assert is_blank(sql)
