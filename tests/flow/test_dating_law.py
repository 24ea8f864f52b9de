"""The heart of the product: whatever happens, nothing served is older than it is said to be, nor than its limit.

And the other half, without which withholding everything would pass: what is healthy is served at every moment.
"""

from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core.pods import Pod
from adapter.core.points import Point, Reason, Withheld
from adapter.core.rules import Pace
from adapter.core.timing import READ_TIME, Pages
from adapter.demo.exporter import Exporter, Gpu
from adapter.demo.faults import Fault, Spell
from adapter.demo.load import Waves
from tests.flow.dating import ACTIVE, MEMORY, METRICS, OWNER, UTIL, WALL, Event, Glance, Rig, Target, drive, spelled

LONG_AGO = -1e6
FIRST = 1000.0  # seconds, our clock: the first look; memory cannot spell what lies before 0
FAULTS = (
    *(Fault.FREEZE, Fault.FREEZE, Fault.ENERGY_RESET, Fault.TIMESTAMPS, Fault.EMPTY, Fault.LOST_LABELS),
    *(Fault.SERIES_GONE, Fault.NAN, Fault.FALSE_ZERO, Fault.BLANK, Fault.GARBAGE),
)
BUSY = ((0.6,), (0.3, 0.9))
LOADS = (*BUSY, (0.0,), (0.0, 0.5), (0.99, 0.0, 0.02))  # an idle engine shows plain zeros, and only energy moves


def gpu(index: int, load: Waves) -> Gpu:
    return Gpu(index, f"GPU-{index}", load, OWNER, spelled)


@st.composite
def exporters(draw: st.DrawFn, node: str, gpus: tuple[int, ...], span: float) -> Exporter:
    """Of any rhythm, ticker or live, with up to three spells of faults; live ones also collect irregularly."""
    collect = draw(st.floats(1, 60))
    pages: Pages = draw(st.sampled_from(("live", "ticker")))
    levels = draw(st.sampled_from(LOADS))
    load = Waves(levels, draw(st.floats(5, 90)), swing=0.01 if 0.0 not in levels else 0.0)
    faults = (*FAULTS, Fault.PROF_FREEZE) if 0.0 not in levels else FAULTS
    chosen = draw(st.lists(st.sampled_from(faults), max_size=3))
    starts = [draw(st.floats(FIRST, FIRST + span)) for _ in chosen]
    return Exporter(
        node,
        tuple(gpu(index, load) for index in gpus),
        collect,
        phase=draw(st.floats(0, 1)) * collect,
        late=draw(st.sampled_from((0.0, 0.2, 0.9))) * collect if pages == "live" else 0.0,
        pages=pages,
        lag=draw(st.sampled_from((0.0, 0.01, 0.5, 0.99, 1.0))) * collect,
        epoch=WALL + draw(st.floats(-1.9, 1.9)),  # two clocks, kept right by NTP
        spells=tuple(Spell(f, at, at + draw(st.floats(1, span))) for f, at in zip(chosen, starts, strict=True)),
    )


def glances(draw: st.DrawFn, poll: float, count: int) -> list[Glance]:
    """Looks that come early and late, take their time, fail, or stay away for long."""
    began, looks = FIRST + draw(st.floats(0, 1)) * poll, []
    for _ in range(count):
        took = draw(st.sampled_from((0.0, 0.01, 0.5, 5.0)))
        made = began + took * draw(st.sampled_from((0.0, 0.5, 1.0)))
        if draw(st.sampled_from((True, True, True, False))):
            looks.append(Glance(began, made, began + took))
        began += max(poll * draw(st.sampled_from((1.0, 1.0, 1.0, 0.4, 1.7, 12.0))), took + 0.001)
    return looks


