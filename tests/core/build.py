"""Small values that many tests of the core are written with."""

from collections.abc import Mapping

from adapter.core.attribution import Combine, GpuMetric
from adapter.core.pods import Pod
from adapter.core.points import Device, Labels, ObjectKey, Point, Reason, Withheld
from adapter.core.profiles import ENERGY, ENGINE, PROFILES
from adapter.core.samples import Look, Row

UTIL = "DCGM_FI_DEV_GPU_UTIL"
LIMIT = "DCGM_FI_DEV_POWER_MGMT_LIMIT"
GPU_A, GPU_B = Device("GPU-a"), Device("GPU-b")


def point(
    value: float = 50.0,
    born: float = 100.0,
    limit: float = 44.0,
    *,
    seen: float | None = None,
    patience: float = 10.0,
    source: str = "dcgm",
    devices: frozenset[Device] = frozenset((GPU_A,)),
    labels: Labels = (),
) -> Point:
    at = born if seen is None else seen
    return Point(value, born, born + limit, at, source, patience, devices=devices, labels=labels)


def withheld(reason: Reason, source: str = "dcgm", detail: str = "why", born: float | None = None) -> Withheld:
    return Withheld(reason, detail, source, born)


def pod(name: str = "p-0", *, gpus: int = 1, started: float | None = 0.0, uid: str = "", **labels: str) -> Pod:
    return Pod("ml", name, uid=uid, labels=labels or {"app": "infer"}, gpus=gpus, started=started, node="n1")


def key(name: str = "p-0") -> ObjectKey:
    return ObjectKey("pods", "ml", name)


def gpu_metric(combine: Combine = "mean", max_age: float | None = None) -> GpuMetric:
    profile = PROFILES["gpu_utilization"]
    return GpuMetric(profile.metric, profile, max_age, combine)


def rows(
    device: Device = GPU_A,
    owner: str | None = "p-0",
    *,
    util: float | None = 50,
    energy: float | None = 1000,
    engine: float | None = None,
    power_limit: float | None = None,
    **extra: str,
) -> tuple[Row, ...]:
    """One device's rows, all with the same labels."""
    labels: Mapping[str, str] = {"UUID": device.uuid, "GPU_I_ID": device.instance, **extra}
    if owner:
        labels = {**labels, "namespace": "ml", "pod": owner, "container": "main"}
    numbers = {UTIL: util, ENERGY: energy, ENGINE: engine, LIMIT: power_limit}
    kept = {name: value for name, value in labels.items() if value}
    return tuple(Row(name, kept, number) for name, number in numbers.items() if number is not None)


def look(at: float, *some: tuple[Row, ...], target: str = "http://e/metrics", wall: float = 0.0) -> Look:
    return Look("dcgm", target, at, at, wall, tuple(row for group in some for row in group))
