"""What an end of a program in a language means, and what kept one from being started."""

from dataclasses import replace

from assay.errors import InfraFault, TaskFault
from assay.outcomes import Outcome
from assay.verifiers.languages.table import Language
from assay.verifiers.stdio import Run

_SHOWN = 500  # bytes of an error's words


class Absent(InfraFault):
    """What runs programs of the language is not where attempts run."""


def read_end(ran: Run, language: Language) -> Run:
    """Name an end for want of memory, and quote an error, which some runtimes tell in their own words.

    Raises InfraFault where what runs the language is gone, or the machine lacks something to start it with; TaskFault
    where the task's files cannot lie beside a program.
    """
    if ran.refused is not None:
        _raise_for(*ran.refused)
    if ran.report:  # what starts it says that it did not: no program has that socket
        raise InfraFault(ran.report.decode("utf-8", "replace").partition(" ")[2])
    if ran.outcome is Outcome.RUNTIME_ERROR and any(words in ran.stderr for words in language.out_of_memory):
        return replace(ran, outcome=Outcome.MEMORY_EXCEEDED, message="out of memory")
    last_line = language.last_line
    if ran.outcome is Outcome.RUNTIME_ERROR and last_line and ran.message.encode().startswith(last_line):
        return replace(ran, message=_last_words(ran.stderr, last_line) or ran.message)
    return ran


def _raise_for(outcome: Outcome, message: str) -> None:
    """Raise what keeps a program from being started and is not the completion's doing."""
    if outcome is Outcome.TASK_ERROR:
        raise TaskFault(message)
    if outcome is Outcome.INFRA_ERROR:
        raise Absent(message)


def _last_words(stderr: bytes, last_line: bytes) -> str:
    """Return the last line that is neither the runtime's last one nor a part of a trace."""
    for line in reversed(stderr.splitlines()):
        if line[:1].isalpha() and not line.startswith(last_line):
            return line[:_SHOWN].decode("utf-8", "replace")
    return ""
