"""The heart of the product: whatever happens, no served value is older than it is said to be, nor than its limit.

The simulated exporter knows when each value was measured, and writes it into the value: memory in use is the time of the
collect. So what is served tells its own true age, and no assumption of the code under test is needed to find it. The pure
chain is driven as the write line drives it: page → rows → devices → heartbeat → attribution → reduction → decision.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core.attribution import GpuMetric, Part, attribute
from adapter.core.freshness import decide
from adapter.core.gpu import Owner, devices
from adapter.core.heartbeat import History, follow
from adapter.core.pods import Pod, PodIndex
from adapter.core.points import Point, Reading
from adapter.core.profiles import PROFILES
from adapter.core.reduce import pod_readings
from adapter.core.rules import Pace
from adapter.core.samples import Look, Row
from adapter.core.timing import CONTAINER_SETTLES, Pages
from adapter.demo.exporter import BOARD_MIB, Exporter, Gpu
from adapter.demo.faults import Fault, Spell
from adapter.demo.load import Waves

METRICS = tuple(GpuMetric(name, profile) for name, profile in PROFILES.items())
MEMORY, UTIL, ENGINE = "gpu_memory_used_bytes", "gpu_utilization", "gpu_engine_active"
LONG_AGO = -1e6
SPAN = 4000.0  # seconds that memory can spell; one MiB is 50 ms
TICK = SPAN / BOARD_MIB
ROUNDING = 1e-6  # seconds by which sums of floats may differ
OWNER = Owner("ml", "p-0")
EDGES = (-1e-3, 1e-3)  # seconds before and after a point expires


def spelled(t: float) -> float:
    """The share of memory in use that says: measured at `t`."""
    return t / SPAN


def read_off(value: float) -> float:
    """When memory in use says that it was measured; exact to TICK."""
    return value / (1 << 20) * TICK


_ROW = re.compile(r"(\w+)\{(.*)\} (\S+)(?: (\d+))?")
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def rows(page: bytes) -> Iterator[Row]:
    for match in _ROW.finditer(page.decode()):
        name, labels, value, wall = match.groups()
        yield Row(name, dict(_LABEL.findall(labels)), float(value), float(wall) / 1000 if wall else None)


class Glance(NamedTuple):
    """One look at one exporter: it begins at `began`, the page is made at `made`, and known here at `ended`."""

    began: float
    made: float
    ended: float


@dataclass
class Follower:
    """What the adapter knows of one pod, from one exporter."""

    exporter: Exporter
    pace: Pace
    pod: Pod
    history: History = field(default_factory=History)
    part: Part = field(default_factory=lambda: Part(""))
    shown: dict[float, set[float]] = field(default_factory=dict)  # engine value → collects that showed it

    def take(self, glance: Glance, wall: float) -> None:
        """A good look; a page without GPU rows is none."""
        found = tuple(rows(self.exporter.page(glance.made)))
        if not found:
            return
        look = Look("dcgm", self.exporter.node, glance.began, glance.began, wall, found)
        gap = self.pace.budget().limit
        self.history = follow(self.history, devices(found, look.target), look.stamp, look.began, gap)
        self.part = attribute(look, self.history, METRICS, self.pace, PodIndex([self.pod]), self.part)
        engines = [row.value for row in found if row.name == "DCGM_FI_PROF_GR_ENGINE_ACTIVE" and "pod" in row.labels]
        engine = math.fsum(engines) / len(engines) if engines else math.nan
        self.shown.setdefault(engine, set()).add(self.exporter.collected_at(glance.made))

    def readings(self) -> Mapping[str, Reading]:
        return pod_readings(self.pod, [self.part], METRICS, "dcgm")

    def measured(self, metric: str, value: float) -> float | None:
        """When a served value was measured, for all that is known the latest time; None: it does not tell."""
        if metric == MEMORY:
            return read_off(value)
        if metric == ENGINE:
            return max(self.shown[value])
        return None


def hold(follower: Follower, now: float) -> dict[str, Reading]:
    """The law itself, at one moment: what may be served is at most as old as it says, and within its limit."""
    decided = {metric: decide(reading, now) for metric, reading in follower.readings().items()}
    for metric, reading in decided.items():
        if not isinstance(reading, Point):
            continue
        measured = follower.measured(metric, reading.value)
        if measured is None:
            # Utilization comes from the same rows as memory: the same collect, the same birth.
            memory = decided[MEMORY]
            assert isinstance(memory, Point)
            assert reading.born == memory.born
            continue
        true_age = now - measured - (TICK if metric == MEMORY else 0.0)
        assert true_age <= now - reading.born + ROUNDING, f"{metric} is said to be younger than it is"
        assert true_age <= reading.limit + ROUNDING, f"{metric} is served beyond its limit"
        assert follower.pod.started is not None
        assert measured + TICK > follower.pod.started + CONTAINER_SETTLES, f"{metric} is its predecessor's"
    return decided


def moments(glances: Sequence[Glance], position: int, follower: Follower) -> Iterator[float]:
    """When somebody asks: right after a look, until the next one, and around the end of every point's life."""
    ended = glances[position].ended
    until = glances[position + 1].ended if position + 1 < len(glances) else ended + 200.0
    expiries = [r.expires + edge for r in follower.readings().values() if isinstance(r, Point) for edge in EDGES]
    yield from (ended, (ended + until) / 2, math.nextafter(until, -math.inf))
    yield from (moment for moment in expiries if ended <= moment < until)


