"""The other half of the dating law, without which withholding everything would pass: what is healthy is served.

And what is not is withheld under its own name, for as long as it lasts and no longer.
"""

from itertools import accumulate
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core.points import Point, Reason, Withheld
from adapter.core.timing import READ_TIME, Pages
from adapter.demo.exporter import Exporter
from adapter.demo.faults import Fault, Spell
from adapter.demo.load import Waves
from tests.flow.dating import ACTIVE, FIRST, MEMORY, METRICS, UTIL, Event, Glance, Rig, alone, drive, gpu

BUSY = ((0.6,), (0.3, 0.9))


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


def test_thawed_exporter_is_served_again() -> None:
    exporter = Exporter("n", (gpu(0, Waves((0.5,))),), spells=(Spell(Fault.FREEZE, FIRST + 20, FIRST + 60),))
    rig = alone(exporter, poll=1.0)
    moments = list(drive(rig, regular(rig, [1.0] * 100)))
    assert all(isinstance(reading, Withheld) for reading in dict(moments)[FIRST + 59.0].values())
    assert all(isinstance(reading, Point) for reading in dict(moments)[FIRST + 70.0].values())


def test_reset_energy_counter_costs_two_collects_and_no_more() -> None:
    exporter = Exporter("n", (gpu(0, Waves((0.5,))),), spells=(Spell(Fault.ENERGY_RESET, FIRST + 50),))
    rig = alone(exporter, poll=1.0)
    moments = dict(drive(rig, regular(rig, [1.0] * 100)))
    assert all(isinstance(reading, Point) for at in (49.0, 57.0, 65.0) for reading in moments[FIRST + at].values())


@pytest.mark.parametrize("frozen", [0, 1])
def test_device_that_two_exporters_show_is_served_while_one_of_them_is_healthy(frozen: int) -> None:
    spells = [(Spell(Fault.FREEZE, FIRST + 20),) if number == frozen else () for number in (0, 1)]
    exporters = [Exporter(f"n{n}", (gpu(0, Waves((0.5,))),), phase=n, spells=spells[n]) for n in (0, 1)]
    rig = alone(exporters[0], poll=1.0)
    rig = Rig(rig.pod, [*rig.targets, *alone(exporters[1], poll=1.0).targets])
    events = [Event(event.glance, number) for event in regular(rig, [1.0] * 100) for number in (0, 1)]
    for now, decided in drive(rig, events):
        if FIRST + 15 <= now <= FIRST + 100:
            assert all(isinstance(reading, Point) for reading in decided.values())


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
    rig = alone(exporter, poll, heartbeat=False)
    events = regular(rig, pauses)
    for now, decided in drive(rig, events):
        assert now > events[-1].glance.ended or all(isinstance(reading, Point) for reading in decided.values())
