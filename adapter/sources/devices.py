"""Looks at devices become readings of pods, the same for pages and for Prometheus.

Each target has its own history and its own part; a look replaces its target's part and no other's, so that no target
waits for another and a failed look changes nothing but the trouble that is told. No clock and no I/O in here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from adapter.core.attribution import GpuMetric, Part, attribute
from adapter.core.gpu import devices
from adapter.core.heartbeat import History, follow
from adapter.core.pods import PodIndex
from adapter.core.points import ObjectKey, Reading
from adapter.core.reduce import pod_readings
from adapter.core.rules import Pace
from adapter.core.samples import Look
from adapter.core.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class TargetState:
    """One target: what is remembered of it, what its last good look said, and why its looks fail at present."""

    history: History
    part: Part
    taken: float | None = None
    trouble: str = ""


class DeviceFeed:
    """The union of all targets' last good looks."""

    def __init__(self, feed: str, source: str, metrics: Sequence[GpuMetric]) -> None:
        self._empty = Snapshot(feed, source)
        self._source = source
        self._metrics = tuple(metrics)
        self._targets: dict[str, TargetState] = {}
        self._naming: dict[ObjectKey, set[str]] = {}
        self._readings: dict[str, dict[ObjectKey, tuple[Reading, ...]]] = {metric.name: {} for metric in metrics}

    def take(self, look: Look, pace: Pace, pods: PodIndex) -> None:
        """A good look. One that is not newer than the target's last says nothing."""
        state = self._state(look.target)
        gap = max(pace.budget().limit, *(metric.max_age or 0.0 for metric in self._metrics))
        history = follow(state.history, devices(look.rows, look.target), look.stamp, look.began, gap)
        if history is state.history:
            return
        part = attribute(look, history, self._metrics, pace, pods, state.part)
        self._targets[look.target] = TargetState(history, part, look.began)
        self._rename(state.part, part)
        for key in state.part.pods | part.pods:
            self._settle(key, pods)

    def fail(self, target: str, trouble: str) -> None:
        """A failed look: the last readings stay, and age."""
        self._targets[target] = replace(self._state(target), trouble=trouble)

    def forget(self, before: float) -> None:
        """Targets without a good look since `before` (seconds, our clock) are gone for good, and their readings too."""
        for target in [t for t, s in self._targets.items() if s.taken is not None and s.taken < before]:
            part = self._targets.pop(target).part
            self._rename(part, Part(target))
            for key in part.pods:
                for readings in self._readings.values():
                    readings.pop(key, None)

    def knows(self, target: str) -> bool:
        return target in self._targets

    def interval(self, target: str) -> float | None:
        """The target's collect interval as learnt from its slowest device; None: not learnt."""
        beats = [track.dev for track in self._state(target).history.tracks.values() if track.dev]
        learnt = [beat.interval for beat in beats if beat.interval is not None]
        return max(learnt, default=None)

    def snapshot(self) -> Snapshot:
        taken = max((s.taken for s in self._targets.values() if s.taken is not None), default=None)
        readings = MappingProxyType({name: MappingProxyType(dict(of)) for name, of in self._readings.items()})
        return replace(self._empty, taken=taken, readings=readings, trouble=self._trouble())

    @property
    def known(self) -> int:
        return len(self._targets)

    @property
    def failing(self) -> int:
        return sum(1 for state in self._targets.values() if state.trouble)

    def _state(self, target: str) -> TargetState:
        return self._targets.get(target) or TargetState(History(), Part(target))

    def _rename(self, before: Part, after: Part) -> None:
        for key in before.pods - after.pods:
            naming = self._naming.get(key, set())
            naming.discard(before.target)
            if not naming:
                self._naming.pop(key, None)
        for key in after.pods - before.pods:
            self._naming.setdefault(key, set()).add(after.target)

    def _settle(self, key: ObjectKey, pods: PodIndex) -> None:
        pod = pods.get(key.namespace, key.name)
        parts = [self._targets[target].part for target in sorted(self._naming.get(key, ()))]
        settled = pod_readings(pod, parts, self._metrics, self._source) if pod else {}
        for metric, readings in self._readings.items():
            if metric in settled:
                readings[key] = (settled[metric],)
            else:
                readings.pop(key, None)

    def _trouble(self) -> str:
        failing = sorted((target, state.trouble) for target, state in self._targets.items() if state.trouble)
        if not failing:
            return ""
        target, trouble = failing[0]
        return f"{len(failing)} of {len(self._targets)} targets fail, {target} {trouble}"
