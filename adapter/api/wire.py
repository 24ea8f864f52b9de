"""Items become a MetricValueList, in the field order and spelling of prometheus-adapter.

The time of a value is when it was true, never younger: the wall clock less its age, rounded down to a whole second.
"""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from adapter.api.resources import GROUP, RESOURCES
from adapter.core.answer import Item
from adapter.core.ask import Ask
from adapter.core.quantity import write
from adapter.core.selectors import as_object


class Moment(NamedTuple):
    """One moment on both clocks. now: ours, by which ages count; wall: Unix time. Seconds."""

    now: float
    wall: float


class _ListMeta(msgspec.Struct):
    pass


class _Object(msgspec.Struct, omit_defaults=True):
    kind: str
    namespace: str = ""
    name: str = ""
    apiVersion: str = ""  # noqa: N815 - the field's name on the wire


class _Identifier(msgspec.Struct):
    name: str
    selector: dict[str, object] | None


class _V1beta2(msgspec.Struct):
    describedObject: _Object  # noqa: N815 - the field's name on the wire
    metric: _Identifier
    timestamp: str
    windowSeconds: int | msgspec.UnsetType  # noqa: N815 - the field's name on the wire
    value: str


class _V1beta1(msgspec.Struct):
    describedObject: _Object  # noqa: N815 - the field's name on the wire
    metricName: str  # noqa: N815 - the field's name on the wire
    timestamp: str
    window: int | msgspec.UnsetType
    value: str
    selector: dict[str, object] | None


class _List(msgspec.Struct):
    kind: str
    apiVersion: str  # noqa: N815 - the field's name on the wire
    metadata: _ListMeta
    items: list[_V1beta1 | _V1beta2]


_ENCODER: Final = msgspec.json.Encoder()


def render(version: str, ask: Ask, items: Sequence[Item], moment: Moment) -> bytes:
    """The JSON body of a 200, `version` "v1beta1" or "v1beta2"; a list also where one object was asked for."""
    selector = as_object(ask.metric_selector)
    values = [_value(version, ask.metric, selector, item, moment) for item in items]
    return _ENCODER.encode(_List("MetricValueList", f"{GROUP}/{version}", _ListMeta(), values))


def _value(
    version: str, metric: str, selector: dict[str, object] | None, item: Item, moment: Moment
) -> _V1beta1 | _V1beta2:
    key, point = item
    resource = RESOURCES[key.resource]
    described = _Object(resource.kind, key.namespace, key.name, resource.api_version)
    timestamp = _rfc3339(math.floor(moment.wall - (moment.now - point.born)))
    window = msgspec.UNSET if point.window is None else round(point.window)
    value = write(point.value)
    if version == "v1beta1":
        return _V1beta1(described, metric, timestamp, window, value, selector)
    return _V1beta2(described, _Identifier(metric, selector), timestamp, window, value)


@lru_cache(maxsize=1024)
def _rfc3339(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
