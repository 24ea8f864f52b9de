"""Which pods exist, whom a selector means, and who can be expected to have a reading.

The index is a value: changes make a new one, so that an answer sees one moment. A page's row counts only for a pod that
is in here; an empty index attributes nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from adapter.core.points import ObjectKey
from adapter.core.selectors import Selector
from adapter.core.timing import CONTAINER_SETTLES

GPU_RESOURCES = ("nvidia.com/gpu", "nvidia.com/mig-", "amd.com/gpu")


@dataclass(frozen=True, slots=True)
class Pod:
    """What the answers need of a pod.

    started: when the container that matters (the last to start of those that hold a GPU, else of all) started, seconds
    on our clock; None while it does not run.
    gpus: GPU devices that its containers request, MIG instances included.
    """

    namespace: str
    name: str
    uid: str = ""
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    phase: str = "Running"
    deleting: bool = False
    node: str = ""
    started: float | None = None
    gpus: int = 0

    @property
    def key(self) -> ObjectKey:
        return ObjectKey("pods", self.namespace, self.name)

    @property
    def settled(self) -> float:
        """From when on what is measured is this pod's, seconds on our clock; never while a container of it is down."""
        return float("inf") if self.started is None else self.started + CONTAINER_SETTLES

    @property
    def running(self) -> bool:
        return self.phase == "Running" and not self.deleting and self.started is not None


class PodIndex:
    """Pods by name, and by namespace and label, so that a selector costs what it finds and not what exists."""

    __slots__ = ("_by_label", "_by_namespace", "_pods")

    def __init__(self, pods: Iterable[Pod] = ()) -> None:
        self._pods = {(pod.namespace, pod.name): pod for pod in pods}
        self._by_namespace: dict[str, list[Pod]] = defaultdict(list)
        self._by_label: dict[tuple[str, str, str], list[Pod]] = defaultdict(list)
        for pod in self._pods.values():
            self._by_namespace[pod.namespace].append(pod)
            for key, value in pod.labels.items():
                self._by_label[pod.namespace, key, value].append(pod)

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[Pod]:
        return iter(self._pods.values())

    def get(self, namespace: str, name: str) -> Pod | None:
        return self._pods.get((namespace, name))

    def knows(self, key: ObjectKey) -> bool:
        """Whether a namespace or node shows to exist: some pod is in it or on it."""
        if key.resource == "namespaces":
            return key.name in self._by_namespace
        return key.resource == "nodes" and any(pod.node == key.name for pod in self._pods.values())

    def select(self, namespace: str, selector: Selector) -> list[Pod]:
        """The pods of a namespace that the selector matches, by name."""
        pinned = [self._by_label.get((namespace, key, value), []) for key, value in selector.equalities]
        candidates = min(pinned, key=len) if pinned else self._by_namespace.get(namespace, [])
        return sorted((pod for pod in candidates if selector.matches(pod.labels)), key=lambda pod: pod.name)
