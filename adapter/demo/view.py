"""What the demo shows: beside each pod's truth the adapter's word on it, and what an HPA would do with it.

Compared is an adapter as there are many: it reads the same pages, believes them whatever their age, and turns what is
missing or no number into 0.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from adapter.demo.answers import Observation, Value, Word, values
from adapter.demo.exporter import GPU_UTIL, Exporter
from adapter.demo.faults import TRANSPORT, Fault, reigning
from adapter.demo.fleet import Fleet
from adapter.demo.hpa import desired_replicas
from adapter.demo.stage import Holding, collects, holdings
from adapter.sources.exposition import compile_wanted, scan

TARGET = 60.0  # percent, of the HPA
_UTIL = compile_wanted([GPU_UTIL])


class PodRow(NamedTuple):
    """truth, answer, naive: percent; answer None: withheld for `reason`, "" otherwise; detail: the adapter's clause.

    age: seconds since the collect that the answer is from; None where there is no answer, or nobody knows.
    """

    pod: str
    node: str
    fault: Fault | None
    truth: float
    answer: float | None
    naive: float
    age: float | None
    reason: str = ""
    detail: str = ""


class Wanted(NamedTuple):
    """How many replicas an HPA would want: with our answers, with the naive adapter's, and if it knew the truth."""

    ours: int
    naive: int
    truth: int

    @property
    def harm(self) -> int:
        """By how many replicas the naive adapter leads further astray than ours."""
        return abs(self.naive - self.truth) - abs(self.ours - self.truth)


@dataclass(frozen=True, slots=True)
class WorkloadView:
    """refused: the HPA got an error instead of values, and leaves everything as it is."""

    name: str
    replicas: int
    pods: tuple[PodRow, ...]
    wanted: Wanted
    refused: bool = False


def view(fleet: Fleet, observation: Observation) -> tuple[WorkloadView, ...]:
    """Each workload with its pods, as observed."""
    naive = {name: said for exporter in fleet.exporters for name, said in believed(exporter, observation.ended).items()}
    words, memory = observation.words, values(observation.memory)
    rows = [
        _row(holding, observation.ended, words.get(pod), memory.get(pod), naive.get(pod, 0.0))
        for pod, holding in holdings(fleet).items()
    ]
    return tuple(
        _workload(workload.name, workload.replicas, [row for row in rows if _of(row.pod) == workload.name], observation)
        for workload in fleet.workloads
    )


def believed(exporter: Exporter, now: float) -> Mapping[str, float]:
    """What a naive adapter reads from a page, by pod: percent, the mean over its GPUs; NaN is 0."""
    if any(fault in TRANSPORT for fault in reigning(exporter.spells, now)):
        return {}
    seen: dict[str, list[float]] = {}
    for row in scan(exporter.page(now), _UTIL, {}).rows:
        if pod := row.labels.get("pod"):
            seen.setdefault(pod, []).append(0.0 if math.isnan(row.value) else row.value)
    return {pod: math.fsum(numbers) / len(numbers) for pod, numbers in seen.items()}


def collected(holding: Holding, memory: float, now: float, since: float) -> float | None:
    """When memory in use read so: seconds, the last time of several; None: never since `since`."""
    return next((at for at in collects(holding.exporter, since, now) if holding.measured(at).memory == memory), None)


def _row(holding: Holding, now: float, word: Word | None, memory: Value | None, naive: float) -> PodRow:
    exporter = holding.exporter
    fault = next(iter(reigning(exporter.spells, now)), None)
    truth = 100 * math.fsum(gpu.load.at(now) for gpu in holding.gpus) / len(holding.gpus)
    if not isinstance(word, Value):
        reason, detail = (word.reason, word.detail) if word else ("", "not asked for")
        return PodRow(holding.pod, exporter.node, fault, truth, None, naive, None, reason, detail)
    at = collected(holding, memory.number, now, now - 100 * exporter.collect) if memory else None
    age = None if at is None else now - at
    return PodRow(holding.pod, exporter.node, fault, truth, word.number, naive, age)


def _workload(name: str, replicas: int, rows: list[PodRow], observation: Observation) -> WorkloadView:
    listed = observation.lists[name]
    given = values(listed)
    wanted = Wanted(
        ours=_wants(replicas, {row.pod: given[row.pod].number if row.pod in given else None for row in rows}),
        naive=_wants(replicas, {row.pod: row.naive for row in rows}),
        truth=_wants(replicas, {row.pod: row.truth for row in rows}),
    )
    return WorkloadView(name, replicas, tuple(rows), wanted, refused=listed.code != 200)


def _wants(replicas: int, given: Mapping[str, float | None]) -> int:
    return desired_replicas(replicas, TARGET, given)


def _of(pod: str) -> str:
    return pod.rsplit("-", 1)[0]
