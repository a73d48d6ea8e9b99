"""The pages of the documentation point at what exists."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
PATH = re.compile(r"`((?:core|sandboxes|verifiers|service|clients|cli|tests|benchmarks|deploy|docs|script)/[\w./*-]+)`")


def dangling() -> Iterator[str]:
    """Every link and path in every page that leads nowhere."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        yield from (f"{page.name}: {link}" for link in LINK.findall(text) if not (page.parent / link).exists())
        yield from (f"{page.name}: {path}" for path in PATH.findall(text) if not any(ROOT.glob(path)))


def test_links_and_paths_lead_somewhere() -> None:
    """Each relative link, and each path of the repository in backquotes, exists."""
    assert list(dangling()) == []


def test_every_page_is_found_from_the_index() -> None:
    """The index links each page of the documentation."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")]

    assert [page for page in pages if page != "index.md" and f"({page})" not in index] == []
