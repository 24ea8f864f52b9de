"""How a target is looked at, and from that, how old its healthy readings can be."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from adapter.core import timing


@dataclass(frozen=True, slots=True)
class Pace:
    """How a target of a source is looked at; seconds.

    collect: the exporter's collect interval as configured; look: between our looks (poll, or scrape interval).
    ttl: between our reads of a Prometheus, 0 for pages that we read ourselves.
    heartbeat False: dated by the look and the collect interval alone, unable to see a freeze.
    """

    source: str
    collect: float
    look: float
    read: float = timing.READ_TIME
    ttl: float = 0.0
    pages: timing.Pages = "ticker"
    heartbeat: bool = True
    via: Literal["page", "prometheus"] = "page"

    def at(self, look: float) -> "Pace":
        return replace(self, look=look)

    def budget(self, learnt: float | None = None) -> timing.Budget:
        """learnt: the collect interval as watched; it may shorten the configured one, never lengthen it."""
        collect = self.collect if learnt is None else min(self.collect, learnt)
        if self.via == "page":
            return timing.direct(collect, self.look, self.read, self.behind)
        return timing.profile(collect, self.look, self.read, self.ttl, self.behind)

    def limit(self, learnt: float | None = None) -> float:
        """The budget's `auto` limit, seconds."""
        return _limit(self, learnt)

    @property
    def behind(self) -> float:
        """Seconds by which a page's values may be older than its heartbeat tells: a ticker's page is a collect late.

        As configured: what was learnt is an average, and tells nothing of a page built while the interval was longer.
        """
        return self.collect if self.pages == "ticker" else 0.0

    @property
    def patience(self) -> float:
        """Seconds after a look for which its target counts as still answering."""
        return 2 * self.look + self.read + self.ttl


@lru_cache(maxsize=4096)  # asked for each device at each look
def _limit(pace: Pace, learnt: float | None) -> float:
    return pace.budget(learnt).limit
