"""Ctrl-C told apart from a KeyboardInterrupt that foreign code raises: one ends the command, the other is a fault."""

import signal
import threading
from types import FrameType


class Interrupt(KeyboardInterrupt):
    """Somebody has pressed Ctrl-C."""


def raise_interrupts() -> None:
    """From now on have Ctrl-C raise Interrupt in the main thread, from which this is called."""
    signal.signal(signal.SIGINT, _raise)


def is_ctrl_c(error: BaseException) -> bool:
    """Whether an exception says that somebody has had enough.

    Where `raise_interrupts` was not called, nobody can tell: any KeyboardInterrupt of the main thread then does.
    """
    if not isinstance(error, KeyboardInterrupt) or threading.current_thread() is not threading.main_thread():
        return False
    return isinstance(error, Interrupt) or signal.getsignal(signal.SIGINT) is not _raise


def _raise(_number: int, _frame: FrameType | None) -> None:
    raise Interrupt
