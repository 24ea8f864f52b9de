"""How often a target is scraped: by the targets API, else the least step of one series, never of several mixed."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from adapter.core.errors import SourceError
from adapter.sources.intervals import REFRESH, RELEARN, SOON, TOGETHER, Intervals, least_step, least_steps
from adapter.sources.promapi import Series
from adapter.sources.prometheus import PrometheusServer
from adapter.sources.scrapes import Target

E: Target = ("dcgm", "e:1")


@dataclass
class Server(PrometheusServer):
    """api: what the targets API tells, None without one. series: what a range selector finds."""

    api: Mapping[Target, float] | None = None
    series: list[Series] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    asked_api: int = 0
    now: float = 1000.0

    async def scrape_intervals(self) -> dict[Target, float]:
        self.asked_api += 1
        if self.api is None:
            raise SourceError("status", "answered 404 to /api/v1/targets")
        return dict(self.api)

    async def raw(self, selector: str) -> list[Series]:
        self.asked.append(selector)
        return self.series


def made(server: Server) -> Intervals:
    return Intervals(server, lambda: server.now)


def learn(intervals: Intervals, *targets: Target) -> None:
    asyncio.run(intervals.learn(dict.fromkeys(targets, "UTIL")))


def of(target: Target, *times: float, **labels: str) -> Series:
    return Series({"job": target[0], "instance": target[1], **labels}, times)


def test_step_is_the_shortest_of_the_last_ten() -> None:
    assert least_step([0, 1, *range(16, 170, 15)]) == 15
    assert least_step([0, 15, 45]) == 15
    assert least_step([7]) is None


def test_samples_of_replicas_do_not_mix() -> None:
    """Two Prometheis scrape one exporter, 0.4 s apart: no step is as short."""
    series = [of(E, 0, 15, 30, replica="a"), of(E, 0.4, 15.4, 30.4, replica="b")]
    assert least_steps(series) == {E: pytest.approx(15)}


def test_another_job_at_the_same_instance_has_its_own_interval() -> None:
    server = Server(api={("dcgm", "node-1"): 15.0, ("smartctl", "node-1"): 300.0})
    intervals = made(server)
    learn(intervals)
    assert (intervals.of(("dcgm", "node-1")), intervals.of(("smartctl", "node-1"))) == (15.0, 300.0)
    assert intervals.of(("", "node-1")) is None


@pytest.mark.parametrize("api", [pytest.param(None, id="no API"), pytest.param({("other", "x"): 5.0}, id="unlisted")])
def test_samples_tell_where_the_api_does_not(api: Mapping[Target, float] | None) -> None:
    server = Server(api=api, series=[of(E, 0, 15, 30)])
    intervals = made(server)
    assert intervals.of(E) is None
    learn(intervals, E)
    assert intervals.of(E) == 15.0
    assert server.asked == ['{__name__=~"UTIL",job=~"dcgm",instance=~"e:1"}[15m]']


def test_server_that_just_restarted_unlearns_nothing() -> None:
    server = Server(api={E: 15.0})
    intervals = made(server)
    learn(intervals, E)
    server.api, server.now = {}, server.now + REFRESH
    learn(intervals, E)
    assert intervals.of(E) == 15.0


def test_what_is_not_known_is_asked_again_soon_and_what_is_known_seldom() -> None:
    server = Server(series=[])
    intervals = made(server)
    for step in (0.0, SOON / 2, SOON / 2):
        server.now += step
        learn(intervals, E)
    assert len(server.asked) == 2
    server.series = [of(E, 0, 15)]
    server.now += SOON
    learn(intervals, E)
    server.now += RELEARN - 1
    learn(intervals, E)
    assert len(server.asked) == 3
    server.now += 1
    learn(intervals, E)
    assert len(server.asked) == 4


def test_few_targets_are_asked_for_at_a_time_and_each_has_its_turn() -> None:
    targets = [("dcgm", f"e-{n:03d}") for n in range(3 * TOGETHER)]
    server = Server(series=[of(target, 0, 15) for target in targets])
    intervals = made(server)
    for turn in (1, 2, 3):
        learn(intervals, *targets)
        assert sum(intervals.of(target) == 15 for target in targets) == turn * TOGETHER
    assert len(server.asked) == 3


def test_what_is_gone_is_forgotten() -> None:
    server = Server(series=[of(E, 0, 15)])
    intervals = made(server)
    learn(intervals, E)
    server.series = []
    learn(intervals)
    assert intervals.of(E) is None
    server.api, server.now = {E: 15.0}, server.now + REFRESH
    learn(intervals)
    server.api, server.now = {}, server.now + REFRESH
    learn(intervals)
    assert intervals.of(E) is None
