"""The write line's loops: each at its own rhythm, never twice at once, and never silently dead."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.errors import SourceError
from adapter.core.pods import PodIndex
from adapter.core.snapshot import Snapshot
from adapter.poller import WriteLine, every, next_due, phase, poll
from adapter.store import UNASKED, Store
from adapter.telemetry import Telemetry
from tests import virtual_time
from tests.core.build import pod
from tests.virtual_time import START, now

PODS = PodIndex([pod("p-0"), pod("p-1")])


def write_line(store: Store | None = None) -> WriteLine:
    return WriteLine(store or Store(now), Telemetry("test", ()), now, lambda: now() + 1e9, lambda: PODS)


async def for_a_while(work: Callable[[], Awaitable[None]], seconds: float) -> None:
    task = asyncio.ensure_future(work())
    await asyncio.sleep(seconds)
    task.cancel()


@dataclass
class Reads:
    """A feed whose reads take `took` seconds, and their beginnings since START. Every read in `breaks` raises that."""

    took: float = 0.0
    breaks: dict[int, Exception] = field(default_factory=dict)
    feed: str = "rule"
    source: str = "prom"
    began: list[float] = field(default_factory=list)
    running: int = 0

    async def read(self, pods: PodIndex) -> Snapshot:
        assert len(pods) == 2
        assert self.running == 0, "two reads of one feed at once"
        self.running += 1
        self.began.append(now() - START)
        await asyncio.sleep(self.took)
        self.running -= 1
        if error := self.breaks.get(len(self.began)):
            raise error
        return Snapshot(self.feed, self.source, taken=now())


# --- the rhythm


@pytest.mark.parametrize(
    ("now", "due"),
    [
        pytest.param(100.0, 103.0, id="worked at once"),
        pytest.param(102.9, 103.0, id="just in time"),
        pytest.param(103.0, 106.0, id="as the next was due"),
        pytest.param(104.0, 106.0, id="one tick missed"),
        pytest.param(1000.0, 1003.0, id="many ticks missed"),
        pytest.param(99.0, 103.0, id="before its time"),
    ],
)
def test_missed_ticks_are_skipped(now: float, due: float) -> None:
    assert next_due(100.0, 3.0, now) == due


@given(due=st.floats(0, 1e6), interval=st.floats(0.5, 60), late=st.floats(0, 1e4))
def test_next_tick_is_in_the_future_and_on_the_grid(due: float, interval: float, late: float) -> None:
    following = next_due(due, interval, due + late)
    ticks = (following - due) / interval
    assert ticks == pytest.approx(round(ticks), abs=1e-6)
    assert round(ticks) >= 1
    assert following > due + late - 1e-6
    assert following <= due + late + interval + 1e-6


@pytest.mark.parametrize("interval", [1.0, 3.0, 5.0])
def test_phases_of_a_fleet_spread_over_the_interval(interval: float) -> None:
    places = [phase(f"http://10.0.{n // 250}.{n % 250}:9400/metrics", interval) for n in range(1000)]
    assert all(0 <= place < interval for place in places)
    tenths = Counter(int(10 * place / interval) for place in places)
    assert min(tenths[tenth] for tenth in range(10)) > 60
    assert max(tenths.values()) < 140


def test_phase_of_a_target_never_changes() -> None:
    assert phase("http://10.0.0.1:9400/metrics", 3.0) == phase("http://10.0.0.1:9400/metrics", 3.0)
    assert phase("a", 6.0) == 2 * phase("a", 3.0)


@pytest.mark.parametrize(
    ("took", "began"),
    [
        pytest.param(0.0, [2, 5, 8, 11, 14], id="quick"),
        pytest.param(2.5, [2, 5, 8, 11, 14], id="slow but in time"),
        pytest.param(4.0, [2, 8, 14], id="slower than the interval: every second tick"),
        pytest.param(7.0, [2, 11], id="slower still"),
    ],
)
def test_slow_work_is_not_overlapped_and_keeps_its_grid(took: float, began: list[float]) -> None:
    async def main() -> list[float]:
        reads = Reads(took)

        async def work() -> None:
            await reads.read(PODS)

        await for_a_while(lambda: every(3.0, START + 2.0, now, work), 16.5)
        return reads.began

    assert virtual_time.run(main()) == pytest.approx(began)


# --- feeds that are read as a whole


def test_feed_is_read_for_ever_whatever_its_source_does() -> None:
    reads = Reads(breaks={2: SourceError("connect", "cannot be reached"), 3: SourceError("timeout", "no answer")})

    async def main() -> tuple[Snapshot, bytes]:
        line = write_line()
        await for_a_while(lambda: poll(reads, 3.0, line), 15.0)
        return line.store.snapshots["rule"], line.telemetry.render()

    snapshot, told = virtual_time.run(main())
    assert len(reads.began) == 5
    assert snapshot.trouble == ""
    for outcome, count in {"ok": 3, "connect": 1, "timeout": 1}.items():
        assert f'fresh_metrics_adapter_looks_total{{outcome="{outcome}",source="prom"}} {count}.0'.encode() in told


def test_feed_on_demand_is_read_while_it_is_asked_for() -> None:
    reads = Reads()

    async def main() -> float:
        line = write_line()
        line.store.on_demand("rule")
        polling = asyncio.create_task(poll(reads, 3.0, line))
        await asyncio.sleep(50)
        assert reads.began == []
        began = now()
        await line.store.ask(["rule"])
        waited = now() - began
        await asyncio.sleep(UNASKED + 100)
        polling.cancel()
        return waited

    assert virtual_time.run(main()) == 0.0  # a feed that is asked for is read at once
    assert reads.began[0] == pytest.approx(50)
    assert reads.began[-1] == pytest.approx(50 + UNASKED, abs=3.0)
    assert len(reads.began) == pytest.approx(UNASKED / 3, abs=2)


def test_feed_that_is_asked_for_right_after_our_start_is_read_at_once() -> None:
    """Its rhythm may wait for its phase, the one who asks may not."""
    name = max((f"rule-{n}" for n in range(50)), key=lambda name: phase(name, 5.0))
    reads = Reads(feed=name)

    async def main() -> float:
        line = write_line()
        line.store.on_demand(name)
        polling = asyncio.create_task(poll(reads, 5.0, line))
        await asyncio.sleep(0)
        await line.store.ask([name])
        polling.cancel()
        return now() - START

    assert virtual_time.run(main()) < 0.1


def test_anything_but_a_source_error_ends_the_whole_group() -> None:
    async def main() -> None:
        line = write_line()
        async with asyncio.TaskGroup() as group:
            group.create_task(poll(Reads(feed="well"), 3.0, line))
            group.create_task(poll(Reads(feed="ill", breaks={2: KeyError("a bug")}), 3.0, line))

    with pytest.raises(ExceptionGroup) as died:
        virtual_time.run(main())
    assert died.group_contains(KeyError, match="a bug")
