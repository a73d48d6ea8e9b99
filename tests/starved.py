"""A machine that has no time for what is to be stopped."""

from collections.abc import Callable

from assay.sandboxes.freezer import Freezer, NotStopped


class Starved:
    """A freezer on a machine without time to spare: some times it gives up."""

    def __init__(self, freezer: Freezer, gives_up: int, meanwhile: Callable[[], object] = lambda: None) -> None:
        self._freezer = freezer
        self._left = gives_up
        self._meanwhile = meanwhile

    def freeze(self) -> None:
        """Stop it, in the end."""
        self._left -= 1
        if self._left >= 0:
            self._meanwhile()
            raise NotStopped("it could not be frozen")
        self._freezer.freeze()

    def thaw(self) -> None:
        """Let it go on."""
        self._freezer.thaw()

    def cpu_s(self) -> float | None:
        """Processor time."""
        return self._freezer.cpu_s()

    def close(self) -> None:
        """Leave nothing behind."""
        self._freezer.close()
