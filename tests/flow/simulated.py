"""Sources in virtual time, irregular as healthy ones are: exporters that we look at, and a Prometheus that scrapes.

A clock that is set, and samples that are refused then, behave as a real server's (its storage takes no sample that is
not newer than the series' last).
"""

import asyncio
import math
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, TypeVar

from adapter.core.errors import SourceError
from adapter.core.lag import Heard, hear
from adapter.core.profiles import PROFILES, families
from adapter.core.samples import Look, Row
from adapter.demo import exporter as demo
from adapter.poller import every
from adapter.promql.rows import NOW, TAG
from adapter.sources import dcgm
from adapter.sources.exposition import compile_wanted, scan
from adapter.sources.promapi import Rule, Sample, Series
from adapter.sources.prometheus import Evaluation, PrometheusServer
from tests.virtual_time import now

FAMILIES = families(tuple(PROFILES.values()))
_TAGGED = re.compile(rf'__name__="(\w+)"\}}, "{TAG}", "v(\d+)"')
_WANTED = compile_wanted(FAMILIES)
OFFSET = 1_700_000_000.25  # a server's clock less ours
LOOKBACK = 300.0  # seconds for which a Prometheus answers a series' last sample
JOB = "gpus"

T = TypeVar("T")


def tagged_families(query: str) -> Mapping[str, str]:
    """The numbers that a query for device rows gives to its families; empty for any other query."""
    return dict(_TAGGED.findall(query))


def page_rows(exporter: demo.Exporter, t: float) -> tuple[Row, ...]:
    return scan(exporter.page(t), _WANTED, {}).rows


@dataclass(frozen=True)
class Jitter:
    """late: by how much later than due looks begin, at most; took: how long a read takes, at most. Seconds."""

    random: Random
    late: float = 0.3
    took: float = 0.5

    async def wait(self) -> None:
        await asyncio.sleep(self.random.uniform(0, self.late))

    async def read(self, made: Callable[[], T]) -> T:
        """What is made at some moment of the read, once all of it has come."""
        took = self.random.uniform(0, self.took)
        before = self.random.uniform(0, took)
        await asyncio.sleep(before)
        content = made()
        await asyncio.sleep(took - before)
        return content


class Page(dcgm.Exporter):
    """A simulated exporter's page, as we look at it. until: then it cannot be reached any more."""

    def __init__(self, exporter: demo.Exporter, jitter: Jitter, until: float = math.inf) -> None:
        self.url = exporter.node
        self.skipped = 0
        self._exporter = exporter
        self._jitter = jitter
        self._until = until

    async def look(self, clock: Callable[[], float], wall: Callable[[], float]) -> Look:
        await self._jitter.wait()
        began, began_wall = clock(), wall()
        if began > self._until:
            raise SourceError("connect", "cannot be reached")
        shown = await self._jitter.read(lambda: page_rows(self._exporter, now()))
        return Look("dcgm", self.url, began, began, began_wall, shown)


class Scrape(NamedTuple):
    """stamp: its start by the server's clock."""

    stamp: float
    rows: tuple[Row, ...]


@dataclass
class SimulatedPrometheus(PrometheusServer):
    """targets: by instance, what each shows at the time it is asked. interval: seconds between scrapes.

    lists_targets: whether it has a targets API. until: then scrapes come through no more, and it does not notice.
    set_at, set_by: when its clock is set, and by how many seconds.
    """

    targets: Mapping[str, Callable[[float], Iterable[Row]]]
    interval: float
    jitter: Jitter
    lists_targets: bool = True
    until: float = math.inf
    set_at: float = math.inf
    set_by: float = 0.0
    name: str = "prom"
    scraped: dict[str, list[Scrape]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._server = None

    def time(self) -> float:
        return now() + OFFSET + (self.set_by if now() >= self.set_at else 0.0)

    def loops(self) -> list[Coroutine[object, object, None]]:
        first = [now() + self.jitter.random.uniform(0, self.interval) for _ in self.targets]
        return [
            every(self.interval, at, now, lambda instance=instance: self._scrape(instance))  # type: ignore[misc]
            for at, instance in zip(first, self.targets, strict=True)
        ]

    async def _scrape(self, instance: str) -> None:
        await self.jitter.wait()
        stamp = self.time()
        shown = await self.jitter.read(lambda: tuple(self.targets[instance](now())))
        kept = self.scraped.setdefault(instance, [])
        if now() < self.until and (not kept or stamp > kept[-1].stamp):
            kept.append(Scrape(stamp, shown))

    async def evaluate(self, query: str) -> Evaluation:
        await self.jitter.wait()
        sent = now()
        families = tagged_families(query)
        at, samples = await self.jitter.read(lambda: (self.time(), list(self._answer(families))))
        heard = Heard(sent, now(), at, float(math.floor(at)))
        self._server, lag = hear(self._server, heard)
        return Evaluation([*samples, Sample({TAG: NOW}, at)], heard, lag)

    def _answer(self, families: Mapping[str, str]) -> Iterable[Sample]:
        at = self.time()
        for instance, kept in self.scraped.items():
            newest = next((scrape for scrape in reversed(kept) if scrape.stamp <= at), None)
            if newest is None or at - newest.stamp > LOOKBACK:
                continue
            for row in newest.rows:
                labels = {**row.labels, "job": JOB, "instance": instance}
                index = families.get(row.name)
                if not families:
                    yield Sample(labels, row.value)
                    yield Sample({**labels, TAG: "t0"}, newest.stamp)
                elif index is not None:
                    yield Sample({**labels, TAG: f"v{index}"}, row.value)
                    yield Sample({**labels, TAG: f"t{index}"}, newest.stamp)

    async def rows(self, query: str) -> list[Sample]:
        del query  # which targets, or one series of them
        return [Sample({"job": JOB, "instance": instance}, 1.0) for instance in self.scraped]

    async def raw(self, selector: str) -> list[Series]:
        asked = [instance for instance in self.scraped if instance in selector]
        return [
            Series({"job": JOB, "instance": instance}, tuple(scrape.stamp for scrape in self.scraped[instance]))
            for instance in asked
        ]

    async def scrape_intervals(self) -> dict[tuple[str, str], float]:
        if not self.lists_targets:
            raise SourceError("status", "answered 404 to /api/v1/targets")
        return {(JOB, instance): self.interval for instance in self.targets}

    async def recording_rules(self) -> list[Rule]:
        return []
