"""The oracle's program that runs a task's own `verify(completion, task)`: the completion is text to it."""

import io
import json
import socket
import sys
from collections.abc import Callable
from typing import Any  # Any: a task's source defines anything

import msgpack

from assay.verifiers.program.returned import Unusable, read_returned
from assay.verifiers.program.telling import MOST_PRINTED, Word, tell
from assay.verifiers.repeatable import make_repeatable
from assay.verifiers.split.loading import describe


def pack_question(source: str, completion: str, document: Any) -> bytes:
    """Return the payload; `document` is JSON."""
    asked = [source, completion, json.dumps(document, allow_nan=False)]
    return bytes(msgpack.packb(asked, unicode_errors="surrogatepass"))


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Run the source, ask its `verify`, and tell on `fds[0]` what came of it."""
    source, completion, document = msgpack.unpackb(payload, unicode_errors="surrogatepass")
    make_repeatable(0, "verifier")
    printed = keep_output()
    with socket.socket(fileno=fds[0]) as channel:
        try:
            verify = define(source, "verify")
        except BaseException as error:  # noqa: BLE001 - the task's own source may raise anything
            tell(channel, Word.BROKEN, f"the task's source cannot be run: {describe(error)}")
            return 0
        tell(channel, Word.READY)
        try:
            found = read_returned(verify(completion, json.loads(document)))
        except Unusable as error:
            tell(channel, Word.FAILED, str(error), printed.text)
        except BaseException as error:  # noqa: BLE001 - the task's own source may raise anything
            tell(channel, Word.FAILED, f"it raised {describe(error)}", printed.text)
        else:
            tell(channel, Word.ANSWER, printed.text, dict(found.terms), found.message)
    return 0


def define(source: str, name: str) -> Callable[..., Any]:
    """Run a task's source and return the function that it must define. Raises whatever it raises, and LookupError."""
    namespace: dict[str, Any] = {"__name__": "verifier"}
    exec(compile(source, "<source>", "exec", dont_inherit=True, optimize=0), namespace)
    found = namespace.get(name)
    if not callable(found):
        raise LookupError(f"the source defines no function {name}")
    function: Callable[..., Any] = found
    return function


class Kept(io.TextIOBase):
    """A stream that keeps the head of what is written to it."""

    text = ""

    def write(self, text: str) -> int:
        """Keep what there is room for."""
        self.text += text[: MOST_PRINTED - len(self.text)]
        return len(text)


def keep_output() -> Kept:
    """Have what the source prints kept: an oracle's own streams lead nowhere."""
    kept = Kept()
    sys.stdout = sys.stderr = kept
    return kept
