"""The candidate's program: load the completion, then answer the oracle until it hangs up.

`main(payload, fds)`: `fds[0]` is the link to the oracle. Nothing in this process is trusted by anyone; what is done
here against a completion that patches builtins or modules only keeps honest eccentrics working.
"""

import builtins
import socket

from msgpack import packb

from assay.verifiers.split import (
    arrays,
    channel,
    codec,
    describe,
    echo,
    graph,
    guests,
    holdings,
    leaves,
    loading,
    loops,
    names,
    operations,
    passing,
    plain,
    server,
    wire,
)
from assay.verifiers.split.channel import Channel, ChannelClosed, FrameTooLarge
from assay.verifiers.split.echo import Echo
from assay.verifiers.split.server import Hangup, Server
from assay.verifiers.split.wire import Say

_OURS = (
    arrays, channel, codec, describe, echo, graph, guests, holdings, leaves, loops, names, operations, passing, plain,
    server, wire,
)  # fmt: skip
_SHOWN = 2000  # characters of a load error


def warm() -> None:
    """Do once, in the warm interpreter, what no completion may have a hand in: pin builtins, build tables of names."""
    _pin_builtins()
    names.name_of(len)


def _pin_builtins() -> None:
    """Keep the builtins for our own modules, whatever the completion puts in their place."""
    own = {name: value for name, value in vars(builtins).items() if not name.startswith("__")}
    for module in _OURS:
        for name, value in own.items():
            vars(module).setdefault(name, value)


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Load the completion in `payload` and serve it on `fds[0]`; return the exit code."""
    streams = Echo()
    streams.install()
    link = Channel(socket.socket(fileno=fds[0]))
    loaded = loading.load(payload)
    streams.take()
    report = _load_report(loaded)
    serving = Server(link, loaded.module, loaded.prompt_classes, streams)
    try:
        link.send(report)
        serving.serve()
    except (ChannelClosed, FrameTooLarge, Hangup):
        return 0
    return 0


def _load_report(loaded: loading.LoadedModule) -> bytes:
    defined = [name for name in vars(loaded.module) if type(name) is str]
    error = None if loaded.error is None else [loaded.error[0], loaded.error[1][:_SHOWN]]
    name = vars(loaded.module).get("__name__")
    return bytes(packb([Say.LOADED, defined, name if type(name) is str else "", error], unicode_errors="surrogatepass"))
