"""A recorded series is as old as what its rule read, not as the sample that the rule wrote.

The rule's sources are looked at with every read of the rule's series and remembered; what they were when the rule ran
dates its sample. What was not yet remembered then is assumed to have been at the end of its own limit.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from adapter.core import timing
from adapter.core.points import Labels
from adapter.promql.recorded import Sources
from adapter.promql.rows import SOURCE, TAG, source_times
from adapter.sources.intervals import interval_of
from adapter.sources.promapi import Sample
from adapter.sources.prometheus import PrometheusServer
from adapter.sources.remembered import Memory

Intervals = Mapping[tuple[str, str], float]


class Recorded(Protocol):
    """One leaf whose series a rule writes."""

    async def learn(self, server: PrometheusServer, intervals: Intervals) -> float | None:
        """Seconds between new values, the age of what they are made of included; None: not known yet.

        Raises SourceError.
        """

    async def look(self, server: PrometheusServer) -> None:
        """Remembers how old the sources are now. Raises SourceError."""

    def true_at(self, row: Labels, written: float) -> float:
        """When the sources of a sample that the rule wrote at `written` were true, both by the server's clock.

        row: the object's labels.
        """


class Declared:
    """The configuration says how old the sources can be. step: seconds between the rule's samples, None: unknown."""

    def __init__(self, selector: str, targets: str, source_age: float, step: float | None) -> None:
        self._selector = selector
        self._targets = targets
        self._source_age = source_age
        self._step = step

    async def learn(self, server: PrometheusServer, intervals: Intervals) -> float | None:
        step = self._step
        if step is None:
            step = await interval_of(server, self._selector, self._targets, intervals)
        return None if step is None else step + self._source_age

    async def look(self, server: PrometheusServer) -> None:
        del server  # nothing that we can see dates it

    def true_at(self, row: Labels, written: float) -> float:
        del row
        return written - self._source_age


class Followed:
    """The server lists the rules, which lead to the sources. labels: the object's; read: seconds of a read."""

    def __init__(self, sources: Sources, labels: Sequence[str], read: float) -> None:
        self.sources = sources
        self._labels = tuple(labels)
        self._read = read
        self._assumed = 0.0
        self._memory = Memory(0.0, 0.0)
        self._assume(timing.UNKNOWN_SCRAPE_INTERVAL)

    async def learn(self, server: PrometheusServer, intervals: Intervals) -> float | None:
        scrapes = [
            await interval_of(server, selector, f"group by (job, instance) ({selector})", intervals)
            for selector in self.sources.selectors
        ]
        known = [scrape for scrape in scrapes if scrape is not None]
        if len(known) < len(scrapes):
            return None
        self._assume(max(known))
        return self.sources.interval + max(known)

    def _assume(self, scrape: float) -> None:
        self._assumed = self.sources.interval + timing.query(scrape, 0.0, self._read).limit
        self.remember(self._assumed)

    def remember(self, limit: float) -> None:
        """A sample is served for `limit` seconds, and was written up to a rule's interval after its sources' time."""
        self._memory.keep = max(self.sources.interval + limit, self._assumed)
        self._memory.lost = self._memory.keep + self.sources.window

    async def look(self, server: PrometheusServer) -> None:
        selectors = self.sources.selectors
        # What vanished before we first looked may still be in what the rule reads over a range.
        first = self._memory.empty and self.sources.window > 0
        gone = self.sources.window + self.sources.interval if first else 0.0
        evaluation = await server.evaluate(source_times(selectors, self._labels, gone))
        found: list[dict[Labels, float]] = [{} for _ in selectors]
        tags = {f"{SOURCE}{index}": index for index in range(len(selectors))}
        for sample in evaluation.samples:
            index = tags.get(sample.labels.get(TAG, ""))
            if index is not None:
                found[index][_labels(sample)] = sample.value if math.isfinite(sample.value) else -math.inf
        self._memory.take(evaluation.heard.server_time, found)

    def true_at(self, row: Labels, written: float) -> float:
        """Of every source the series that say nothing else than the row; where none does, its oldest."""
        at = self._memory.true_at(row, written)
        if at is not None:
            return at
        later = self._memory.earliest(row)
        return min(written - self._assumed, math.inf if later is None else later)


def _labels(sample: Sample) -> Labels:
    return tuple(sorted((key, value) for key, value in sample.labels.items() if key != TAG))
