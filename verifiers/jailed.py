"""Running something in the jail in one call: a completion's program, or trusted source about a completion's text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any  # Any: what a source is given is JSON

from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import Limits, Usage
from assay.verifiers.comparison import Comparison
from assay.verifiers.extraction import read_completion
from assay.verifiers.program.returned import Unusable
from assay.verifiers.program.verifier import ask_source, read_answer
from assay.verifiers.split.assembly import Sources
from assay.verifiers.split.loading import pack_sources
from assay.verifiers.stdio import Case, python_runner, run_cases
from assay.verifiers.surroundings import surroundings_for


@dataclass(frozen=True)
class ProgramRun:
    """How a completion's program ended: `passed` for exit code 0, else its own fault and what to say of it."""

    outcome: Outcome
    message: str
    stdout: bytes
    """Whole, up to the task's `limits.output_bytes`; hostile."""
    usage: Usage


@dataclass(frozen=True)
class Found:
    """What trusted source said of a completion: terms and a message, or why it failed on it."""

    terms: Mapping[str, float]
    message: str
    failure: str
    usage: Usage


def run_program(slot: Slot, completion: str, *, stdin: str = "", limits: Limits | None = None) -> ProgramRun:
    """Run the Python program in a completion, in the candidate's jail, once, within `limits`.

    What the program is, in fences or without, is told in docs/python-verifier.md; without one the outcome is
    `no_answer`. Pass it nothing that a candidate must not know. Raises Inconclusive and SandboxFault.
    """
    sources = Sources(read_completion(completion))
    bounds = limits or Limits()
    payload = pack_sources(sources, "__main__", ())
    run = python_runner(slot, payload, bounds, surroundings_for((sources.reading.text,)))
    judged = run_cases(run, [Case(stdin, None)], bounds, Comparison())
    outcome, message = judged.refused or (judged.marks[0].outcome, judged.marks[0].message)
    return ProgramRun(outcome, message, b"".join(judged.outputs), judged.trace.usage)


def run_source(slot: Slot, source: str, completion: str, document: Any, limits: Limits | None = None) -> Found:
    """Run `verify(completion, document)` of trusted source, in the oracle's jail, as the verifier `program` does.

    `document` is JSON. Raises TaskFault where the source cannot be set up, Inconclusive and SandboxFault.
    """
    reply = ask_source(slot, source, completion, document, limits or Limits())
    if reply.failure:
        return Found({}, "", reply.failure, reply.usage)
    try:
        found = read_answer(reply)
    except Unusable as error:
        return Found({}, "", str(error), reply.usage)
    return Found(found.terms, found.message, "", reply.usage)
