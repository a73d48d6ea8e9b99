"""`assay doctor` names what is missing, which extra brings it, and every plug-in."""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli.doctor import extra_finding, finding_lines, other_findings, simulator_finding
from assay.extras import EXTRAS, Extra
from assay.settings import Settings
from assay.verifiers.simulator.plugins import offered_simulators

Hide = Callable[..., None]


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Hide:
    """Make packages look as if they were not installed."""
    find_spec = importlib.util.find_spec

    def hide_all(*packages: str) -> None:
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name, *rest: None if name in packages else find_spec(name, *rest)
        )

    return hide_all


def install(folder: Path, name: str, *entries: str) -> None:
    """Put a distribution with entry points of the group of simulators into a folder."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[assay.simulators]\n" + "\n".join(entries) + "\n")
    (folder / f"{name.replace('-', '_')}.py").write_text("raise SystemExit('imported by the doctor')\n")


@pytest.mark.parametrize("extra", EXTRAS, ids=lambda extra: extra.name)
def test_a_missing_module_comes_with_its_extra(extra: Extra, hide: Hide) -> None:
    """Whatever an extra brings: without one module the finding is not ok, names it and says how to get it."""
    hide(extra.modules[-1])

    lines = finding_lines([extra_finding(extra)])

    assert extra.modules[-1] in lines[0].partition("without ")[2]
    assert f"pip install '.[{extra.name}]'" in lines[1]


def test_doctor_names_the_extra_of_what_is_missing(hide: Hide) -> None:
    """On a machine without some modules, whichever they are, and for the service's own too."""
    hide("gymnasium", "duckdb", "math_verify", "osqp", "rq")

    said = "\n".join(finding_lines(other_findings(Settings())))

    assert "absent  service: without rq" in said
    assert "pip install '.[service]'" in said
    for extra in ("environments", "sql", "math", "simulator"):
        assert f"absent  extra {extra}:" in said
        assert f"pip install '.[{extra}]'" in said
    assert "assay[" not in said


def test_doctor_lists_plug_in_simulators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that may be used is named with its distribution, and is not imported."""
    install(tmp_path, "boat-racing", "boat = boat_racing:Boat")
    monkeypatch.syspath_prepend(tmp_path)

    said = "\n".join(finding_lines(other_findings(Settings())))

    assert "ok      simulator: boat, of boat-racing 1.0" in said


def test_simulators_that_cannot_be_used_are_told_with_their_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is ours, one that is offered twice, and a module that is not there."""
    install(tmp_path, "ours-again", "race_car = ours_again:Car")
    install(tmp_path, "one", "boat = one:Boat", "lost = gone_module:Lost")
    install(tmp_path, "two", "boat = two:Boat")
    monkeypatch.syspath_prepend(tmp_path)

    said = "\n".join(finding_lines(map(simulator_finding, offered_simulators())))

    assert said.count("MISSING simulator") == 4
    assert "'race_car' of ours-again 1.0 cannot be used: a simulator of that name comes with Assay" in said
    assert said.count("more than one entry point has that name") == 2
    assert "there is no module gone_module" in said
    assert "correct or uninstall one 1.0" in said
