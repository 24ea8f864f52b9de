"""The heart of the product: whatever happens, nothing served is older than it is said to be, nor than its limit.

The other half, that what is healthy is served at every moment, is in test_serving_law.
"""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core.pace import Pace
from adapter.core.pods import Pod
from adapter.core.points import Point
from adapter.core.timing import Pages
from adapter.demo.exporter import Exporter
from adapter.demo.faults import Fault, Spell
from adapter.demo.load import Waves
from tests.flow.dating import FIRST, LONG_AGO, OWNER, WALL, Event, Glance, Rig, Target, alone, drive, gpu

FAULTS = (
    *(Fault.FREEZE, Fault.FREEZE, Fault.ENERGY_RESET, Fault.TIMESTAMPS, Fault.EMPTY, Fault.LOST_LABELS),
    *(Fault.SERIES_GONE, Fault.NAN, Fault.FALSE_ZERO, Fault.BLANK, Fault.GARBAGE),
)
# An idle engine shows plain zeros, and only energy moves.
LOADS = ((0.6,), (0.3, 0.9), (0.0,), (0.0, 0.5), (0.99, 0.0, 0.02))


@st.composite
def exporters(draw: st.DrawFn, node: str, gpus: tuple[int, ...], span: float) -> Exporter:
    """Of any rhythm, ticker or live, with up to three spells of faults; live ones also collect irregularly."""
    collect = draw(st.floats(1, 60))
    pages: Pages = draw(st.sampled_from(("live", "ticker")))
    levels = draw(st.sampled_from(LOADS))
    load = Waves(levels, draw(st.floats(5, 90)), swing=0.01 if 0.0 not in levels else 0.0)
    faults = (*FAULTS, Fault.PROF_FREEZE, Fault.PROF_FREEZE) if 0.0 not in levels else FAULTS
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


@settings(max_examples=60, deadline=None)
@given(
    collect=st.floats(1, 60),
    poll=st.floats(1, 20),
    ages=st.lists(st.one_of(st.none(), st.floats(0.001, 120)), min_size=10, max_size=40),
)
def test_page_from_before_the_last_collect_is_not_believed(
    collect: float, poll: float, ages: list[float | None]
) -> None:
    """A proxy's cache gives now and then, never twice in turn, a page made so long before the last collect seen."""
    exporter = Exporter("n", (gpu(0, Waves((0.5,))),), collect)
    looks = [Glance(FIRST, FIRST, FIRST)]
    for number, age in enumerate(ages):
        at, seen = FIRST + (number + 1) * poll, exporter.collected_at(looks[-1].made)
        looks.append(Glance(at, seen - age if age and number % 2 else at, at))
    for _ in drive(alone(exporter, poll), map(Event, looks)):
        pass


def test_exporter_that_was_frozen_before_the_first_look_is_never_served() -> None:
    exporter = Exporter("n", (gpu(0, Waves((0.5,))),), spells=(Spell(Fault.FREEZE, FIRST - 1),))
    looks = [Event(Glance(FIRST + at, FIRST + at, FIRST + at)) for at in range(200)]
    for _, decided in drive(alone(exporter, poll=1.0), looks):
        assert not any(isinstance(reading, Point) for reading in decided.values())
