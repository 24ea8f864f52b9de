"""A row belongs to the pod that holds the device: by the page's word and the API server's, never by one alone.

A pod that the API server does not know, or that is going, is no owner. A device that several pods share tells of none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

from adapter.core.gpu import Owner, devices
from adapter.core.heartbeat import History
from adapter.core.pods import PodIndex
from adapter.core.points import Device, ObjectKey, Reading, Reason, Withheld
from adapter.core.profiles import Profile
from adapter.core.rules import Pace, Verdicts, served_field
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
    """One device's reading of one metric, for one pod."""

    metric: str
    pod: ObjectKey
    device: Device
    reading: Reading


@dataclass(frozen=True, slots=True)
class Part:
    """What one target's last good look says of every pod that it names or named before.

    lost: pods that it no longer names, with the reason.
    """

    target: str
    held: tuple[Held, ...] = ()
    lost: Mapping[ObjectKey, Withheld] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def pods(self) -> frozenset[ObjectKey]:
        return frozenset(h.pod for h in self.held) | frozenset(self.lost)


def attribute(
    look: Look, history: History, metrics: Sequence[GpuMetric], pace: Pace, pods: PodIndex, before: Part
) -> Part:
    """What a look shows, each device with the pod that holds it.

    history: the target's, with this look in it. before: the part that this one replaces.
    """
    samples = devices(look.rows, look.target)
    held: list[Held] = []
    for device in samples:
        track = history.tracks[device]
        owners = {owner for owner in track.sample.owners if _exists(owner, pods)}
        for owner in sorted(owners):
            key = ObjectKey("pods", owner.namespace, owner.pod)
            for metric in metrics:
                verdicts = Verdicts(pace, track, look.wall, metric.max_age)
                held.append(Held(metric.name, key, device, _reading(verdicts, metric.profile, owner, owners, pods)))
    names_pods = any(sample.owners for sample in samples.values())
    return Part(look.target, tuple(held), _lost(before, held, pods, pace.source, names_pods=names_pods))


def _reading(verdicts: Verdicts, profile: Profile, owner: Owner, owners: set[Owner], pods: PodIndex) -> Reading:
    source = verdicts.pace.source
    refused = _refuse(owner, owners, pods, source)
    if refused is not None:
        return refused
    sample = verdicts.track.sample
    family = served_field(profile, sample)
    if isinstance(family, Withheld):
        return Withheld(family.reason, family.detail, source)
    values = tuple(value for value in sample.values[family.name] if value.owner == owner)
    if not values:
        return Withheld(Reason.MISSING, f"no {family.name} row names it", source)
    return verdicts.reading(profile, family, values, alone=not sample.device.instance)


def _exists(owner: Owner, pods: PodIndex) -> bool:
    """Finished and deleted pods stay on pages for half an hour; they are nobody's reading and nobody's rival."""
    pod = pods.get(owner.namespace, owner.pod)
    return pod is not None and pod.phase == "Running" and not pod.deleting


def _refuse(owner: Owner, owners: set[Owner], pods: PodIndex, source: str) -> Withheld | None:
    pod = pods.get(owner.namespace, owner.pod)
    if pod is None or pod.gpus == 0:
        return Withheld(Reason.NOT_OWNER, "its containers request no GPU, yet a row names it", source)
    if owner.uid and pod.uid and owner.uid != pod.uid:
        return Withheld(Reason.NOT_OWNER, "the row names an earlier pod of this name", source)
    if len({(o.namespace, o.pod) for o in owners}) > 1:
        return Withheld(
            Reason.SHARED_UNATTRIBUTABLE,
            f"{len(owners)} pods share the device, and its rows tell of all at once",
            source,
        )
    return None


def _lost(
    before: Part, held: Sequence[Held], pods: PodIndex, source: str, *, names_pods: bool
) -> Mapping[ObjectKey, Withheld]:
    """Running pods that this target named before and no longer does.

    Where no row names any pod, the exporter has lost its mapping (its kubelet does not answer): the pods still hold
    their GPUs.
    """
    gone = before.pods - {h.pod for h in held}
    why = Withheld(Reason.MISSING, "its exporter's page no longer names it", source)
    if not names_pods:
        remedy = "its exporter's page names no pods any more; look at that exporter's log for the kubelet's socket"
        why = Withheld(Reason.MAPPING_LOST, remedy, source)
    return {key: why for key in gone if _exists(Owner(key.namespace, key.name), pods)}
