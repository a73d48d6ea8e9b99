"""The proof that a jail is closed: the worker's side of `selfcheck`, for any backend."""

import os
import secrets
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from assay.errors import IsolationUnavailable, Mishap, SandboxFault
from assay.levels import Level
from assay.sandboxes import selfcheck
from assay.sandboxes.interface import Launch, Role, Slot
from assay.sandboxes.selfcheck import CHECKS, Check, Surroundings
from assay.sandboxes.warm import ENVIRONMENT
from assay.schema import Limits
from assay.settings import NUMERIC_TUNING
from assay.toolkit import CUDA_HOME

_LONGEST_ANSWER = 65_536


@dataclass(frozen=True)
class Checked:
    """What one check found in a jail of that role: `fault` is empty if nothing is wrong."""

    role: Role
    name: str
    fault: str
    is_required: bool

    @property
    def failed(self) -> bool:
        """Whether the jail may not be used."""
        return self.is_required and bool(self.fault)


def examine(slot: Slot, level: Level, hidden_paths: Sequence[str]) -> tuple[Checked, ...]:
    """Run every check in a candidate's and in an oracle's jail; none where there is no jail.

    Raises SandboxFault if a jail cannot be made, and of that kind Mishap where that says nothing about this machine.
    """
    if level is Level.INSECURE:
        return ()  # there is no jail
    checked: list[Checked] = []
    with _surroundings(hidden_paths) as known:
        for role in Role:
            found = _run(slot, role, selfcheck.encode(replace(known, descriptors=role.descriptors)))
            checked += (judge(check, role, found.get(check.name, "was not looked at"), level) for check in CHECKS)
    return tuple(checked)


def judge(check: Check, role: Role, fault: str, level: Level) -> Checked:
    """Say whether what was found matters at that level."""
    return Checked(role, check.name, fault, level.rank >= check.since.rank)


def require(checked: Sequence[Checked]) -> None:
    """Raise IsolationUnavailable, naming every check that failed, if one did."""
    failed = [f"{one.name} ({one.role}): {one.fault}" for one in checked if one.failed]
    if failed:
        raise IsolationUnavailable(f"the jail is not closed: {'; '.join(failed)}")


def _run(slot: Slot, role: Role, payload: bytes) -> Mapping[str, str]:
    read_end, write_end = os.pipe()
    try:
        child = slot.start(Launch(role, selfcheck.__name__, payload, Limits(), fds=(write_end,)))
        child.start_clock()
        while child.exit is None:
            slot.wait((), 1.0)
        os.set_blocking(read_end, False)
        try:
            answer = os.read(read_end, _LONGEST_ANSWER)
        except BlockingIOError:
            answer = b""
    finally:
        slot.clear()
        os.close(read_end)
        os.close(write_end)
    if child.exit.code != 0 or not answer:
        said = child.stderr.decode(errors="replace").strip()[-500:]
        kind = Mishap if child.exit.signal == signal.SIGKILL and child.cut_by is None else SandboxFault
        raise kind(f"the self-check ended with {child.exit} in the {role}'s jail: {said}")
    return selfcheck.decode(answer)


@contextmanager
def _surroundings(hidden_paths: Sequence[str]) -> Iterator[Surroundings]:
    """Make what the checks try to reach."""
    with ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="assay-check-")
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        os.chmod(folder, 0o777)  # to find out whether attempts can write where everybody may
        name = f"assay-check-{secrets.token_hex(8)}"
        path = f"{folder}/socket"
        for address in (path, f"\0{name}"):
            service = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            service.bind(address)
            service.listen()
        os.chmod(path, 0o777)  # as above
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        yield Surroundings(
            os.getpid(),
            tuple(hidden_paths),
            folder,
            path,
            name,
            listener.getsockname()[1],
            (*ENVIRONMENT, *NUMERIC_TUNING, CUDA_HOME, "LC_CTYPE"),
        )
