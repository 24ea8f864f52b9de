"""A rig that drives the pure chain as the write line does, against simulated exporters that know the truth.

Page → rows → devices → heartbeat → attribution → reduction → decision. Memory in use spells the time of its collect,
and profiling ratios never repeat: so what is served tells its own true age, without assuming the code under test.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from adapter.core.attribution import GpuMetric, Part, attribute
from adapter.core.freshness import decide
from adapter.core.gpu import Owner, devices
from adapter.core.heartbeat import History, follow
from adapter.core.pace import Pace
from adapter.core.pods import Pod, PodIndex
from adapter.core.points import Point, Reading
from adapter.core.profiles import ENGINE, PROFILES, families
from adapter.core.reduce import pod_readings
from adapter.core.samples import Look, Row
from adapter.core.timing import CONTAINER_SETTLES
from adapter.demo.exporter import BOARD_MIB, GPU_UTIL, Exporter, Gpu
from adapter.demo.load import Load
from adapter.sources.exposition import compile_wanted, scan

UTIL, ACTIVE, MEMORY = "gpu_utilization", "gpu_engine_active", "gpu_memory_used_bytes"
MIB = 1 << 20
SERVED = {GPU_UTIL: (UTIL, 1), ENGINE: (ACTIVE, 1), "DCGM_FI_DEV_FB_USED": (MEMORY, MIB)}  # family → metric, scale
METRICS = tuple(GpuMetric(name, profile, combine="min") for name, profile in PROFILES.items())  # min: the oldest memory
OWNER = Owner("ml", "p-0")
WALL = 1e9  # Unix time when our clock shows 0
SPELLING = 0.001  # seconds that one MiB spells
ROUNDING = 1e-6  # seconds by which sums of floats may differ


FIRST = 1000.0  # seconds, our clock: the first look; memory cannot spell what lies before 0
LONG_AGO = -1e6


def spelled(t: float) -> float:
    """The share of memory in use that says: measured at `t`. No board has so much, but numbers know no boards."""
    return t / SPELLING / BOARD_MIB


def gpu(index: int, load: Load) -> Gpu:
    return Gpu(index, f"GPU-{index}", load, OWNER, spelled)


WANTED = compile_wanted(families(tuple(PROFILES.values())))


class Glance(NamedTuple):
    """One look: it begins at `began`, the page is made at `made`, and its readings are here at `ended`."""

    began: float
    made: float
    ended: float


class Event(NamedTuple):
    """A look at the target of that number."""

    glance: Glance
    target: int = 0


@dataclass(eq=False)
class Target:
    """One exporter and what is remembered of it."""

    exporter: Exporter
    pace: Pace
    history: History = field(default_factory=History, repr=False)
    part: Part = field(default_factory=lambda: Part(""), repr=False)

    def take(self, glance: Glance, pods: PodIndex) -> tuple[Row, ...]:
        """One look; a page without GPU rows is a failed one."""
        found = scan(self.exporter.page(glance.made), WANTED, {}).rows
        if found:
            look = Look("dcgm", self.exporter.node, glance.began, glance.began, glance.began + WALL, found)
            gap = self.pace.budget().limit
            samples = devices(found, look.target)
            self.history = follow(self.history, samples, look.stamp, look.began, gap)
            self.part = attribute(look, samples, self.history, METRICS, self.pace, pods, self.part)
        return found


@dataclass(eq=False)
class Rig:
    """One pod, and the exporters that show its GPUs.

    shown: when a value of a metric that was seen was measured. latest: the last collect that was seen of a metric of a
    device, by target.
    """

    pod: Pod
    targets: Sequence[Target]
    shown: dict[tuple[str, float], set[float]] = field(default_factory=dict, repr=False)
    latest: dict[tuple[str, str], dict[int, float]] = field(default_factory=dict, repr=False)

    def take(self, event: Event) -> None:
        target = self.targets[event.target]
        for row in target.take(event.glance, PodIndex([self.pod])):
            if row.name in SERVED and not math.isnan(row.value):
                metric, scale = SERVED[row.name]
                at = target.exporter.collected_at(event.glance.made, profiling=metric == ACTIVE)
                self.shown.setdefault((metric, row.value * scale), set()).add(at)
                seen = self.latest.setdefault((metric, row.labels["UUID"]), {})
                seen[event.target] = max(at, seen.get(event.target, at))

    def readings(self) -> Mapping[str, Reading]:
        return pod_readings(self.pod, [target.part for target in self.targets], METRICS, "dcgm")

    def hold(self, now: float) -> Mapping[str, Reading]:
        """The law at one moment: what may be served is at most as old as it says, and within its limit."""
        decided = {metric: decide(reading, now) for metric, reading in self.readings().items()}
        for metric, reading in decided.items():
            if isinstance(reading, Point):
                self._true(metric, reading, now)
        return decided

    def _true(self, metric: str, point: Point, now: float) -> None:
        collects = self.shown[metric, point.value]  # KeyError: a value that no page ever showed
        if metric == MEMORY:
            assert max(collects) - min(collects) <= SPELLING, "memory must tell one collect from the other"
        true_age = now - max(collects)
        assert true_age <= now - point.born + ROUNDING, f"{metric} is said to be younger than it is"
        assert true_age <= point.limit + ROUNDING, f"{metric} is served beyond its limit"
        assert len(point.devices) == self.pod.gpus, f"{metric} is a part that passes for the whole"
        for device in point.devices:
            collected = self.latest[metric, device.uuid]
            young = [now - at <= self.targets[t].pace.budget().limit + ROUNDING for t, at in collected.items()]
            assert any(young), f"{metric} has an input beyond the limit of every exporter that shows it"
        assert self.pod.started is not None
        assert max(collects) + ROUNDING > self.pod.started + CONTAINER_SETTLES, f"{metric} is its predecessor's"


def alone(exporter: Exporter, poll: float, *, heartbeat: bool = True) -> Rig:
    """One exporter that is configured rightly, and a pod that has run for long."""
    pod = Pod(OWNER.namespace, OWNER.pod, gpus=len(exporter.gpus), started=LONG_AGO)
    return Rig(pod, [Target(exporter, Pace("dcgm", exporter.collect, poll, pages=exporter.pages, heartbeat=heartbeat))])


def drive(rig: Rig, events: Iterable[Event]) -> Iterator[tuple[float, Mapping[str, Reading]]]:
    """Takes every look in turn, and yields what may be served at many moments, each held to the law.

    The moments: right after a look, in the middle and just before the next ends, and around every point's last one.
    """
    ordered = sorted(events, key=lambda event: event.glance.ended)
    for position, event in enumerate(ordered):
        rig.take(event)
        ended = event.glance.ended
        until = ordered[position + 1].glance.ended if position + 1 < len(ordered) else ended + 300.0
        expiries = [r.expires for r in rig.readings().values() if isinstance(r, Point)]
        edges = [math.nextafter(expiry, side) for expiry in expiries for side in (0.0, math.inf)]
        for now in (ended, (ended + until) / 2, math.nextafter(until, 0.0), *edges):
            if ended <= now <= until:
                yield now, rig.hold(now)
