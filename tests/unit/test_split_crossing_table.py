"""docs/crossing.md and the tests say the same."""

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_every_row_has_its_test_and_every_test_its_row() -> None:
    """The names in the table's last column are those of the tests in the `test_split_crossing_*` modules."""
    text = (HERE.parents[1] / "docs" / "crossing.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and line.endswith("` |")]
    modules = set(HERE.glob("test_split_crossing_*.py")) - {Path(__file__)}

    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.rsplit("|", 2)[1])}
    tests = {name for module in modules for name in re.findall(r"(?m)^def test_(\w+)", module.read_text("utf-8"))}

    assert named == tests