# --- what may happen


def gpus(count: int, load: Waves) -> tuple[Gpu, ...]:
    return tuple(Gpu(index, f"GPU-{index}", load, OWNER, spelled) for index in range(count))


@st.composite
def spells(draw: st.DrawFn, span: float, *kinds: Fault) -> tuple[Spell, ...]:
    chosen = draw(st.lists(st.sampled_from(kinds), max_size=3))
    starts = [draw(st.floats(0, span)) for _ in chosen]
    return tuple(Spell(kind, at, at + draw(st.floats(0.1, span))) for kind, at in zip(chosen, starts, strict=True))


@st.composite
def exporters(draw: st.DrawFn, span: float, *kinds: Fault) -> Exporter:
    collect = draw(st.floats(1, 60))
    pages: Pages = draw(st.sampled_from(("live", "ticker")))
    levels = draw(st.sampled_from(((0.6,), (0.0,), (0.0, 0.5), (0.99, 0.0, 0.02))))
    swing = draw(st.sampled_from((0.0, 0.01))) if min(levels) else 0.0
    return Exporter(
        "n",
        gpus(draw(st.integers(1, 2)), Waves(levels, draw(st.floats(5, 90)), swing)),
        collect,
        phase=draw(st.floats(0, 1)) * collect,
        late=draw(st.sampled_from((0.0, 0.2, 0.9))) * collect if pages == "live" else 0.0,
        pages=pages,
        lag=draw(st.sampled_from((0.0, 0.01, 0.5, 0.99, 1.0))) * collect,
        epoch=1e9 + draw(st.floats(-1.9, 1.9)),  # two clocks, kept right by NTP
        spells=draw(spells(span, *kinds)),
    )


def glances(draw: st.DrawFn, poll: float, count: int) -> list[Glance]:
    """Looks that come late, take their time, fail, or are away for long."""
    began, taken = draw(st.floats(100, 100 + poll)), []
    for _ in range(count):
        took = draw(st.sampled_from((0.0, 0.01, 0.5, 5.0)))
        made = began + took * draw(st.sampled_from((0.0, 0.5, 1.0)))
        if draw(st.sampled_from((True, True, True, False))):
            taken.append(Glance(began, made, began + took))
        pause = poll * draw(st.sampled_from((1.0, 1.0, 1.0, 0.4, 1.7, 12.0)))
        began = max(began + pause, began + took + 1e-3)
    return taken


PAGE_FAULTS = (Fault.SERIES_GONE, Fault.LOST_LABELS, Fault.EMPTY, Fault.NAN, Fault.FALSE_ZERO, Fault.BLANK)
ALL_FAULTS = (Fault.FREEZE, Fault.ENERGY_RESET, Fault.TIMESTAMPS, *PAGE_FAULTS)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Follower, list[Glance]]:
    poll, count = draw(st.floats(0.5, 20)), draw(st.integers(2, 60))
    exporter = draw(exporters(100 + 1.5 * poll * count, *ALL_FAULTS))
    configured = exporter.collect * draw(st.sampled_from((1.0, 1.5, 6.0)))
    pace = Pace("dcgm", configured, poll, pages=exporter.pages)
    started = draw(st.sampled_from((LONG_AGO, LONG_AGO, 130.0)))
    pod = Pod(OWNER.namespace, OWNER.pod, started=started, gpus=len(exporter.gpus), node="n")
    return Follower(exporter, pace, pod), glances(draw, poll, count)


@settings(max_examples=400, deadline=None)
@given(run=runs())
def test_nothing_served_is_older_than_it_is_said_to_be_nor_than_its_limit(
    run: tuple[Follower, list[Glance]],
) -> None:
    follower, looks = run
    for position, glance in enumerate(looks):
        follower.take(glance, wall=glance.began + 1e9)
        for now in moments(looks, position, follower):
            hold(follower, now)
