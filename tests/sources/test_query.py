"""A query's reader goes on with what it has learnt, and never by a guess that could make something younger."""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from adapter.core.errors import SourceError
from adapter.core.lag import Heard, Lag
from adapter.core.pods import Pod, PodIndex
from adapter.core.points import ObjectKey, Point, Reading
from adapter.promql.rows import NOW, TAG
from adapter.settings.groups import Metric
from adapter.sources.promapi import Rule, Sample, Series
from adapter.sources.prometheus import Evaluation, PrometheusServer
from adapter.sources.query import QueryReader

POD = {"namespace": "ml", "pod": "p-0"}
KEY = ObjectKey("pods", "ml", "p-0")
PODS = PodIndex([Pod("ml", "p-0", started=0.0)])
OFFSET = 1_700_000_000.0
TTL, READ = 3.0, 0.5


@dataclass
class Server(PrometheusServer):
    """Scrapes and runs its rules every 15 s. stale: seconds by which sources are older than that; mute: of what it
    tells nothing; asked: how often for what; sent: every query."""

    rules: Sequence[Rule] = ()
    now: float = 1005.0
    stale: float = 0.0
    mute: frozenset[str] = frozenset()
    asked: Counter[str] = field(default_factory=Counter)
    sent: list[str] = field(default_factory=list)
    name: str = "prom"

    def _tell(self, what: str) -> None:
        self.asked[what] += 1
        if what in self.mute:
            raise SourceError("timeout", "took too long")

    async def evaluate(self, query: str) -> Evaluation:
        self.sent.append(query)
        at = self.now + OFFSET
        ran = at - self.now % 15
        tags = sorted(set(re.findall(r'"([st]\d)"', query)))
        rows = [Sample({**POD, TAG: tag}, ran - self.stale if tag[0] == "s" else ran) for tag in tags]
        value = [Sample(POD, 5.0)] if tags[0][0] == "t" else []
        return Evaluation([*rows, *value, Sample({TAG: NOW}, at)], Heard(self.now, self.now, at, None), Lag())

    async def rows(self, query: str) -> list[Sample]:
        del query  # its targets
        self._tell("rows")
        return [Sample({"job": "j", "instance": "i"}, 1.0)]

    async def raw(self, selector: str) -> list[Series]:
        del selector  # nothing was sampled twice yet
        self._tell("raw")
        return []

    async def scrape_intervals(self) -> dict[tuple[str, str], float]:
        self._tell("targets")
        return {("j", "i"): 15.0}

    async def recording_rules(self) -> list[Rule]:
        self._tell("rules")
        return list(self.rules)


def rule(name: str, query: str = "sum by (namespace, pod) (x)", interval: float = 15.0) -> Rule:
    return Rule(name, query, interval)


def reader(
    server: Server,
    query: str,
    *,
    max_age: float | None = None,
    raw: bool = False,
    source_age: float | None = None,
) -> QueryReader:
    labels = {"namespace": "namespace", "pod": "pod"}
    metric = Metric("m", ("prom",), query=query, labels=labels, raw=raw, source_age=source_age)
    return QueryReader("f", server, metric, max_age=max_age, ttl=TTL, read=READ, clock=lambda: server.now)


