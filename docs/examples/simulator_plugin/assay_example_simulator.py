"""A simulator of one's own: a cart on a rail follows a sine wave under a spring and a damper."""

import math
import random
from collections.abc import Mapping
from typing import Any

from assay.errors import TaskFault
from assay.verifiers.simulator.interface import Parameter, SimulatedRun

STEP_S = 0.01
STEPS = 2000
MASS_KG = 1.0
RAIL_M = 3.0
"""Half the length of the rail: further out the cart falls off."""


class Cart:
    """Drives the cart for 20 s; the task's field `amplitude_m` says how far the wave goes."""

    name = "cart"
    version = "1"
    parameters: Mapping[str, Parameter] = {
        "stiffness": Parameter(4.0, 0.0, 200.0, "N/m", "force per metre of error", aliases=("kp",)),
        "damping": Parameter(1.0, -5.0, 50.0, "N s/m", "force per speed of error", aliases=("kd",)),
    }

    def run(self, parameters: Mapping[str, float], fields: Mapping[str, Any], seed: int) -> SimulatedRun:
        """Return the error of following, m. Raises TaskFault without a good amplitude."""
        amplitude_m = fields.get("amplitude_m")
        if not isinstance(amplitude_m, int | float) or not 0.1 <= amplitude_m <= 2.0:
            raise TaskFault("fields.amplitude_m lies between 0.1 and 2 m")
        chance = random.Random(seed)
        place_m = speed = total = 0.0
        for step in range(STEPS):
            phase = step * STEP_S
            error_m = amplitude_m * math.sin(phase) - place_m
            error_mps = amplitude_m * math.cos(phase) - speed
            force = parameters["stiffness"] * error_m + parameters["damping"] * error_mps + chance.gauss(0.0, 0.1)
            speed += force / MASS_KG * STEP_S
            place_m += speed * STEP_S
            if abs(place_m) > RAIL_M:
                return SimulatedRun(None, f"fell off the rail after {phase:.1f} s")
            total += error_m * error_m
        return SimulatedRun(math.sqrt(total / STEPS), metrics={"end_m": place_m})
