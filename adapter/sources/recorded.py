"""A recorded series is as old as what its rule read, not as the sample that the rule wrote.

The rule's sources are looked at before every read of the rule's series and remembered; what they were when the rule ran
dates its sample. What was not yet remembered then is assumed to have been at the end of its own limit.
"""

from collections import deque
from collections.abc import Mapping, Sequence

from adapter.core import timing
from adapter.core.points import Labels
from adapter.promql.recorded import RecordingRule, Sources, sources_of
from adapter.promql.rows import NOW, TAG
from adapter.sources.intervals import interval_of
from adapter.sources.promapi import Rule
from adapter.sources.prometheus import PrometheusServer

REMEMBERED = 600.0  # seconds; longer than any rule interval that a limit could allow


class RecordedLeaf:
    """One recorded series. assumed: seconds that its sources are older than its sample where no memory tells."""

    def __init__(self, sources: Sources | None, labels: Sequence[str], read: float, assumed: float) -> None:
        self._sources = sources
        self._labels = tuple(labels)
        self._read = read
        self._assumed = assumed
        self._memory: deque[tuple[float, dict[Labels, float]]] = deque()

    @classmethod
    def declared(cls, source_age: float) -> "RecordedLeaf":
        """The configuration says how old the sources can be."""
        return cls(None, (), 0.0, source_age)

    @classmethod
    def listed(cls, name: str, rules: Sequence[Rule], labels: Sequence[str], read: float) -> "RecordedLeaf":
        """The server lists the rule. Raises UndatableQuery where it reads something without an age."""
        known: dict[str, list[RecordingRule]] = {}
        for rule in rules:
            known.setdefault(rule.name, []).append(RecordingRule(rule.name, rule.query, rule.interval))
        return cls(sources_of(name, known), labels, read, timing.UNKNOWN_SCRAPE_INTERVAL)

    async def learn(self, server: PrometheusServer, intervals: Mapping[tuple[str, str], float]) -> float | None:
        """Seconds between new values: the rule's interval and its slowest source's; None: not known yet.

        Raises SourceError.
        """
        if self._sources is None:
            return None
        scrapes = [
            await interval_of(server, selector, f"group by (job, instance) ({selector})", intervals)
            for selector in self._sources.selectors
        ]
        known = [scrape for scrape in scrapes if scrape is not None]
        if len(known) < len(scrapes):
            return None
        slowest = max(known)
        self._assumed = self._sources.interval + timing.query(slowest, 0.0, self._read).limit
        return self._sources.interval + slowest

    async def look(self, server: PrometheusServer) -> None:
        """Remembers how old the sources are now, by the server's clock. Raises SourceError."""
        if self._sources is None:
            return
        by = ", ".join(self._labels)
        rows = [f"min by ({by}) (timestamp({selector}))" for selector in self._sources.selectors]
        tagged = [f'label_replace({row}, "{TAG}", "s{i}", "", "")' for i, row in enumerate(rows)]
        tagged.append(f'label_replace(vector(time()), "{TAG}", "{NOW}", "", "")')
        evaluation = await server.evaluate(" or ".join(tagged))
        seen: dict[Labels, float] = {}
        for sample in evaluation.samples:
            if sample.labels.get(TAG) != NOW:
                labels = tuple(sorted((k, v) for k, v in sample.labels.items() if k != TAG))
                seen[labels] = min(sample.value, seen.get(labels, float("inf")))
        at = evaluation.heard.server_time
        self._memory.append((at, seen))
        while self._memory and at - self._memory[0][0] > REMEMBERED:
            self._memory.popleft()

    def true_at(self, row: Labels, written: float) -> float:
        """When the sources of a sample that the rule wrote at `written` were true, by the server's clock.

        row: the object's labels. Sources that lack some of them count for every object; where none can be told to be
        the object's, the oldest of all is.
        """
        seen = next((seen for at, seen in reversed(self._memory) if at <= written), None)
        if not seen:
            return written - self._assumed
        own = set(row)
        return min([at for labels, at in seen.items() if set(labels) <= own] or seen.values())
