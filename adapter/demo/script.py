"""What goes wrong in the demo, when, and what is to be seen: one fault at a time, each with a rest to recover in.

All lengths follow from the rhythm: a fault that shows as age lasts longer than the limit, one that shows in a number
some collects.
"""

from dataclasses import dataclass
from typing import NamedTuple

from adapter.core.points import Reason
from adapter.demo.faults import Fault
from adapter.demo.stage import Rhythm


class Told(NamedTuple):
    """A fault for people. reason: why the adapter withholds the pods that it strikes."""

    title: str
    expect: str
    reason: Reason


TOLD = {
    Fault.FREEZE: Told(
        "freeze", "collects stop, the page is served on: it looks healthy, and only age can tell", Reason.FROZEN
    ),
    Fault.HANG: Told("hang", "it takes the connection and never answers; nobody else waits for it", Reason.STALE),
    Fault.NAN: Told("NaN", "utilization is not a number; many adapters turn that into 0", Reason.NOT_A_NUMBER),
    Fault.FALSE_ZERO: Told(
        "false zero", "utilization says 0 while the engine works: believed, it scales in", Reason.IMPLAUSIBLE_ZERO
    ),
    Fault.KILLED: Told("killed", "its port is closed; the last values stay true until their limit", Reason.STALE),
    Fault.LOST_LABELS: Told(
        "lost labels", "its rows no longer say which pod holds the GPU (kubelet restarted)", Reason.MAPPING_LOST
    ),
}
BY_AGE = (Fault.FREEZE, Fault.HANG, Fault.KILLED)  # these show when the last value has reached its limit
PLACES = ("node-a", "node-b", "node-a", "node-a", "node-c", "node-b")  # of the faults in TOLD, in their order


class Scene(NamedTuple):
    """A fault on a node's exporter. start: seconds from the script's begin; length: seconds."""

    start: float
    length: float
    node: str
    fault: Fault

    @property
    def end(self) -> float:
        return self.start + self.length


@dataclass(frozen=True, slots=True)
class Script:
    """Scenes that do not overlap, in order; `length` seconds in all, the last rest included."""

    scenes: tuple[Scene, ...]
    length: float

    def at(self, elapsed: float) -> Scene | None:
        """What plays; None: a rest."""
        return next((scene for scene in self.scenes if scene.start <= elapsed < scene.end), None)

    def change_after(self, elapsed: float) -> float:
        """When the next scene begins or ends, or the script is over."""
        edges = [edge for scene in self.scenes for edge in (scene.start, scene.end)]
        return min((edge for edge in edges if edge > elapsed), default=self.length)


def shows_within(fault: Fault, rhythm: Rhythm) -> float:
    """The longest that pods may be served on after the fault has begun, seconds; their values are true that long."""
    return rhythm.limit if fault in BY_AGE else 2 * rhythm.collect


def recovers_within(fault: Fault, rhythm: Rhythm) -> float:
    """The longest until pods are served again after the fault has ended, seconds.

    A new collect must be seen, which takes no longer than the limit; a read that hangs is given up first.
    """
    return rhythm.limit + (rhythm.deadline if fault is Fault.HANG else 0.0)


def script(rhythm: Rhythm) -> Script:
    """Healthy at first, then every fault in turn."""
    scenes = []
    at = rhythm.limit + rhythm.collect
    for fault, node in zip(TOLD, PLACES, strict=True):
        scenes.append(Scene(at, shows_within(fault, rhythm) + 2 * rhythm.collect, node, fault))
        at = scenes[-1].end + recovers_within(fault, rhythm) + rhythm.collect
    return Script(tuple(scenes), at)
