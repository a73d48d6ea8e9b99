"""The oracle's program: the tests and their answers, in a jail that never holds a line of the completion.

`main(payload, fds)`: `fds[0]` is the report channel to the supervisor, `fds[1]` the link to the candidate, `fds[2]`
the socket over which the supervisor passes the link to the next candidate when one is gone.
"""

import socket
import traceback
import zlib
from collections.abc import Sequence

from assay.verifiers.repeatable import make_repeatable
from assay.verifiers.split import names
from assay.verifiers.split.harness import Harness, run_tests
from assay.verifiers.split.loading import describe, predefine_typing
from assay.verifiers.split.plan import Broken, Plan, pack_plan, unpack_plan
from assay.verifiers.split.preparation import CannotSplit, NotClosed, Ready, check_tests, prepare
from assay.verifiers.split.rehearsal import rehearse_oracle
from assay.verifiers.split.remote import Candidate, CandidateGone
from assay.verifiers.split.report import Done, Fault, Loaded, NeedsOwn, NeedsShared, Prepared, TaskBroken
from assay.verifiers.split.stub_module import attach, unregister
from assay.verifiers.split.supervisor import Supervisor


def warm() -> None:
    """Do in the warm interpreter what every child would repeat: every object touched there costs a child a page."""
    predefine_typing()
    names.name_of(main)
    plan = Plan("check", ("def check(candidate):\n    assert candidate(1) == 1\n",), (), "solution", "f", "", 1.0, True)
    check_tests(unpack_plan(pack_plan(plan)))
    rehearse_oracle()


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Run the tests in `payload` and report what became of each."""
    judge(payload, fds)
    return 0


def judge(payload: bytes, fds: Sequence[int], *, only_closed: bool = False) -> bool:
    """Run the tests, if they are closed or need not be; say whether this process could run others next."""
    report, link, passing = (socket.socket(fileno=fd) for fd in fds)
    plan = unpack_plan(payload)
    supervisor = Supervisor(report, plan.wall_s)
    make_repeatable(zlib.crc32(payload), "tests")
    with report, link, passing:
        try:
            ready = prepare(plan, only_closed=only_closed)
            supervisor.tell(Prepared(ready.count))
            return _run(ready, supervisor, link, passing)
        except NotClosed:
            supervisor.tell(NeedsOwn())
            return True
        except CannotSplit as need:
            supervisor.tell(NeedsShared(str(need)))
        except Broken as broken:
            supervisor.tell(TaskBroken(str(broken)))
        except Exception as error:  # noqa: BLE001 - process entry point: our own fault, told to the supervisor
            supervisor.tell(Fault(f"{describe(error)}: {traceback.format_exc()[-1500:]}"))
    return False


def _run(ready: Ready, supervisor: Supervisor, link: socket.socket, passing: socket.socket) -> bool:
    candidate = Candidate(supervisor, ready.classes, ready.functions)
    supervisor.take_over = lambda: connect(supervisor, candidate, receive_link(passing))
    if not connect(supervisor, candidate, link):
        unregister(ready.module)
        return candidate.gone is None
    ready.namespace.subject = candidate
    attach(ready.module, candidate)
    if ready.compiled.style == "pytest":
        # Imported late: pytest would make every fork of the other styles dearer; the flavour `pytest` has it warm.
        from assay.verifiers.split.pytest_style import run_pytest

        run_pytest(ready.plan, ready.module, candidate, supervisor)
    else:
        run_tests(Harness(ready.plan, ready.compiled, ready.namespace, candidate, supervisor))
    supervisor.tell(Done())
    unregister(ready.module)
    return candidate.is_plain


def connect(supervisor: Supervisor, candidate: Candidate, link: socket.socket) -> bool:
    """Take the candidate's word that it has loaded, and pass it on; say whether tests can run."""
    try:
        candidate.connect(link)
    except CandidateGone as gone:
        supervisor.replace_candidate(-1, gone.reason)
        return False
    kind, message = candidate.load_error or ("", "")
    supervisor.tell(Loaded(kind, message))
    return not kind


def receive_link(passing: socket.socket) -> socket.socket:
    """Return the link to the next candidate, once the supervisor has passed it."""
    _, fds, _, _ = socket.recv_fds(passing, 1, 1)
    return socket.socket(fileno=fds[0])
