"""One PromQL metric of our own configuration at one server: values with the age of their oldest inputs.

What its leaves are scraped at, and which of them are recorded, is learnt from the server and looked at again every
minute; until then the longest is assumed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from adapter.core import timing
from adapter.core.answer import EXPECTED_FOR
from adapter.core.errors import SourceError, UndatableQuery
from adapter.core.pods import PodIndex
from adapter.core.points import ObjectKey, Point
from adapter.core.snapshot import Snapshot
from adapter.promql.plan import Leaf, Plan, plan
from adapter.settings.groups import Metric
from adapter.sources.dated import QueryRules, readings
from adapter.sources.intervals import REFRESH, RETRY, interval_of
from adapter.sources.prometheus import PrometheusServer
from adapter.sources.recorded import RecordedLeaf


@dataclass(frozen=True, slots=True)
class Learnt:
    """What the server told: the plan, each leaf's limit in seconds, and the leaves that a recording rule writes.

    until: when to ask again, seconds on our clock.
    """

    plan: Plan
    limits: tuple[float, ...]
    recorded: Mapping[int, RecordedLeaf]
    until: float


class QueryReader:
    """One metric's feed. max_age: seconds, None for `auto`; ttl, read: seconds between our reads,
    and that a read may take."""

    def __init__(
        self,
        feed: str,
        server: PrometheusServer,
        metric: Metric,
        *,
        max_age: float | None,
        ttl: float,
        read: float,
        clock: Callable[[], float],
    ) -> None:
        self.feed = feed
        self.source = server.name
        self._server = server
        self._metric = metric
        self._max_age = max_age
        self._ttl = ttl
        self._read = read
        self._clock = clock
        self._learnt: Learnt | None = None
        self._intervals: dict[str, float] = {}
        self._had: dict[ObjectKey, float] = {}

    async def read(self, pods: PodIndex) -> Snapshot:
        """One evaluation. Raises SourceError; what was known stays."""
        learnt = await self._learn()
        for leaf in learnt.recorded.values():
            await leaf.look(self._server)
        evaluation = await self._server.evaluate(learnt.plan.combined)
        rules = QueryRules(
            self._metric.name,
            self.source,
            self._metric.labels,
            learnt.limits,
            self._metric.exporter_refresh,
            MappingProxyType({index: leaf.true_at for index, leaf in learnt.recorded.items()}),
        )
        found = readings(learnt.plan, evaluation.samples, rules, evaluation.heard, evaluation.lag, pods)
        now = evaluation.heard.sent
        self._had = {key: at for key, at in self._had.items() if now - at <= EXPECTED_FOR}
        for key, said in found.items():
            if any(isinstance(reading, Point) for reading in said):
                self._had[key] = now
        return Snapshot(
            self.feed,
            self.source,
            now,
            MappingProxyType({self._metric.name: MappingProxyType(found)}),
            MappingProxyType(dict(self._had)),
        )

    async def _learn(self) -> Learnt:
        if self._learnt is None or self._clock() >= self._learnt.until:
            self._learnt = await self._ask()
        return self._learnt

    async def _ask(self) -> Learnt:
        metric = self._metric
        labels = tuple(metric.labels.values())
        draft = self._plan(self._max_age or timing.query(timing.UNKNOWN_SCRAPE_INTERVAL, self._ttl).limit)
        intervals = await self._scrapes()
        recorded = await self._recorded(draft, labels)
        limits = []
        complete = True
        for index, leaf in enumerate(draft.leaves):
            if index in recorded:
                known = await recorded[index].learn(self._server, intervals)
            else:
                known = await interval_of(self._server, leaf.selector, leaf.targets, intervals)
            complete = complete and known is not None
            # A server that just restarted knows nothing: what it once told must not grow into the longest again.
            interval = known or self._intervals.get(leaf.selector, timing.UNKNOWN_SCRAPE_INTERVAL)
            self._intervals[leaf.selector] = interval
            auto = timing.query(interval, self._ttl, self._read, metric.exporter_refresh).limit
            limits.append(self._limit(leaf, auto))
        until = self._clock() + (REFRESH if complete else RETRY)
        return Learnt(self._plan(max(limits)), tuple(limits), MappingProxyType(recorded), until)

    def _limit(self, leaf: Leaf, auto: float) -> float:
        """A pod's labels hardly change: what only lends them may be three times as old."""
        return 3 * auto if leaf.role == "labels" else self._max_age or auto

    def _plan(self, vanish_window: float) -> Plan:
        return plan(self._metric.query or "", input_labels(self._metric), vanish_window)

    async def _scrapes(self) -> Mapping[tuple[str, str], float]:
        """A server without a targets API (Thanos, Mimir) is no fault: the samples tell then."""
        try:
            return await self._server.scrape_intervals()
        except SourceError:
            return {}

    async def _recorded(self, draft: Plan, labels: tuple[str, ...]) -> dict[int, RecordedLeaf]:
        """The leaves whose series a rule writes. Raises SourceError where that is neither known nor configured."""
        metric = self._metric
        if metric.raw:
            return {}
        if metric.source_age is not None:
            aged = {index for index, leaf in enumerate(draft.leaves) if leaf.recorded}
            return {index: RecordedLeaf.declared(metric.source_age) for index in aged}
        try:
            rules = await self._server.recording_rules()
        except SourceError as error:
            names = sorted(leaf.metric for leaf in draft.leaves if leaf.recorded)
            if not names:
                return {}
            raise SourceError(
                error.kind,
                f"cannot list its rules ({error}), so the age of {names[0]} is unknown: say `raw: true` if no rule "
                "records it, or `sourceAge` for how old its sources can be",
            ) from None
        listed = {rule.name for rule in rules}
        found = {index: leaf for index, leaf in enumerate(draft.leaves) if leaf.metric in listed}
        try:
            return {index: RecordedLeaf.listed(leaf.metric, rules, labels, self._read) for index, leaf in found.items()}
        except UndatableQuery as error:
            raise SourceError("malformed", f"records a series whose sources have no age: {error}") from None


def input_labels(metric: Metric) -> tuple[str, ...]:
    """The labels by which inputs are told apart: the object's, and the pod's, so that one that left is not missed."""
    named = {"namespace": "namespace", "pod": "pod", **metric.labels}
    return tuple(dict.fromkeys(named.values()))
