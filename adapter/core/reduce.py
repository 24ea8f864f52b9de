"""Many devices, one pod: as old as the stalest, and withheld if any of them is.

An average over what is left would move when a GPU dies, which is when it must not.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from adapter.core.attribution import Combine, GpuMetric, Held, Part
from adapter.core.pods import Pod
from adapter.core.points import Device, Point, Reading, Reason, Withheld


def reduce(readings: Mapping[Device, Reading], combine: Combine, pod: Pod, source: str) -> Reading:
    """One pod's reading from those of its devices, at least one.

    Fewer devices than the pod requests make it `partial`, more `ambiguous`.
    """
    withheld = {device: r for device, r in readings.items() if isinstance(r, Withheld)}
    if withheld:
        return _name_device(withheld, len(readings))
    points = [r for r in readings.values() if isinstance(r, Point)]
    if len(points) < pod.gpus:
        return Withheld(Reason.PARTIAL, f"{len(points)} of its {pod.gpus} GPUs are shown", source)
    if len(points) > pod.gpus:
        detail = f"{len(points)} devices are said to be its own, it requests {pod.gpus}"
        return Withheld(Reason.AMBIGUOUS, detail, source)
    born = min(point.born for point in points)
    if born <= pod.settled:
        return Withheld(Reason.PENDING, "collected before its container had started", source, born)
    return Point(
        value=combined([point.value for point in points], combine),
        born=born,
        expires=min(point.expires for point in points),
        seen=min(point.seen for point in points),
        patience=max(point.patience for point in points),
        source=source,
        devices=frozenset(device for point in points for device in point.devices),
    )


def combined(values: list[float], combine: Combine) -> float:
    """Summed exactly, so that the order of inputs never shows in the last digit."""
    match combine:
        case "mean":
            return math.fsum(values) / len(values)
        case "sum":
            return math.fsum(values)
        case "max":
            return max(values)
        case "min":
            return min(values)


def _name_device(withheld: Mapping[Device, Withheld], total: int) -> Withheld:
    device, worst = min(withheld.items(), key=lambda item: (item[1].reason, item[0]))
    if total == 1:
        return worst
    detail = f"{worst.detail} ({str(device)[:12]}, one of {total} devices)"
    return Withheld(worst.reason, detail, worst.source, worst.born, worst.limit)


def youngest(held: Iterable[Held]) -> dict[Device, Reading]:
    """One reading per device. A device that two exporters show is taken from the younger history, never mixed."""
    best: dict[Device, Reading] = {}
    for h in held:
        known = best.get(h.device)
        if known is None or _rank(h.reading) > _rank(known):
            best[h.device] = h.reading
    return best


def _rank(reading: Reading) -> tuple[bool, float, str]:
    born = float("-inf") if reading.born is None else reading.born
    return isinstance(reading, Point), born, reading.source


def pod_readings(pod: Pod, parts: Sequence[Part], metrics: Sequence[GpuMetric], source: str) -> dict[str, Reading]:
    """One pod's readings by metric, from the parts of every target that names it or named it; none: it is not named.

    A look from before its container had settled tells of an earlier pod of that name.
    """
    own = [part for part in parts if part.began > pod.settled]
    if parts and not own:
        early = Withheld(Reason.PENDING, "not looked at since its container has started", source)
        return dict.fromkeys((metric.name for metric in metrics), early)
    readings: dict[str, Reading] = {}
    for metric in metrics:
        held = [h for part in own for h in part.held.get((pod.key, metric.name), ())]
        if held:
            readings[metric.name] = reduce(youngest(held), metric.combine, pod, source)
        elif lost := [part.lost[pod.key] for part in own if pod.key in part.lost]:
            readings[metric.name] = min(lost, key=lambda w: w.reason)
    return readings
