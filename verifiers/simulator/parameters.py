"""The parameters of the race car's controller, under their published names; plain data, needed where nothing is run."""

from collections.abc import Mapping

from assay.verifiers.simulator.interface import Parameter

RACE_CAR = "race_car"
"""The simulator that comes with Assay."""


def _named(name: str, spelled: str = "") -> tuple[str, ...]:
    """Return the other spellings that the released code takes for a name (ForzaETH/LLMxRobot@4d896e7)."""
    spellings = (name, spelled) if spelled else (name,)
    prefixed = tuple(prefix + one for one in spellings for prefix in ("weight_", "param_"))
    return ((spelled,) if spelled else ()) + prefixed


RACE_CAR_PARAMETERS: Mapping[str, Parameter] = {
    "qv": Parameter(10.0, 0.0, 100.0, "s²/m²", "weight of the speed's deviation from the profile", _named("qv", "q_v")),
    "qn": Parameter(20.0, 0.0, 100.0, "1/m²", "weight of the distance from the race line", _named("qn", "q_n")),
    "qalpha": Parameter(
        7.0, 0.0, 100.0, "1/rad²", "weight of the heading against the race line", _named("qalpha", "q_alpha")
    ),
    "qac": Parameter(0.01, 0.0, 10.0, "s⁴/m²", "weight of the acceleration", _named("qac", "q_ac")),
    "qddelta": Parameter(
        0.1, 0.0, 100.0, "s²/rad²", "weight of the steering's speed", _named("qddelta", "q_ddelta")
    ),
    "alat_max": Parameter(
        7.0, 0.0, 20.0, "m/s²", "most lateral acceleration that is planned", _named("alat_max", "a_lat_max")
    ),
    "a_min": Parameter(-8.0, -20.0, 0.0, "m/s²", "hardest braking", _named("a_min")),
    "a_max": Parameter(6.0, 0.0, 20.0, "m/s²", "hardest acceleration", _named("a_max")),
    "v_min": Parameter(0.0, -5.0, 12.0, "m/s", "least speed; negative: backwards", _named("v_min")),
    "v_max": Parameter(8.0, -5.0, 12.0, "m/s", "most speed; negative: backwards", _named("v_max")),
    "track_safety_margin": Parameter(
        0.3, 0.0, 2.0, "m", "distance kept from the edges, beside half the car's width", _named("track_safety_margin")
    ),
}  # fmt: skip
"""Names as published; defaults of the weights and of the margin as in the paper's own tests, the rest for this car."""
