"""What the HTTP layer stands on, put together once per process."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.answers import BatchStatus
from assay.errors import AssayError
from assay.service import keys
from assay.service.archive import Archive
from assay.service.batches import Batches
from assay.service.cancelling import Cancelling
from assay.service.connection import Connection
from assay.service.draft import KnownTasks
from assay.service.fleet import Fleet
from assay.service.hub import Hub
from assay.service.results import Results
from assay.service.scoring_calls import ScoreCalls
from assay.service.second_pass import SecondPass
from assay.service.shortages import NO_WORKER, Shortages
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
    cancelling: Cancelling
    second_pass: SecondPass
    shortages: Shortages
    results: Results
    archive: Archive
    hub: Hub
    calls: ScoreCalls
    known: KnownTasks = field(default_factory=KnownTasks)

    def gauges(self) -> Gauges:
        """Return what is true at this moment. Raises ServiceUnavailable."""
        workers = self.fleet.workers()
        slots = sum(worker.slots for worker in workers)
        depths, unserved = self.batches.queue.depths(), self.shortages.waiting()
        return Gauges(
            self.batches.pending(),
            depths,
            len(workers),
            slots,
            {" ".join(lack.modules): count for lack, count in unserved.items()},
        )

    def status(self, batch_id: str) -> BatchStatus:
        """Return how far a batch is, and what it waits for that no worker offers. Raises NotFound."""
        status = self.results.status(batch_id)
        if status.done == status.total:
            return status
        return status.model_copy(update={"waiting_for": tuple(self.shortages.of_batch(batch_id))})

    def counters(self) -> Mapping[bytes, bytes]:
        """Return the service's counters. Raises ServiceUnavailable."""
        return dict(self.connection.ask("HGETALL", keys.METRICS))

    def readiness(self) -> str:
        """Return what is missing before attempts are judged, or '' if nothing is."""
        try:
            workers = self.fleet.workers()
        except AssayError as error:
            return str(error)
        return "" if workers else NO_WORKER


def assemble_parts(settings: Settings, connection: Connection, registry: Registry, *, private_redis: bool) -> Parts:
    """Put the service together on one Redis; nothing runs yet."""
    fleet = Fleet(connection)
    batches = Batches(connection, fleet, queue_limit=settings.queue_limit, private_redis=private_redis)
    second_pass = SecondPass(connection)
    cancelling = Cancelling(connection, batches.queue, second_pass)
    shortages = Shortages(connection, batches.queue, fleet)
    archive = Archive(settings.data_dir / "results")
    results = Results(connection, archive)
    hub = Hub(connection, results.interactive)
    return Parts(
        settings=settings,
        registry=registry,
        connection=connection,
        fleet=fleet,
        batches=batches,
        cancelling=cancelling,
        second_pass=second_pass,
        shortages=shortages,
        results=results,
        archive=archive,
        hub=hub,
        calls=ScoreCalls(batches, cancelling, shortages, hub),
    )
