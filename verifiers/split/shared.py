"""Shared mode: tests and completion in one process, for tests that cannot be split.

Nothing here can stop a completion that is out to cheat; what is left is a private channel whose every report carries
a nonce that was read before the completion was loaded, and a supervisor that owns clock and process tree.
Verdicts from here carry the flag `shared_oracle`.

`main(payload, fds)`: `fds[0]` is the report channel. The payload is two payloads: the plan's and the completion's.
"""

import builtins
import socket
import zlib

import msgpack

from assay.verifiers.repeatable import make_repeatable
from assay.verifiers.split.harness import Harness, run_tests
from assay.verifiers.split.loading import load, predefine_typing
from assay.verifiers.split.namespace import Namespace
from assay.verifiers.split.plan import Broken, unpack_plan
from assay.verifiers.split.preparation import check_tests
from assay.verifiers.split.report import Done, Loaded, Prepared, TaskBroken
from assay.verifiers.split.subject import InProcess
from assay.verifiers.split.supervisor import Supervisor

NONCE_BYTES = 16


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Load the completion, run the tests on it and report what became of each."""
    report = socket.socket(fileno=fds[0])
    nonce = report.recv(NONCE_BYTES)
    plan_payload, sources_payload = msgpack.unpackb(payload)
    plan = unpack_plan(plan_payload)
    supervisor = Supervisor(report, plan.wall_s, nonce)
    try:
        compiled = check_tests(plan)
        count = None if compiled.style == "pytest" else len(plan.cases) or len(compiled.codes)
        supervisor.tell(Prepared(count))
        predefine_typing()
        namespace = Namespace(plan.entry, "tests")
        namespace["__builtins__"] = dict(vars(builtins))  # before the completion may change them
        loaded = load(sources_payload)
        kind, message = loaded.error or ("", "")
        supervisor.tell(Loaded(kind, message))
        if kind:
            return 0
        make_repeatable(zlib.crc32(plan_payload), "tests")
        subject = InProcess(loaded.module, loaded.error)
        namespace.subject = subject
        if compiled.style == "pytest":
            # Imported late: pytest would make every fork of the other styles dearer; the flavour `pytest` has it warm.
            from assay.verifiers.split.pytest_style import run_pytest

            run_pytest(plan, None, subject, supervisor)
        else:
            run_tests(Harness(plan, compiled, namespace, subject, supervisor))
        supervisor.tell(Done())
    except Broken as broken:
        supervisor.tell(TaskBroken(str(broken)))
    return 0
