"""What the processes of one attempt are to run, and within which limits."""

from dataclasses import dataclass

from assay.sandboxes.interface import Launch, Role
from assay.schema import Limits
from assay.verifiers.split.placement import Placement
from assay.verifiers.split.plan import Plan
from assay.verifiers.surroundings import Surroundings

ORACLE = "assay.verifiers.split.oracle"
RESIDENT = "assay.verifiers.split.resident"
CANDIDATE = "assay.verifiers.split.candidate"
SHARED = "assay.verifiers.split.shared"

_ORACLE_LEAST = {"memory_mb": 512, "cpu_s": 10.0, "processes": 64, "disk_mb": 64, "files": 256}
_RESIDENT_LIMITS = Limits.model_validate(_ORACLE_LEAST)
"""What a resident oracle may use: tasks that allow more get an oracle of their own."""


@dataclass(frozen=True)
class Casting:
    """What is to be run: `plan` for the oracle, `sources` (a payload) for the candidate."""

    plan: Plan
    sources: bytes
    limits: Limits
    surroundings: Surroundings
    place: Placement
    oracle: str = ORACLE
    """The program of an oracle of its own; one of another verifier's speaks as `split.oracle` does."""
    oracle_flavour: str = ""
    """Its warm interpreter; empty: that of the surroundings."""
    oracle_fds: tuple[int, ...] = ()
    """Descriptors that it is given beside the channels; the caller's to close."""
    judged_by: str = "the tests"
    """What runs there, in messages."""
    set_up_s: float = 20.0
    """Wall seconds that tests may take before the first of them begins."""

    @property
    def shared(self) -> bool:
        """Whether the tests run in the candidate's process."""
        return self.place is Placement.SHARED

    @property
    def restarts_whole(self) -> bool:
        """Whether a new candidate needs a new oracle too: what a pytest file imported is bound to the old one."""
        return self.plan.style == "pytest"

    @property
    def suits_resident(self) -> bool:
        """Whether a resident oracle may run these tests: no pytest file, and none that may use more than it may."""
        return self.plan.style != "pytest" and all(
            getattr(self.limits, name) <= value for name, value in _ORACLE_LEAST.items()
        )

    def resident(self) -> Launch:
        """Return how the resident oracle is started; the tests are handed to it later."""
        limits = _RESIDENT_LIMITS.model_copy(update={"wall_s": self.set_up_s})
        return Launch(Role.ORACLE, RESIDENT, b"", limits, self.surroundings.flavour, network=False)

    def launch(self, program: str, role: Role, payload: bytes, fds: tuple[int, ...]) -> Launch:
        """Return how a process of the attempt is started."""
        flavour = self.surroundings.flavour
        if role is Role.ORACLE and self.oracle_flavour:
            flavour = self.oracle_flavour
        elif flavour == "bare" and self.plan.style == "pytest" and program != CANDIDATE:
            flavour = "pytest"
        return Launch(role, program, payload, self.limits_of(role), flavour, fds, network=self.surroundings.network)

    def limits_of(self, role: Role) -> Limits:
        """Return what a process may use: the task's limits, of which an oracle has no less than it needs itself."""
        if role is not Role.ORACLE:
            return self.limits
        least = {name: max(value, getattr(self.limits, name)) for name, value in _ORACLE_LEAST.items()}
        return self.limits.model_copy(update={**least, "wall_s": self.set_up_s})
