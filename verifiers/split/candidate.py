"""The candidate's program: load the completion, then answer the oracle until it hangs up.

`main(payload, fds)`: `fds[0]` is the link to the oracle. Nothing in this process is trusted by anyone; what is done
here against a completion that patches builtins or modules only keeps honest eccentrics working.
"""

import builtins
import socket
import sys
from functools import cache
from types import ModuleType

from msgpack import Packer

from assay.verifiers.extraction import read_completion
from assay.verifiers.split import loading, names
from assay.verifiers.split.assembly import Sources
from assay.verifiers.split.channel import Channel, ChannelClosed, FrameTooLarge
from assay.verifiers.split.echo import Echo
from assay.verifiers.split.rehearsal import rehearse_candidate
from assay.verifiers.split.server import Server
from assay.verifiers.split.wire import Say

_SHOWN = 2000  # characters of a load error


def warm() -> None:
    """Do in the warm interpreter what every child would repeat: every object touched there costs a child a page."""
    loading.predefine_typing()
    spare_builtins()
    _streams()
    names.name_of(main)
    sources = Sources(read_completion("    return a\n"), entry="f", prompt='def f(a):\n    """Same."""\n')
    loading.build(sources, (), "solution.py")
    rehearse_candidate()


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Load the completion in `payload` and serve it on `fds[0]`; return the exit code."""
    loading.predefine_typing()
    sys.modules["builtins"] = spare_builtins()
    streams = _streams()
    streams.install()
    link = Channel(socket.socket(fileno=fds[0]))
    loaded = loading.load(payload)
    streams.take()
    serving = Server(link, loaded.module, loaded.prompt_classes, streams)
    try:
        link.send(_load_report(loaded))
    except (ChannelClosed, FrameTooLarge):
        return 0
    serving.serve()
    return 0


@cache
def spare_builtins() -> ModuleType:
    """Return a copy of the builtins for the completion, so that what it patches there is not what we run on."""
    copy = ModuleType("builtins")
    vars(copy).update(vars(builtins))
    return copy


@cache
def _streams() -> Echo:
    """Return the process's one pair of streams, made in the warm interpreter."""
    return Echo()


def _load_report(loaded: loading.LoadedModule) -> bytes:
    defined = [name for name in vars(loaded.module) if type(name) is str]
    error = None if loaded.error is None else [loaded.error[0], loaded.error[1][:_SHOWN]]
    name = vars(loaded.module).get("__name__")
    packer = Packer(unicode_errors="surrogatepass")
    return bytes(packer.pack([Say.LOADED, defined, name if type(name) is str else "", error]))