class Run(NamedTuple):
    rig: Rig
    events: list[Event]


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """A pod whose GPUs one exporter shows, or two exporters: each some of them, or both the same."""
    places = draw(st.sampled_from((((0,),), ((0, 1),), ((0,), (1,)), ((0,), (0,)), ((0, 1), (1,)))))
    targets, events = [], []
    for number, gpus in enumerate(places):
        poll, count = draw(st.floats(0.5, 20)), draw(st.integers(2, 50))
        exporter = draw(exporters(f"n{number}", gpus, span=1.5 * poll * count))
        configured = exporter.collect * draw(st.sampled_from((1.0, 1.5, 6.0)))
        targets.append(Target(exporter, Pace("dcgm", configured, poll, pages=exporter.pages)))
        events += [Event(glance, number) for glance in glances(draw, poll, count)]
    started = draw(st.sampled_from((LONG_AGO, LONG_AGO, FIRST + 30)))
    held = {index for gpus in places for index in gpus}
    return Run(Rig(Pod(OWNER.namespace, OWNER.pod, gpus=len(held), started=started), targets), events)


@settings(max_examples=300, deadline=None)
@given(run=runs())
def test_nothing_served_is_older_than_it_is_said_to_be_nor_than_its_limit(run: Run) -> None:
    for _ in drive(*run):
        pass  # every moment is held to the law


# --- the other half


class Health(NamedTuple):
    """What a healthy system may do, one kind of irregularity at a time; times as shares of collect and poll.

    late: how much later than due collects come; took: seconds that a look takes; missed: which look fails.
    """

    late: float = 0.0
    took: float = 0.0
    missed: int | None = None


REGULAR = Health()
HEALTHY = [
    pytest.param(REGULAR, id="regular"),
    pytest.param(Health(late=0.2), id="late collects"),
    pytest.param(Health(took=READ_TIME), id="slow looks"),
    pytest.param(Health(missed=13), id="a missed look"),
]


def alone(exporter: Exporter, poll: float) -> Rig:
    """One exporter that is configured rightly, and a pod that has run for long."""
    pod = Pod(OWNER.namespace, OWNER.pod, gpus=len(exporter.gpus), started=LONG_AGO)
    return Rig(pod, [Target(exporter, Pace("dcgm", exporter.collect, poll, pages=exporter.pages))])


def regular(rig: Rig, pauses: list[float], health: Health = REGULAR) -> list[Event]:
    """Looks at most `poll` apart. pauses: as shares of the poll."""
    poll = rig.targets[0].pace.look
    begins = accumulate((pause * poll for pause in pauses), initial=FIRST)
    looks = [Glance(at, at + health.took * (number % 3) / 2, at + health.took) for number, at in enumerate(begins)]
    return [Event(look) for number, look in enumerate(looks) if number != health.missed]


PAUSES = st.lists(st.floats(0.7, 1.0), min_size=30, max_size=60)
COLLECTS, POLLS, SHARES = st.floats(1, 60), st.floats(1, 20), st.floats(0, 1)


@pytest.mark.parametrize("health", HEALTHY)
@pytest.mark.parametrize("pages", ["live", "ticker"])
@settings(max_examples=25, deadline=None)
@given(collect=COLLECTS, poll=POLLS, phase=SHARES, levels=st.sampled_from((*BUSY, (0.0,))), pauses=PAUSES)
def test_healthy_values_are_served_at_every_moment(
    pages: Pages,
    health: Health,
    collect: float,
    poll: float,
    phase: float,
    levels: tuple[float, ...],
    pauses: list[float],
) -> None:
    lateness = health.late * collect if pages == "live" else 0.0
    load = Waves(levels, hold=20.0)
    exporter = Exporter("n", (gpu(0, load),), collect, phase * collect, lateness, pages, 0.99 * collect)
    rig = alone(exporter, poll)
    events = regular(rig, pauses, health)
    settled = FIRST + 2.4 * collect + 3 * poll + 2 * READ_TIME
    for now, decided in drive(rig, events):
        if settled <= now <= events[-1].glance.ended:
            assert [m for m, r in decided.items() if not isinstance(r, Point)] == [], decided
            assert decided.keys() == {metric.name for metric in METRICS}


