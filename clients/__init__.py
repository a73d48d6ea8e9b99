"""Clients: the SDK and group advantages. Imports nothing but `assay` core."""

from assay.answers import (
    Accepted,
    BatchStatus,
    GroupDone,
    GroupStatus,
    Lack,
    TaskStats,
    TaskSums,
    VerifierDetails,
    VerifierInfo,
)
from assay.clients.async_client import AsyncClient
from assay.clients.client import Client
from assay.clients.following import Progress
from assay.clients.retries import RetryPolicy
from assay.schema import BatchOptions

__all__ = [
    "Accepted",
    "AsyncClient",
    "BatchOptions",
    "BatchStatus",
    "Client",
    "GroupDone",
    "GroupStatus",
    "Lack",
    "Progress",
    "RetryPolicy",
    "TaskStats",
    "TaskSums",
    "VerifierDetails",
    "VerifierInfo",
]
