"""Where the two lines meet: the latest Snapshot of every feed.

The write line puts, the read line gets; neither calls the other. A feed that sleeps is woken by being asked for, and
the one who woke it may wait for its first read, briefly.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping

from adapter.core.snapshot import Snapshot

FIRST_READ = 2.0  # seconds that the first request for a sleeping feed waits
UNASKED = 300.0  # seconds after which a feed that nobody asks for sleeps again


class Store:
    """Snapshots by feed. All calls on one event loop."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._snapshots: dict[str, Snapshot] = {}
        self._asked: dict[str, float] = {}
        self._woken: dict[str, asyncio.Event] = {}
        self._read: dict[str, asyncio.Event] = {}

    @property
    def snapshots(self) -> Mapping[str, Snapshot]:
        return self._snapshots

    def put(self, snapshot: Snapshot) -> None:
        self._snapshots[snapshot.feed] = snapshot
        if event := self._read.get(snapshot.feed):
            event.set()

    def drop(self, feed: str) -> None:
        """The feed sleeps or is gone: what it knew would only be a memory."""
        self._snapshots.pop(feed, None)
        if feed in self._read:
            self._read[feed].clear()

    def on_demand(self, feed: str) -> None:
        """Declares a feed that is read only while it is asked for."""
        self._woken[feed] = asyncio.Event()
        self._read[feed] = asyncio.Event()

    def is_on_demand(self, feed: str) -> bool:
        return feed in self._woken

    async def ask(self, feeds: Iterable[str]) -> None:
        """Notes that these feeds are wanted; waits for the first read of those that slept, at most FIRST_READ."""
        sleeping = []
        for feed in feeds:
            if feed in self._woken:
                self._asked[feed] = self._clock()
                self._woken[feed].set()
                if feed not in self._snapshots:
                    sleeping.append(self._read[feed].wait())
        if sleeping:
            try:
                async with asyncio.timeout(FIRST_READ):
                    await asyncio.gather(*sleeping)
            except TimeoutError:
                return  # the answer says that it is pending

    async def wanted(self, feed: str) -> None:
        """Returns as soon as somebody wants the feed; at once while it was asked for within UNASKED."""
        if feed not in self._woken or self._clock() - self._asked.get(feed, float("-inf")) <= UNASKED:
            return
        self._woken[feed].clear()
        self.drop(feed)
        await self._woken[feed].wait()
