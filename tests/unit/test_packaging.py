"""The tree on disk is what is packaged, and imports point one way."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TREES = ("core", "sandboxes", "verifiers", "service", "clients", "cli")
MAY_IMPORT = {
    "core": {"core"},
    "sandboxes": {"core", "sandboxes"},
    "verifiers": {"core", "sandboxes", "verifiers"},
    "service": {"core", "sandboxes", "verifiers", "service"},
    "clients": {"core", "clients"},
    "cli": set(TREES),
}
DOORS = {"fastapi": 5, "rq": 1, "redis": 1, "docker": 1, "cupy": 0, "cupy_backends": 1}
"""How many modules may import each of these."""


def sources(tree: str = "") -> list[Path]:
    """Every module of one tree, or of all."""
    return [path for name in ([tree] if tree else TREES) for path in sorted((ROOT / name).rglob("*.py"))]


def imports(path: Path) -> Iterator[str]:
    """The modules that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def tree_of(module: str) -> str:
    """The tree that a module of Assay lives in."""
    part = module.split(".")[1]
    return part if part in TREES else "core"


def folders() -> dict[str, str]:
    """Package names by folder, as pyproject.toml maps them."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        mapping: dict[str, str] = tomllib.load(file)["tool"]["setuptools"]["package-dir"]
    return {folder: name for name, folder in mapping.items()}


def test_packages_are_those_on_disk() -> None:
    """Every folder with an __init__.py is packaged, and nothing else is."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        listed = tomllib.load(file)["tool"]["setuptools"]["packages"]
    names = folders()

    found = set()
    for tree in TREES:
        for init in (ROOT / tree).rglob("__init__.py"):
            inner = init.parent.relative_to(ROOT / tree).parts
            found.add(".".join((names[tree], *inner)))

    assert set(listed) == found
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("tree", TREES)
def test_imports_point_one_way(tree: str) -> None:
    """No module looks upwards; `python -m assay` is the one exemption."""
    upwards = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sources(tree)
        if path != ROOT / "core" / "__main__.py"
        for module in imports(path)
        if module.startswith("assay.") and tree_of(module) not in MAY_IMPORT[tree]
    ]

    assert upwards == []


@pytest.mark.parametrize(("library", "most"), DOORS.items())
def test_big_libraries_have_few_doors(library: str, most: int) -> None:
    """fastapi is for the routes, drop-in ones in their own folder; rq and redis are each imported in one module."""
    doors = {
        "service/compat" if path.is_relative_to(ROOT / "service/compat") else str(path.relative_to(ROOT))
        for path in sources()
        if any(module.split(".")[0] == library for module in imports(path))
    }

    assert len(doors) <= most, doors


def test_the_environment_is_read_in_one_place() -> None:
    """Only settings read os.environ; `assay cases` writes canaries into it, jailed programs see their own."""
    readers = {
        str(path.relative_to(ROOT))
        for path in sources()
        if path.parts[len(ROOT.parts)] not in ("sandboxes", "verifiers")
        and ("os.environ" in path.read_text(encoding="utf-8") or "getenv" in path.read_text(encoding="utf-8"))
    }

    assert readers == {"core/settings.py", "cli/cases.py"}


def test_modules_keep_to_their_size() -> None:
    """No module is longer than 400 lines."""
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}

    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_public_names_say_what_they_promise() -> None:
    """Every module, and every public class and function in it, has a docstring."""
    silent = []
    for path in sources():
        module = ast.parse(path.read_text(encoding="utf-8"))
        silent += [str(path.relative_to(ROOT))] if ast.get_docstring(module) is None else []
        silent += [
            f"{path.relative_to(ROOT)}:{node.name}"
            for node in module.body
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and not node.name.startswith("_")
            and ast.get_docstring(node) is None
        ]

    assert silent == []
