"""Clients of one scripted endpoint, called `m`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import SecretStr

from assay.verifiers.models.client import ModelClient
from assay.verifiers.models.endpoints import Access, Endpoint
from assay.verifiers.models.interface import Request
from assay.verifiers.models.scripted_server import Rule, ScriptedServer

KEY = "sk-very-secret-0123456789"
HELLO = Request("Hello.", system="Be brief.")
BUDGET_S = 30.0
PROMPT_S = 60.0
"""Far below what waiting for the fault would take, far above what noticing it takes."""


@contextmanager
def scripted(*rules: dict[str, Any], **fields: Any) -> Iterator[tuple[ScriptedServer, ModelClient]]:
    """A server with these rules, and a client of it that pauses for a moment only."""
    with ScriptedServer([Rule.model_validate(rule) for rule in rules]) as server:
        endpoint = Endpoint(base_url=server.base_url, model="big-1", **{"retries": 2, "timeout_s": 20.0, **fields})
        client = ModelClient({"m": Access(endpoint, SecretStr(KEY))}, pause_s=0.001)
        try:
            yield server, client
        finally:
            client.close()
