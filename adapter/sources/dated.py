"""Rows of one evaluation become readings, each with the time its inputs were true. Pure.

A row without its time is no value; a time without its row is nothing. Which rows belong together is told by equal
labels, since the query was built so.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from adapter.core.errors import SourceError
from adapter.core.lag import Heard, Lag, born
from adapter.core.pods import PodIndex
from adapter.core.points import Labels, ObjectKey, Point, Reading, Reason, Withheld
from adapter.core.quantity import LARGEST_FOR_HPA
from adapter.promql.plan import Plan
from adapter.promql.rows import NOW, TAG, TIMES, VANISHED
from adapter.sources.promapi import Sample

NAME = "__name__"


def server_time(samples: Iterable[Sample], number: str = "") -> float:
    """The evaluation's own time(): of the one row without any other label, whatever else is called so.

    number: what the question was numbered with. Raises SourceError where the answer has no such row, or no time in it.
    """
    clock = {TAG: f"{NOW}{number}"}
    told = [sample.value for sample in samples if sample.labels == clock]
    if len(told) != 1 or not math.isfinite(told[0]):
        raise SourceError(
            "malformed", "its answer lacks the server's time, or was given to another question (a cache?)"
        )
    return told[0]


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
    plan: Plan, samples: Sequence[Sample], rules: QueryRules, heard: Heard, lag: Lag, pods: PodIndex
) -> dict[ObjectKey, tuple[Reading, ...]]:
    """Every object that the rows describe, with what may be said of it. Rows that name no object are left out, and
    scraped series that carry the tag's name as a label."""
    kinds = {f"{kind}{index}": kind for index in range(len(plan.leaves)) for kind in (TIMES, VANISHED)}
    times: dict[tuple[str, Labels], float] = {}
    lost: list[Labels] = []
    values: list[Sample] = []
    for sample in samples:
        tag = sample.labels.get(TAG)
        kind = kinds.get(tag or "")
        if tag is None:
            values.append(sample)
        elif kind == TIMES and NAME not in sample.labels:
            place = tag, _labels(sample)
            told = (sample.value, times.get(place, sample.value))  # told twice by a proxy: the older counts
            times[place] = min(told) if all(map(math.isfinite, told)) else math.nan
        elif kind == VANISHED and NAME not in sample.labels and _missed(sample, rules.pod_labels, pods):
            lost.append(_labels(sample))
    losses = Losses(lost)
    found: dict[ObjectKey, list[Reading]] = defaultdict(list)
    for sample in values:
        key = _object(sample, rules.labels)
        if key is not None:
            reading = _reading(plan, sample, times, losses, rules, heard, lag)
            if isinstance(reading, Withheld):  # as good as this read, and for as long as a value would be
                reading = replace(reading, expires=heard.sent + max(rules.limits))
            found[key].append(reading)
    return {key: tuple(said) for key, said in found.items()}


class Losses:
    """Rows that say which inputs are gone: each concerns every value that agrees with it on the labels both have."""

    def __init__(self, lost: Iterable[Labels]) -> None:
        self._by_names: dict[tuple[str, ...], list[Labels]] = defaultdict(list)
        for labels in lost:
            self._by_names[tuple(name for name, _ in labels)].append(labels)
        self._by_common: dict[tuple[tuple[str, ...], tuple[str, ...]], set[Labels]] = {}

    def concern(self, row: Labels) -> bool:
        own = dict(row)
        return any(self._agrees(own, names) for names in self._by_names)

    def _agrees(self, own: Mapping[str, str], names: tuple[str, ...]) -> bool:
        common = tuple(name for name in names if name in own)
        if (names, common) not in self._by_common:
            kept = frozenset(common)
            cut = (tuple(pair for pair in labels if pair[0] in kept) for labels in self._by_names[names])
            self._by_common[names, common] = set(cut)
        return tuple((name, own[name]) for name in common) in self._by_common[names, common]


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
    plan: Plan,
    sample: Sample,
    times: Mapping[tuple[str, Labels], float],
    losses: Losses,
    rules: QueryRules,
    heard: Heard,
    lag: Lag,
) -> Reading:
    row = _labels(sample)
    extra = tuple((key, value) for key, value in row if key not in rules.labels.values())
    if losses.concern(row):
        return Withheld(Reason.PARTIAL, "some of the series it is made of are gone", rules.source, labels=extra)
    if unfit := _unfit(sample.value, rules.source, extra):
        return unfit
    births: list[float] = []
    expiries: list[float] = []
    for index, (leaf, limit) in enumerate(zip(plan.leaves, rules.limits, strict=True)):
        at = times.get((f"{TIMES}{index}", row), math.nan)
        if not math.isfinite(at):
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


def _unfit(value: float, source: str, labels: Labels) -> Withheld | None:
    if not math.isfinite(value):
        return Withheld(Reason.NOT_A_NUMBER, f"the query gives {value}", source, labels=labels)
    if abs(value) > LARGEST_FOR_HPA:
        detail = f"{value:g} is more than the HPA can count: it would read it as 0"
        return Withheld(Reason.OUT_OF_RANGE, detail, source, labels=labels)
    return None
