"""Every source that there is, each behind the same few words, so that one suite holds them all."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp

from adapter.core.answer import Answer, Served, answer
from adapter.core.ask import Ask
from adapter.core.attribution import GpuMetric
from adapter.core.pace import Pace
from adapter.core.pods import Pod, PodIndex
from adapter.core.points import ObjectKey, Reading
from adapter.core.profiles import PROFILES, families
from adapter.core.selectors import EVERYTHING
from adapter.core.snapshot import Snapshot
from adapter.demo.exporter import GPU_UTIL
from adapter.poller import PagePoller, Reader, WriteLine, read
from adapter.settings.groups import Connection, Dcgm, Metric, Prometheus
from adapter.sources.dcgm import Exporter
from adapter.sources.devices import DeviceFeed
from adapter.sources.exposition import compile_wanted
from adapter.sources.profile import ProfileReader
from adapter.sources.prometheus import PrometheusServer
from adapter.sources.query import QueryReader
from adapter.store import Store
from adapter.telemetry import Telemetry
from tests.contract.origin import NAMESPACE, Origin

FEED, METRIC = "feed", "busy"
DEADLINE = 0.3  # seconds
CAP = 100_000  # bytes
PODS = PodIndex(Pod(NAMESPACE, name, started=-1e6, gpus=1) for name in ("p-0", "p-1"))
PROFILE = PROFILES["gpu_utilization"]
NO_CREDENTIALS = Connection()


def key(pod: str) -> ObjectKey:
    return ObjectKey("pods", NAMESPACE, pod)


@dataclass
class Source:
    """One source under test. name: as telemetry has it; look: one read, and what becomes of it."""

    name: str
    origin: Origin
    line: WriteLine
    look: Callable[[], Awaitable[None]]

    async def read(self, after: float = 5.0) -> Snapshot:
        """One read, so many seconds after the last, and what is known then."""
        self.origin.clock.now += after
        await self.look()
        return self.snapshot

    async def serve(self) -> Snapshot:
        """Good reads, until all is served: an exporter must have been seen to collect."""
        await self.read()
        return await self.read()

    @property
    def snapshot(self) -> Snapshot:
        return self.line.store.snapshots[FEED]

    def said(self, pod: str) -> Reading:
        (reading,) = self.snapshot.of(METRIC, key(pod))
        return reading

    def answer(self, pod: str) -> Answer:
        served = Served(METRIC, "pods", namespaced=True, feeds=(FEED,), gpu=True, worst_healthy_age=10.0)
        ask = Ask("pods", NAMESPACE, pod, METRIC, EVERYTHING, EVERYTHING)
        feeds = self.line.store.snapshots
        return answer(ask, {("pods", METRIC): served}, feeds, PODS, self.origin.clock.now)

    def counted(self, outcome: str) -> int:
        """How many reads ended so."""
        wanted = f'fresh_metrics_adapter_looks_total{{outcome="{outcome}",source="{self.name}"}} '
        lines = self.line.telemetry.render().decode().splitlines()
        return sum(int(float(line.removeprefix(wanted))) for line in lines if line.startswith(wanted))


def _line(origin: Origin) -> WriteLine:
    clock = origin.clock
    return WriteLine(Store(clock), Telemetry("test", [METRIC]), clock, lambda: clock() + 1e9, lambda: PODS)


def page_source(origin: Origin, http: aiohttp.ClientSession, connection: Connection = NO_CREDENTIALS) -> Source:
    """An exporter's page, read by ourselves."""
    line, feed = _line(origin), DeviceFeed(FEED, "dcgm", [GpuMetric(METRIC, PROFILE)])
    poller, pace = PagePoller(feed, line), Pace("dcgm", 5.0, 5.0, pages="live")
    dcgm = Dcgm(deadline=DEADLINE, max_page_bytes=CAP, connection=connection)
    exporter = Exporter("dcgm", f"{origin.url}/metrics", dcgm, compile_wanted(families((PROFILE,))), http)

    async def look() -> None:
        await poller.look(exporter, pace)
        line.store.put(feed.snapshot())

    return Source("dcgm", origin, line, look)


def server(origin: Origin, http: aiohttp.ClientSession, connection: Connection = NO_CREDENTIALS) -> PrometheusServer:
    settings = Prometheus(
        "prom", origin.url, deadline=DEADLINE, max_answer_bytes=CAP, dialect="auto", connection=connection
    )
    return PrometheusServer(settings, http, origin.clock)


def profile_source(origin: Origin, http: aiohttp.ClientSession, connection: Connection = NO_CREDENTIALS) -> Source:
    """GPU rows that a Prometheus scraped."""
    pace = Pace("prom", 5.0, 0.0, ttl=1.0, pages="live", via="prometheus")
    metrics = [GpuMetric(METRIC, PROFILE)]
    return _reading(origin, ProfileReader(FEED, server(origin, http, connection), metrics, pace, origin.clock))


def query_source(origin: Origin, http: aiohttp.ClientSession, connection: Connection = NO_CREDENTIALS) -> Source:
    """A PromQL metric."""
    metric = Metric(METRIC, ("prom",), query=GPU_UTIL, labels={"namespace": "namespace", "pod": "pod"})
    prometheus = server(origin, http, connection)
    return _reading(origin, QueryReader(FEED, prometheus, metric, max_age=30.0, ttl=1.0, read=0.5, clock=origin.clock))


def _reading(origin: Origin, reader: Reader) -> Source:
    line = _line(origin)
    return Source(reader.source, origin, line, lambda: read(reader, line))
