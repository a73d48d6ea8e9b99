"""How service processes are started: what they need goes through their standard input, secrets included."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from assay.service.assembly import Assembler
from assay.settings import Settings


@dataclass(frozen=True)
class Orders:
    """What a child process is to do."""

    settings: Settings
    assembler: Assembler
    parent_pid: int = field(default_factory=os.getpid)
    redis_url: str = ""
    name: str = ""
    ready_fd: int | None = None
    """Where a service writes its address once it is ready."""


def spawn(module: str, orders: Orders, *, pass_fds: Sequence[int] = ()) -> subprocess.Popen[bytes]:
    """Start `python -m module`, which must begin with `read_orders`."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        pass_fds=tuple(pass_fds),
        start_new_session=True,  # Ctrl-C is for the parent, which ends its children in order
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it ended at once: whoever waits for it learns how
        process.stdin.write(_pack(orders))
        process.stdin.close()
    return process


def read_orders() -> Orders:
    """Return what the parent wants of this process."""
    fields = json.loads(sys.stdin.buffer.read())
    settings = Settings.model_validate(fields.pop("settings"))
    return Orders(settings=settings, assembler=Assembler(**fields.pop("assembler")), **fields)


def _pack(orders: Orders) -> bytes:
    settings = orders.settings
    fields = settings.model_dump(mode="json")
    fields["api_keys"] = [key.get_secret_value() for key in settings.api_keys]
    fields["redis_url"] = None if settings.redis_url is None else settings.redis_url.get_secret_value()
    rest = {name: getattr(orders, name) for name in ("parent_pid", "redis_url", "name", "ready_fd")}
    return json.dumps({"settings": fields, "assembler": asdict(orders.assembler), **rest}).encode()
