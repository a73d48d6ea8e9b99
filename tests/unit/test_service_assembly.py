"""What a worker judges with is closed as a whole."""

from collections.abc import Mapping

import pytest

from assay.errors import IsolationUnavailable
from assay.sandboxes import backends
from assay.service.assembly import assemble
from assay.settings import Settings
from assay.verifiers.models import opening


class _Closing:
    """Takes note of being closed, and may fail."""

    size = 2
    origin: Mapping[str, str] = {}

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.is_closed = False

    def close(self) -> None:
        """Close."""
        self.is_closed = True
        if self.fault is not None:
            raise self.fault


def test_jails_are_closed_although_the_models_could_not_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes must not outlive a worker because a connection would not end."""
    models, pool = _Closing(TimeoutError("it hangs")), _Closing()
    monkeypatch.setattr(opening, "open_models", lambda _: models)
    monkeypatch.setattr(backends, "open_pool", lambda _: pool)

    assembly = assemble(Settings(slots=1))
    with pytest.raises(TimeoutError):
        assembly.close()

    assert models.is_closed
    assert pool.is_closed


def test_what_was_opened_is_closed_where_attempts_cannot_be_isolated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that cannot begin leaves no connection open."""
    models = _Closing()

    def open_pool(_: Settings) -> None:
        raise IsolationUnavailable("no namespaces")

    monkeypatch.setattr(opening, "open_models", lambda _: models)
    monkeypatch.setattr(backends, "open_pool", open_pool)

    with pytest.raises(IsolationUnavailable):
        assemble(Settings(slots=1))

    assert models.is_closed
