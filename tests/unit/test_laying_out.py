"""Files that cannot be laid out for a program: whose fault that is."""

import errno
import os
import socket
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.errors import AssayError, InfraFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Exit, Launch, Role, Slot
from assay.schema import Limits
from assay.verifiers import stdio_program
from assay.verifiers.extraction import Reading
from assay.verifiers.languages import launcher_program
from assay.verifiers.languages.building import BUILD_LIMITS, Builder, Built, Start, launch_of, run
from assay.verifiers.languages.checkers import Examiner
from assay.verifiers.languages.choosing import Ready
from assay.verifiers.languages.interactors import interact
from assay.verifiers.languages.java_source import Names
from assay.verifiers.languages.launcher_program import become
from assay.verifiers.languages.sources import Source
from assay.verifiers.languages.table import LANGUAGES
from assay.verifiers.languages.task import CheckerProgram
from assay.verifiers.spending import Budget
from assay.verifiers.split.assembly import Sources
from assay.verifiers.split.loading import pack_sources
from assay.verifiers.stdio import Case, run_case
from assay.verifiers.stdio_program import STARTED, make_ready

_BUILT = Built(LANGUAGES["bash"], {"a": b"", "a/b": b""}, Names("main.sh"))


class _Saying(FakeSlot):
    """Its processes, one after the other, say a word each, and end."""

    def __init__(self, *words: bytes) -> None:
        super().__init__([FakeChild(Exit(1, None)) for _ in words])
        self._words = iter(words)

    def start(self, launch: Launch) -> FakeChild:
        """Say it."""
        os.write(launch.fds[0], next(self._words))
        return super().start(launch)


class _Ready(Builder):
    """Has what it is asked for."""

    def build(self, slot: Slot, source: Source, limits: Limits = BUILD_LIMITS) -> Built:
        """Return some program."""
        del slot, source, limits
        return _BUILT


def _said(folder: Path, launch: Launch) -> bytes:
    """Return what a launcher of that says that cannot lay out its files."""
    assert launch.payload
    laid = folder / "payload"
    laid.write_bytes(launch.payload)
    payload = os.open(laid, os.O_RDONLY)
    ours, theirs = socket.socketpair()
    with ours:
        try:
            assert become(payload, (theirs.detach(),)) == 1
        finally:
            os.close(payload)
        return ours.recv(1000)


@pytest.mark.parametrize(("brings_files", "outcome"), [(False, Outcome.TASK_ERROR), (True, Outcome.RUNTIME_ERROR)])
def test_names_that_cannot_be_are_the_fault_of_whoever_gives_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, brings_files: bool, outcome: Outcome
) -> None:
    """The task, or the completion that describes its own files."""
    monkeypatch.chdir(tmp_path)

    said = _said(tmp_path, launch_of(_BUILT, Start(brings_files=brings_files), Limits()))

    assert said.decode().startswith(f"{outcome} its files cannot be written: ")


@pytest.mark.parametrize("brings_files", [False, True])
def test_a_want_of_room_is_no_fault_of_whoever_gives_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, brings_files: bool
) -> None:
    """Files have the room that they take: what lacks it is the machine."""
    monkeypatch.chdir(tmp_path)

    def write(_fd: int, _piece: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(launcher_program, "_write_all", write)
    built = Built(LANGUAGES["bash"], {"a": b"text"}, Names("main.sh"))

    said = _said(tmp_path, launch_of(built, Start(brings_files=brings_files), Limits()))

    assert said.decode().startswith(f"{Outcome.INFRA_ERROR} its files cannot be written: ")


def test_a_program_that_the_machine_cannot_start_has_not_failed() -> None:
    """What starts it says so on the socket that no program has, and the attempt has no reward."""
    slot = _Saying(STARTED + b"infra_error bash cannot be started: Cannot allocate memory")

    with pytest.raises(InfraFault, match="Cannot allocate memory"):
        run(slot, _BUILT, Start(role=Role.CANDIDATE), Limits(), Budget(Limits()))


def test_what_starts_a_program_tells_a_want_of_the_machines_from_a_program_that_is_none(tmp_path: Path) -> None:
    """In a process of its own: it changes its streams and its limits."""
    for number, word in ((errno.ENOMEM, b"infra_error bash cannot be started: "), (errno.ENOEXEC, b"")):
        assert _said_without_start(tmp_path, number) == STARTED + word + (os.strerror(number).encode() if word else b"")


def _said_without_start(folder: Path, number: int) -> bytes:
    laid = folder / "payload"
    laid.write_bytes(launch_of(replace(_BUILT, files={}), Start(), Limits()).payload)
    ours, theirs = socket.socketpair()
    with ours:
        child = os.fork()
        if child == 0:
            _become_nothing(laid, theirs.fileno(), number)
        theirs.close()
        os.waitpid(child, 0)
        return ours.recv(1000)


def _become_nothing(laid: Path, status: int, number: int) -> None:
    """Have a system that starts nothing, and end."""

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "execve", refuse)
        try:
            become(os.open(laid, os.O_RDONLY), (status,))
        finally:
            os._exit(0)


def test_a_program_in_python_that_has_no_room_has_not_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has if its place never was large enough for it."""
    monkeypatch.chdir(tmp_path)
    payload = pack_sources(Sources(Reading("print(1)", (), (), fenced=False)), "__main__", ())

    def write(_path: str, _text: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(stdio_program, "_write", write)
    assert _refusal(payload) == "infra_error its files cannot be written: No space left on device"

    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=1, f_frsize=4))
    assert _refusal(payload) == "runtime_error its files cannot be written: No space left on device"


def _refusal(payload: bytes) -> str:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert make_ready(payload, theirs.fileno()) is None
        return ours.recv(1000).decode()


def test_no_program_in_python_pays_for_a_full_machine() -> None:
    """The attempt has no reward."""
    launch = Launch(Role.CANDIDATE, "program", b"", Limits())

    with pytest.raises(InfraFault, match="cannot be written"):
        run_case(_Saying(b"infra_error its files cannot be written: why"), launch, Budget(Limits()))


@pytest.mark.parametrize(("outcome", "fault"), [(Outcome.TASK_ERROR, TaskFault), (Outcome.INFRA_ERROR, InfraFault)])
def test_no_candidate_pays_for_files_that_are_not_its_own(outcome: Outcome, fault: type[AssayError]) -> None:
    """A null, and never 0; and a want of room says nothing of whether the language is to be had."""
    slot = _Saying(f"{outcome} its files cannot be written: why".encode())

    with pytest.raises(fault) as raised:
        run(slot, _BUILT, Start(role=Role.CANDIDATE), Limits(), Budget(Limits()))

    assert type(raised.value) is fault


@pytest.mark.parametrize(("outcome", "fault"), [(Outcome.TASK_ERROR, TaskFault), (Outcome.INFRA_ERROR, InfraFault)])
def test_an_interactor_that_cannot_be_laid_out_is_blamed_on_whose_fault_that_is(
    outcome: Outcome, fault: type[AssayError]
) -> None:
    """A full disk is ours, and is tried again; the task is not broken by it."""
    slot = _Saying(b"started", f"{outcome} its files cannot be written: why".encode())
    interactor = Examiner(_Ready(), CheckerProgram(language="bash", source=""), "interactor")
    ready = Ready(lambda *_: pytest.fail("it is not run alone"), launch=launch_of(_BUILT, Start(), Limits()))

    with pytest.raises(fault) as raised:
        interact(slot, interactor, ready, [Case("", "")], Limits())

    assert type(raised.value) is fault
