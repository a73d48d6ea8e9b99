"""Which batches of a run a service has taken, noted beside the output: after a kill their results are found again.

A line a batch, with what names each of its attempts; which of them are finished, the output tells. The file is gone
once the run has ended.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.canonical import dump_line
from assay.errors import InvalidRequest

_SUFFIX = ".batches"


@dataclass(frozen=True)
class Handed:
    """A batch that was handed in: hash (`versions.attempt`) and label of its attempts, in its order."""

    batch_id: str
    attempts: tuple[tuple[str, str], ...]


class Ledger:
    """The batches of the run whose results go to `output`, at one service. Thread-safe.

    Without `is_kept` what an earlier run noted is forgotten. Raises InvalidRequest where it cannot be written.
    """

    def __init__(self, output: Path, url: str, *, is_kept: bool) -> None:
        place = output.resolve()  # of a link, what it leads to
        self.path = place.with_name(place.name + _SUFFIX)
        self._url = url
        self._lock = threading.Lock()
        try:
            self._file = self.path.open("ab" if is_kept else "wb")
            if self._file.tell():
                self._file.write(b"\n")  # a kill may have come within the last line: none is put behind its half
                self._file.flush()
        except OSError as error:
            raise self._unwritable(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if kind is None:
            self.path.unlink(missing_ok=True)

    def add(self, batch_id: str, attempts: Sequence[tuple[str, str]]) -> None:
        """Note a batch that the service has taken."""
        line = dump_line({"url": self._url, "batch_id": batch_id, "attempts": attempts})
        with self._lock:
            try:
                self._file.write(f"{line}\n".encode("ascii"))
                self._file.flush()
            except OSError as error:
                raise self._unwritable(error) from error

    def handed(self) -> Iterator[Handed]:
        """Yield the batches that this service has taken, one at a time."""
        with self.path.open("rb") as file:
            for line in file:
                try:
                    noted = json.loads(line)
                except ValueError:
                    continue  # the kill came within the line
                if noted["url"] == self._url:
                    yield Handed(noted["batch_id"], tuple((name, label) for name, label in noted["attempts"]))

    def _unwritable(self, error: OSError) -> InvalidRequest:
        return InvalidRequest(f"cannot be written: {error}", path=str(self.path), fix="check the path")
