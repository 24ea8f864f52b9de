"""What the adapter says of itself to Prometheus.

Labels come from closed sets (the catalog's metrics, the configured sources, HTTP codes), never from a request, and
never is one a pod's name. Ages are taken when they are asked for: a stored one would stop with what it watches.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, TypeVar

from aiohttp import web
from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    Metric,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from adapter.core.errors import SourceErrorKind
from adapter.core.points import ObjectKey, Withheld
from adapter.core.snapshot import Snapshot

Outcome = Literal["ok"] | SourceErrorKind
OTHER: Final = "other"
PREFIX: Final = "fresh_metrics_adapter"

_ANSWERS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
_LOOKS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_LAGS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
# As kubernetes-sigs/custom-metrics-apiserver has them (pkg/apiserver/metrics): 20, each 1.364 times the last.
_AGES: Final = tuple(round(1.364**step, 3) for step in range(20))

M = TypeVar("M", Counter, Gauge, Histogram)


class _Children(dict[tuple[str, ...], M]):
    """A metric's children by label values, each made once: making one costs several times its use."""

    def __init__(self, metric: M) -> None:
        super().__init__()
        self._metric: M = metric

    def __missing__(self, labels: tuple[str, ...]) -> M:
        child: M = self._metric.labels(*labels)
        self[labels] = child
        return child

    def reset(self) -> None:
        self.clear()
        self._metric.clear()


class Telemetry:
    """All series of one process, in a registry of its own. metrics: the names that the catalog serves."""

    def __init__(self, release: str, metrics: Iterable[str]) -> None:
        self._registry = CollectorRegistry()
        self._names = frozenset(metrics)
        self._requests = self._counter("requests", "Requests answered.", "group", "verb", "code")
        self._answers = self._histogram("answer_duration_seconds", "From request to answer.", _ANSWERS, "group")
        self._withheld = self._counter("withheld", "Values left out of answers.", "metric", "reason")
        self._served = _Children(
            Histogram(
                "metrics_apiserver_metric_freshness_seconds",
                "Age of served values.",
                ("group",),
                buckets=_AGES,
                registry=self._registry,
            )
        )
        self._looks = self._counter("looks", "Reads of a page or a query, by how they ended.", "source", "outcome")
        self._durations = self._histogram("look_duration_seconds", "How long a read took.", _LOOKS, "source")
        self._skipped = self._counter("rows_skipped", "Rows of a page that could not be read.", "source")
        self._targets = self._gauge("targets", "Exporters by the end of their last read.", "source", "state")
        text = "Changed TLS files that could not be used."
        self._reload_failures = Counter(f"{PREFIX}_certificate_reload_failures", text, registry=self._registry)
        text = "How much too late the event loop woke up."
        self._lag = Histogram(f"{PREFIX}_event_loop_lag_seconds", text, buckets=_LAGS, registry=self._registry)
        self._config = self._gauge("config_info", "The configuration in use.", "sha256")
        self._gauge("build_info", "The running version.", "version")[release,].set(1)
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def _counter(self, name: str, text: str, *labels: str) -> _Children[Counter]:
        return _Children(Counter(f"{PREFIX}_{name}", text, labels, registry=self._registry))

    def _gauge(self, name: str, text: str, *labels: str) -> _Children[Gauge]:
        return _Children(Gauge(f"{PREFIX}_{name}", text, labels, registry=self._registry))

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> _Children[Histogram]:
        return _Children(Histogram(f"{PREFIX}_{name}", text, labels, buckets=buckets, registry=self._registry))

    def request(self, group: str, verb: str, code: int, seconds: float) -> None:
        """One answered request; `group` is the API group or "discovery", "health", "other"."""
        self._requests[group, verb if verb in {"GET", "HEAD"} else OTHER, str(code)].inc()
        self._answers[group,].observe(seconds)

    def served(self, group: str, ages: Iterable[float]) -> None:
        """The ages of the values in one answer, seconds."""
        histogram = self._served[group,]
        for age in ages:
            histogram.observe(age)

    def withheld(self, metric: str, withheld: Iterable[tuple[ObjectKey, Withheld]]) -> None:
        """What one answer left out."""
        name = metric if metric in self._names else OTHER
        for _, reading in withheld:
            self._withheld[name, reading.reason.value].inc()

    def look(self, source: str, outcome: Outcome, seconds: float) -> None:
        """One finished read of a target or one query."""
        self._looks[source, outcome].inc()
        self._durations[source,].observe(seconds)

    def skipped(self, source: str, rows: int) -> None:
        self._skipped[source,].inc(rows)

    def targets(self, source: str, up: int, failing: int) -> None:
        """How many exporters a source has at present, by the end of their last read."""
        self._targets[source, "up"].set(up)
        self._targets[source, "failing"].set(failing)

    def config(self, sha256: str) -> None:
        """The configuration that is in use from now on."""
        self._config.reset()
        self._config[sha256,].set(1)

    def certificate_reload_failed(self) -> None:
        self._reload_failures.inc()

    def loop_lag(self, seconds: float) -> None:
        self._lag.observe(max(seconds, 0.0))

    def watch(self, feeds: Callable[[], Mapping[str, Snapshot]], clock: Callable[[], float]) -> None:
        """Shows each feed's age from now on, as it is when asked for. To be called once."""
        self._registry.register(_FeedAges(feeds, clock))

    def render(self) -> bytes:
        """Everything in Prometheus' text format 0.0.4."""
        return generate_latest(_WithoutCreated(self._registry))


class _WithoutCreated(Collector):
    """The library adds the time of each counter's birth as a series of its own: nobody reads those."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family


class _FeedAges(Collector):
    def __init__(self, feeds: Callable[[], Mapping[str, Snapshot]], clock: Callable[[], float]) -> None:
        self._feeds = feeds
        self._clock = clock

    def describe(self) -> Iterator[GaugeMetricFamily]:
        yield self._family()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family, now = self._family(), self._clock()
        for name, snapshot in sorted(self._feeds().items()):
            if snapshot.taken is not None:  # a feed that was never read has no age, not an age of 0
                family.add_metric((name, snapshot.source), now - snapshot.taken)
        yield family

    @staticmethod
    def _family() -> GaugeMetricFamily:
        text = "Seconds since the newest good read of a feed began."
        return GaugeMetricFamily(f"{PREFIX}_feed_age_seconds", text, labels=("feed", "source"))


async def watch_loop(telemetry: Telemetry, interval: float = 0.5) -> None:
    """Measures, until cancelled, how late the event loop is every `interval` seconds."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + interval
        await asyncio.sleep(interval)
        telemetry.loop_lag(loop.time() - due)


def make_app(telemetry: Telemetry) -> web.Application:
    """For a port of its own: `/metrics`, and 404 for everything else."""

    async def metrics(_request: web.Request) -> web.Response:
        return web.Response(body=telemetry.render(), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    return app
