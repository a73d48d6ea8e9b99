"""`assay report`: what it says of results, in each form, whatever tasks and completions wrote."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from assay.cli.exits import Exit
from assay.cli.main import main

NASTY = "\x00\x1b[2J<script>alert(1)</script>\ud83d & \"' | `x` @all https://example.com ]]> \uffff"
ALLOWED = {
    "testsuites": {"name", "time", "tests", "failures", "disabled", "errors"},
    "testsuite": {
        "name", "tests", "failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id", "package"
    },
    "testcase": {"name", "assertions", "time", "classname", "status"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
}  # fmt: skip
"""Elements and attributes of jenkinsci/xunit-plugin, junit-10.xsd."""
REQUIRED = {"testsuite": {"name", "tests"}, "testcase": {"name"}}
CHILDREN = {"testsuites": {"testsuite"}, "testsuite": {"testcase"}, "testcase": {"skipped", "error", "failure"}}


def line(task: str, label: str, outcome: str, reward: float | None, **fields: Any) -> dict[str, Any]:
    """A result line, as far as reports read it."""
    known = {"task_id": task, "attempt": label, "group": task, "outcome": outcome, "reward": reward}
    return {"batch_id": "local", "verifier": "python", "message": NASTY, "timing": {"run_s": 0.5}} | known | fields


LINES = [
    line("a", "0", "passed", 1.0, timing={"run_s": 7.25}),
    line("a", "1", "failed", 0.5),
    line("b", "0", "timeout", 0.0, versions={"attempt": "x"}),
    line("b", "1", "failed", 0.0, versions={"attempt": "x"}),
    line("c", "0", "task_error", None),
    line(NASTY, NASTY, "cancelled", None),
    {"event": "group", "batch_id": "local", "seq": 9, "group": "a", "attempts": 2},
]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A file of results."""
    path = tmp_path / "results.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)))
    return path


def report(results: Path, form: str) -> str:
    """The report in one form."""
    path = results.with_name(f"report.{form}")
    assert main(["report", str(results), f"--{form}", str(path)]) == Exit.OK
    return path.read_text(encoding="utf-8")


