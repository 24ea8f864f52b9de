"""What the settings mean: which metric is served on what, and which feed reads it where and how often."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import aiohttp

from adapter.core.answer import Catalog, Served
from adapter.core.attribution import GpuMetric
from adapter.core.pace import Pace
from adapter.core.profiles import PROFILES, families
from adapter.poller import Reader
from adapter.settings import budgets, cache_ttl, page_pace, profile_pace
from adapter.settings.groups import Metric, Prometheus, Settings
from adapter.sources.dcgm import Exporter
from adapter.sources.devices import DeviceFeed
from adapter.sources.exposition import compile_wanted
from adapter.sources.profile import ProfileReader
from adapter.sources.prometheus import PrometheusServer
from adapter.sources.query import QueryReader

DCGM = "dcgm"


@dataclass(frozen=True, slots=True)
class Pages:
    """The exporters that we read ourselves, each with its pace, and the feed that they make."""

    feed: DeviceFeed
    exporters: tuple[tuple[Exporter, Pace], ...]


@dataclass(frozen=True, slots=True)
class Polled:
    """A feed that is read as a whole, every `interval` seconds."""

    reader: Reader
    interval: float


def catalog(settings: Settings) -> Catalog:
    """Every metric that is served, by (resource, name)."""
    served = {}
    for metric in settings.metrics:
        resource = resource_of(metric)
        served[resource, metric.name] = Served(
            metric=metric.name,
            resource=resource,
            namespaced=resource == "pods",
            feeds=tuple(feed_of(metric, source) for source in metric.sources),
            gpu=metric.series is not None,
            worst_healthy_age=max(b.worst_healthy_age for b in budgets(settings, metric).values()),
            min_coverage=metric.min_coverage,
        )
    return served


def resource_of(metric: Metric) -> str:
    if metric.series is not None or "pod" in metric.labels:
        return "pods"
    return "nodes" if "node" in metric.labels else "namespaces"


def feed_of(metric: Metric, source: str) -> str:
    """A GPU profile shares one feed per source; a query has its own."""
    if source == DCGM:
        return DCGM
    return f"gpu@{source}" if metric.series is not None else f"{resource_of(metric)}/{metric.name}@{source}"


def pages(settings: Settings, http: aiohttp.ClientSession) -> Pages | None:
    """None where no metric is read from exporters."""
    metrics = gpu_metrics(settings, DCGM)
    dcgm = settings.dcgm
    if dcgm is None or not metrics:
        return None
    wanted = compile_wanted(families(tuple(metric.profile for metric in metrics)))
    exporters = tuple(
        (Exporter(DCGM, target.url, dcgm, wanted, http), page_pace(settings, target)) for target in dcgm.static
    )
    return Pages(DeviceFeed(DCGM, DCGM, metrics, configured=len(exporters)), exporters)


def polled(settings: Settings, http: aiohttp.ClientSession, clock: Callable[[], float]) -> list[Polled]:
    """The feeds at every Prometheus."""
    feeds: list[Polled] = []
    for prometheus in settings.prometheus:
        server = PrometheusServer(prometheus, http, clock)
        feeds += _profiles(settings, prometheus, server, clock)
        feeds += _queries(settings, prometheus, server, clock)
    return feeds


def gpu_metrics(settings: Settings, source: str) -> list[GpuMetric]:
    return [
        GpuMetric(metric.name, PROFILES[metric.series], metric.max_age, metric.devices)
        for metric in settings.metrics
        if metric.series is not None and source in metric.sources
    ]


def _profiles(
    settings: Settings, prometheus: Prometheus, server: PrometheusServer, clock: Callable[[], float]
) -> list[Polled]:
    metrics = gpu_metrics(settings, prometheus.name)
    if not metrics:
        return []
    pace = profile_pace(settings, prometheus)
    return [Polled(ProfileReader(f"gpu@{prometheus.name}", server, metrics, pace, clock), pace.ttl)]


def _queries(
    settings: Settings, prometheus: Prometheus, server: PrometheusServer, clock: Callable[[], float]
) -> Sequence[Polled]:
    ttl = cache_ttl(settings, settings.sync_period)
    return [
        Polled(
            QueryReader(
                feed_of(metric, prometheus.name),
                server,
                metric,
                max_age=metric.max_age,
                ttl=ttl,
                read=prometheus.read_time,
                clock=clock,
            ),
            ttl,
        )
        for metric in settings.metrics
        if metric.query is not None and prometheus.name in metric.sources
    ]
