"""What one feed knows, frozen: readings by metric and object. The two lines meet in it and nowhere else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from adapter.core.points import ObjectKey, Reading, Reason

EXPECTED_FOR = 3600.0  # seconds for which an object that once had a value is still expected to have one

Readings = Mapping[str, Mapping[ObjectKey, tuple[Reading, ...]]]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The union of a feed's last good reads.

    taken: when the newest of them began, seconds on our clock; None: none has succeeded yet.
    readings: by metric and object; several per object where the series' labels tell them apart.
    had: when each object last had a value here, seconds on our clock; kept for an hour, so that one that lost its
    series is still expected.
    trouble: why reads fail at present, a clause for people; "" while they succeed. reason: the word for it.
    """

    feed: str
    source: str
    taken: float | None = None
    readings: Readings = field(default_factory=lambda: MappingProxyType({}))
    had: Mapping[ObjectKey, float] = field(default_factory=lambda: MappingProxyType({}))
    trouble: str = ""
    reason: Reason = Reason.SOURCE_ERROR

    def of(self, metric: str, key: ObjectKey) -> tuple[Reading, ...]:
        return self.readings.get(metric, {}).get(key, ())