def test_the_terminal_shows_every_part(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Figures, groups, nulls with their reasons, unstable verdicts, the slowest; nothing steers the terminal."""
    assert main(["report", str(results)]) == Exit.OK

    shown = capsys.readouterr().out
    assert "6 attempts: mean reward 0.3750, 25.0% passed, 2 without a reward" in shown
    assert "2 groups of several attempts; rewards differ in 1, are equal in 1" in shown
    assert "all attempts passed in 0, none in 1" in shown
    assert re.search(r"a +2 +2 +0\.7500 +0\.2500 +0\.3536 +50%", shown)
    assert re.search(r"task_error +1 +c attempt 0", shown)
    assert re.search(r"b attempt 0 +failed 0, timeout 0", shown)
    assert re.search(r"Slowest\n.*\n +a attempt 0 +7\.250 +passed", shown)
    assert not set("\x00\x1b\ud83d\uffff") & set(shown)


def test_a_page_loads_nothing_and_escapes_everything(results: Path) -> None:
    """Its only elements are its own; it has plots, and neither addresses nor scripts."""
    page = report(results, "html")
    seen: list[tuple[str, dict[str, str | None]]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: seen.append((tag, dict(attributes)))  # type: ignore[method-assign]
    parser.feed(page)

    tags = {tag for tag, _ in seen}
    assert {"svg", "rect", "table"} <= tags
    assert not tags & {"script", "link", "img", "iframe", "object", "base", "a"}
    assert not {name for _, attributes in seen for name in attributes} & {"src", "href", "onload", "onclick"}
    assert "&lt;script&gt;" in page
    assert "url(" not in page
    assert "@import" not in page
    assert not set("\x00\x1b") & set(page)


def test_markdown_cells_hold_what_is_said(results: Path) -> None:
    """No text makes a column, a mention, markup or a link of its own."""
    text = report(results, "markdown")

    rows = [row for row in text.splitlines() if row.startswith("|")]
    bars = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
    assert set(bars) <= {3, 4, 5, 8}
    assert not re.search(r"[<`\\*_\[!]|@|://|www\.", without_code(text))


@pytest.mark.parametrize(
    "text",
    [
        "see www.example.com now",
        "WWW.example.com",
        "mail a@example.com",
        "for @all #1 GH-12",
        "![x](http://example.com/x.png)",
        "` @all `",
        "`` ` @all",
        "\\` www.example.com \\`",
        "a\\|@all|www.example.com",
        "&#64;all &lt;b&gt;",
        "$`x`$ __x__ ~~x~~ <b>",
    ],
)
def test_texts_in_markdown_are_code_where_they_could_be_more(tmp_path: Path, text: str) -> None:
    """A renderer looks for addresses and mentions once entities and backslashes are read, but never in code."""
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(line(text, "0", "task_error", None, message=text)))

    rows = [row for row in report(path, "markdown").splitlines() if " attempt 0" in row]
    row = without_code(rows[0])

    assert re.fullmatch(r"\|  \| 1 \|  \|  \|", row)


def without_code(text: str) -> str:
    """Markdown without its code spans: a run of backticks to the next one of equal length, in one line."""
    return re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


def test_junit_follows_the_common_schema(results: Path) -> None:
    """Elements, attributes, counts and characters; numbers fail, nulls are errors, what was cancelled is skipped."""
    root = ElementTree.fromstring(report(results, "junit").encode())

    for element in root.iter():
        assert set(element.attrib) <= ALLOWED[element.tag]
        assert set(element.attrib) >= REQUIRED.get(element.tag, set())
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
    counts = {"tests": "6", "failures": "3", "errors": "1"}
    assert counts.items() <= root.attrib.items()
    assert (counts | {"skipped": "1", "time": "9.750"}).items() <= root[0].attrib.items()
    assert [child[0].tag if len(child) else None for child in root[0]] == [
        None, "failure", "failure", "failure", "error", "skipped"
    ]  # fmt: skip
    assert root[0][4][0].attrib == {"type": "task_error", "message": "task_error, reward null"}


@pytest.mark.parametrize("form", ["junit", "html"])
def test_documents_hold_only_what_is_printable(tmp_path: Path, form: str) -> None:
    """No controls of a terminal (C0, C1), nothing that turns the direction of writing, no half characters."""
    text = "a\x1b[2J\x9b31m\u202e\u2066\u200b\u2028\ufeff\udc80\x85\rb\u00a0c"
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(line(text, text, "task_error", None, message=text)))

    shown = report(path, form)

    assert not [sign for sign in shown if not sign.isprintable() and sign != "\n"]
    assert "a\ufffd[2J\ufffd31m\ufffd\ufffd\ufffd \ufffd\ufffd  b c" in shown


def test_groups_of_several_files_are_kept_apart(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same task at two steps makes two groups; the same content is expected to have one verdict."""
    other = results.with_name("other.jsonl")
    other.write_text(json.dumps(line("b", "0", "passed", 1.0, versions={"attempt": "x"})))

    main(["report", str(results), str(other)])

    shown = capsys.readouterr().out
    assert "2 groups of several attempts" in shown
    assert "failed 0, passed 1, timeout 0" in shown


@pytest.mark.parametrize("rewards", [[], [None], [1.0], [1.0, 1.0 + 1e-15], [-1e12, 1e12], [0.0, 5e-324]])
@pytest.mark.parametrize("form", ["html", "markdown", "junit"])
def test_any_rewards_can_be_shown(tmp_path: Path, form: str, rewards: list[float | None]) -> None:
    """None at all, one, ones that hardly differ, the largest."""
    path = tmp_path / "results.jsonl"
    rows = [line("a", str(n), "failed" if r is not None else "task_error", r) for n, r in enumerate(rewards)]
    path.write_text("\n".join(map(json.dumps, rows)))

    assert report(path, form)


def test_one_report_can_go_to_the_output(results: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Alone; two are refused before anything is read."""
    assert main(["report", str(results), "--junit", "-"]) == Exit.OK
    assert ElementTree.fromstring(capsysbinary.readouterr().out).tag == "testsuites"
    assert main(["report", str(results), "--junit", "-", "--html", "-"]) == Exit.REFUSED


NO_RESULTS = [
    {"reward": 10**400},
    {"reward": 1e200},
    {"reward": True},
    {"reward": "1"},
    {"outcome": "infra_error", "reward": 0.5},
    {"outcome": "great"},
    {"outcome": None},
]


@pytest.mark.parametrize("fields", NO_RESULTS, ids=str)
@pytest.mark.parametrize("command", ["report", "diff"])
def test_what_is_no_result_is_refused_by_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, fields: dict[str, Any]
) -> None:
    """Numbers that no statistic bears, other types, null rewards with a number: never a traceback."""
    path = tmp_path / "r.jsonl"
    path.write_text(
        json.dumps(line("a", "0", "passed", 1.0)) + "\n" + json.dumps(line("a", "1", "failed", 0.0) | fields)
    )

    status = main([command, str(path), *([str(path)] if command == "diff" else [])])

    shown = capsys.readouterr()
    assert (status, shown.out) == (Exit.REFUSED, "")
    assert "r.jsonl[1]" in shown.err
    assert "is no result" in shown.err


ODD = [
    {"timing": {"run_s": 10**400}, "index": 2**70},
    {"timing": {"run_s": -5}, "index": True},
    {"timing": 3, "index": "x", "passed": "abc", "terms": [1], "versions": [1], "flags": "x", "message": [NASTY]},
    {"terms": {NASTY: 10**400, "b": [1], "c": None}, "passed": [None, NASTY, {}], "verifier": {NASTY: 1}},
    {"versions": {"attempt": "\ud83d", NASTY: NASTY}, "sandbox": NASTY, "flags": [NASTY, 1], "group": {"a": 1}},
    {"task_id": None, "attempt": None, "batch_id": [1], "metadata": NASTY},
]


@pytest.mark.parametrize("fields", ODD, ids=range(len(ODD)))
def test_fields_of_any_type_are_told_or_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fields: dict[str, Any]
) -> None:
    """Of lines that another program wrote: every form of report, and the comparison with a line of ours, is made."""
    odd, own = tmp_path / "odd.jsonl", tmp_path / "own.jsonl"
    odd.write_text(json.dumps(line("a", "0", "failed", 0.0) | fields))
    own.write_text(json.dumps(line("a", "0", "passed", 1.0, versions={"attempt": "x"})))

    assert report(odd, "html")
    assert report(odd, "markdown")
    assert ElementTree.fromstring(report(odd, "junit").encode())
    assert main(["report", str(odd)]) == Exit.OK
    assert main(["diff", str(odd), str(own)]) == Exit.FOUND_FAULTS
    assert main(["diff", str(odd), str(odd)]) == Exit.OK
    assert not set("\x00\x1b\ud83d\uffff") & set(capsys.readouterr().out)


@pytest.mark.parametrize("form", ["html", "markdown", "junit"])
def test_a_report_never_replaces_what_it_is_made_of(results: Path, form: str) -> None:
    """Also through a link; the results stay as they were."""
    before = results.read_bytes()
    link = results.with_name("link")
    link.symlink_to(results)

    assert main(["report", str(results), f"--{form}", str(link)]) == Exit.REFUSED
    assert results.read_bytes() == before
