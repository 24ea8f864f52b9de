"""One way of reading, whole, in virtual time: simulated sources, our write line over them, and what answers show.

Values spell when they were true, and every quarter of a second everything is asked for, as requests ask.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from adapter.core.answer import Catalog, Items, answer
from adapter.core.ask import Ask
from adapter.core.gpu import Owner
from adapter.core.pace import Pace
from adapter.core.points import Point, Reason
from adapter.core.samples import Row
from adapter.core.selectors import EVERYTHING
from adapter.core.timing import Pages
from adapter.demo.exporter import BOARD_MIB, Exporter, Gpu
from adapter.demo.faults import Fault, Spell
from adapter.demo.load import Waves
from adapter.feeds import DCGM, catalog, feed_of, gpu_metrics
from adapter.poller import PagePoller, Reader, WriteLine, poll
from adapter.settings import cache_ttl, page_pace
from adapter.settings.groups import Dcgm, Metric, Settings, StaticTarget
from adapter.sources.devices import DeviceFeed
from adapter.sources.profile import ProfileReader
from adapter.sources.query import QueryReader
from adapter.store import Store
from adapter.telemetry import Telemetry
from tests import virtual_time
from tests.flow.ageing import NAMESPACE, pods
from tests.flow.simulated import Jitter, Page, SimulatedPrometheus, page_rows
from tests.virtual_time import START, now

NAMES = ["p-0", "p-1", "p-2"]  # each a pod on an exporter of its own
MEMORY, UTIL, TOLD = "memory", "utilization", "told"
MINUTES = 600.0  # seconds that everything is watched
EVERY = 0.25
SPAN = 2000.0  # seconds that memory can spell
ROUNDING = 0.02  # seconds: memory is shown in whole MiB


def spelled(t: float) -> float:
    """The share of the board's memory in use that says: measured at `t`."""
    return t / SPAN


def read_off(used: float) -> float:
    """When these bytes were measured."""
    return used / (1 << 20) / BOARD_MIB * SPAN


@dataclass(frozen=True)
class Case:
    """One way of reading; seconds.

    limit: as DESIGN's table has it. collect: what the exporters do; configured: what our file says of it.
    scrape: None for pages that we read ourselves. pages: as the exporters are, and as they are configured.
    """

    limit: float
    collect: float = 30.0
    configured: float = 30.0
    scrape: float | None = None
    pages: Pages = "live"
    query: bool = False
    lists_targets: bool = True

    @property
    def metrics(self) -> tuple[Metric, ...]:
        sources = (DCGM,) if self.scrape is None else ("prom",)
        if self.query:
            labels = {"namespace": "namespace", "pod": "pod"}
            return (Metric(TOLD, sources, query="max by (namespace, pod) (told)", labels=labels),)
        return (
            Metric(MEMORY, sources, series="gpu_memory_used_bytes"),
            Metric(UTIL, sources, series="gpu_utilization"),
        )

    @property
    def settings(self) -> Settings:
        static = tuple(StaticTarget(name) for name in NAMES)
        dcgm = Dcgm(self.configured, pages=self.pages, static=static)
        return Settings(dcgm=dcgm, metrics=self.metrics)


@dataclass
class Seen:
    """What was served. first: when everything was for the first time; gaps: when, after that, something was not."""

    first: float = math.inf
    gaps: list[float] = field(default_factory=list)
    last: float = -math.inf
    limits: list[float] = field(default_factory=list)
    reasons: set[Reason] = field(default_factory=set)


class Faults(NamedTuple):
    """When exporters freeze, when nothing of them arrives any more, and when Prometheus' clock is set, by how much."""

    freeze: float = math.inf
    silence: float = math.inf
    set_at: float = math.inf
    set_by: float = 0.0


WELL = Faults()


