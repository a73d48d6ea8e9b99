"""What the service counts: gathered by workers, kept in Redis, rendered for Prometheus."""

import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from assay.schema import Result
from assay.service import keys
from assay.service.connection import Connection, Pipeline
from assay.verifiers.evaluate import VERIFIER_FAULT
from assay.verifiers.kernels.measured_speeds import read_result

BOUNDS_S = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the histograms' buckets, in seconds; a last one has none."""
_TIMED_KERNEL = "timed_kernel"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class Counts:
    """Increments of the service's counters."""

    integers: Mapping[str, int]
    floats: Mapping[str, float]

    def __bool__(self) -> bool:
        """Whether there is anything to add."""
        return bool(self.integers)

    def add_to(self, pipeline: Pipeline) -> None:
        """Add to `pipeline` what adds them."""
        for name, count in self.integers.items():
            pipeline.hincrby(keys.METRICS, name, count)
        for name, value in self.floats.items():
            pipeline.hincrbyfloat(keys.METRICS, name, value)


class Tally:
    """Counts recorded results. Not thread-safe."""

    def __init__(self) -> None:
        self._integers: dict[str, int] = {}
        self._floats: dict[str, float] = {}

    def add(self, result: Result) -> None:
        """Count one recorded result."""
        self._count(f"outcome:{result.verifier}:{result.outcome}")
        for flag in result.flags:
            kind, _, verifier = flag.partition(":")
            if kind == VERIFIER_FAULT:
                self._count(f"{kind}:{verifier}")
        kernel = read_result(result)
        if kernel is not None:
            self._count(f"{_TIMED_KERNEL}:{kernel.bucket}:{'inconclusive' if kernel.is_null else 'told'}")
        self._observe("queue_s", result.timing.queued_s)
        if "verifier" in result.versions:  # else nobody has judged it
            self._observe("run_s", result.timing.run_s)

    def take(self) -> Counts:
        """Return what was counted, and start again from zero."""
        counts = Counts(self._integers, self._floats)
        self._integers, self._floats = {}, {}
        return counts

    def _observe(self, name: str, value_s: float) -> None:
        self._count(f"{name}:count")
        self._count(f"{name}:bucket:{bisect.bisect_left(BOUNDS_S, value_s)}")
        self._floats[f"{name}:sum"] = self._floats.get(f"{name}:sum", 0.0) + value_s

    def _count(self, name: str) -> None:
        self._integers[name] = self._integers.get(name, 0) + 1


def count_results(connection: Connection, results: Iterable[Result]) -> None:
    """Count results that no worker has recorded. Raises ServiceUnavailable."""
    tally = Tally()
    for result in results:
        tally.add(result)
    counts = tally.take()
    if counts:
        pipeline = connection.pipeline()
        counts.add_to(pipeline)
        connection.run(pipeline)


@dataclass(frozen=True)
class Gauges:
    """What is true at this moment."""

    pending: int
    depths: Mapping[str, int]
    workers: int
    slots: int
    unserved: Mapping[str, int] = field(default_factory=dict)
    """Chunks that wait for what no live worker offers, by the modules that are lacking ("": there is no worker)."""


def render(counters: Mapping[bytes, bytes], gauges: Gauges) -> bytes:
    """Return the text that Prometheus reads."""
    registry = CollectorRegistry()
    registry.register(_Snapshot(counters, gauges))
    return generate_latest(registry)


class _Snapshot(Collector):
    def __init__(self, counters: Mapping[bytes, bytes], gauges: Gauges) -> None:
        self._counters = {name.decode(): value for name, value in counters.items()}
        self._gauges = gauges

    def collect(self) -> Iterable[Metric]:
        yield from self._now()
        yield from self._so_far()
        yield self._histogram("assay_queue_seconds", "queue_s", "Time from acceptance to start")
        yield self._histogram("assay_run_seconds", "run_s", "Time an attempt ran")

    def _now(self) -> Iterable[Metric]:
        gauges = self._gauges
        yield GaugeMetricFamily("assay_pending_attempts", "Attempts accepted and without result", gauges.pending)
        yield GaugeMetricFamily("assay_workers", "Live workers", gauges.workers)
        yield GaugeMetricFamily("assay_slots", "Attempts that live workers run at once", gauges.slots)
        depth = GaugeMetricFamily("assay_queue_chunks", "Chunks waiting, by lane", labels=["lane"])
        for lane, count in sorted(gauges.depths.items()):
            depth.add_metric([lane], count)
        yield depth
        unserved = GaugeMetricFamily(
            "assay_unserved_chunks",
            "Chunks that wait for modules that no live worker has, or for any worker",
            labels=["modules"],
        )
        for modules, count in sorted(gauges.unserved.items()):
            unserved.add_metric([modules], count)
        yield unserved

    def _so_far(self) -> Iterable[Metric]:
        faults = CounterMetricFamily(
            "assay_verifier_faults", "Attempts without reward because a verifier's own code failed", labels=["verifier"]
        )
        outcomes = CounterMetricFamily("assay_results", "Results recorded", labels=["verifier", "outcome"])
        kernels = CounterMetricFamily(
            "assay_timed_kernels",
            "Right kernels by measured speed-up, and whether that stood",
            labels=["speedup", "result"],
        )
        for name, value in sorted(self._counters.items()):
            kind, _, labels = name.partition(":")
            if kind == "outcome":
                outcomes.add_metric(labels.rsplit(":", 1), float(value))
            elif kind == _TIMED_KERNEL:
                kernels.add_metric(labels.rsplit(":", 1), float(value))
            elif kind == VERIFIER_FAULT:
                faults.add_metric([labels], float(value))
        yield from (outcomes, faults, kernels)

    def _histogram(self, name: str, field: str, about: str) -> Metric:
        seen = 0
        bounds = [*(str(bound) for bound in BOUNDS_S), "+Inf"]
        cumulated: list[tuple[str, float]] = []
        for number, bound in enumerate(bounds):
            seen += int(self._counters.get(f"{field}:bucket:{number}", 0))
            cumulated.append((bound, seen))
        return HistogramMetricFamily(
            name, about, buckets=cumulated, sum_value=float(self._counters.get(f"{field}:sum", 0))
        )
