"""What several modules of unit tests share."""

import pytest

from assay.verifiers import killed


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the kernel says of its kills for memory, look by look; the last look stays."""
    told = [7]
    monkeypatch.setattr(killed, "memory_kills", lambda: told.pop(0) if len(told) > 1 else told[0])
    return told