@settings(max_examples=40, deadline=None)
@given(
    collect=COLLECTS, poll=POLLS, phase=SHARES, levels=st.sampled_from(BUSY), freeze=st.floats(0, 600), pauses=PAUSES
)
def test_frozen_exporter_is_named_so_once_its_last_collect_is_beyond_the_limit(
    collect: float, poll: float, phase: float, levels: tuple[float, ...], freeze: float, pauses: list[float]
) -> None:
    spells = (Spell(Fault.FREEZE, FIRST + freeze),)
    exporter = Exporter("n", (gpu(0, Waves(levels, 20.0)),), collect, phase * collect, spells=spells)
    rig = alone(exporter, poll)
    events = regular(rig, pauses)
    limit = rig.targets[0].pace.budget().limit
    was_served = False
    for now, decided in drive(rig, events):
        was_served |= any(isinstance(reading, Point) for reading in decided.values())
        if now > exporter.collected_at(now) + limit:
            assert all(isinstance(reading, Withheld) for reading in decided.values())
            if was_served and now <= events[-1].glance.ended:
                assert {r.reason for r in decided.values() if isinstance(r, Withheld)} == {Reason.FROZEN}


def test_exporter_that_was_frozen_before_the_first_look_is_never_served() -> None:
    exporter = Exporter("n", (gpu(0, Waves((0.5,))),), spells=(Spell(Fault.FREEZE, FIRST - 1),))
    rig = alone(exporter, poll=1.0)
    for _, decided in drive(rig, regular(rig, [1.0] * 200)):
        assert not any(isinstance(reading, Point) for reading in decided.values())


def test_thawed_exporter_is_served_again() -> None:
    exporter = Exporter("n", (gpu(0, Waves((0.5,))),), spells=(Spell(Fault.FREEZE, FIRST + 20, FIRST + 60),))
    rig = alone(exporter, poll=1.0)
    moments = list(drive(rig, regular(rig, [1.0] * 100)))
    assert all(isinstance(reading, Withheld) for reading in dict(moments)[FIRST + 59.0].values())
    assert all(isinstance(reading, Point) for reading in dict(moments)[FIRST + 70.0].values())


def test_dead_profiling_module_ages_its_own_values_only() -> None:
    exporter = Exporter("n", (gpu(0, Waves((0.5,))),), spells=(Spell(Fault.PROF_FREEZE, FIRST + 20),))
    rig = alone(exporter, poll=1.0)
    decided = dict(drive(rig, regular(rig, [1.0] * 60)))[FIRST + 50.0]
    assert isinstance(decided[ACTIVE], Withheld)
    assert isinstance(decided[UTIL], Point)
    assert isinstance(decided[MEMORY], Point)


@settings(max_examples=30, deadline=None)
@given(collect=COLLECTS, poll=POLLS, phase=SHARES, since=st.floats(0, 300), pauses=PAUSES)
def test_false_zero_is_not_served_once_the_device_was_seen_to_work(
    collect: float, poll: float, phase: float, since: float, pauses: list[float]
) -> None:
    spells = (Spell(Fault.FALSE_ZERO, FIRST + since),)
    exporter = Exporter("n", (gpu(0, Waves((0.7,))),), collect, phase * collect, spells=spells)
    rig = alone(exporter, poll)
    settled = FIRST + 3.2 * collect + 4 * poll  # two collects have been seen
    for now, decided in drive(rig, regular(rig, pauses)):
        utilization = decided[UTIL]
        if now > settled and isinstance(utilization, Point):
            assert utilization.value == 70


@settings(max_examples=40, deadline=None)
@given(collect=COLLECTS, poll=POLLS, phase=SHARES, lag=SHARES, pages=st.sampled_from(("live", "ticker")), pauses=PAUSES)
def test_dated_by_the_look_alone_is_right_while_the_exporter_collects(
    collect: float, poll: float, phase: float, lag: float, pages: Pages, pauses: list[float]
) -> None:
    exporter = Exporter("n", (gpu(0, Waves((0.6,))),), collect, phase * collect, 0.0, pages, lag * collect)
    rig = alone(exporter, poll)
    blind = Rig(rig.pod, [Target(exporter, replace(rig.targets[0].pace, heartbeat=False))])
    events = regular(blind, pauses)
    for now, decided in drive(blind, events):
        assert now > events[-1].glance.ended or all(isinstance(reading, Point) for reading in decided.values())
