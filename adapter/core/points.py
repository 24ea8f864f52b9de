"""A source says either a value with its birth, or why it has none. There is no third thing.

So "no value" can never turn into 0 by accident: whoever wants a number has to look at a Point.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Reason(StrEnum):
    """Why a value is withheld: the same word in the Status message, the counter and the log."""

    STALE = "stale"  # older than its limit
    FROZEN = "frozen"  # older than its limit although its exporter still answers
    MISSING = "missing"  # no source shows it
    PENDING = "pending"  # not known yet: just started, or not yet seen to move
    PARTIAL = "partial"  # some of its inputs are gone
    BLANK = "blank"  # DCGM's number for "no value"
    OUT_OF_RANGE = "out_of_range"
    NOT_A_NUMBER = "not_a_number"
    IMPLAUSIBLE_ZERO = "implausible_zero"  # 0 while the device is seen to work
    MAPPING_LOST = "mapping_lost"  # the exporter no longer names any pod
    NOT_OWNER = "not_owner"  # the row names a pod that does not hold the device
    SHARED_UNATTRIBUTABLE = "shared_unattributable"  # several pods on one device
    AMBIGUOUS = "ambiguous"  # several unequal series for one object
    FUTURE = "future"  # carries a time that has not come
    SOURCE_PARTIAL = "source_partial"  # the server says that its answer is incomplete
    SOURCE_ERROR = "source_error"  # the source cannot be read
    UNTRUSTED = "untrusted"  # cannot be dated, and nobody vouched for it
    UNIT_UNKNOWN = "unit_unknown"
    UNSUPPORTED = "unsupported"  # the device has no such value, or nothing that shows its age


class ObjectKey(NamedTuple):
    """What a metric describes. `resource` is the plural ("pods", "nodes", "namespaces"); `namespace` is "" for
    cluster-scoped objects."""

    resource: str
    namespace: str
    name: str


class Device(NamedTuple):
    """A GPU (`instance` is "") or a MIG instance on it: DCGM's UUID and GPU_I_ID. A UUID alone is no key."""

    uuid: str
    instance: str = ""

    def __str__(self) -> str:
        return f"{self.uuid}/{self.instance}" if self.instance else self.uuid


Labels = tuple[tuple[str, str], ...]  # sorted (key, value) pairs


@dataclass(frozen=True, slots=True)
class Point:
    """A value and how long it may be served.

    born: when its oldest input was true, seconds on our clock, never later than the truth.
    expires: the last moment it may be served, seconds on our clock; expires - born is its limit.
    seen: start of the last look that still showed it, seconds on our clock.
    patience: seconds after `seen` for which its source counts as still answering.
    window: seconds the value is an average or rate over; None for a momentary one.
    devices: the devices it was reduced from, empty where it has none.
    labels: what tells several series of one object apart.
    """

    value: float
    born: float
    expires: float
    seen: float
    source: str
    patience: float = 0.0
    window: float | None = None
    devices: frozenset[Device] = frozenset()
    labels: Labels = ()

    @property
    def limit(self) -> float:
        return self.expires - self.born


@dataclass(frozen=True, slots=True)
class Withheld:
    """No value, and why. `detail` is a clause for people; `born` is the age of what was rejected, where known.

    expires: after it, what was seen says nothing any more, seconds on our clock; None: it always holds.
    """

    reason: Reason
    detail: str
    source: str
    born: float | None = None
    limit: float | None = None
    labels: Labels = ()
    expires: float | None = None


Reading = Point | Withheld
