"""GPU rows through Prometheus: only what was scraped anew is read, each target by its own (job, instance)."""

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from adapter.core.attribution import GpuMetric
from adapter.core.errors import SourceError
from adapter.core.lag import Heard, Lag
from adapter.core.pace import Pace
from adapter.core.pods import Pod, PodIndex
from adapter.core.points import Point, Reading
from adapter.core.profiles import ENERGY, PROFILES
from adapter.promql.rows import NOW, TAG
from adapter.sources.profile import FORGET, TOGETHER, ProfileReader
from adapter.sources.promapi import Sample, Series
from adapter.sources.prometheus import Evaluation, PrometheusServer
from adapter.sources.scrapes import Target

OFFSET = 1_700_000_000.0  # the server's clock less ours
UTIL = "DCGM_FI_DEV_GPU_UTIL"
METRIC = GpuMetric("util", PROFILES["gpu_utilization"])
PACE = Pace("prom", 30.0, 0.0, ttl=3.0, pages="live", via="prometheus")


class Scrape(NamedTuple):
    """stamp: our clock; energy in mJ."""

    stamp: float
    percent: float
    energy: float


@dataclass
class Server(PrometheusServer):
    """One GPU per target, held by a pod of the same name. step: by how much its clock was set. refuses: query texts."""

    name: str = "prom"
    now: float = 1000.0
    step: float = 0.0
    intervals: dict[Target, float] = field(default_factory=dict)
    scraped: dict[Target, Scrape] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    refuses: str = "nothing"

    async def evaluate(self, query: str) -> Evaluation:
        self.asked.append(query)
        if self.refuses in query:
            raise SourceError("status", "answered 500")
        at = self.now + OFFSET + self.step
        heard = Heard(self.now, self.now + 0.1, at, None)
        return Evaluation([*self._rows(query), Sample({TAG: NOW}, at)], heard, Lag())

    def _rows(self, query: str) -> Iterable[Sample]:
        families = dict(re.findall(r'__name__="(\w+)"[^{}]*\}, "fresh_q", "v(\d+)"', query))
        listed = re.search(r'instance=~"([^"]*)"', query)
        for (job, instance), (stamp, percent, energy) in self.scraped.items():
            if listed and instance not in listed[1].split("|"):
                continue
            target = {"job": job, "instance": instance}
            if not families:
                yield Sample({**target, TAG: "t0"}, stamp + OFFSET)
            labels = {**target, "UUID": f"GPU-{instance}", "namespace": "ml", "pod": instance}
            for name, number in ((UTIL, percent), (ENERGY, energy)):
                if name in families:
                    yield Sample({**labels, TAG: f"v{families[name]}"}, number)
                    yield Sample({**labels, TAG: f"t{families[name]}"}, stamp + OFFSET)

    async def scrape_intervals(self) -> dict[Target, float]:
        return self.intervals

    async def raw(self, selector: str) -> list[Series]:
        del selector
        return []


@dataclass
class Rig:
    server: Server = field(default_factory=Server)

    def __post_init__(self) -> None:
        self.reader = ProfileReader("gpu@prom", self.server, [METRIC], PACE, lambda: self.server.now)
        self.pods = PodIndex([])

    def scrape(self, *targets: Target, percent: float = 50.0, energy: float | None = None) -> None:
        """Every target shows new numbers, 1 s before now. energy: None: it went on."""
        for target in targets:
            shown = Scrape(self.server.now - 1, percent, self.server.now * 1e3 if energy is None else energy)
            self.server.scraped[target] = shown
        self.pods = PodIndex(Pod("ml", name, started=-1e6, gpus=1) for _, name in self.server.scraped)

    def read(self) -> dict[str, Reading]:
        """What is said, by pod. The queries of earlier reads are forgotten."""
        self.server.asked.clear()
        snapshot = asyncio.run(self.reader.read(self.pods))
        return {key.name: said[0] for key, said in snapshot.readings["util"].items()}


def fleet(count: int) -> list[Target]:
    return [("dcgm", f"e-{n:03d}") for n in range(count)]


def test_gpu_is_served_once_its_heartbeat_moved() -> None:
    rig = Rig()
    for _ in range(2):
        rig.scrape(("dcgm", "e"))
        said = rig.read()
        rig.server.now += 15
    assert isinstance(said["e"], Point)
    assert said["e"].born == 999.0  # the last look that showed the heartbeat before


def test_slow_job_at_the_same_instance_lengthens_no_limit() -> None:
    rig = Rig(Server(intervals={("dcgm", "node-1"): 15.0, ("smartctl", "node-1"): 300.0}))
    for _ in range(2):
        rig.scrape(("dcgm", "node-1"))
        said = rig.read()
        rig.server.now += 15
    assert isinstance(said["node-1"], Point)
    assert said["node-1"].limit == 79.0


def test_what_was_not_scraped_since_is_not_read_again() -> None:
    rig = Rig()
    rig.scrape(*fleet(3))
    rig.read()
    assert len(rig.server.asked) == 2
    rig.read()
    assert len(rig.server.asked) == 1


def test_of_a_large_fleet_only_what_was_scraped_since_is_read_some_at_a_time() -> None:
    rig = Rig()
    targets = fleet(3 * TOGETHER)
    rig.scrape(*targets)
    rig.read()
    assert len(rig.server.asked) == 1 + 3
    rig.server.now += 15
    rig.scrape(*targets[:2])
    said = rig.read()
    (_, query) = rig.server.asked
    assert 'instance=~"e-000|e-001"' in query
    assert {pod for pod, reading in said.items() if isinstance(reading, Point)} == {"e-000", "e-001"}
    assert len(said) == len(targets)


def test_read_that_fails_half_way_is_taken_up_where_it_failed() -> None:
    rig = Rig()
    targets = fleet(2 * TOGETHER)
    rig.scrape(*targets)
    rig.server.refuses = targets[-1][1]
    with pytest.raises(SourceError, match="500"):
        rig.read()
    rig.server.refuses = "nothing"
    assert len(rig.read()) == len(targets)
    assert len(rig.server.asked) == 2


def test_server_without_gpu_series_is_no_source() -> None:
    with pytest.raises(SourceError, match="no GPU series"):
        Rig().read()


def test_what_a_server_stored_before_its_clock_was_set_back_is_not_new() -> None:
    """It refuses samples until its clock is where it was, and until then answers old ones as if just scraped."""
    rig = Rig()
    kept = []
    for _ in range(8):
        rig.scrape(("dcgm", "e"), percent=10.0)
        kept.append(rig.server.scraped["dcgm", "e"])
        before = rig.read()
        rig.server.now += 15
    rig.server.step = -90.0
    for _ in range(3):
        visible = [scrape for scrape in kept if scrape.stamp <= rig.server.now + rig.server.step]
        rig.server.scraped["dcgm", "e"] = visible[-1]
        assert rig.read() == before
        rig.server.now += 15


def test_what_is_learnt_of_targets_that_are_gone_is_dropped() -> None:
    rig = Rig()
    for n in range(5):
        rig.server.scraped.clear()
        rig.scrape(*((f"job-{n}", name) for _, name in fleet(10)))
        rig.read()
        rig.server.now += FORGET + 1
    remembered = {name: len(held) for name, held in vars(rig.reader).items() if isinstance(held, dict)}
    assert remembered
    assert max(remembered.values()) <= 10
