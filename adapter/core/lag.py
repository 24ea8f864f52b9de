"""The age of a sample without ever comparing two machines' clocks.

A server stamps samples and says what time it is by the same clock, so their difference is free of skew; the rest is
counted on our own clock from the moment the request was sent. Every request carries a number that its answer must
repeat, so no answer was evaluated before it was asked for. What is left is a server that evaluates in the past on
purpose, and one whose clock is set back: the samples that it stamped before then look younger than they are.
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


class Lag(NamedTuple):
    """By how much samples are older than the server's clock says; seconds.

    always: of every sample. set_back: of those stamped up to `until`, the latest that the server's clock can have shown
    before it was set back.
    """

    always: float = 0.0
    set_back: float = 0.0
    until: float = float("-inf")

    def of(self, sample_time: float) -> float:
        return self.always + (self.set_back if sample_time <= self.until else 0.0)


@dataclass(frozen=True, slots=True)
class ServerClock:
    """What earlier replies proved of the server's time less our clock: it lies between `least` and `most`, seconds.

    at: when that was proved; the bounds drift apart from then on.
    once: what `most` was before it was set back, the highest of all; until: see Lag.
    """

    least: float
    most: float
    at: float
    once: float = float("-inf")
    until: float = float("-inf")


def hear(clock: ServerClock | None, heard: Heard) -> tuple[ServerClock, Lag]:
    """What is proved after one more reply, and how its samples lag."""
    least, most = heard.server_time - heard.received, heard.server_time - heard.sent
    if clock is None:
        return ServerClock(least, most, heard.received), Lag(_past(heard))
    drift = DRIFT * (heard.received - clock.at)
    proved, highest, once, until = clock.least - drift, clock.most + drift, clock.once + drift, clock.until
    if most < proved:  # evaluated after the sending, and yet earlier than possible: its clock was set back
        once, until = max(once, highest), heard.received + max(once, highest)
    elif least <= highest:  # else it was set forward, and samples look older than they are
        least, most = max(least, proved), min(most, highest)
    set_back = max(0.0, once - (heard.server_time - heard.sent))
    return ServerClock(least, most, heard.received, once, until), Lag(_past(heard), set_back, until)


def _past(heard: Heard) -> float:
    """A server that evaluates in the past shows it against its own Date; one that floors its time hides up to a second.

    The way here and back can account for a later Date, and is counted already.
    """
    floored = 1.0 if heard.server_time == int(heard.server_time) else 0.0
    if heard.date is None:
        return floored
    ahead = heard.date - heard.server_time
    return ahead + DATE_STEP if ahead - (heard.received - heard.sent) >= DATE_STEP else floored


def born(heard: Heard, lag: Lag, sample_time: float, refresh: float = 0.0) -> float:
    """When a sample was true, on our clock, never later than the truth.

    refresh: seconds that what was scraped may itself have lagged behind.
    """
    return heard.sent - (heard.server_time - sample_time) - lag.of(sample_time) - refresh
