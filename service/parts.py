"""What the HTTP layer stands on, put together once per process."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.errors import AssayError
from assay.service import keys
from assay.service.archive import Archive
from assay.service.batches import Batches
from assay.service.connection import Connection
from assay.service.fleet import Fleet
from assay.service.hub import Hub
from assay.service.results import Results
from assay.service.scoring_calls import ScoreCalls
from assay.service.telemetry import Gauges
from assay.settings import Settings
from assay.verifiers.registry import Registry


@dataclass(frozen=True)
class Parts:
    """The objects behind the routes."""

    settings: Settings
    registry: Registry
    connection: Connection
    fleet: Fleet
    batches: Batches
    results: Results
    archive: Archive
    hub: Hub
    calls: ScoreCalls

    def gauges(self) -> Gauges:
        """Return what is true at this moment. Raises ServiceUnavailable."""
        workers = self.fleet.workers()
        slots = sum(worker.slots for worker in workers)
        return Gauges(self.batches.pending(), self.batches.queue.depths(), len(workers), slots)

    def counters(self) -> Mapping[bytes, bytes]:
        """Return the service's counters. Raises ServiceUnavailable."""
        return dict(self.connection.ask("HGETALL", keys.METRICS))

    def readiness(self) -> str:
        """Return what is missing before attempts are judged, or '' if nothing is."""
        try:
            workers = self.fleet.workers()
        except AssayError as error:
            return str(error)
        return "" if workers else "no worker is alive"


def assemble_parts(settings: Settings, connection: Connection, registry: Registry, *, private_redis: bool) -> Parts:
    """Put the service together on one Redis; nothing runs yet."""
    fleet = Fleet(connection)
    batches = Batches(connection, fleet, queue_limit=settings.queue_limit, private_redis=private_redis)
    archive = Archive(settings.data_dir / "results")
    results = Results(connection, archive)
    hub = Hub(connection, results.interactive)
    return Parts(
        settings=settings,
        registry=registry,
        connection=connection,
        fleet=fleet,
        batches=batches,
        results=results,
        archive=archive,
        hub=hub,
        calls=ScoreCalls(batches, hub),
    )
