"""One PromQL metric of our own configuration at one server: values with the age of their oldest inputs.

What its leaves are scraped at, and which of them are recorded, is learnt from the server and looked at again every
minute; until then the longest is assumed.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from adapter.core import timing
from adapter.core.errors import SourceError, UndatableQuery
from adapter.core.pods import PodIndex
from adapter.core.points import ObjectKey, Point
from adapter.core.snapshot import EXPECTED_FOR, Snapshot
from adapter.promql.plan import Leaf, Plan, plan
from adapter.promql.recorded import RecordingRule, Sources, sources_read
from adapter.settings.groups import Metric
from adapter.sources.dated import QueryRules, readings
from adapter.sources.intervals import REFRESH, RETRY, interval_of
from adapter.sources.kept import SLOWER
from adapter.sources.promapi import Rule
from adapter.sources.prometheus import PrometheusServer
from adapter.sources.recorded import Declared, Followed, Recorded


class Undatable(SourceError):
    """The server's rules say that an age cannot be known."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """What the server told: the plan, each leaf's limit in seconds, and the leaves that a recording rule may write.

    until: when to ask again, seconds on our clock.
    """

    plan: Plan
    limits: tuple[float, ...]
    recorded: Mapping[int, Recorded]
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
        self._asking: asyncio.Task[None] | None = None
        self._wait = RETRY
        self._intervals: dict[str, float] = {}
        self._had: dict[ObjectKey, float] = {}

    async def read(self, pods: PodIndex) -> Snapshot:
        """One evaluation. Raises SourceError; what was known stays."""
        learnt = await self._known()
        looks = asyncio.gather(*(leaf.look(self._server) for leaf in learnt.recorded.values()))
        evaluation, _ = await asyncio.gather(self._server.evaluate(learnt.plan.combined), looks)
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

    async def _known(self) -> Learnt:
        """What was learnt; what is due is asked beside the reads, which would come late behind it."""
        if self._asking is not None and self._asking.done():
            self._asking.result()  # a bug in there is raised here: no task dies unseen
            self._asking = None
        if self._learnt is None:
            self._learnt = await self._ask(None)
        elif self._clock() >= self._learnt.until and self._asking is None:
            self._asking = asyncio.create_task(self._ask_again(self._learnt))
        return self._learnt

    async def _ask_again(self, before: Learnt) -> None:
        """What the server does not tell stays as it was; where it tells that an age cannot be known, nothing stays."""
        try:
            self._learnt = await self._ask(before)
        except Undatable:
            self._learnt = None
        except SourceError:
            self._learnt = replace(before, until=self._clock() + self._backoff())

    def _backoff(self) -> float:
        wait, self._wait = self._wait, min(self._wait * SLOWER, REFRESH)
        return wait

    async def _ask(self, before: Learnt | None) -> Learnt:
        draft = self._plan(self._max_age or timing.query(timing.UNKNOWN_SCRAPE_INTERVAL, self._ttl).limit)
        intervals = await self._scrapes()
        rules = await self._rules(draft, before)
        recorded = self._recorded(draft, rules, before)
        limits = []
        complete = rules is not None
        for index, leaf in enumerate(draft.leaves):
            known = await self._interval(leaf, recorded.get(index), intervals)
            complete = complete and known is not None
            limits.append(self._limit(leaf, known))
        for index, followed in recorded.items():
            if isinstance(followed, Followed):
                followed.remember(limits[index])
        values = [limit for leaf, limit in zip(draft.leaves, limits, strict=True) if leaf.role == "value"]
        if complete:
            self._wait = RETRY
        until = self._clock() + (REFRESH if complete else self._backoff())
        return Learnt(self._plan(max(values)), tuple(limits), MappingProxyType(recorded), until)

    async def _interval(
        self, leaf: Leaf, recorded: Recorded | None, intervals: Mapping[tuple[str, str], float]
    ) -> float | None:
        """Seconds between new values of a leaf; None: not known yet."""
        written = await recorded.learn(self._server, intervals) if recorded else 0.0
        if recorded and leaf.metric:
            return written
        scraped = await interval_of(self._server, leaf.selector, leaf.targets, intervals)  # a pattern may read both
        return None if scraped is None or written is None else max(scraped, written)

    def _limit(self, leaf: Leaf, known: float | None) -> float:
        """A pod's labels hardly change: what only lends them may be three times as old.

        A server that just restarted knows nothing: what it once told must not grow into the longest again.
        """
        unknown = timing.UNKNOWN_SCRAPE_INTERVAL + (self._metric.source_age or 0.0)
        interval = known or self._intervals.get(leaf.selector, unknown)
        self._intervals[leaf.selector] = interval
        auto = timing.query(interval, self._ttl, self._read, self._metric.exporter_refresh).limit
        return 3 * auto if leaf.role == "labels" else self._max_age or auto

    def _plan(self, vanish_window: float) -> Plan:
        return plan(self._metric.query or "", input_labels(self._metric), vanish_window)

    async def _scrapes(self) -> Mapping[tuple[str, str], float]:
        """A server without a targets API (Thanos, Mimir) is no fault: the samples tell then."""
        try:
            return await self._server.scrape_intervals()
        except SourceError:
            return {}

    async def _rules(self, draft: Plan, before: Learnt | None) -> Sequence[Rule] | None:
        """The server's recording rules; None where it does not tell and nothing hangs on it.

        Raises SourceError where something does: a name that a rule may write, or what an earlier list said.
        """
        metric = self._metric
        if metric.raw:
            return ()
        try:
            return await self._server.recording_rules()
        except SourceError as error:
            names = sorted(leaf.metric or leaf.selector for leaf in draft.leaves if leaf.recorded)
            if metric.source_age is not None or not (names or (before and before.recorded)):
                return None
            raise SourceError(
                error.kind,
                f"cannot list its rules ({error}), so the age of {', '.join(names)} is unknown: say `raw: true` if no "
                "rule records it, or `sourceAge` for how old its sources can be",
            ) from None

    def _recorded(self, draft: Plan, rules: Sequence[Rule] | None, before: Learnt | None) -> dict[int, Recorded]:
        """The leaves that a rule may write. Raises Undatable where a rule reads something without an age."""
        if self._metric.source_age is not None:
            return dict(self._declared(draft, rules or (), self._metric.source_age))
        known: dict[str, list[RecordingRule]] = {}
        for rule in rules or ():
            known.setdefault(rule.name, []).append(RecordingRule(rule.name, rule.query, rule.interval))
        found: dict[int, Recorded] = {}
        for index, leaf in enumerate(draft.leaves):
            try:
                sources = sources_read(leaf.may_read, known)
            except UndatableQuery as error:
                raise Undatable("malformed", f"records a series whose sources have no age: {error}") from None
            if sources is not None:
                found[index] = self._followed(before.recorded.get(index) if before else None, sources)
        return found

    def _followed(self, before: Recorded | None, sources: Sources) -> Followed:
        """What is remembered of sources outlives the asking."""
        if isinstance(before, Followed) and before.sources == sources:
            return before
        return Followed(sources, tuple(self._metric.labels.values()), self._read)

    def _declared(self, draft: Plan, rules: Sequence[Rule], age: float) -> Iterator[tuple[int, Declared]]:
        for index, leaf in enumerate(draft.leaves):
            step = max((rule.interval for rule in rules if leaf.may_read(rule.name)), default=None)
            if leaf.recorded or step is not None:
                yield index, Declared(leaf.selector, leaf.targets, age, step)


def input_labels(metric: Metric) -> tuple[str, ...]:
    """The labels by which inputs are told apart: the object's, and the pod's, so that one that left is not missed."""
    named = {"namespace": "namespace", "pod": "pod", **metric.labels}
    return tuple(dict.fromkeys(named.values()))
