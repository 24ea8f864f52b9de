"""What is learnt of a server is learnt again every minute, and nothing that is served shows it.

Ten minutes in virtual time under explicit limits just above the worst healthy age, where any hiccup would show.
"""

import asyncio
import math
from dataclasses import dataclass, field
from random import Random

import pytest

from adapter.core.freshness import decide
from adapter.core.points import ObjectKey, Point
from adapter.core.samples import Row
from adapter.poller import WriteLine, every, read
from adapter.settings.groups import Metric
from adapter.sources.query import QueryReader
from adapter.store import Store
from adapter.telemetry import Telemetry
from tests import virtual_time
from tests.flow.ageing import NAMESPACE, pods
from tests.flow.simulated import Jitter
from tests.flow.simulated_rules import RECORDED, TOLD, RecordingPrometheus
from tests.virtual_time import START, now

NAMES = ["p-0", "p-1", "p-2"]
SCRAPE, RULE, TTL, READ = 15.0, 15.0, 3.0, 0.5
LATE = 1.5  # seconds: a scrape or a rule begins late, a read begins late and takes up to 0.5 s
PLAIN_LIMIT = SCRAPE + READ + TTL + LATE
RECORDED_LIMIT = RULE + SCRAPE + READ + 2 * TTL + LATE  # what a rule read is known by looks a TTL apart
MINUTES = 600.0


@dataclass
class Seen:
    """Seconds on our clock. first: all are served; gaps: one is not, later; last: one is."""

    first: float = math.inf
    gaps: list[float] = field(default_factory=list)
    last: float = -math.inf
    limit: float = 0.0


def simulate(metric: Metric, seed: int, *, silent: float = math.inf, until: float = math.inf) -> Seen:
    """silent: from when on the server tells nothing of its rules and targets; until: when it scrapes last."""

    async def main() -> Seen:
        targets = {name: lambda t, name=name: (Row(TOLD, {"namespace": NAMESPACE, "pod": name}, t),) for name in NAMES}
        jitter = Jitter(Random(seed))  # noqa: S311 - irregular, not secret
        server = RecordingPrometheus(targets, SCRAPE, jitter, until=until, rule_interval=RULE, silent=silent)
        reader = QueryReader("feed", server, metric, max_age=metric.max_age, ttl=TTL, read=READ, clock=now)
        index = pods(NAMES)
        line = WriteLine(Store(now), Telemetry("test", ()), now, now, lambda: index)
        loops = [*server.loops(), every(TTL, now() + 1.0, now, lambda: read(reader, line))]
        tasks = [asyncio.ensure_future(loop) for loop in loops]
        seen = Seen()
        while now() < START + MINUTES:
            await asyncio.sleep(0.25)
            watch(line, metric, seen)
        for task in tasks:
            task.cancel()
        return seen

    return virtual_time.run(main())


def watch(line: WriteLine, metric: Metric, seen: Seen) -> None:
    snapshot = line.store.snapshots.get("feed")
    said = [snapshot.of(metric.name, ObjectKey("pods", NAMESPACE, name)) for name in NAMES] if snapshot else []
    served = [point for (reading,) in filter(None, said) if isinstance(point := decide(reading, now()), Point)]
    for point in served:
        assert point.born <= point.value + 0.001, "said to be younger than it is"
        seen.last, seen.limit = now(), point.limit
    if len(served) == len(NAMES):
        seen.first = min(seen.first, now())
    elif seen.first < now():
        seen.gaps.append(now())


def metric(query: str, max_age: float | None, source_age: float | None = None) -> Metric:
    labels = {"namespace": "namespace", "pod": "pod"}
    return Metric(TOLD, ("prom",), query=query, labels=labels, max_age=max_age, source_age=source_age)


QUERIES = [
    pytest.param(metric(TOLD, PLAIN_LIMIT), id="plain"),
    pytest.param(metric(RECORDED, RECORDED_LIMIT), id="recorded"),
    pytest.param(metric(f'{{__name__=~"{RECORDED}|nothing"}}', RECORDED_LIMIT), id="recorded, by a pattern"),
    pytest.param(metric(RECORDED, None), id="recorded, auto"),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("metric", QUERIES)
def test_healthy_is_served_without_a_gap(metric: Metric, seed: int) -> None:
    seen = simulate(metric, seed)
    assert seen.first < START + 60.0
    assert seen.gaps == []


@pytest.mark.parametrize("metric", QUERIES)
def test_server_that_tells_nothing_more_of_itself_is_read_as_before(metric: Metric) -> None:
    assert simulate(metric, 0, silent=START + 100.0).gaps == []


@pytest.mark.parametrize("metric", QUERIES)
@pytest.mark.parametrize("silent", [math.inf, START + 100.0], ids=["tells", "is silent"])
def test_sources_that_stopped_are_stale_within_the_limit_however_the_rule_goes_on(
    metric: Metric, silent: float
) -> None:
    stopped = START + 200.0
    seen = simulate(metric, 0, silent=silent, until=stopped)
    assert stopped < seen.last <= stopped + seen.limit + 1.0


def test_what_sources_are_declared_to_hide_is_served() -> None:
    seen = simulate(metric(RECORDED, None, source_age=180.0), 0)
    assert seen.first < START + 60.0
    assert seen.gaps == []
    assert seen.limit == 2 * (RULE + 180.0) + 3.5 + 0.5  # whole seconds
