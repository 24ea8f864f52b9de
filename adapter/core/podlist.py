"""A Kubernetes pod list in JSON, as `kubectl get pods -A -o json` prints it. Only the needed fields are decoded.

Container starts carry the API server's wall clock; the caller says what that clock shows now.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

import msgspec

from adapter.core.errors import ConfigError, Fault
from adapter.core.pods import GPU_RESOURCES, Pod


class _Metadata(msgspec.Struct):
    name: str
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    deletionTimestamp: datetime | None = None  # noqa: N815 - Kubernetes' spelling


class _Resources(msgspec.Struct):
    limits: dict[str, str | int] = {}
    requests: dict[str, str | int] = {}


class _Container(msgspec.Struct):
    name: str
    resources: _Resources = msgspec.field(default_factory=_Resources)


class _Spec(msgspec.Struct):
    nodeName: str = ""  # noqa: N815 - Kubernetes' spelling
    containers: list[_Container] = []


class _Running(msgspec.Struct):
    startedAt: datetime | None = None  # noqa: N815 - Kubernetes' spelling


class _State(msgspec.Struct):
    running: _Running | None = None


class _ContainerStatus(msgspec.Struct):
    name: str
    state: _State = msgspec.field(default_factory=_State)


class _Status(msgspec.Struct):
    phase: str = ""
    containerStatuses: list[_ContainerStatus] = []  # noqa: N815 - Kubernetes' spelling


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _List(msgspec.Struct):
    items: list[_Pod]


def decode(content: bytes, now: float, wall: float) -> list[Pod]:
    """now, wall: one moment on our clock and on the API server's, seconds. Raises ConfigError: it is no pod list."""
    try:
        items = msgspec.json.decode(content, type=_List).items
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        what = f"no pod list in JSON, as `kubectl get pods -A -o json` prints it: {error}"
        raise ConfigError([Fault(0, "", what)]) from None
    return [_pod(item, wall - now) for item in items]


def _pod(item: _Pod, offset: float) -> Pod:
    gpus = {container.name: _gpus(container.resources) for container in item.spec.containers}
    holders = [name for name, count in gpus.items() if count] or list(gpus)
    return Pod(
        namespace=item.metadata.namespace,
        name=item.metadata.name,
        uid=item.metadata.uid,
        labels=MappingProxyType(item.metadata.labels),
        phase=item.status.phase,
        deleting=item.metadata.deletionTimestamp is not None,
        node=item.spec.nodeName,
        started=_started(item.status.containerStatuses, holders, offset),
        gpus=sum(gpus.values()),
    )


def _gpus(resources: _Resources) -> int:
    asked: Mapping[str, str | int] = resources.limits or resources.requests  # equal for extended resources
    counts = [str(count) for name, count in asked.items() if name.startswith(GPU_RESOURCES)]
    return sum(int(count) for count in counts if count.isascii() and count.isdigit() and len(count) <= 4)


def _started(statuses: Sequence[_ContainerStatus], holders: Sequence[str], offset: float) -> float | None:
    """When the last of the containers that hold a GPU started, on our clock; None while any of them does not run."""
    running = {status.name: status.state.running for status in statuses}
    starts = []
    for name in holders:
        state = running.get(name)
        if state is None or state.startedAt is None:
            return None
        starts.append(state.startedAt.timestamp() - offset)
    return max(starts, default=None)
