"""A row belongs to the pod that holds the device: by the page's word and the API server's, never by one alone.

A pod that the API server does not know, or that is going, is no owner. A device that several pods share tells of none.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, NamedTuple

from adapter.core.gpu import DeviceSample, Owner
from adapter.core.heartbeat import History
from adapter.core.pace import Pace
from adapter.core.pods import PodIndex
from adapter.core.points import Device, ObjectKey, Point, Reading, Reason, Withheld
from adapter.core.profiles import Profile
from adapter.core.rules import Verdicts, served_field
from adapter.core.samples import Look

Combine = Literal["mean", "max", "min", "sum"]


@dataclass(frozen=True, slots=True)
class GpuMetric:
    """A GPU profile served under a name. max_age: seconds, None for `auto`; combine: over a pod's devices."""

    name: str
    profile: Profile
    max_age: float | None = None
    combine: Combine = "mean"


class Held(NamedTuple):
    """One device's reading, for the pod and metric under which it is kept."""

    device: Device
    reading: Reading


Holdings = Mapping[tuple[ObjectKey, str], tuple[Held, ...]]  # by (pod, metric)


@dataclass(frozen=True, slots=True)
class Part:
    """What one target's last good look, begun at `began`, says of every pod that it names or named before.

    lost: pods that it no longer names, with the reason.
    """

    target: str
    began: float = float("-inf")
    held: Holdings = field(default_factory=lambda: MappingProxyType({}))
    lost: Mapping[ObjectKey, Withheld] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def pods(self) -> frozenset[ObjectKey]:
        return frozenset(pod for pod, _ in self.held) | frozenset(self.lost)


def attribute(
    look: Look,
    samples: Mapping[Device, DeviceSample],
    history: History,
    metrics: Sequence[GpuMetric],
    pace: Pace,
    pods: PodIndex,
    before: Part,
) -> Part:
    """What a look shows, each device with the pod that holds it.

    samples, history: the look's devices, and the target's history with this look in it. before: the part that this one
    replaces.
    """
    held: dict[tuple[ObjectKey, str], list[Held]] = defaultdict(list)
    for device, sample in samples.items():
        track = history.tracks[device]
        rivals = frozenset(owner for owner in track.sample.owners if _holds(owner, pods))
        for owner in sorted(owner for owner in sample.owners if _exists(owner, pods)):
            key = ObjectKey("pods", owner.namespace, owner.pod)
            refused = _refuse(owner, rivals, pods, pace.source)
            for metric in metrics:
                verdicts = Verdicts(pace, track, look.wall, metric.max_age)
                reading = refused or _reading(verdicts, metric.profile, owner)
                held[key, metric.name].append(Held(device, _lasting(reading, look.began, metric, pace)))
    kept = MappingProxyType({key: tuple(devices) for key, devices in held.items()})
    return Part(look.target, look.began, kept, _lost(look, samples, kept, metrics, pace, pods, before))


def _lasting(reading: Reading, began: float, metric: GpuMetric, pace: Pace) -> Reading:
    """What is wrong with a device is as good as the look that showed it, and for as long as a value would be."""
    if isinstance(reading, Point):
        return reading
    return replace(reading, expires=began + (metric.max_age or pace.limit()))


def _reading(verdicts: Verdicts, profile: Profile, owner: Owner) -> Reading:
    source, sample = verdicts.pace.source, verdicts.track.sample
    family = served_field(profile, sample)
    if isinstance(family, Withheld):
        return Withheld(family.reason, family.detail, source)
    values = sample.values[family.name]
    own = tuple(value for value in values if value.owner == owner)
    if not own:
        return Withheld(Reason.MISSING, f"no {family.name} row names it", source)
    whole = max((v.number for v in values if v.owner is None and 0 < v.number <= family.high), default=0.0)
    return verdicts.reading(profile, family, own, whole=whole)


def _exists(owner: Owner, pods: PodIndex) -> bool:
    """Finished and deleted pods stay on pages for half an hour; they are nobody's reading."""
    pod = pods.get(owner.namespace, owner.pod)
    return pod is not None and pod.phase == "Running" and not pod.deleting


def _holds(owner: Owner, pods: PodIndex) -> bool:
    """A pod that is going still works on its device; an exporter's own pod, which Prometheus may name, never did."""
    pod = pods.get(owner.namespace, owner.pod)
    return pod is not None and pod.phase == "Running" and pod.gpus > 0


def _refuse(owner: Owner, rivals: frozenset[Owner], pods: PodIndex, source: str) -> Withheld | None:
    pod = pods.get(owner.namespace, owner.pod)
    if pod is None or pod.gpus == 0:
        return Withheld(Reason.NOT_OWNER, "its containers request no GPU, yet a row names it", source)
    if owner.uid and pod.uid and owner.uid != pod.uid:
        return Withheld(Reason.NOT_OWNER, "the row names an earlier pod of this name", source)
    sharing = len({(rival.namespace, rival.pod) for rival in rivals})
    if sharing > 1:
        detail = f"{sharing} pods share the device, and its rows tell of all at once"
        return Withheld(Reason.SHARED_UNATTRIBUTABLE, detail, source)
    return None


def _lost(
    look: Look,
    samples: Mapping[Device, DeviceSample],
    held: Holdings,
    metrics: Sequence[GpuMetric],
    pace: Pace,
    pods: PodIndex,
    before: Part,
) -> Mapping[ObjectKey, Withheld]:
    """Running pods that this target named before and no longer does.

    Where no row names any pod that could hold a GPU, the exporter has lost its mapping (its kubelet does not answer):
    the pods still hold their GPUs.
    """
    gone = before.pods - {key for key, _ in held}
    if not gone:
        return MappingProxyType({})
    limit = max([metric.max_age or pace.limit() for metric in metrics])
    why = Withheld(Reason.MISSING, "its exporter's page no longer names it", pace.source, expires=look.began + limit)
    if not any(_could_hold(owner, pods) for sample in samples.values() for owner in sample.owners):
        detail = "its exporter's page names no pods any more; look at that exporter's log for the kubelet's socket"
        why = replace(why, reason=Reason.MAPPING_LOST, detail=detail)
    return MappingProxyType({key: why for key in gone if _exists(Owner(key.namespace, key.name), pods)})


def _could_hold(owner: Owner, pods: PodIndex) -> bool:
    pod = pods.get(owner.namespace, owner.pod)
    return pod is None or pod.gpus > 0
