"""Scores a spool through a service: in batches of whole groups, a few of them at a time, so that memory is bounded."""

import json
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from queue import SimpleQueue

import httpx

from assay.answers import Accepted
from assay.cli.ledger import Ledger
from assay.cli.records.entries import Document
from assay.cli.remarks import remark
from assay.cli.spool import Spool, Spooled, named
from assay.cli.undelivered import undelivered
from assay.clients.calls import check_index
from assay.clients.client import Client
from assay.clients.retries import RetryPolicy
from assay.errors import AssayError, RequestError, ServiceUnavailable
from assay.schema import BatchOptions, Result

_CANCEL_TIMEOUT = httpx.Timeout(2.0)
_ANSWERED_S = 2.0  # that whoever gives up waits for batches which are being handed in
_IN_FLIGHT = 4
_ATTEMPTS = 1_000
_CHARACTERS = 8_000_000


@dataclass
class Window:
    """What goes into one batch, and where it stands in the input."""

    tasks: dict[str, tuple[Document, str]] = field(default_factory=dict)
    """Document and path by key; tasks that only the service knows are not among them."""
    attempts: list[Spooled] = field(default_factory=list)
    characters: int = 0
    taken: set[int] = field(default_factory=set)
    """Which of the attempts have their result."""
    accepted: Accepted | None = None
    is_answered: threading.Event = field(default_factory=threading.Event)
    """Set once it is accepted, or never will be."""

    def documents(self) -> tuple[list[Document], list[Document]]:
        """Return tasks and attempts as a service takes them, with labels that count across batches."""
        attempts: list[Document] = [{**json.loads(one.document), "attempt": one.label} for one in self.attempts]
        return [document for document, _ in self.tasks.values()], attempts

    def take(self, result: Result) -> int:
        """Return which of its attempts a result is of. Raises ServiceUnavailable if of none, or of one that has one."""
        index = check_index(result, len(self.attempts))
        if index in self.taken:
            raise ServiceUnavailable(f"the service gave two results for attempt {index} of a batch")
        self.taken.add(index)
        return index

    def check_complete(self) -> None:
        """Raise ServiceUnavailable unless each of its attempts has its result."""
        if len(self.taken) != len(self.attempts):
            raise ServiceUnavailable(
                f"the service gave {len(self.taken)} results for a batch of {len(self.attempts)} attempts"
            )

    def locate(self, path: str) -> str:
        """Return a path that a service has given (`tasks[0].tests`) in terms of the files."""
        word, bracket, rest = path.partition("[")
        number, closing, rest = rest.partition("]")
        places = {
            "tasks": [place for _, place in self.tasks.values()], "attempts": [one.path for one in self.attempts]
        }.get(word, [])  # fmt: skip
        is_place = bracket and closing and number.isdecimal() and int(number) < len(places)
        return places[int(number)] + rest if is_place else path


def windows(spool: Spool, *, attempts: int = _ATTEMPTS, characters: int = _CHARACTERS) -> Iterator[Window]:
    """Yield what is left to score in windows of about that size. A group is never divided: its attempts may be
    compared with each other; so one of more attempts is a window of its own."""
    window = Window()
    for group in _groups(spool):
        if window.attempts and (len(window.attempts) + len(group.attempts) > attempts
                                or window.characters + group.characters > characters):  # fmt: skip
            yield window
            window = Window()
        window.tasks |= group.tasks
        window.attempts += group.attempts
        window.characters += group.characters
    if window.attempts:
        yield window


def score_remotely(
    client: Client,
    spool: Spool,
    options: BatchOptions,
    tell: Callable[[str], None],
    cancel: Callable[[str], None],
    *,
    attempts: int = _ATTEMPTS,
    ledger: Ledger | None = None,
) -> Generator[Result, None, None]:
    """Yield results as they finish, `index` being that of the input; batch and `seq` are the service's own.

    Whoever stops early has the batches cancelled, by `cancel`. Raises what the client raises; paths of refusals are
    those of the files. A batch holds about `attempts`. With a `ledger`, results that an earlier run did not get come
    first, and every batch is noted.
    """
    if ledger is not None:
        yield from undelivered(client, spool, ledger)
    news: SimpleQueue[_News] = SimpleQueue()
    flying: list[Window] = []
    try:
        for window in windows(spool, attempts=attempts):
            while len(flying) >= _IN_FLIGHT:
                yield from _take(news.get(), flying, tell)
            flying.append(window)
            # A daemon: whoever presses Ctrl-C does not wait for a service that is away.
            threading.Thread(target=_follow, args=(client, window, options, news, ledger), daemon=True).start()
        while flying:
            yield from _take(news.get(), flying, tell)
    finally:
        _cancel_all(flying, cancel)


def cancel_batch(url: str, key: str | None, batch_id: str) -> None:
    """Try once, and not for long: whoever pressed Ctrl-C does not want to wait."""
    with Client(url, api_key=key, retry=RetryPolicy(patience_s=0.0), timeout=_CANCEL_TIMEOUT) as client:
        try:
            client.cancel(batch_id)
        except AssayError as error:
            remark(f"batch {batch_id} was not cancelled: {error}")


def _cancel_all(flying: Iterable[Window], cancel: Callable[[str], None]) -> None:
    """Cancel what was accepted, and what is accepted while one waits for that a little."""
    deadline = time.monotonic() + _ANSWERED_S
    for window in flying:
        window.is_answered.wait(max(0.0, deadline - time.monotonic()))
        if window.accepted is not None:
            cancel(window.accepted.batch_id)


@dataclass(frozen=True)
class _Ended:
    """A window is complete, or has failed."""

    error: BaseException | None = None


_News = tuple[Window, Result | str | _Ended]


def _take(news: "_News", flying: list[Window], tell: Callable[[str], None]) -> Iterator[Result]:
    window, what = news
    match what:
        case Result():
            one = window.attempts[window.take(what)]
            yield named(what, one.hash, index=one.index)
        case str():
            tell(what)
        case _Ended(error):
            flying.remove(window)
            if isinstance(error, RequestError):
                error.path = window.locate(error.path)
            if error is not None:
                raise error
            window.check_complete()


def _follow(
    client: Client, window: Window, options: BatchOptions, news: "SimpleQueue[_News]", ledger: Ledger | None
) -> None:
    """Hand a window in and pass its results on; the entry point of a thread, so every exception is told."""
    try:
        tasks, attempts = window.documents()
        window.accepted = client.submit(tasks, attempts, options=options)
        window.is_answered.set()
        if ledger is not None:
            ledger.add(window.accepted.batch_id, [(one.hash, one.label) for one in window.attempts])
        for result in client.iter_results(window.accepted, on_waiting=lambda text: news.put((window, text))):
            news.put((window, result))
    except BaseException as error:  # noqa: BLE001 - raised again by whoever takes it
        news.put((window, _Ended(error)))
    else:
        news.put((window, _Ended()))
    finally:
        window.is_answered.set()


def _groups(spool: Spool) -> Iterator[Window]:
    """Yield each group as a window of its own."""
    window = Window()
    for one in spool.attempts():
        if window.attempts and one.group != window.attempts[-1].group:
            yield window
            window = Window()
        if one.task not in window.tasks:
            found = spool.task(one.task)
            if found is not None:
                window.tasks[one.task] = found.document, found.path
                window.characters += found.characters
        window.attempts.append(one)
        window.characters += len(one.document)
    if window.attempts:
        yield window
