"""The age of a sample without ever comparing two machines' clocks.

A server stamps samples and says what time it is by the same clock, so their difference is free of skew; the rest is
counted on our own clock from the moment the request was sent. What remains is a server, or a cache before it, that
answers with an old evaluation: each reply bounds the offset between the two clocks, and one that falls below what
earlier replies proved was evaluated that much earlier.
"""

from dataclasses import dataclass
from typing import NamedTuple

DRIFT = 1e-4  # how fast two quartz clocks may part, seconds per second
DATE_STEP = 1.0  # an HTTP Date has whole seconds


class Heard(NamedTuple):
    """One reply. sent, received: our clock; server_time: the query's own time(); date: the HTTP Date, None without one;
    both seconds of Unix time by the server."""

    sent: float
    received: float
    server_time: float
    date: float | None


@dataclass(frozen=True, slots=True)
class ServerClock:
    """What earlier replies proved of the server's time less our clock: it lies between `least` and `most`, seconds.

    at: when that was proved; the bounds drift apart from then on.
    """

    least: float
    most: float
    at: float
    server_time: float
    date_offset: float | None


def hear(clock: ServerClock | None, heard: Heard) -> tuple[ServerClock, float]:
    """What is proved after one more reply, and by how many seconds its evaluation preceded the sending."""
    date_offset = None if heard.date is None else heard.date - heard.received
    least, most = heard.server_time - heard.received, heard.server_time - heard.sent
    fresh = ServerClock(least, most, heard.received, heard.server_time, date_offset)
    if clock is None:
        return fresh, _witnessed(heard)
    drift = DRIFT * (heard.received - clock.at)
    proved, highest = clock.least - drift, clock.most + drift
    if most >= proved:  # it can have been evaluated after the sending
        kept = ServerClock(max(least, proved), min(most, highest), heard.received, heard.server_time, date_offset)
        return kept, _witnessed(heard)
    lag = highest - most
    if lag > 2 * DATE_STEP and _stepped(clock, fresh, lag):
        return fresh, _witnessed(heard)
    kept = ServerClock(proved, highest, heard.received, heard.server_time, date_offset)
    return kept, max(lag, _witnessed(heard))


def _witnessed(heard: Heard) -> float:
    """A lag that was there from the first reply shows only against the HTTP Date; whole seconds hide up to one."""
    floor = 1.0 if heard.server_time == int(heard.server_time) else 0.0
    if heard.date is None or heard.date - heard.server_time < DATE_STEP:
        return floor
    return heard.date - heard.server_time + DATE_STEP


def _stepped(clock: ServerClock, fresh: ServerClock, lag: float) -> bool:
    """The server's clock was set back: its Date went back as far, and the answer is no repetition of an older one."""
    if fresh.server_time == clock.server_time or clock.date_offset is None or fresh.date_offset is None:
        return False
    return abs((clock.date_offset - fresh.date_offset) - lag) <= 2 * DATE_STEP


def born(heard: Heard, lag: float, sample_time: float, refresh: float = 0.0) -> float:
    """When a sample was true, on our clock, never later than the truth.

    refresh: seconds that what was scraped may itself have lagged behind.
    """
    return heard.sent - (heard.server_time - sample_time) - lag - refresh
