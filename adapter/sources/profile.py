"""GPU rows that a Prometheus scraped, ungrouped, with the time of each scrape.

They go the same way as pages: a frozen exporter or a false zero shows here too, because Prometheus keeps the siblings.
What was scraped since the last read is asked for first, and only that is read, some targets at a time: all rows of a
target come from one evaluation, and no answer grows with the fleet.

A server's clock that is set back begins no history anew. Its storage refuses samples until the clock is where it was,
and answers what it stored an hour ago as if it were new; that a look is not newer is all that tells.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from adapter.core.attribution import GpuMetric
from adapter.core.errors import SourceError
from adapter.core.pace import Pace
from adapter.core.pods import PodIndex
from adapter.core.profiles import families
from adapter.core.snapshot import Snapshot
from adapter.core.timing import UNKNOWN_SCRAPE_INTERVAL
from adapter.promql.rows import device_rows, device_rows_at, newest_rows
from adapter.sources.devices import DeviceFeed
from adapter.sources.intervals import Intervals
from adapter.sources.prometheus import PrometheusServer
from adapter.sources.scrapes import Target, looks, name_of, newest

FORGET = 3600.0  # seconds; an exporter pod that was replaced leaves its instance behind
TOGETHER = 32  # targets in one answer: 2 MB for 8 whole GPUs each


class ProfileReader:
    """One GPU feed at one server. pace: as configured; what the server scrapes how often is learnt here."""

    def __init__(
        self, feed: str, server: PrometheusServer, metrics: Sequence[GpuMetric], pace: Pace, clock: Callable[[], float]
    ) -> None:
        self.feed = feed
        self.source = server.name
        self._server = server
        self._pace = pace
        self._families = families(tuple(metric.profile for metric in metrics))
        self._newest = newest_rows(self._families)
        self._devices = DeviceFeed(feed, server.name, metrics)
        self._intervals = Intervals(server, clock)
        self._stamps: dict[Target, float] = {}
        self._shown: dict[Target, str] = {}

    async def read(self, pods: PodIndex) -> Snapshot:
        """Every target's newest scrape. Raises SourceError; what was known stays, and so does what was read by then."""
        evaluation = await self._server.evaluate(self._newest)
        found = newest(evaluation.samples)
        if not found:
            raise SourceError("empty", "has no GPU series")
        await self._intervals.learn(self._shown)
        for query in self._queries(found):
            await self._take(query, pods)
        await self._intervals.learn(self._shown)  # again, so that the second look at a target knows its pace
        self._devices.forget(evaluation.heard.sent - FORGET, pods)
        self._stamps = {t: s for t, s in self._stamps.items() if t in found or self._devices.knows(name_of(t))}
        self._shown = {t: family for t, family in self._shown.items() if t in self._stamps}
        return self._devices.snapshot()

    def pace(self, target: Target) -> Pace:
        return self._pace.at(self._intervals.of(target) or UNKNOWN_SCRAPE_INTERVAL)

    def _queries(self, found: dict[Target, float]) -> Iterable[str]:
        """For the rows of those targets that were scraped since they were last read."""
        moved = sorted(t for t, stamp in found.items() if stamp > self._stamps.get(t, float("-inf")))
        if moved and len(found) <= TOGETHER:
            return [device_rows(self._families)]
        parts = (moved[i : i + TOGETHER] for i in range(0, len(moved), TOGETHER))
        return [device_rows_at(part, self._families) for part in parts]

    async def _take(self, query: str, pods: PodIndex) -> None:
        samples, heard, lag = await self._server.evaluate(query)
        await asyncio.sleep(0)
        for target, look in looks(samples, self._families, self.source, heard, lag).items():
            self._stamps[target] = max(look.stamp, self._stamps.get(target, look.stamp))
            self._shown[target] = look.rows[0].name
            self._devices.take(look, self.pace(target), pods)
            await asyncio.sleep(0)  # answers must not wait for a whole fleet
