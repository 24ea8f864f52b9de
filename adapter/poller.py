"""The write line's loops: look, take, put; each target and feed at its own rhythm, none waiting for another.

A pass never raises for what a source does: a failed look is told, counted and shows as age. Anything else that escapes
ends the process, since a write line that died unseen would serve ageing values until they are gone and never say why.
"""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from adapter.core.errors import SourceError
from adapter.core.pace import Pace
from adapter.core.pods import PodIndex
from adapter.core.points import Reason
from adapter.core.snapshot import Snapshot
from adapter.logs import event
from adapter.sources.dcgm import Exporter
from adapter.sources.devices import DeviceFeed
from adapter.store import Store
from adapter.telemetry import Telemetry

log = logging.getLogger("adapter.poller")

QUIET = 60.0  # seconds between lines about one feed whose trouble only changes its words
PUBLISH = 0.05  # seconds; looks that end together become one snapshot


class Reader(Protocol):
    """A feed that is read as a whole: one read, one Snapshot. Raises SourceError; what it knew stays."""

    feed: str
    source: str

    async def read(self, pods: PodIndex) -> Snapshot: ...


class Troubles:
    """Logs what is wrong with a feed when it begins, when it ends, and in between at most once a minute."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[str, float]] = {}

    def tell(self, snapshot: Snapshot, now: float) -> None:
        trouble = snapshot.trouble
        said, at = self._told.get(snapshot.feed, ("", float("-inf")))
        if trouble == said or (trouble and said and now - at < QUIET):
            return
        self._told[snapshot.feed] = trouble, now
        if trouble:
            event(log, logging.WARNING, "source_trouble", feed=snapshot.feed, source=snapshot.source, why=trouble)
        else:
            event(log, logging.INFO, "source_well", feed=snapshot.feed, source=snapshot.source)


@dataclass(frozen=True, slots=True)
class WriteLine:
    """What every loop needs. now: our clock; wall: the wall clock; seconds."""

    store: Store
    telemetry: Telemetry
    now: Callable[[], float]
    wall: Callable[[], float]
    pods: Callable[[], PodIndex]
    troubles: Troubles = field(default_factory=Troubles)

    def put(self, snapshot: Snapshot) -> None:
        """The write line's last step: into the store, and its trouble into the log."""
        self.store.put(snapshot)
        self.troubles.tell(snapshot, self.now())


def phase(name: str, interval: float) -> float:
    """A target's fixed place in the interval, so that a fleet is not looked at all at once."""
    digest = hashlib.blake2b(name.encode(), digest_size=4).digest()
    return int.from_bytes(digest) / 2**32 * interval


def next_due(due: float, interval: float, now: float) -> float:
    """The next tick of a rhythm after the one at `due`; ticks that have passed meanwhile are skipped."""
    missed = max(0.0, (now - due) // interval)
    return due + (missed + 1) * interval


async def every(interval: float, first: float, now: Callable[[], float], work: Callable[[], Awaitable[None]]) -> None:
    """Runs `work` at first, first + interval, … for ever, never twice at once."""
    due = first
    while True:
        await asyncio.sleep(max(0.0, due - now()))
        await work()
        due = next_due(due, interval, now())


class PagePoller:
    """Reads exporters' pages into one device feed."""

    def __init__(self, feed: DeviceFeed, line: WriteLine) -> None:
        self._feed = feed
        self._line = line
        self._dirty = asyncio.Event()

    async def look(self, exporter: Exporter, pace: Pace) -> None:
        """One look at one exporter, and what becomes of it."""
        line = self._line
        began = line.now()
        try:
            look = await exporter.look(line.now, line.wall)
        except SourceError as error:
            self._feed.fail(exporter.url, str(error))
            line.telemetry.look(pace.source, error.kind, line.now() - began)
        else:
            self._feed.take(look, pace, line.pods())
            line.telemetry.look(pace.source, "ok", line.now() - began)
            if exporter.skipped:
                line.telemetry.skipped(pace.source, exporter.skipped)
        self._dirty.set()

    async def watch(self, exporter: Exporter, pace: Pace) -> None:
        """Looks at one exporter for ever."""
        first = self._line.now() + phase(exporter.url, pace.look)
        await every(pace.look, first, self._line.now, lambda: self.look(exporter, pace))

    async def publish(self) -> None:
        """Puts the union of all looks into the store whenever some have ended."""
        while True:
            snapshot = self._feed.snapshot()
            self._line.put(snapshot)
            failing = self._feed.failing
            self._line.telemetry.targets(snapshot.source, self._feed.known - failing, failing)
            await self._dirty.wait()
            await asyncio.sleep(PUBLISH)
            self._dirty.clear()


async def read(reader: Reader, line: WriteLine) -> None:
    """One read of one feed; a failed one keeps what was known, and says why."""
    began = line.now()
    try:
        snapshot = await reader.read(line.pods())
    except SourceError as error:
        known = line.store.snapshots.get(reader.feed, Snapshot(reader.feed, reader.source))
        reason = Reason.SOURCE_PARTIAL if error.kind == "partial" else Reason.SOURCE_ERROR
        line.put(replace(known, trouble=str(error), reason=reason))
        line.telemetry.look(reader.source, error.kind, line.now() - began)
    else:
        line.put(snapshot)
        line.telemetry.look(reader.source, "ok", line.now() - began)


async def poll(reader: Reader, interval: float, line: WriteLine) -> None:
    """Reads one feed for ever; one that is on demand, from when it is wanted and while it is."""

    async def work() -> None:
        await line.store.wanted(reader.feed)
        await read(reader, line)

    wait = 0.0 if line.store.is_on_demand(reader.feed) else phase(reader.feed, interval)
    await every(interval, line.now() + wait, line.now, work)
