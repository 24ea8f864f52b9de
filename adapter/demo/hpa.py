"""What the HorizontalPodAutoscaler makes of a Pods metric: what an answer would cost.

Kubernetes: pkg/controller/podautoscaler/replica_calculator.go, calcPlainMetricReplicas. Numbers are thousandths, as
there, and a mean is rounded down.
"""

import math
from collections.abc import Mapping, Sequence

TOLERANCE = 0.1  # kube-controller-manager --horizontal-pod-autoscaler-tolerance


def desired_replicas(
    current: int, target: float, values: Mapping[str, float | None], tolerance: float = TOLERANCE
) -> int:
    """How many replicas it would want, before limits and stabilisation.

    current: replicas now; target: averageValue, in the metric's unit; values: by pod, None: not in the answer.
    A missing pod counts as being at its target on the way down and as 0 on the way up; it never turns the direction.
    No value at all is an error to the HPA: nothing changes.
    """
    counted = [_milli(value) for value in values.values() if value is not None]
    missing = len(values) - len(counted)
    if not counted:
        return current
    goal = _milli(target)
    ratio = _ratio(counted, goal)
    if not missing:
        return current if _within(ratio, tolerance) else math.ceil(ratio * len(counted))
    if ratio == 1:
        return current
    filled = _ratio([*counted, *[goal if ratio < 1 else 0] * missing], goal)
    if _within(filled, tolerance) or (ratio < 1) != (filled < 1):
        return current
    wanted = math.ceil(filled * len(values))
    return min(wanted, current) if ratio < 1 else max(wanted, current)


def _milli(value: float) -> int:
    """A Quantity is rounded up to a thousandth (the inner rounding takes away binary dust)."""
    return math.ceil(round(value * 1000, 6))


def _ratio(counted: Sequence[int], goal: int) -> float:
    return sum(counted) // len(counted) / goal


def _within(ratio: float, tolerance: float) -> bool:
    return abs(1 - ratio) <= tolerance
