"""The page on the simulator says what its code does."""

import re
from pathlib import Path

import pytest

from assay.verifiers.requirements import missing_modules
from assay.verifiers.simulator.goal import Measure
from assay.verifiers.simulator.parameters import RACE_CAR_PARAMETERS
from assay.verifiers.simulator.task import EXTRA

PAGE = (Path(__file__).parents[2] / "docs" / "simulator.md").read_text(encoding="utf-8").replace("−", "-")


def rows(first: str) -> list[list[str]]:
    """The rows of the table whose head begins with `first`."""
    lines = PAGE.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"| {first} |")) + 2
    found = []
    for line in lines[start:]:
        if not line.startswith("|"):
            return found
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def test_parameters_have_their_defaults_bounds_and_units() -> None:
    """All of them, in order."""
    written = {
        name.strip("`"): (default, bounds, unit, about) for name, default, bounds, unit, about in rows("parameter")
    }

    assert list(written) == list(RACE_CAR_PARAMETERS)
    for name, one in RACE_CAR_PARAMETERS.items():
        assert written[name][:3] == (f"{one.default:g}", f"{one.low:g} to {one.high:g}", one.unit)
        assert one.about.startswith(written[name][3])


def test_measures_are_all_there() -> None:
    """By name."""
    assert [name.strip("`") for name, *_ in rows("`measure`")] == [str(measure) for measure in Measure]


def test_tracks_have_their_lengths() -> None:
    """And are all there."""
    if missing_modules(EXTRA):
        pytest.skip("needs the extra `simulator`")
    from assay.verifiers.simulator.track import built_in  # here, not at the top: it needs the extra

    for name, _, length, half_width in rows("`track`"):
        track = built_in(name.strip("`"))
        assert length == f"{track.length_m:.1f} m"
        assert half_width == f"{track.left_m[0]:g} m"


def test_constants_of_the_car_are_the_codes() -> None:
    """As far as the page gives them."""
    if missing_modules(EXTRA):
        pytest.skip("needs the extra `simulator`")
    from assay.verifiers.simulator import vehicle  # here, not at the top: it needs the extra

    numbers = set(map(float, re.findall(r"\d+\.?\d*", " ".join(value for _, value in rows("constant")))))
    for constant in (
        vehicle.MASS_KG, vehicle.INERTIA, vehicle.FRONT_M, vehicle.REAR_M, vehicle.FRICTION, vehicle.STEER_MAX,
        vehicle.STEER_SPEED_MAX, vehicle.ACCELERATION_MAX,
    ):  # fmt: skip
        assert constant in numbers
