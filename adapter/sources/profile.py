"""GPU rows that a Prometheus scraped: one query for all families, ungrouped, with the time of each scrape.

They go the same way as pages: a frozen exporter or a false zero shows here too, because Prometheus keeps the siblings.
"""

from collections.abc import Callable, Sequence

from adapter.core.attribution import GpuMetric
from adapter.core.errors import SourceError
from adapter.core.pods import PodIndex
from adapter.core.profiles import families
from adapter.core.rules import Pace
from adapter.core.snapshot import Snapshot
from adapter.core.timing import UNKNOWN_SCRAPE_INTERVAL
from adapter.promql.rows import device_rows
from adapter.sources.dated import looks
from adapter.sources.devices import DeviceFeed
from adapter.sources.intervals import REFRESH, STEPS, least_step
from adapter.sources.prometheus import PrometheusServer

FORGET = 3600.0  # seconds; an exporter pod that was replaced leaves its instance behind


class ProfileReader:
    """One GPU feed at one server. pace: as configured; what the server scrapes how often is learnt here."""

    def __init__(
        self, feed: str, server: PrometheusServer, metrics: Sequence[GpuMetric], pace: Pace, clock: Callable[[], float]
    ) -> None:
        self.feed = feed
        self.source = server.name
        self._server = server
        self._pace = pace
        self._clock = clock
        self._families = families(tuple(metric.profile for metric in metrics))
        self._query = device_rows(self._families)
        self._devices = DeviceFeed(feed, server.name, metrics)
        self._scrapes: dict[str, float] = {}
        self._scrapes_at = float("-inf")
        self._stamps: dict[str, tuple[float, ...]] = {}

    async def read(self, pods: PodIndex) -> Snapshot:
        """One query, and every instance's newest scrape. Raises SourceError; what was known stays."""
        await self._learn()
        evaluation = await self._server.evaluate(self._query)
        found = looks(evaluation.samples, self._families, self.source, evaluation.heard, evaluation.lag)
        if not found:
            raise SourceError("empty", "has no GPU series")
        for instance, look in found.items():
            stamps = self._stamps.get(instance, ())
            if not stamps or look.stamp > stamps[-1]:
                self._stamps[instance] = (*stamps[-STEPS:], look.stamp)
            self._devices.take(look, self.pace(instance), pods)
        self._devices.forget(evaluation.heard.sent - FORGET)
        self._stamps = {i: s for i, s in self._stamps.items() if i in found or self._devices.knows(i)}
        self._scrapes = {i: s for i, s in self._scrapes.items() if i in self._stamps}
        return self._devices.snapshot()

    def pace(self, instance: str) -> Pace:
        known = self._scrapes.get(instance) or least_step(self._stamps.get(instance, ()))
        return self._pace.at(known or UNKNOWN_SCRAPE_INTERVAL)

    async def _learn(self) -> None:
        """A server without a targets API (Thanos, Mimir) is no fault: the samples tell then."""
        now = self._clock()
        if now - self._scrapes_at < REFRESH:
            return
        self._scrapes_at = now
        try:
            intervals = await self._server.scrape_intervals()
        except SourceError:
            return
        told: dict[str, float] = {}
        for (_, instance), seconds in intervals.items():
            told[instance] = max(seconds, told.get(instance, 0.0))
        self._scrapes |= told  # a server that just restarted knows nothing, and unlearns nothing for us
