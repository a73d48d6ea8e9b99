"""Running the program of a completion in the jail, beside the solver libraries, and reading what it left behind."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any  # Any: msgpack values

import msgpack

from assay.outcomes import Outcome
from assay.sandboxes.interface import Launch, Role, Slot
from assay.schema import Limits, Verdict
from assay.verifiers.extraction import Reading
from assay.verifiers.optimisation import solver_program
from assay.verifiers.optimisation.entries import Said
from assay.verifiers.optimisation.libraries import names_heavy
from assay.verifiers.optimisation.objective import Found, told_word
from assay.verifiers.optimisation.watching import MOST_CALLS
from assay.verifiers.rules.literal import finite
from assay.verifiers.scoring import Trace
from assay.verifiers.spending import Budget
from assay.verifiers.split.assembly import Sources
from assay.verifiers.split.loading import pack_sources
from assay.verifiers.stdio import Run, run_case
from assay.verifiers.surroundings import surroundings_for

_LONGEST_LACK = 200


@dataclass(frozen=True)
class Call:
    """What a solver was heard to say: see `watching`."""

    library: str
    said: Said
    objective: float | None


@dataclass(frozen=True)
class Told:
    """What a program's process told beside its output: it may have told anything."""

    calls: tuple[Call, ...] = ()
    value: Found = None
    lack: str = ""
    """Why nothing could be asked of what returns the objective."""


@dataclass(frozen=True)
class Ask:
    """How a program is run: whether solvers are watched, what holds its objective (empty: nothing does), what it may
    not use."""

    limits: Limits
    watch: bool = False
    returned: str = ""
    forbid: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ran:
    """One run of a program: how it ended, and what it told if it ended well."""

    run: Run
    told: Told

    @property
    def is_clean(self) -> bool:
        """Whether it started and ended with exit code 0, within its limits."""
        return self.run.refused is None and self.run.outcome is Outcome.PASSED

    @property
    def outcome(self) -> Outcome:
        """How it ended; PASSED if well."""
        return self.run.refused[0] if self.run.refused else self.run.outcome

    @property
    def message(self) -> str:
        """Why it did not end well."""
        return self.run.refused[1] if self.run.refused else self.run.message

    def over(self, verdict: Verdict) -> Verdict:
        """Return a verdict with what the program left; one that failed has the outcome of a run that ended badly."""
        run = self.run
        verdict = Trace(run.stdout, run.stderr, run.exit_code, run.usage).over(verdict, (self.message,))
        if self.is_clean or verdict.outcome is not Outcome.FAILED:
            return verdict
        return verdict.model_copy(update={"outcome": self.outcome})

    @property
    def output(self) -> str:
        """What it wrote to standard output, if it ended well: output before a crash is worth nothing."""
        return self.run.stdout.decode("utf-8", "replace") if self.is_clean else ""


def run_program(slot: Slot, code: str, ask: Ask) -> Ran:
    """Run a program once. Raises Inconclusive if the machine was too busy, SandboxFault if a jail broke."""
    sources = pack_sources(Sources(Reading(code, (), (), fenced=False)), "__main__", ask.forbid)
    payload = solver_program.pack(sources, watch=ask.watch, returned=ask.returned)
    network = surroundings_for((code,)).network
    program, flavour = solver_program.__name__, flavour_for(code)
    launch = Launch(Role.CANDIDATE, program, payload, ask.limits, flavour, stdin=b"", network=network)
    run = run_case(slot, launch, Budget(ask.limits))
    return Ran(run, read_report(run.report))


def flavour_for(code: str) -> str:
    """Return the warm interpreter that has what a program names: all libraries make every fork dearer."""
    return "modelling" if names_heavy(code) else "solvers"


def read_report(report: bytes) -> Told:
    """Return what a report says as far as it is one."""
    try:
        calls, value, lack = msgpack.unpackb(report)
    except (ValueError, TypeError):
        return Told()
    if not isinstance(calls, list):
        return Told()
    return Told(
        tuple(map(_call, filter(_is_call, calls[:MOST_CALLS]))),
        _value(value),
        lack[:_LONGEST_LACK] if isinstance(lack, str) else "",
    )


def _is_call(row: Any) -> bool:
    return isinstance(row, Sequence) and len(row) == 3 and all(isinstance(word, str) for word in row[:2])


def _call(row: Any) -> Call:
    library, said, objective = row
    return Call(library[:100], Said(said) if said in set(Said) else Said.OTHER, finite(objective))


def _value(value: Any) -> Found:
    if isinstance(value, str):
        return told_word(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return float(value)  # msgpack's integers have 64 bits
