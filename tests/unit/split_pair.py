"""A candidate in a forked child, connected to this process as an oracle would be. No jail."""

import faulthandler
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any  # names of a module stand for anything

import pytest

from assay.verifiers.extraction import read_completion
from assay.verifiers.split import candidate
from assay.verifiers.split.assembly import Sources
from assay.verifiers.split.loading import pack_sources
from assay.verifiers.split.remote import Candidate, CandidateGone


class Patience:
    """A clock that grants what it is told to, and then gives the candidate up."""

    def __init__(self, budget_s: float = 20.0, *grants: float) -> None:
        self.budget_s = budget_s
        self.grants = list(grants)
        self.asked: list[float] = []

    def over(self, waited_s: float) -> float:
        self.asked.append(waited_s)
        if not self.grants:
            raise CandidateGone("timeout")
        return self.grants.pop(0)


class Module:
    """The completion's module as attributes, and the prompt's classes as the oracle defines them."""

    def __init__(self, subject: Candidate, prompt_classes: dict[str, type]) -> None:
        self.subject = subject
        self.prompt = prompt_classes

    def __getattr__(self, name: str) -> Any:
        return self.prompt[name] if name in self.prompt else self.subject.get(name)


def run_prompt(prompt: str) -> dict[str, type]:
    """Define the prompt's classes on the oracle's side."""
    namespace: dict[str, object] = {"__name__": "tests"}
    exec(prompt, namespace)
    return {name: value for name, value in namespace.items() if isinstance(value, type)}


def start(source: str, folder: Path, prompt: str = "", module: str = "solution") -> tuple[socket.socket, int]:
    """Fork a candidate that loads `source`; return the link to it and its process id."""
    payload = pack_sources(Sources(read_completion(source), prompt=prompt), module, ())
    return start_program(lambda link: candidate.main(payload, (link.detach(),)), folder)


def start_program(program: Callable[[socket.socket], int], folder: Path) -> tuple[socket.socket, int]:
    """Fork a child that runs `program` with its end of a new link; return our end and the process id."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            faulthandler.disable()
            ours.close()
            os.chdir(folder)
            quiet = os.open(folder / "printed", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            code = program(theirs)
        finally:
            os._exit(code)
    theirs.close()
    return ours, pid


@contextmanager
def connected(source: str, folder: Path, *, prompt: str = "", clock: Patience | None = None) -> Iterator[Module]:
    """An oracle's view of a candidate that has loaded `source`."""
    classes = run_prompt(dedent(prompt)) if prompt else {}
    subject = Candidate(clock or Patience(), classes)
    link, pid = start(dedent(source), folder, dedent(prompt))
    try:
        subject.connect(link)
        yield Module(subject, classes)
    finally:
        subject.close()
        end(link, pid)


def end(link: socket.socket, pid: int) -> None:
    """End a candidate, whatever it does."""
    link.close()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


Load = Callable[..., Module]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """Return a function that starts a candidate with a source and connects to it."""
    with ExitStack() as stack:
        yield lambda source, **options: stack.enter_context(connected(source, tmp_path, **options))
