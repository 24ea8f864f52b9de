"""A small cluster to ask about: pods, readings and the clocks, all standing still."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from adapter.api.handlers import Reads
from adapter.core.answer import Catalog, Served
from adapter.core.pods import Pod, PodIndex
from adapter.core.points import ObjectKey, Point, Reading, Reason, Withheld
from adapter.core.snapshot import Snapshot

NOW = 10_000.0
WALL = 1_780_000_000.25  # 2026-05-28T20:26:40.25Z
GOLDEN = Path(__file__).parent.parent / "golden" / "prometheus-adapter"


def golden(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    return content


def pod_key(name: str, namespace: str = "ml-a") -> ObjectKey:
    return ObjectKey("pods", namespace, name)


def point(value: float, age: float = 3.0, limit: float = 20.0, window: float | None = None) -> Point:
    born = NOW - age
    return Point(value, born, born + limit, NOW - 1, "exporters", window=window)


def withheld(reason: Reason = Reason.STALE) -> Withheld:
    return Withheld(reason, "80s old, limit 20s: last seen 80s ago", "exporters", NOW - 80, 20.0)


def served(metric: str, resource: str = "pods", *, gpu: bool = False) -> Served:
    return Served(metric, resource, resource == "pods", ("feed",), gpu, 17.0)


def catalog(*entries: Served) -> Catalog:
    return {(entry.resource, entry.metric): entry for entry in entries}


def snapshot(metric: str, readings: Mapping[ObjectKey, Reading]) -> Snapshot:
    had = dict.fromkeys(readings, NOW - 3)
    return Snapshot("feed", "exporters", NOW - 1, {metric: {k: (r,) for k, r in readings.items()}}, had)


def pod(name: str, namespace: str = "ml-a", app: str = "infer") -> Pod:
    labels = MappingProxyType({"app": app})
    return Pod(namespace, name, labels=labels, node="n1", started=NOW - 5_000, gpus=1)


PODS = (pod("infer-0"), pod("infer-1"), pod("dcgm-x", "mon", "dcgm"))
GPU = served("gpu_busy_ratio")


def reads(
    readings: Mapping[ObjectKey, Reading] | None = None, entries: Sequence[Served] = (GPU,), pods: Sequence[Pod] = PODS
) -> Reads:
    """Reads of one feed that carries the first of `entries`."""
    by_key = {pod_key("infer-0"): point(0.9), pod_key("infer-1"): point(0.2)} if readings is None else readings
    served_now, index, feeds = catalog(*entries), PodIndex(pods), {"feed": snapshot(entries[0].metric, by_key)}
    return Reads(lambda: served_now, lambda: feeds, lambda: index, lambda: NOW, lambda: WALL, awake)


async def awake(_feeds: Iterable[str]) -> None:
    """No feed sleeps."""
