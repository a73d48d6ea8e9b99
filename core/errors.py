"""Every exception Assay raises on purpose.

    AssayError
    ├── RequestError          the caller sent something we refuse (HTTP 4xx, exit code 2)
    │   ├── InvalidRequest    malformed or inconsistent input; carries the path of the fault
    │   ├── TooLarge          a body, task or completion over its size limit
    │   ├── UnsupportedMedia  a content type or encoding we cannot read
    │   ├── NotFound          no such batch, task or verifier
    │   ├── Unauthorized      missing or wrong key
    │   └── QueueFull         try again after `retry_after_s`
    ├── TaskFault             the task cannot be judged (outcome `task_error`)
    │   └── LastingFault      its content alone explains why, every time (`verifiers.remembered`)
    ├── Inconclusive          the machine was too busy to measure (outcome `inconclusive`)
    └── InfraFault            our side failed (outcome `infra_error`)
        ├── IsolationUnavailable   this host cannot isolate; says what is missing
        ├── SandboxFault           a jail died or misbehaved outside the candidate's doing
        │   ├── Mishap             a kill or a shortage kept one from starting: no evidence about the machine
        │   ├── MemoryRanOut       around the jail, not in it, and the kernel ended something for it
        │   └── Killed             a process of trusted code was killed, and not by us (`verifiers.killed`)
        ├── EndpointFault          a model endpoint gave no usable answer in time, however often it was asked
        │   └── Unanswered         perhaps for what the question says (`verifiers.models.interface`)
        │       ├── TextRefused    it says that it will not answer this
        │       └── Late           it does not answer in time
        ├── VerifierFault          a verifier's own code failed; names the verifier
        └── ServiceUnavailable     a client gave up: the service cannot be reached or cannot answer
            └── Unserved           no running worker takes what a call waits for (`service.shortages`)

`verifiers.evaluate` alone turns the last three branches into outcomes. Signals between a few neighbouring modules
(a closed channel, tests that must share a jail) stand beside whoever raises them and never reach it.
"""


class AssayError(Exception):
    """Root of the tree: catch this to catch everything Assay raises on purpose."""


class RequestError(AssayError):
    """The caller's input is refused. `path` is a JSON path such as `tasks[0].limits.wall_s`; `fix` says what to do."""

    slug = "invalid-request"
    status = 400

    def __init__(self, detail: str, *, path: str = "", fix: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.path = path
        self.fix = fix

    def __str__(self) -> str:
        """Say where, what is wrong, and what to do; `detail` is the middle of it alone."""
        where = f"{self.path}: " if self.path else ""
        fix = f" ({self.fix})" if self.fix else ""
        return f"{where}{self.detail}{fix}"


class InvalidRequest(RequestError):
    """Malformed, unknown or inconsistent input (422)."""

    status = 422


class TooLarge(RequestError):
    """A body, task or completion exceeds its size limit (413)."""

    slug = "too-large"
    status = 413


class UnsupportedMedia(RequestError):
    """A content type or encoding we cannot read (415)."""

    slug = "unsupported-media"
    status = 415


class NotFound(RequestError):
    """No such batch, task or verifier (404)."""

    slug = "not-found"
    status = 404


class Unauthorized(RequestError):
    """The bearer key is missing or wrong (401)."""

    slug = "unauthorized"
    status = 401


class QueueFull(RequestError):
    """The queue is at its bound (429); retry after `retry_after_s` seconds."""

    slug = "queue-full"
    status = 429

    def __init__(self, detail: str, *, retry_after_s: int) -> None:
        super().__init__(detail, fix=f"retry after {retry_after_s} s")
        self.retry_after_s = retry_after_s


class TaskFault(AssayError):
    """The task itself cannot be judged; the attempt's outcome is `task_error`, its reward null."""


class Inconclusive(AssayError):
    """The machine was too busy to measure; the attempt is tried again alone, and then reported as `inconclusive`.

    `flags` are what its result then bears.
    """

    def __init__(self, message: str = "", *, flags: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.flags = flags


class InfraFault(AssayError):
    """Our side failed; the attempt is retried and then reported as `infra_error`, reward null."""


class IsolationUnavailable(InfraFault):
    """This host cannot give the isolation that was asked for; the message says what is missing and how to get it."""


class SandboxFault(InfraFault):
    """A jail could not be made, or died outside the candidate's doing."""


class Mishap(SandboxFault):
    """What makes jails was killed, or lacked memory or processes for the moment.

    That says nothing about what this machine can do: no weaker isolation may be taken for it; trying again may help.
    """


class MemoryRanOut(SandboxFault):
    """The machine, or what this worker runs in, ran out of memory, and the kernel may have ended a process of a jail.

    No limit of the attempt was passed: it is tried again alone.
    """


class EndpointFault(InfraFault):
    """A model endpoint gave no usable answer within the attempt's budget; whoever asked has tried again already."""


class VerifierFault(InfraFault):
    """The code of the verifier called `verifier` failed, or gave what is no verdict: nobody knows about the attempt."""

    def __init__(self, verifier: str, what: str) -> None:
        super().__init__(f"the verifier {verifier!r} failed: {what}")
        self.verifier = verifier


class ServiceUnavailable(InfraFault):
    """The service cannot be reached, or still failed after the client's retries; trying again later is safe."""


def plain(message: str) -> str:
    """Return the validation library's message in the words of JSON."""
    return message.removeprefix("Value error, ").replace("valid tuple", "valid array")
