"""Clients: the SDK and group advantages. Imports nothing but `assay` core."""

from assay.clients.async_client import AsyncClient
from assay.clients.calls import Accepted, BatchStatus, GroupStatus, VerifierInfo
from assay.clients.client import Client
from assay.clients.retries import RetryPolicy
from assay.schema import BatchOptions

__all__ = [
    "Accepted",
    "AsyncClient",
    "BatchOptions",
    "BatchStatus",
    "Client",
    "GroupStatus",
    "RetryPolicy",
    "VerifierInfo",
]
