"""Rows become devices: one sample per GPU or MIG instance, with the pods its rows name.

A parent GPU and its instances are different devices; rows that repeat one fact (a pod's second container, another
replica of a shared GPU) are one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from adapter.core.points import Device
from adapter.core.profiles import MODEL_POWER_LIMITS, POWER_LIMITS
from adapter.core.samples import Row

BLANK_INT32 = 2147483632.0  # dcgm_structs.h: DCGM_INT32_BLANK and its three neighbours
BLANK_FP64 = 140737488355328.0  # DCGM_FP64_BLANK; DCGM_INT64_BLANK lies above it


class Owner(NamedTuple):
    """The pod that a row names; `uid` is "" where the exporter does not print it."""

    namespace: str
    pod: str
    uid: str = ""


class Value(NamedTuple):
    """One number of a device; `owner` None: the row names no pod. `wall`: see Row."""

    owner: Owner | None
    number: float
    wall: float | None


@dataclass(frozen=True, slots=True)
class DeviceSample:
    """What one look showed of one device: its numbers by family, and its model's name."""

    device: Device
    model: str
    values: Mapping[str, tuple[Value, ...]]

    @property
    def owners(self) -> frozenset[Owner]:
        return frozenset(v.owner for values in self.values.values() for v in values if v.owner)

    def witness(self, family: str) -> float | None:
        """The device's number in a family that is not served but tells about it; None: absent, blank or no number."""
        best = None
        for value in self.values.get(family, ()):
            number = value.number
            if math.isfinite(number) and not is_blank(number) and (best is None or number > best):
                best = number
        return best

    @property
    def power_limit(self) -> float | None:
        """W the board may draw; None where neither a row nor the model's name tells."""
        limits = [limit for family in POWER_LIMITS if (limit := self.witness(family))]
        if limits:
            return limits[0]
        return next((watts for part, watts in MODEL_POWER_LIMITS if part in self.model), None)


def is_blank(number: float) -> bool:
    """DCGM's codes for "no value" (blank, not found, not supported, not permitted), also as Prometheus prints them."""
    return number >= BLANK_FP64 or BLANK_INT32 <= number <= BLANK_INT32 + 3


def devices(rows: Sequence[Row], target: str) -> dict[Device, DeviceSample]:
    """Rows of one look at one target, grouped. Rows of no GPU (switches, CPUs) are left out."""
    grouped: dict[Device, dict[str, list[Value]]] = {}
    models: dict[Device, str] = {}
    told: dict[int, tuple[Device | None, Owner | None]] = {}  # a device's families share one mapping of labels
    for row in rows:
        if (known := told.get(id(row.labels))) is None:
            known = told[id(row.labels)] = device_of(row.labels, target), owner_of(row.labels)
        device, owner = known
        if device is None:
            continue
        grouped.setdefault(device, {}).setdefault(row.name, []).append(Value(owner, row.value, row.wall))
        if device not in models:
            models[device] = row.labels.get("modelName", "")
    return {
        device: DeviceSample(device, models[device], {name: tuple(values) for name, values in families.items()})
        for device, families in grouped.items()
    }


def device_of(labels: Mapping[str, str], target: str) -> Device | None:
    """UUID and GPU_I_ID; old exporters write `uuid`, and fakes only an index, which is unique on its target."""
    if uuid := labels.get("UUID") or labels.get("uuid"):
        return Device(uuid, labels.get("GPU_I_ID", ""))
    if index := labels.get("gpu"):
        return Device(f"{target}#{index}", labels.get("GPU_I_ID", ""))
    return None


# exported_*: Prometheus with honorLabels false keeps the page's labels there, and puts the exporter's own in `pod`.
_OWNER_LABELS = (
    ("exported_namespace", "exported_pod"),
    ("pod_namespace", "pod_name"),
    ("namespace", "pod"),
)


def owner_of(labels: Mapping[str, str]) -> Owner | None:
    for namespace, pod in _OWNER_LABELS:
        if labels.get(pod) and labels.get(namespace):
            return Owner(labels[namespace], labels[pod], labels.get("pod_uid", ""))
    return None
