"""In the candidate's process: the lines on which the oracle asks, and on which the completion calls back.

A line is served by one thread. While the completion's code runs for a line, other threads that it started may call
back over the same line; the line's lock keeps their exchanges apart. A forked copy of the process never answers.
"""

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import getpid
from typing import Any  # messages hold anything

from msgpack import Packer, unpackb

from assay.verifiers.split.channel import Channel, ChannelClosed, FrameTooLarge
from assay.verifiers.split.wire import Ask, Say

_NESTED_FRAMES = 16  # Python frames that a call within a callback costs here

Message = list[Any]


class Hangup(BaseException):
    """The conversation is over: end the process."""


class Line:
    """One channel to the oracle."""

    def __init__(self, channel: Channel) -> None:
        self.lock = threading.RLock()
        self.is_running = False
        self._channel = channel
        self._packer = Packer(unicode_errors="surrogatepass")

    @property
    def sock(self) -> socket.socket:
        return self._channel.sock

    def send(self, message: Message) -> None:
        self._channel.send(self._packer.pack(message))

    def receive(self) -> Message:
        while True:
            try:
                body = self._channel.receive()
            except (ChannelClosed, FrameTooLarge):
                raise
            except BaseException:  # noqa: BLE001 - a signal handler of the completion's, after its call has ended
                continue
            # From the oracle; a completion that got hold of its end would delay its own process alone.
            message: Message = unpackb(body, max_map_len=0, unicode_errors="surrogatepass")
            return message


class _Own(threading.local):
    """The line that the current thread serves or calls back on."""

    line: Line | None = None


class Switchboard:
    """Every line of the candidate.

    `answer(message)` returns the reply to a question and does not raise; `too_large()` the one for a reply that no
    frame holds.
    """

    def __init__(
        self, channel: Channel, answer: Callable[[Message], Message], too_large: Callable[[], Message]
    ) -> None:
        self._too_large = too_large
        self._first = Line(channel)
        self._answer = answer
        self._own = _Own()
        self._pid = getpid()
        self._running: list[Line] = []
        self._ready = threading.Condition()

    def serve(self) -> None:
        """Answer on the first line until the oracle hangs up. Raises ChannelClosed, FrameTooLarge or Hangup then."""
        self._serve(self._first)

    def exchange(self, question: Message) -> Message:
        """Ask the oracle something and return its answer; questions of the oracle that come first are answered."""
        own = self._own
        outer = own.line
        line = outer or self._running_line()
        with line.lock, _deeper():
            own.line = line
            try:
                self.check_process()
                line.send(question)
                while (message := line.receive())[0] not in (Say.VALUE, Say.ERROR):
                    self._reply(line, message)
                return message
            finally:
                own.line = outer

    def run(self, action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run the completion's code; the outermost run on a line lets other threads call back over it meanwhile."""
        line = self._own.line
        if line is None or line.is_running:
            return action(*args, **kwargs)
        line.is_running = True
        self._running.append(line)
        with self._ready:
            self._ready.notify_all()
        line.lock.release()
        try:
            return action(*args, **kwargs)
        finally:
            line.lock.acquire()
            line.is_running = False
            self._running.remove(line)

    def check_process(self) -> None:
        """Raise Hangup in a forked copy of the process."""
        if getpid() != self._pid:
            raise Hangup

    def _running_line(self) -> Line:
        with self._ready:
            self._ready.wait_for(lambda: self._running)
            return self._running[-1]

    def _serve(self, line: Line) -> None:
        self._own.line = line
        with line.lock:
            while True:
                message = line.receive()
                self._reply(line, message)
                if message[0] == Ask.LINES:
                    self._accept_lines(line)

    def _reply(self, line: Line, message: Message) -> None:
        reply = self._answer(message)
        self.check_process()
        try:
            line.send(reply)
        except FrameTooLarge:
            line.send(self._too_large())

    def _accept_lines(self, line: Line) -> None:
        """Take the descriptor that was announced, and serve the lines that come over it in threads of their own."""
        gate = _receive_socket(line.sock)
        if gate is not None:
            _start(self._accept, gate)

    def _accept(self, gate: socket.socket) -> None:
        while (sock := _receive_socket(gate)) is not None:
            if not _start(self._serve_quietly, Line(Channel(sock))):
                sock.close()

    def _serve_quietly(self, line: Line) -> None:
        try:
            self._serve(line)
        except (ChannelClosed, FrameTooLarge, Hangup):
            return


def _start(target: Callable[[Any], None], argument: object) -> bool:
    """Start a thread that does not keep the process alive; say whether there was room for one."""
    try:
        threading.Thread(target=target, args=(argument,), daemon=True).start()
    except RuntimeError:  # the limit of processes and threads is reached
        return False
    return True


def _receive_socket(over: socket.socket) -> socket.socket | None:
    try:
        _, fds, _, _ = socket.recv_fds(over, 1, 1)
    except OSError:
        return None
    return socket.socket(fileno=fds[0]) if fds else None


@contextmanager
def _deeper() -> Iterator[None]:
    """Keep our own frames from counting against the completion's recursion limit."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + _NESTED_FRAMES)
    try:
        yield
    finally:
        if sys.getrecursionlimit() == limit + _NESTED_FRAMES:  # nobody has set another one meanwhile
            sys.setrecursionlimit(limit)
