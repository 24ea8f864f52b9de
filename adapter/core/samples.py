"""What one look at a source brought, before anything is judged.

A page and a GPU profile's rows from Prometheus come out the same: rows, and when they were looked at.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Row(NamedTuple):
    """One sample as a page or Prometheus gives it.

    labels: empty values are dropped, since exporters write "no pod" both ways.
    value: may be NaN, infinite or a blank number; whoever uses it judges it.
    wall: explicit timestamp in seconds of Unix time, None where there is none.
    """

    name: str
    labels: Mapping[str, str]
    value: float
    wall: float | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """One good look at one exporter.

    source, target: which feed, and which exporter in it (URL, or Prometheus' instance).
    stamp: orders the looks at a target: the start of the read for a page, the sample time for Prometheus. Seconds.
    began: the same moment on our own clock, never later than the truth. Seconds.
    wall: our wall clock at `began`, to compare explicit timestamps with. Seconds of Unix time.
    """

    source: str
    target: str
    stamp: float
    began: float
    wall: float
    rows: tuple[Row, ...]
