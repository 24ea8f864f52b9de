"""The meeting place: a feed that sleeps is woken by being asked for, briefly waited for, and sleeps again unasked."""

import asyncio

import pytest

from adapter.core.snapshot import Snapshot
from adapter.store import FIRST_READ, UNASKED, Store
from tests import virtual_time
from tests.virtual_time import now

FEED = Snapshot("rule", "prom", taken=1.0)
OTHER = Snapshot("other", "prom", taken=1.0)


def on_demand(*feeds: Snapshot) -> Store:
    store = Store(now)
    for feed in feeds:
        store.on_demand(feed.feed)
    return store


async def asked(store: Store, *feeds: str) -> float:
    """Seconds that the asking took."""
    began = now()
    await store.ask(feeds)
    return now() - began


async def put_after(store: Store, delay: float, snapshot: Snapshot) -> None:
    await asyncio.sleep(delay)
    store.put(snapshot)


@pytest.mark.parametrize(
    ("first_read", "waited"),
    [
        pytest.param(0.0, 0.0, id="there at once"),
        pytest.param(0.4, 0.4, id="as long as the read takes"),
        pytest.param(FIRST_READ + 5, FIRST_READ, id="no longer than FIRST_READ"),
    ],
)
def test_first_request_waits_for_the_first_read(first_read: float, waited: float) -> None:
    async def request() -> float:
        store = on_demand(FEED)
        async with asyncio.TaskGroup() as group:
            group.create_task(put_after(store, first_read, FEED))
            return await asked(store, "rule")

    assert virtual_time.run(request()) == pytest.approx(waited)


def test_request_for_several_sleeping_feeds_waits_for_the_slowest() -> None:
    async def request() -> float:
        store = on_demand(FEED, OTHER)
        async with asyncio.TaskGroup() as group:
            group.create_task(put_after(store, 0.2, FEED))
            group.create_task(put_after(store, 0.9, OTHER))
            return await asked(store, "rule", "other")

    assert virtual_time.run(request()) == pytest.approx(0.9)


def test_failed_first_read_ends_the_waiting_too() -> None:
    async def request() -> float:
        store = on_demand(FEED)
        async with asyncio.TaskGroup() as group:
            group.create_task(put_after(store, 0.3, Snapshot("rule", "prom", trouble="answered 500")))
            return await asked(store, "rule")

    assert virtual_time.run(request()) == pytest.approx(0.3)


def test_only_the_first_request_of_a_sleeping_feed_waits() -> None:
    async def request() -> list[float]:
        store = on_demand(FEED)
        store.put(FEED)
        return [await asked(store, "rule"), await asked(store, "never declared"), await asked(store)]

    assert virtual_time.run(request()) == [0.0, 0.0, 0.0]


def test_requests_that_come_together_share_one_waiting() -> None:
    async def request() -> list[float]:
        store = on_demand(FEED)
        async with asyncio.TaskGroup() as group:
            requests = [group.create_task(asked(store, "rule")) for _ in range(3)]
            group.create_task(put_after(store, 0.5, FEED))
        return [request.result() for request in requests]

    assert virtual_time.run(request()) == pytest.approx([0.5] * 3)


def test_feed_that_is_always_on_is_always_wanted() -> None:
    async def wait() -> float:
        await asyncio.wait_for(Store(now).wanted("dcgm"), 1.0)
        return now()

    assert virtual_time.run(wait()) == virtual_time.START


def test_feed_is_wanted_as_soon_as_it_is_asked_for() -> None:
    async def wait() -> float:
        store = on_demand(FEED)
        async with asyncio.TaskGroup() as group:
            wanted = group.create_task(store.wanted("rule"))
            await asyncio.sleep(7.0)
            assert not wanted.done()
            asking = group.create_task(store.ask(["rule"]))
            await wanted
            woken = now()
            asking.cancel()
        return woken - virtual_time.START

    assert virtual_time.run(wait()) == pytest.approx(7.0)


@pytest.mark.parametrize(
    ("unasked", "sleeps"), [pytest.param(UNASKED, False, id="still wanted"), pytest.param(UNASKED + 1, True, id="not")]
)
def test_feed_sleeps_and_forgets_once_nobody_has_asked_for_long(unasked: float, sleeps: bool) -> None:
    async def wait() -> bool:
        store = on_demand(FEED)
        store.put(FEED)
        await store.ask(["rule"])
        await asyncio.sleep(unasked)
        wanted = asyncio.create_task(store.wanted("rule"))
        await asyncio.sleep(0)
        assert wanted.done() is not sleeps
        assert ("rule" in store.snapshots) is not sleeps
        if sleeps:
            assert await asked(store, "rule") == FIRST_READ  # a memory from before is no first read
            assert wanted.done()
        await wanted
        return True

    assert virtual_time.run(wait())


def test_dropped_feed_says_nothing_and_its_next_first_read_is_waited_for() -> None:
    async def wait() -> float:
        store = on_demand(FEED)
        store.put(FEED)
        store.drop("rule")
        assert "rule" not in store.snapshots
        async with asyncio.TaskGroup() as group:
            group.create_task(put_after(store, 0.6, FEED))
            return await asked(store, "rule")

    assert virtual_time.run(wait()) == pytest.approx(0.6)


def test_latest_snapshot_of_each_feed_is_held() -> None:
    store = Store(lambda: 0.0)
    later = Snapshot("rule", "prom", taken=2.0)
    for snapshot in (FEED, OTHER, later):
        store.put(snapshot)
    assert dict(store.snapshots) == {"rule": later, "other": OTHER}
