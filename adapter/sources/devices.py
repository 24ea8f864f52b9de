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
from adapter.core.pace import Pace
from adapter.core.pods import PodIndex
from adapter.core.points import ObjectKey, Reading
from adapter.core.reduce import pod_readings
from adapter.core.samples import Look
from adapter.core.snapshot import Snapshot
from adapter.core.timing import seconds

NAMED = 3  # failing targets that are told by name


@dataclass(frozen=True, slots=True)
class TargetState:
    """One target: what is remembered of it, what its last good look said, and what is wrong with it at present.

    trouble: why its looks fail. slow: that it collects more rarely than configured, so that its values age out.
    """

    history: History
    part: Part
    taken: float | None = None
    trouble: str = ""
    slow: str = ""


class DeviceFeed:
    """The union of all targets' last good looks. configured: how many targets there are; None: whoever turns up."""

    def __init__(self, feed: str, source: str, metrics: Sequence[GpuMetric], configured: int | None = None) -> None:
        self._empty = Snapshot(feed, source)
        self._source = source
        self._metrics = tuple(metrics)
        self._configured = configured
        self._targets: dict[str, TargetState] = {}
        self._naming: dict[ObjectKey, set[str]] = {}
        self._readings: dict[str, dict[ObjectKey, tuple[Reading, ...]]] = {metric.name: {} for metric in metrics}

    def take(self, look: Look, pace: Pace, pods: PodIndex) -> None:
        """A good look. One that is not newer than the target's last says nothing."""
        state = self._state(look.target)
        gap = max(pace.limit(), *(metric.max_age or 0.0 for metric in self._metrics))
        samples = devices(look.rows, look.target)
        history = follow(state.history, samples, look.stamp, look.began, gap)
        if history is state.history:
            return
        part = attribute(look, samples, history, self._metrics, pace, pods, state.part)
        self._targets[look.target] = TargetState(history, part, look.began, slow=_slow(history, pace))
        self._replace(state.part, part, pods)

    def fail(self, target: str, trouble: str) -> None:
        """A failed look: the last readings stay, and age."""
        self._targets[target] = replace(self._state(target), trouble=trouble)

    def forget(self, before: float, pods: PodIndex) -> None:
        """Targets without a good look since `before` (seconds, our clock) are gone for good, and what they said too."""
        for target in [t for t, s in self._targets.items() if s.taken is not None and s.taken < before]:
            part = self._targets.pop(target).part
            self._replace(part, Part(target), pods)

    def knows(self, target: str) -> bool:
        return target in self._targets

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

    def _replace(self, before: Part, after: Part, pods: PodIndex) -> None:
        """Settles every pod that one of two successive parts of a target speaks of."""
        was, now = before.pods, after.pods
        for key in was - now:
            naming = self._naming.get(key, set())
            naming.discard(before.target)
            if not naming:
                self._naming.pop(key, None)
        for key in now - was:
            self._naming.setdefault(key, set()).add(after.target)
        for key in was | now:
            self._settle(key, pods)

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
        if self._configured == 0:
            return "no exporter is configured; list them under sources.dcgm.static"
        if not failing:
            return next((f"{target} {state.slow}" for target, state in self._targets.items() if state.slow), "")
        named = "; ".join(f"{target} {trouble}" for target, trouble in failing[:NAMED])
        total = max(len(self._targets), self._configured or 0)
        return f"{len(failing)} of {total} targets fail: {named}{'; …' if len(failing) > NAMED else ''}"


def _slow(history: History, pace: Pace) -> str:
    """A clause for people where an exporter is seen to collect more rarely than configured; "" where it is not."""
    learnt = [track.dev.interval for track in history.tracks.values() if track.dev and track.dev.interval]
    if not learnt or min(learnt) <= 1.25 * pace.collect + pace.look:
        return ""
    seen, configured = seconds(min(learnt)), seconds(pace.collect)
    remedy = f"set its interval, or sources.dcgm.collectInterval: {seen}"
    return f"collects every {seen} and not every {configured}: {remedy}"
