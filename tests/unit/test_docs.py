"""The pages of the documentation point at what exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_service import result

from assay.cli.commands import build_parser
from assay.outcomes import Outcome

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
PATH = re.compile(r"`((?:core|sandboxes|verifiers|service|clients|cli|tests|benchmarks|deploy|docs|script)/[\w./*-]+)`")


SOURCE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def dangling() -> Iterator[str]:
    """Every link and path in every page that leads nowhere."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        yield from (f"{page.name}: {link}" for link in LINK.findall(text) if not (page.parent / link).exists())
        yield from (f"{page.name}: {path}" for path in PATH.findall(text) if not any(ROOT.glob(path)))


def test_links_and_paths_lead_somewhere() -> None:
    """Each relative link, and each path of the repository in backquotes, exists."""
    assert list(dangling()) == []


def test_a_file_of_results_becomes_advantages_as_the_quickstart_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its program runs over a file of results: a group with a missing reward, and one that fails as a whole."""
    (program,) = (one for one in SOURCE.findall((ROOT / "docs/quickstart.md").read_text()) if "results.jsonl" in one)
    rewards = {"a": [1.0, 0.0, None], "b": [0.0, 0.0]}
    lines = [
        result(1).model_copy(
            update={
                "task_id": group, "group": group, "reward": reward,
                "outcome": Outcome.TASK_ERROR if reward is None else Outcome.PASSED if reward else Outcome.FAILED,
            }
        ).model_dump_json()
        for group, several in rewards.items()
        for reward in several
    ]  # fmt: skip
    (tmp_path / "results.jsonl").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)

    exec(compile(program, "quickstart.md", "exec"), {})

    told = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [float(line[3]) for line in told[:5]] == pytest.approx([0.7070, -0.7070, 0, 0, 0], abs=1e-4)
    assert [line[4:] for line in told[:5]] == [["True", "True"]] * 2 + [["False", "False"]] + [["True", "False"]] * 2
    assert told[5:] == [["a", "0.5", "False", "0.5"], ["b", "0.0", "True", "0.0"]]


def test_every_page_is_found_from_the_index() -> None:
    """The index links each page of the documentation."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")]

    assert [page for page in pages if page != "index.md" and f"({page})" not in index] == []


def test_the_readme_tells_of_every_command() -> None:
    """Its table has a row for each."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    ([a-z]+)\s", build_parser().format_help(), re.MULTILINE)

    assert "score" in commands
    assert [command for command in commands if f"| `assay {command}" not in readme] == []
