"""A fleet of simulated exporters and the pods on it, a function of time; what each pod's load truly is can be asked.

Two workloads, so that one pod may hold one GPU or several, on three nodes of four GPUs, some of them free.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from types import MappingProxyType
from typing import NamedTuple

from adapter.core.gpu import Owner
from adapter.core.pods import Pod, PodIndex
from adapter.core.points import ObjectKey
from adapter.core.timing import Pages
from adapter.demo.exporter import Exporter, Gpu, gpu_uuid
from adapter.demo.faults import Fault, Spell
from adapter.demo.load import Load, Waves

NAMESPACE = "demo"
NODES = ("node-a", "node-b", "node-c")
GPUS_PER_NODE = 4
STARTED = -86_400.0  # when every container started, seconds on our clock


class Workload(NamedTuple):
    """A Deployment of the demo; its pods carry the label app=<name>. gpus: per pod."""

    name: str
    replicas: int
    gpus: int

    def load(self, pod: int, gpu: int) -> Load:
        """Inference follows its users in waves; training computes at full speed and pauses to save what it has."""
        if self.gpus == 1:
            return Waves((0.5, 0.62, 0.55), 40.0, swing=0.28, period=90.0, phase=0.4 * pod)
        return Waves((0.92, 0.95, 0.9, 0.94, 0.08), 24.0, swing=0.02 + 0.01 * gpu, period=17.0)


WORKLOADS = (Workload("infer", 4, 1), Workload("train", 2, 2))


@dataclass(frozen=True, slots=True)
class Fleet:
    """Every change gives a new Fleet; what lies before `now` stays as it was."""

    exporters: tuple[Exporter, ...]
    workloads: tuple[Workload, ...] = WORKLOADS

    def pods(self, now: float) -> PodIndex:
        """The pods as the API server knows them at `now` (all have run for long)."""
        del now
        return PodIndex(_pod(key, gpus) for key, gpus in self._holdings().items())

    def pod_truth(self, pod: ObjectKey, t: float) -> float:
        """A pod's true utilization at `t`: percent, mean over its GPUs. Raises KeyError: no such pod."""
        gpus = self._holdings()[pod]
        return 100 * math.fsum(gpu.load.at(t) for _, gpu in gpus) / len(gpus)

    def exporter(self, node: str) -> Exporter:
        """Raises KeyError: no such node."""
        return {exporter.node: exporter for exporter in self.exporters}[node]

    def struck(self, node: str, spell: Spell) -> "Fleet":
        """The fleet in which that node's exporter suffers `spell`, too."""
        hurt = self.exporter(node)
        return self._with(replace(hurt, spells=(*hurt.spells, spell)))

    def healed(self, node: str, fault: Fault, now: float) -> "Fleet":
        """The fleet in which that fault of that node ends at `now`."""
        hurt = self.exporter(node)
        spells = tuple(replace(s, end=now) if s.fault is fault and s.reigns(now) else s for s in hurt.spells)
        return self._with(replace(hurt, spells=spells))

    def _with(self, changed: Exporter) -> "Fleet":
        return replace(self, exporters=tuple(changed if e.node == changed.node else e for e in self.exporters))

    def _holdings(self) -> Mapping[ObjectKey, list[tuple[str, Gpu]]]:
        """Each pod's GPUs, with the node that they are in."""
        held: dict[ObjectKey, list[tuple[str, Gpu]]] = {}
        for exporter in self.exporters:
            for gpu in exporter.gpus:
                if gpu.owner:
                    key = ObjectKey("pods", gpu.owner.namespace, gpu.owner.pod)
                    held.setdefault(key, []).append((exporter.node, gpu))
        return held


def _pod(key: ObjectKey, gpus: Sequence[tuple[str, Gpu]]) -> Pod:
    return Pod(
        namespace=key.namespace,
        name=key.name,
        uid=gpu_uuid(key.name, 0).removeprefix("GPU-"),
        labels=MappingProxyType({"app": key.name.rsplit("-", 1)[0]}),
        node=gpus[0][0],
        started=STARTED,
        gpus=len(gpus),
    )


def demo_fleet(collect: float = 5.0, pages: Pages = "live", epoch: float = 0.0) -> Fleet:
    """The demo's fleet, healthy. collect: seconds between collects; epoch: Unix time when our clock shows 0."""
    gpus = _placed()
    return Fleet(
        tuple(
            Exporter(
                node,
                gpus[node],
                collect,
                phase=collect * position / len(NODES),
                pages=pages,
                lag=0.6 * collect if pages == "ticker" else 0.0,
                epoch=epoch,
            )
            for position, node in enumerate(NODES)
        )
    )


def _placed() -> Mapping[str, tuple[Gpu, ...]]:
    """Each pod on the next node in turn; what is left of a node is free."""
    nodes: dict[str, list[Gpu]] = {node: [] for node in NODES}
    pods = [(workload, pod) for workload in WORKLOADS for pod in range(workload.replicas)]
    for (workload, pod), node in zip(pods, cycle(NODES)):
        for gpu in range(workload.gpus):
            index = len(nodes[node])
            owner = Owner(NAMESPACE, f"{workload.name}-{pod}")
            nodes[node].append(Gpu(index, gpu_uuid(node, index), workload.load(pod, gpu), owner))
    for node, gpus in nodes.items():
        gpus += [Gpu(index, gpu_uuid(node, index)) for index in range(len(gpus), GPUS_PER_NODE)]
    return {node: tuple(gpus) for node, gpus in nodes.items()}