@dataclass
class Site:
    """Exporters of one case, our write line over them, and what its answers showed."""

    case: Case
    jitter: Jitter
    faults: Faults
    seen: Seen = field(default_factory=Seen)

    def __post_init__(self) -> None:
        index = pods(NAMES)
        self.line = WriteLine(Store(now), Telemetry("test", ()), now, now, lambda: index)
        self.catalog: Catalog = catalog(self.case.settings)
        self.exporters = [self._exporter(name) for name in NAMES]
        self.server = SimulatedPrometheus(self._targets(), self.case.scrape or 1.0, self.jitter)
        self.server.lists_targets = self.case.lists_targets
        self.server.until = self.faults.silence
        self.server.set_at, self.server.set_by = self.faults.set_at, self.faults.set_by

    def _exporter(self, name: str) -> Exporter:
        collect = self.case.collect
        load = Waves((0.92, 0.9, 0.08), 24.0, swing=0.02)
        gpu = Gpu(0, f"GPU-{name}", load, Owner(NAMESPACE, name), spelled)
        late = 0.1 * collect if self.case.pages == "live" else 0.0
        phase = self.jitter.random.uniform(0, collect)
        freeze = Spell(Fault.FREEZE, self.faults.freeze)
        return Exporter(name, (gpu,), collect, phase, late, self.case.pages, 0.9 * collect, spells=(freeze,))

    def _targets(self) -> dict[str, Callable[[float], Iterable[Row]]]:
        if self.case.query:
            return {name: lambda t, name=name: _told(name, t) for name in NAMES}  # type: ignore[misc]
        return {e.node: lambda t, e=e: page_rows(e, t) for e in self.exporters}  # type: ignore[misc]

    def loops(self) -> list[Coroutine[object, object, None]]:
        case, settings = self.case, self.case.settings
        if case.scrape is None:
            poller = PagePoller(DeviceFeed(DCGM, DCGM, gpu_metrics(settings, DCGM)), self.line)
            paced = [(Page(e, self.jitter, self.faults.silence), self._page_pace(e.node)) for e in self.exporters]
            return [poller.publish(), *(poller.watch(page, pace) for page, pace in paced)]
        interval = settings.sync_period if case.query else case.configured
        ttl = cache_ttl(settings, interval)
        reader = self._query_reader(ttl) if case.query else self._profile_reader(ttl)
        return [*self.server.loops(), poll(reader, ttl, self.line)]

    def _page_pace(self, node: str) -> Pace:
        return page_pace(self.case.settings, StaticTarget(node))

    def _profile_reader(self, ttl: float) -> Reader:
        case = self.case
        feed = feed_of(case.metrics[0], "prom")
        pace = Pace("prom", case.configured, 0.0, ttl=ttl, pages=case.pages, via="prometheus")
        return ProfileReader(feed, self.server, gpu_metrics(case.settings, "prom"), pace, now)

    def _query_reader(self, ttl: float) -> Reader:
        (metric,) = self.case.metrics
        feed = feed_of(metric, "prom")
        return QueryReader(feed, self.server, metric, max_age=None, ttl=ttl, read=0.5, clock=now)

    async def watch(self, until: float) -> None:
        while now() < until:
            await asyncio.sleep(EVERY)
            if sum(self._look(metric) for _, metric in self.catalog) == len(self.catalog) * len(NAMES):
                self.seen.first = min(self.seen.first, now())
            elif self.seen.first < now():
                self.seen.gaps.append(now())

    def _look(self, metric: str) -> int:
        """How many values are served, each held to its age and its limit."""
        ask = Ask("pods", NAMESPACE, "*", metric, EVERYTHING, EVERYTHING)
        given = answer(ask, self.catalog, self.line.store.snapshots, self.line.pods(), now())
        items = given.items if isinstance(given, Items) else ()
        for item in items:
            self._hold(metric, item.point)
        self.seen.reasons = {withheld.reason for _, withheld in given.withheld}
        return len(items)

    def _hold(self, metric: str, point: Point) -> None:
        self.seen.last = now()
        self.seen.limits.append(point.limit)
        if metric == UTIL:
            return
        true = point.value if metric == TOLD else read_off(point.value)
        assert now() - true <= now() - point.born + ROUNDING, "said to be younger than it is"
        assert now() - true <= point.limit + ROUNDING, "served beyond its limit"


def _told(name: str, t: float) -> Iterable[Row]:
    """A page that says when it was made."""
    return (Row(TOLD, {"namespace": NAMESPACE, "pod": name}, t),)


def simulate(case: Case, seed: int, faults: Faults = WELL, seconds: float = MINUTES) -> Seen:
    """What is seen of a case from START on. seed: every phase and every irregularity follows from it."""

    async def main() -> Seen:
        site = Site(case, Jitter(Random(seed)), faults)  # noqa: S311 - irregular, not secret
        tasks = [asyncio.ensure_future(loop) for loop in site.loops()]
        await site.watch(START + seconds)
        for task in tasks:
            task.cancel()
        return site.seen

    return virtual_time.run(main())
