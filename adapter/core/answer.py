"""A request becomes items or a refusal: decided here, from frozen values and one `now`, for every object at once.

Values are true and young, or left out with a reason. An error freezes an HPA's replicas and an omitted pod is treated
conservatively; a false value is acted upon. So: some pods withheld, the rest is served; too few left, none is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from adapter.core.ask import Ask
from adapter.core.explain import explain, unknown_metric, unknown_object
from adapter.core.freshness import younger
from adapter.core.pods import Pod, PodIndex
from adapter.core.points import ObjectKey, Point, Reading, Reason, Withheld
from adapter.core.selectors import Selector
from adapter.core.snapshot import EXPECTED_FOR, Snapshot
from adapter.core.timing import CONTAINER_SETTLES

MIN_COVERAGE = 0.5


@dataclass(frozen=True, slots=True)
class Served:
    """A metric as it is served on one resource.

    feeds: the feeds that carry it. gpu: expected of pods that request a GPU; else of objects that had a value within
    the hour. worst_healthy_age: seconds, the longest over its feeds.
    """

    metric: str
    resource: str
    namespaced: bool
    feeds: tuple[str, ...]
    gpu: bool
    worst_healthy_age: float
    min_coverage: float = MIN_COVERAGE


Catalog = Mapping[tuple[str, str], Served]  # by (resource, metric)


class Item(NamedTuple):
    key: ObjectKey
    point: Point


@dataclass(frozen=True, slots=True)
class Items:
    """What is served; `withheld`: what is not, for the counter and the log."""

    items: tuple[Item, ...]
    withheld: tuple[tuple[ObjectKey, Withheld], ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """No answer, and why: becomes a Kubernetes Status. `withheld`: as `Items.withheld`."""

    kind: Literal["unknown_metric", "unknown_object", "bad_request", "unavailable"]
    message: str
    withheld: tuple[tuple[ObjectKey, Withheld], ...] = ()


Answer = Items | Refusal


def answer(ask: Ask, catalog: Catalog, feeds: Mapping[str, Snapshot], pods: PodIndex, now: float) -> Answer:
    """The answer to `ask` at `now` (seconds, our clock).

    Tried in this order: unknown metric, bad request, unknown object, selector that matches nothing, nothing served,
    coverage.
    """
    served = catalog.get((ask.resource, ask.metric))
    if served is None:
        return Refusal("unknown_metric", unknown_metric(ask))
    if ask.resource != "pods" and not ask.selector.empty:
        return Refusal("bad_request", f"labelSelector is not supported for {ask.resource}: their labels are not read")
    snapshots = [feeds[name] for name in served.feeds if name in feeds]
    keys = _objects(ask, snapshots, pods)
    if keys is None:
        return Refusal("unknown_object", unknown_object(ask))
    if not keys and ask.resource == "pods":
        return Items(())
    decided = [(key, _reading(ask, key, snapshots, pods, now)) for key in keys]
    items = tuple(Item(key, reading) for key, reading in decided if isinstance(reading, Point))
    withheld = tuple((key, reading) for key, reading in decided if isinstance(reading, Withheld))
    expected = _expected(ask, served, snapshots, pods, keys, now)
    covered = len(expected & {item.key for item in items})
    too_few = not ask.selector.empty and covered < served.min_coverage * len(expected)
    if not items or too_few:
        total = len(expected) or len(keys)
        return Refusal("unavailable", explain(ask, covered, total, withheld, snapshots, now), withheld)
    return Items(items, withheld)


def _objects(ask: Ask, snapshots: Sequence[Snapshot], pods: PodIndex) -> list[ObjectKey] | None:
    """The objects asked for, by name; None: the one asked for does not exist."""
    if ask.resource == "pods":
        if ask.name == "*":
            selected = pods.select(ask.namespace, ask.selector)
            return [pod.key for pod in selected if pod.phase not in ("Succeeded", "Failed")]
        return [pod.key] if (pod := pods.get(ask.namespace, ask.name)) else None
    shown = {key for s in snapshots for key in s.readings.get(ask.metric, {}) if key.resource == ask.resource}
    if ask.name == "*":
        return sorted(shown)
    key = ObjectKey(ask.resource, "", ask.name)
    return [key] if key in shown or pods.knows(key) else None


def _reading(ask: Ask, key: ObjectKey, snapshots: Sequence[Snapshot], pods: PodIndex, now: float) -> Reading:
    """What the feeds say of one object, as one reading."""
    said = [_one(known, ask.metric_selector, s.source) for s in snapshots if (known := s.of(ask.metric, key))]
    if not said:
        return _unseen(snapshots)
    reading = younger(said, now)
    pod = pods.get(key.namespace, key.name) if key.resource == "pods" else None
    if pod is None or not isinstance(reading, Point) or reading.born > _since(pod, reading):
        return reading
    detail = "measured before its container started" if pod.started is not None else "its container is not running"
    return Withheld(Reason.PENDING, detail, reading.source, reading.born, reading.limit)


def _since(pod: Pod, point: Point) -> float:
    """From when on a value is this pod's and not that of an earlier one of its name.

    A device's value must come from after its container settled; a sample of the pod itself needs only the pod.
    """
    if point.devices:
        return pod.settled
    return float("-inf") if pod.started is None else pod.started


def _one(known: Sequence[Reading], selector: Selector, source: str) -> Reading:
    """Several series of one object: equal values are one value, as old as the oldest; unequal ones are ambiguous."""
    picked = [reading for reading in known if selector.matches(dict(reading.labels))]
    if not picked:
        return Withheld(Reason.MISSING, "none of its series matches metricLabelSelector", source)
    for reading in picked:
        if isinstance(reading, Withheld):
            return reading
    points = [reading for reading in picked if isinstance(reading, Point)]
    if len({point.value for point in points}) > 1:
        detail = f"{len(points)} series with different values describe it; aggregate them in the query"
        return Withheld(Reason.AMBIGUOUS, detail, source)
    return min(points, key=lambda point: (point.expires, point.born))


def _unseen(snapshots: Sequence[Snapshot]) -> Withheld:
    """An object that no source has a word on."""
    source = snapshots[0].source if snapshots else ""
    if any(snapshot.taken is not None for snapshot in snapshots):
        return Withheld(Reason.MISSING, "no source shows it", source)
    if troubled := [snapshot.reason for snapshot in snapshots if snapshot.trouble]:
        return Withheld(min(troubled), "no read of its source has succeeded yet", source)
    return Withheld(Reason.PENDING, "its source has not been read yet", source)


def _expected(
    ask: Ask, served: Served, snapshots: Sequence[Snapshot], pods: PodIndex, keys: Sequence[ObjectKey], now: float
) -> set[ObjectKey]:
    """Whose absence counts. Pods that cannot have the metric, or not yet, count on neither side."""
    if ask.resource != "pods":
        return set(keys)
    expected = set()
    for key in keys:
        pod = pods.get(key.namespace, key.name)
        settled = served.worst_healthy_age + CONTAINER_SETTLES
        if pod is None or pod.started is None or not pod.running or now - pod.started <= settled:
            continue
        if served.gpu:
            can_have = pod.gpus > 0
        else:
            can_have = any(now - s.had.get(key, float("-inf")) <= EXPECTED_FOR for s in snapshots)
        if can_have:
            expected.add(key)
    return expected
