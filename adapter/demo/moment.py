"""All that can be shown of one observation, and what whoever shows it has to offer."""

import logging
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from adapter.demo.faults import Fault
from adapter.demo.promises import Promises
from adapter.demo.script import TOLD, Scene
from adapter.demo.stage import Rhythm
from adapter.demo.view import WorkloadView


class Opening(NamedTuple):
    """What holds for the whole run. curl: a line for a shell; metrics: the URL of the adapter's own /metrics."""

    curl: str
    metrics: str
    rhythm: Rhythm
    exporters: int
    pods: int


@dataclass(frozen=True, slots=True)
class Moment:
    """at: seconds since the start. scene: what the script plays, None: a rest. left: seconds until it goes on.

    ailing: nodes with a fault.
    """

    at: float
    scene: Scene | None
    left: float
    playing: bool
    ailing: tuple[tuple[str, Fault], ...]
    views: tuple[WorkloadView, ...]
    promises: Promises


class Show(Protocol):
    """Shows a run to whoever watches it; what it takes of the terminal it gives back when its context ends."""

    @property
    def log(self) -> logging.Handler:
        """Where the adapter's log goes meanwhile."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def open(self, opening: Opening) -> None: ...

    def seen(self, moment: Moment) -> None: ...

    def close(self, promises: Promises, *, complete: bool) -> None:
        """complete: the script was played to its end."""


def state(moment: Moment) -> str:
    """How the fleet is: `freeze on node-a, NaN on node-b`; without a fault `healthy`, or `recovering` until all is."""
    if moment.ailing:
        return ", ".join(f"{TOLD[fault].title} on {node}" for node, fault in moment.ailing)
    served = all(row.answer is not None for view in moment.views for row in view.pods)
    return "healthy" if served else "recovering"
