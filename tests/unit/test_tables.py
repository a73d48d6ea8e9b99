"""Tables in the documentation say what the code says."""

import json
import re
from pathlib import Path

import pytest

from assay.outcomes import Outcome, has_null_reward
from assay.schema import Limits
from assay.settings import Settings

ROOT = Path(__file__).parents[2]
LIMITS_PAGE = "docs/python-verifier.md"


def table(name: str, page: str = "README.md") -> list[str]:
    """The rows between the markers of one table on a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- {name}: .*? -->\n(.*?)<!-- end -->", text, re.DOTALL)
    assert found is not None
    return found.group(1).strip().splitlines()[2:]


def shown(value: object) -> str:
    """A default as the tables write it: as JSON, without a needless point."""
    return f"{value:g}" if isinstance(value, float) else json.dumps(value)


def setting_row(name: str) -> str:
    """What the README must say about one setting."""
    field = Settings.model_fields[name]
    default = field.get_default()
    shown = "none" if default in (None, ()) else str(default).lower() if isinstance(default, bool) else str(default)
    return f"| `ASSAY_{name.upper()}` | `{shown}` | {field.description} |"


def test_outcome_table_lists_every_outcome() -> None:
    """One row per outcome, in order, with whether its reward is a number."""
    rows = [tuple(cell.strip() for cell in row.strip("|").split("|"))[:2] for row in table("outcomes")]

    assert rows == [(f"`{one}`", "null" if has_null_reward(one) else "number") for one in Outcome]


def test_settings_table_lists_every_setting() -> None:
    """One row per setting, with its default and its sentence."""
    assert table("settings") == [setting_row(name) for name in Settings.model_fields]


def limit_cells(name: str) -> tuple[str, ...]:
    """What the table must say about one field of `limits`: default, largest value, what servers allow by default."""
    largest = Limits.model_json_schema()["properties"][name].get("maximum")
    allowed = Settings.model_fields.get(f"max_{name}")
    known = (Limits.model_fields[name].default, largest, allowed and allowed.default)
    return (f"`{name}`", *("" if value is None else f"`{shown(value)}`" for value in known))


def test_limits_table_lists_every_limit() -> None:
    """One row per field of `limits`, in order, with its default and its largest values."""
    rows = [tuple(cell.strip() for cell in row.strip("|").split("|"))[:4] for row in table("limits", LIMITS_PAGE)]

    assert rows == [limit_cells(name) for name in Limits.model_fields]


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_is_explained(outcome: Outcome) -> None:
    """docs/outcomes.md has a section for it."""
    text = (ROOT / "docs" / "outcomes.md").read_text(encoding="utf-8")

    assert f"`{outcome}`" in text


def test_links_in_the_documentation_lead_somewhere() -> None:
    """Every relative link names a file that exists."""
    broken = []
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")

    assert broken == []