async def said(of: QueryReader, server: Server, seconds: float = 0.0) -> Reading:
    """The last of reads every three seconds, for so long."""
    for _ in range(int(seconds // TTL)):
        await of.read(PODS)
        await asyncio.sleep(0)  # what is asked beside the reads
        server.now += TTL
    (reading,) = (await of.read(PODS)).of("m", KEY)
    return reading


async def age(of: QueryReader, server: Server, seconds: float = 0.0) -> float:
    point = await said(of, server, seconds)
    assert isinstance(point, Point)
    return server.now - point.born


STALE = 200.0
BY_RULE = [
    pytest.param("pod:depth:sum", id="a colon"),
    pytest.param("depth", id="no colon"),
    pytest.param('{__name__=~"dep.*"}', id="a pattern"),
    pytest.param('{job="j"}', id="any name"),
]


@pytest.mark.parametrize("query", BY_RULE)
async def test_series_that_a_listed_rule_may_write_is_as_old_as_its_sources(query: str) -> None:
    server = Server(stale=STALE, rules=[rule("pod:depth:sum"), rule("depth")])
    assert await age(reader(server, query), server, 60.0) >= STALE


@pytest.mark.parametrize("what", [{"rules"}, {"targets"}, {"rows"}, {"rules", "targets", "rows", "raw"}])
@pytest.mark.parametrize("query", BY_RULE)
async def test_what_the_server_does_not_tell_again_is_not_unlearnt(query: str, what: set[str]) -> None:
    server = Server(stale=STALE, rules=[rule("pod:depth:sum"), rule("depth")])
    of = reader(server, query)
    await of.read(PODS)
    server.mute = frozenset(what)
    assert await age(of, server, 300.0) >= STALE


async def test_rules_are_asked_for_again_until_they_are_told() -> None:
    server = Server(stale=STALE, rules=[rule("depth")], mute=frozenset({"rules"}))
    of = reader(server, "depth")
    assert await age(of, server, 9.0) < 15.0
    server.mute = frozenset()
    assert await age(of, server, 120.0) >= STALE


@pytest.mark.parametrize("query", ["pod:depth:sum", '{__name__=~"dep.*"}', '{job="j"}'])
async def test_where_rules_cannot_be_read_what_a_rule_may_write_needs_a_word(query: str) -> None:
    server = Server(mute=frozenset({"rules"}))
    with pytest.raises(SourceError, match="say `raw: true`"):
        await reader(server, query).read(PODS)
    assert await age(reader(server, query, raw=True), server) < 15.0
    assert await age(reader(server, query, source_age=30.0), server) >= 30.0


async def test_exact_name_without_a_colon_needs_none() -> None:
    server = Server(mute=frozenset({"rules"}))
    assert await age(reader(server, "depth"), server) < 15.0


async def test_memory_outlives_learning_again() -> None:
    server = Server(rules=[rule("depth")])
    of = reader(server, "depth", max_age=45.0)
    await said(of, server, 45.0)
    ages = [await age(of, server, TTL) for _ in range(100)]
    assert server.asked["rules"] >= 5
    assert max(ages) <= 15.0 + TTL


@pytest.mark.parametrize(
    ("query", "told"), [("sum by (pod) (rate(x[5m]))", [True, False, False]), ("sum by (pod) (x)", [False] * 3)]
)
async def test_what_a_range_still_shows_though_it_is_gone_is_told_at_the_first_look(
    query: str, told: list[bool]
) -> None:
    server = Server(rules=[rule("depth", query)])
    await said(reader(server, "depth"), server, 6.0)
    assert ["max_over_time(timestamp(x)[315s:5250ms])" in sent for sent in server.sent if '"s0"' in sent] == told


async def test_first_read_takes_no_source_for_younger_than_it_is() -> None:
    server = Server(stale=STALE, rules=[rule("depth")])
    assert await age(reader(server, "depth"), server) >= STALE


async def test_rule_that_now_makes_values_up_is_served_no_more() -> None:
    server = Server(rules=[rule("depth")])
    of = reader(server, "depth")
    await said(of, server, 30.0)
    server.rules = [rule("depth", "sum by (namespace, pod) (x) or vector(0)")]
    with pytest.raises(SourceError, match="nothing was measured"):
        await said(of, server, 90.0)


@pytest.mark.parametrize(
    ("rules", "step"), [([rule("depth:x", interval=30.0)], 30.0), ([], 15.0)], ids=["its rule's", "as sampled"]
)
async def test_declared_age_of_sources_is_servable(rules: list[Rule], step: float) -> None:
    server = Server(rules=rules)
    point = await said(reader(server, "depth:x", source_age=180.0), server)
    assert isinstance(point, Point)
    assert point.limit == 2 * (step + 180.0) + 4.0  # whole seconds
    assert 180.0 <= server.now - point.born < point.limit


async def test_losses_are_remembered_for_the_limit_of_what_is_measured() -> None:
    server = Server()
    query = "sum by (namespace, pod) (x * on (namespace, pod) group_left (app) kube_pod_labels)"
    await reader(server, query, max_age=20.0).read(PODS)
    assert set(re.findall(r"\[(\w+)\]", server.sent[-1])) == {"20s"}


async def test_what_stays_unknown_is_asked_for_ever_less_often() -> None:
    server = Server(mute=frozenset({"raw"}))
    server.scrape_intervals = _none  # type: ignore[method-assign]
    of = reader(server, "x")
    await said(of, server, 600.0)
    assert server.asked["raw"] <= 20


async def _none() -> dict[tuple[str, str], float]:
    return {}
