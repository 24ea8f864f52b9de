"""Rows of one evaluation become looks and readings, each with the time its inputs were true. Pure.

A row without its time is no value; a time without its row is nothing. Which rows belong together is told by equal
labels, since the query was built so.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from adapter.core.errors import SourceError
from adapter.core.lag import Heard, born
from adapter.core.pods import PodIndex
from adapter.core.points import Labels, ObjectKey, Point, Reading, Reason, Withheld
from adapter.core.quantity import LARGEST_FOR_HPA
from adapter.core.samples import Look, Row
from adapter.promql.plan import Plan
from adapter.promql.rows import NOW, TAG
from adapter.sources.promapi import Sample

NAME = "__name__"


def server_time(samples: Iterable[Sample]) -> float:
    """The evaluation's own time(). Raises SourceError where the answer lacks it."""
    for sample in samples:
        if sample.labels.get(TAG) == NOW:
            return sample.value
    raise SourceError("malformed", "its answer lacks the row with the server's time")


def looks(samples: Iterable[Sample], families: Sequence[str], source: str, heard: Heard, lag: float) -> dict[str, Look]:
    """Device rows by exporter instance: each instance's newest scrape is one look.

    A row older than its instance's newest is a device that the newest scrape did not show.
    """
    values: dict[tuple[str, Labels], Sample] = {}
    times: dict[tuple[str, Labels], float] = {}
    for sample in samples:
        tag = sample.labels.get(TAG, "")
        if tag[:1] == "v":
            values[tag[1:], _labels(sample)] = sample
        elif tag[:1] == "t":
            times[tag[1:], _labels(sample)] = sample.value
    rows: dict[str, dict[float, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for (index, labels), sample in values.items():
        at = times.get((index, labels))
        if at is not None:
            row = Row(families[int(index)], {key: value for key, value in labels if value}, sample.value)
            rows[sample.labels.get("instance", "")][at].append(row)
    found = {}
    for instance, scrapes in rows.items():
        newest = max(scrapes)
        began = born(heard, lag, newest)
        found[instance] = Look(source, instance, newest, began, 0.0, tuple(scrapes[newest]))
    return found


def _labels(sample: Sample) -> Labels:
    return tuple(sorted((key, value) for key, value in sample.labels.items() if key not in (NAME, TAG)))


@dataclass(frozen=True, slots=True)
class QueryRules:
    """How the rows of one metric's query are read.

    labels: resource → label, as in {"namespace": "ns", "pod": "pod"}. limits: one per leaf, seconds.
    refresh: seconds that the exporter may lag. recorded: per leaf that reads a recording rule, from a row's labels and
    the rule's sample time to the time its sources were true (server's clock).
    """

    metric: str
    source: str
    labels: Mapping[str, str]
    limits: tuple[float, ...]
    refresh: float = 0.0
    recorded: Mapping[int, Callable[[Labels, float], float]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def pod_labels(self) -> tuple[str, str]:
        """The labels of an input that name its pod, (namespace, pod), also where the object is none."""
        return self.labels.get("namespace", "namespace"), self.labels.get("pod", "pod")


def readings(
    plan: Plan, samples: Sequence[Sample], rules: QueryRules, heard: Heard, lag: float, pods: PodIndex
) -> dict[ObjectKey, tuple[Reading, ...]]:
    """Every object that the rows describe, with what may be said of it. Rows that name no object are left out."""
    times: dict[tuple[str, Labels], float] = {}
    lost: list[Labels] = []
    values: list[Sample] = []
    for sample in samples:
        tag = sample.labels.get(TAG, "")
        if not tag:
            values.append(sample)
        elif tag[0] == "t":
            times[tag, _labels(sample)] = sample.value
        elif tag[0] == "c" and _missed(sample, rules.pod_labels, pods):
            lost.append(_labels(sample))
    losses = Losses(lost)
    found: dict[ObjectKey, list[Reading]] = defaultdict(list)
    for sample in values:
        key = _object(sample, rules.labels)
        if key is None:
            continue
        if losses.concern(_labels(sample)):
            found[key].append(Withheld(Reason.PARTIAL, "some of the series it is made of are gone", rules.source))
        else:
            found[key].append(_reading(plan, sample, times, rules, heard, lag))
    return {key: tuple(said) for key, said in found.items()}


class Losses:
    """Rows that say which inputs are gone: each concerns every value that agrees with it on the labels both have."""

    def __init__(self, lost: Iterable[Labels]) -> None:
        self._by_names: dict[tuple[str, ...], set[Labels]] = defaultdict(set)
        for labels in lost:
            self._by_names[tuple(name for name, _ in labels)].add(labels)

    def concern(self, row: Labels) -> bool:
        own = dict(row)
        return any(self._agrees(own, names, rows) for names, rows in self._by_names.items())

    @staticmethod
    def _agrees(own: Mapping[str, str], names: tuple[str, ...], rows: set[Labels]) -> bool:
        if all(name in own for name in names):
            return tuple((name, own[name]) for name in names) in rows
        return any(all(own.get(name, value) == value for name, value in labels) for labels in rows)


def _missed(sample: Sample, pod_labels: tuple[str, str], pods: PodIndex) -> bool:
    """An input that left with its pod is missed by nobody; one that names no pod always is."""
    namespace, name = (sample.labels.get(label, "") for label in pod_labels)
    if not namespace or not name:
        return True
    pod = pods.get(namespace, name)
    return pod is not None and not pod.deleting


def _object(sample: Sample, labels: Mapping[str, str]) -> ObjectKey | None:
    named = {resource: sample.labels.get(label, "") for resource, label in labels.items()}
    if not all(named.values()):
        return None
    if "pod" in named:
        return ObjectKey("pods", named["namespace"], named["pod"])
    if "node" in named:
        return ObjectKey("nodes", "", named["node"])
    return ObjectKey("namespaces", "", named["namespace"])


def _reading(
    plan: Plan, sample: Sample, times: Mapping[tuple[str, Labels], float], rules: QueryRules, heard: Heard, lag: float
) -> Reading:
    row = _labels(sample)
    extra = tuple((key, value) for key, value in row if key not in rules.labels.values())
    if not math.isfinite(sample.value):
        return Withheld(Reason.NOT_A_NUMBER, f"the query gives {sample.value}", rules.source, labels=extra)
    if abs(sample.value) > LARGEST_FOR_HPA:
        detail = f"{sample.value:g} is more than the HPA can count: it would read it as 0"
        return Withheld(Reason.OUT_OF_RANGE, detail, rules.source, labels=extra)
    births: list[float] = []
    expiries: list[float] = []
    for index, (leaf, limit) in enumerate(zip(plan.leaves, rules.limits, strict=True)):
        at = times.get((f"t{index}", row))
        if at is None:
            return Withheld(Reason.MISSING, f"nothing tells the age of {leaf.selector}", rules.source, labels=extra)
        if at > heard.server_time:
            return Withheld(Reason.FUTURE, f"{leaf.selector} carries a time to come", rules.source, labels=extra)
        if index in rules.recorded:
            at = min(at, rules.recorded[index](row, at))
        birth = born(heard, lag, at, rules.refresh if leaf.role == "value" else 0.0)
        expiries.append(birth + limit)
        if leaf.role == "value":
            births.append(birth)
    return Point(sample.value, min(births), min(expiries), heard.sent, rules.source, window=plan.window, labels=extra)
