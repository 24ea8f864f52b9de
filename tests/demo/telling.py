"""An adapter made of words: what a perfect one would say of a fleet, so that a lie can be put into it."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from adapter.core.quantity import write
from adapter.demo.answers import Observation, Reply
from adapter.demo.faults import Fault, reigning
from adapter.demo.fleet import Fleet
from adapter.demo.script import BY_AGE, TOLD
from adapter.demo.stage import FAST, Holding, Numbers, holdings, staged

EPOCH = 1_700_000_000.25
FLEET = staged(FAST, EPOCH, first_fault=2.5)
LIMIT = FAST.limit

Heard = tuple[Numbers, float] | str  # numbers and when they were collected, or the reason why there are none


def perfect(fleet: Fleet, now: float) -> dict[str, Heard]:
    """What there is to say of each pod, by one who knows of faults as soon as they can be known."""
    return {pod: _heard(holding, now) for pod, holding in holdings(fleet).items()}


def _heard(holding: Holding, now: float) -> Heard:
    fault = next(iter(reigning(holding.exporter.spells, now)), None)
    spell = reigning(holding.exporter.spells, now).get(fault) if fault else None
    seen = spell.start if spell and fault in (Fault.HANG, Fault.KILLED) else now
    collected = holding.exporter.collected_at(seen)
    if fault and (now - collected > LIMIT or fault not in BY_AGE):
        return TOLD[fault].reason
    return holding.measured(collected), collected


def observed(fleet: Fleet, now: float, heard: Mapping[str, Heard] | None = None, *, ahead: float = 0.0) -> Observation:
    """That, as an adapter says it at `now`. ahead: seconds by which its timestamps are wrong."""
    heard = perfect(fleet, now) if heard is None else heard
    told = {pod: item for pod, item in heard.items() if not isinstance(item, str)}
    lists = {
        workload.name: Reply(
            now,
            200,
            _list({p: (n.utilization, at + ahead) for p, (n, at) in told.items() if p.startswith(workload.name)}),
        )
        for workload in fleet.workloads
    }
    named = {pod: refusal(now, pod, item) for pod, item in heard.items() if isinstance(item, str)}
    memory = Reply(now, 200, _list({p: (n.memory, at + ahead) for p, (n, at) in told.items()}))
    return Observation(now, now, EPOCH, lists, named, memory)


def refusal(now: float, pod: str, reason: str) -> Reply:
    counted = f"; 1 {reason}; {pod}: something is wrong; do something" if reason else ""
    return Reply(now, 503, {"kind": "Status", "message": f"nvidia_gpu_utilization: 0 of 1 pods have a value{counted}"})


def _list(numbers: Mapping[str, tuple[float, float]]) -> Mapping[str, Any]:
    items = [
        {
            "describedObject": {"kind": "Pod", "namespace": "demo", "name": pod, "apiVersion": "/v1"},
            "timestamp": datetime.fromtimestamp(math.floor(EPOCH + at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "value": write(number),
        }
        for pod, (number, at) in numbers.items()
    ]
    return {"kind": "MetricValueList", "items": items}
