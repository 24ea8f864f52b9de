"""The demo's fleet, set so that what is served tells its own true age: memory in use spells the time of its collect.

Utilization repeats, so a served 38 % does not say which collect it is from. Memory climbs by some MiB with each
collect and begins anew after SPAN seconds; within that, equal memory is the same collect.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from adapter.core import timing
from adapter.demo.exporter import BOARD_MIB, Exporter, Gpu
from adapter.demo.fleet import Fleet, demo_fleet
from adapter.demo.load import Load

SPAN = 4000.0  # seconds that memory can spell, in steps of 50 ms
MIB = 1 << 20
BEGIN = 201.0  # seconds into the loads' waves at the first fault: from there on, every fault would do harm


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How fast the demo goes; seconds. collect: the exporters; poll, deadline: the adapter's looks; observe: ours."""

    collect: float
    poll: float
    deadline: float
    observe: float

    @property
    def limit(self) -> float:
        """The age that the adapter allows at `maxAge: auto`."""
        return timing.direct(self.collect, self.poll).limit


SLOW = Rhythm(collect=5.0, poll=1.0, deadline=5.0, observe=0.5)
FAST = Rhythm(collect=0.5, poll=0.1, deadline=1.0, observe=0.2)


@dataclass(frozen=True, slots=True)
class Played:
    """A load at another speed, from another moment on."""

    load: Load
    speed: float
    begin: float

    def at(self, t: float) -> float:
        return self.load.at(self.begin + self.speed * t)

    def total(self, t: float) -> float:
        return (self.load.total(self.begin + self.speed * t) - self.load.total(self.begin)) / self.speed


def spelled(t: float) -> float:
    """The share of memory in use that says: collected at `t` seconds, or a multiple of SPAN before or after."""
    return t % SPAN / SPAN


def staged(rhythm: Rhythm, epoch: float, first_fault: float) -> Fleet:
    """The demo's fleet at this rhythm, its loads at BEGIN at `first_fault`. epoch: Unix time of our clock's 0."""
    fleet = demo_fleet(rhythm.collect, epoch=epoch)
    speed = SLOW.limit / rhythm.limit  # so that a value at its limit is as far from the truth at any rhythm
    begin = BEGIN - speed * first_fault

    def on_stage(gpu: Gpu) -> Gpu:
        return replace(gpu, load=Played(gpu.load, speed, begin), memory=spelled)

    exporters = tuple(replace(e, gpus=tuple(on_stage(gpu) for gpu in e.gpus)) for e in fleet.exporters)
    return replace(fleet, exporters=exporters)


class Numbers(NamedTuple):
    """A pod's numbers as one collect measured them: percent as a driver rounds it, and bytes; means over its GPUs."""

    utilization: float
    memory: float


class Holding(NamedTuple):
    """A pod of the demo: its GPUs are all on one exporter."""

    pod: str
    exporter: Exporter
    gpus: tuple[Gpu, ...]

    def measured(self, at: float) -> Numbers:
        """What a collect at `at` measures, whatever a fault then makes the page say."""
        utilization = math.fsum(float(f"{100 * gpu.load.at(at):.0f}") for gpu in self.gpus)
        memory = sum(round(BOARD_MIB * gpu.memory(at)) * MIB for gpu in self.gpus)
        return Numbers(utilization / len(self.gpus), memory / len(self.gpus))


def holdings(fleet: Fleet) -> Mapping[str, Holding]:
    """Every pod by name, in the fleet's order."""
    held: dict[str, Holding] = {}
    for exporter in fleet.exporters:
        for owner in dict.fromkeys(gpu.owner for gpu in exporter.gpus if gpu.owner):
            gpus = tuple(gpu for gpu in exporter.gpus if gpu.owner == owner)
            held[owner.pod] = Holding(owner.pod, exporter, gpus)
    return dict(sorted(held.items()))


def collects(exporter: Exporter, since: float, until: float) -> Iterator[float]:
    """When it collected from `since` to `until`, the youngest first."""
    at = exporter.collected_at(until)
    while at >= since:
        yield at
        at = exporter.collected_at(math.nextafter(at, -math.inf))
