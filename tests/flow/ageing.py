"""A real Prometheus over simulated exporters whose values spell the time of their collect, and readers of ours over it.

So every served value tells its own true age: since it was measured behind the page, not since the page or the scrape.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from adapter.core.answer import Catalog, Items, Served, answer
from adapter.core.ask import Ask
from adapter.core.attribution import GpuMetric
from adapter.core.gpu import Owner
from adapter.core.pace import Pace
from adapter.core.pods import Pod, PodIndex
from adapter.core.points import Point
from adapter.core.profiles import PROFILES
from adapter.core.selectors import EVERYTHING
from adapter.demo.exporter import GPU_UTIL, Exporter, Gpu, gpu_uuid
from adapter.demo.fleet import Fleet
from adapter.poller import Reader, WriteLine, read
from adapter.settings.groups import Metric, Prometheus
from adapter.sources.profile import ProfileReader
from adapter.sources.prometheus import PrometheusServer
from adapter.sources.query import QueryReader
from adapter.store import Store
from adapter.telemetry import Telemetry

COLLECT = 1.0  # seconds between the exporters' collects, and between scrapes
PHASE = 0.3
TTL = 1.0
NAMESPACE = "ml"
GPU_METRIC = "nvidia_gpu_utilization"


class Spelling(NamedTuple):
    """A load that says when it was measured: 1 to 99 %, another one each second."""

    def at(self, t: float) -> float:
        return (int(t) % 99 + 1) / 100

    def total(self, t: float) -> float:
        return 0.5 * t


def measured_at(value: float, now: float) -> float:
    """The latest moment up to `now` at which a collect can have shown this value."""
    second = int(now - PHASE)
    return next(s for s in range(second, second - 99, -1) if s % 99 + 1 == round(value)) + PHASE


def exporter(name: str) -> Exporter:
    gpu = Gpu(0, gpu_uuid(name, 0), Spelling(), Owner(NAMESPACE, name))
    return Exporter(name, (gpu,), COLLECT, PHASE, epoch=time.time() - time.monotonic())


def fleet(names: Iterable[str]) -> Fleet:
    return Fleet(tuple(exporter(name) for name in names))


def pods(names: Iterable[str]) -> PodIndex:
    return PodIndex(Pod(NAMESPACE, name, started=-1e6, gpus=1) for name in names)


@dataclass
class Seen:
    """What was served of one pod's metric. Ages in seconds; flattery: by how much it was said to be too young."""

    flattery: float = float("-inf")
    limit: float = 0.0
    oldest: float = 0.0
    served: int = 0
    last: float = float("-inf")
    gap: float = 0.0

    def serve(self, point: Point, now: float) -> None:
        true_age = now - measured_at(point.value, now)
        self.flattery = max(self.flattery, true_age - (now - point.born))
        self.limit = max(self.limit, point.limit)
        self.oldest = max(self.oldest, true_age)
        if self.served:
            self.gap = max(self.gap, now - self.last)
        self.served += 1
        self.last = now


@dataclass
class Watch:
    """Readers of ours, and what is seen of them, by (metric, pod)."""

    line: WriteLine
    readers: list[Reader]
    catalog: Catalog
    seen: dict[tuple[str, str], Seen] = field(default_factory=dict)

    async def poll(self) -> None:
        while True:
            for reader in self.readers:
                await read(reader, self.line)
            await asyncio.sleep(TTL / 2)

    def look(self, names: Iterable[str]) -> None:
        """One moment: everything that would be served, held against the truth."""
        now = self.line.now()
        for _, metric in self.catalog:
            ask = Ask("pods", NAMESPACE, "*", metric, EVERYTHING, EVERYTHING)
            given = answer(ask, self.catalog, self.line.store.snapshots, pods(names), now)
            for item in given.items if isinstance(given, Items) else ():
                self.seen.setdefault((metric, item.key.name), Seen()).serve(item.point, now)

    async def until(self, holds: Callable[[], bool], names: list[str], within: float) -> bool:
        """Looks ten times a second until the condition holds; False where it does not in time (seconds)."""
        end = self.line.now() + within
        while self.line.now() < end:
            self.look(names)
            if holds():
                return True
            await asyncio.sleep(0.1)
        return False


def served(metric: str, feed: str, *, gpu: bool) -> Served:
    return Served(metric, "pods", namespaced=True, feeds=(feed,), gpu=gpu, worst_healthy_age=5.0)


def gpu_reader(server: PrometheusServer) -> ProfileReader:
    profile = PROFILES["gpu_utilization"]
    pace = Pace(server.name, COLLECT, 0.0, ttl=TTL, pages="live", via="prometheus")
    return ProfileReader("gpu", server, [GpuMetric(GPU_METRIC, profile)], pace, time.monotonic)


def query_reader(server: PrometheusServer, name: str, query: str) -> QueryReader:
    labels = {"namespace": "namespace", "pod": "pod"}
    metric = Metric(name, (server.name,), query=query, labels=labels, exporter_refresh=COLLECT)
    return QueryReader(name, server, metric, max_age=None, ttl=TTL, read=0.5, clock=time.monotonic)


QUERIES = {
    "plain": f"max by (namespace, pod) ({GPU_UTIL})",
    "bare": GPU_UTIL,
    "recorded": "max by (namespace, pod) (pod:util:max)",
}


def watch(url: str, http: object, names: list[str]) -> Watch:
    server = PrometheusServer(Prometheus("prom", url), http, time.monotonic)  # type: ignore[arg-type]
    index = pods(names)
    catalog: dict[tuple[str, str], Served] = {("pods", GPU_METRIC): served(GPU_METRIC, "gpu", gpu=True)}
    readers: list[Reader] = [gpu_reader(server)]
    for name, query in QUERIES.items():
        catalog["pods", name] = served(name, name, gpu=False)
        readers.append(query_reader(server, name, query))
    store = Store(time.monotonic)
    line = WriteLine(store, Telemetry("test", []), time.monotonic, time.time, lambda: index)
    return Watch(line, readers, catalog)


RULES = f"""
groups:
  - {{name: pods, interval: 1s, rules: [{{record: "pod:util:max", expr: "max by (namespace, pod) ({GPU_UTIL})"}}]}}
"""
CONFIG = """
global: {scrape_interval: 1s, scrape_timeout: 900ms, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
  - job_name: gpus
    honor_labels: true
    metrics_path: /metrics
    file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]
"""


def configure(directory: Path, targets: Iterable[str]) -> str:
    (directory / "rules.yml").write_text(RULES)
    write_targets(directory, targets)
    return CONFIG


def write_targets(directory: Path, targets: Iterable[str]) -> None:
    hosts = ", ".join(f'"{target}"' for target in targets)
    part = directory / "targets.part"
    part.write_text(f'[{{"targets": [{hosts}]}}]')
    part.replace(directory / "targets.json")
