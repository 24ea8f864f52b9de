"""Exporters' pages are looked at each at its own rhythm, and no look costs another target anything."""

import asyncio
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import aiohttp
import pytest

from adapter.core.errors import SourceError
from adapter.core.pace import Pace
from adapter.core.pods import PodIndex
from adapter.core.points import Device, Point
from adapter.core.samples import Look
from adapter.core.snapshot import Snapshot
from adapter.poller import PUBLISH, PagePoller, WriteLine
from adapter.settings.groups import Dcgm
from adapter.sources import dcgm
from adapter.sources.connection import session
from adapter.sources.devices import DeviceFeed
from adapter.sources.exposition import compile_wanted
from adapter.store import Store
from adapter.telemetry import Telemetry
from tests import virtual_time
from tests.core.build import gpu_metric, key, pod, rows
from tests.virtual_time import START, now

PODS = PodIndex([pod("p-0"), pod("p-1")])
METRIC = gpu_metric()


def write_line(store: Store | None = None) -> WriteLine:
    return WriteLine(store or Store(now), Telemetry("test", ()), now, lambda: now() + 1e9, lambda: PODS)


class Page(dcgm.Exporter):
    """An exporter whose looks take `took` seconds and show one pod's GPU at work; `ills`: which look fails, and how."""

    def __init__(self, name: str, http: aiohttp.ClientSession, took: float = 0.0) -> None:
        super().__init__("dcgm", f"http://{name}/metrics", Dcgm(), compile_wanted(()), http)
        self.name, self.took = name, took
        self.ills: dict[int, Exception] = {}
        self.began: list[float] = []
        self.running = 0

    async def look(self, clock: Callable[[], float], wall: Callable[[], float]) -> Look:
        assert self.running == 0, "two looks at one exporter at once"
        began = clock()
        self.began.append(began - START)
        self.running += 1
        await asyncio.sleep(self.took)
        self.running -= 1
        if error := self.ills.get(len(self.began)):
            raise error
        shown = rows(Device(f"GPU-{self.name}"), self.name, util=40, energy=1000 * began)
        return Look("dcgm", self.url, began, began, wall(), shown)


PACE = Pace("dcgm", 5.0, 1.0, pages="live")


def test_hung_exporter_delays_no_other() -> None:
    async def main() -> tuple[list[float], list[float]]:
        async with session() as http:
            poller = PagePoller(DeviceFeed("dcgm", "dcgm", [METRIC]), write_line())
            well, hung = Page("p-0", http), Page("p-1", http, took=5.0)
            watching = [asyncio.create_task(poller.watch(page, PACE)) for page in (well, hung)]
            await asyncio.sleep(30.0)
            for task in watching:
                task.cancel()
            return well.began, hung.began

    well, hung = virtual_time.run(main())
    assert len(well) == 30
    assert [b - a for a, b in pairwise(well)] == pytest.approx([1.0] * 29)
    assert [b - a for a, b in pairwise(hung)] == pytest.approx([6.0] * (len(hung) - 1))


def test_first_looks_of_a_fleet_are_not_all_at_once() -> None:
    async def main() -> list[float]:
        async with session() as http:
            poller = PagePoller(DeviceFeed("dcgm", "dcgm", [METRIC]), write_line())
            pages = [Page(f"node-{n}", http) for n in range(40)]
            watching = [asyncio.create_task(poller.watch(page, PACE)) for page in pages]
            await asyncio.sleep(0.999)
            for task in watching:
                task.cancel()
            return [began for page in pages for began in page.began]

    began = virtual_time.run(main())
    assert len(began) == 40
    assert max(Counter(int(10 * at) for at in began).values()) <= 10


def test_looks_that_end_together_become_one_snapshot() -> None:
    class Counting(Store):
        puts = 0

        def put(self, snapshot: Snapshot) -> None:
            self.puts += 1
            super().put(snapshot)

    async def main() -> list[int]:
        async with session() as http:
            store = Counting(now)
            poller = PagePoller(DeviceFeed("dcgm", "dcgm", [METRIC]), write_line(store))
            publishing = asyncio.create_task(poller.publish())
            await asyncio.sleep(1.0)
            puts = [store.puts]
            for page in (Page("p-0", http), Page("p-1", http)):
                await poller.look(page, PACE)
            for pause in (PUBLISH + 0.01, 1.0):
                await asyncio.sleep(pause)
                puts.append(store.puts)
            publishing.cancel()
            return puts

    assert virtual_time.run(main()) == [1, 2, 2]


def test_failed_looks_are_told_counted_and_change_no_reading() -> None:
    async def main() -> tuple[Snapshot, Snapshot, Snapshot, bytes]:
        async with session() as http:
            line, feed = write_line(), DeviceFeed("dcgm", "dcgm", [METRIC])
            poller, page = PagePoller(feed, line), Page("p-0", http)
            page.ills = {3: SourceError("timeout", "no complete answer within 5 s")}
            snapshots = []
            for _ in range(4):
                await asyncio.sleep(1.0)
                await poller.look(page, PACE)
                snapshots.append(feed.snapshot())
            publishing = asyncio.create_task(poller.publish())
            await asyncio.sleep(1.0)
            publishing.cancel()
            return snapshots[1], snapshots[2], snapshots[3], line.telemetry.render()

    before, failed, after, told = virtual_time.run(main())
    (reading,) = before.of(METRIC.name, key("p-0"))
    assert isinstance(reading, Point)
    assert failed.readings == before.readings
    assert "no complete answer within 5 s" in failed.trouble
    assert after.trouble == ""
    assert b'looks_total{outcome="ok",source="dcgm"} 3.0' in told
    assert b'looks_total{outcome="timeout",source="dcgm"} 1.0' in told
    assert b'targets{source="dcgm",state="up"} 1.0' in told


def test_exporter_that_breaks_our_code_ends_the_whole_group() -> None:
    async def main() -> None:
        async with session() as http:
            poller = PagePoller(DeviceFeed("dcgm", "dcgm", [METRIC]), write_line())
            pages = [Page("p-0", http), Page("p-1", http)]
            pages[1].ills = {2: ZeroDivisionError("a bug")}
            async with asyncio.TaskGroup() as group:
                for page in pages:
                    group.create_task(poller.watch(page, PACE))
                group.create_task(poller.publish())

    with pytest.raises(ExceptionGroup) as died:
        virtual_time.run(main())
    assert died.group_contains(ZeroDivisionError)
