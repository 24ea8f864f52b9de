"""Who strikes and heals: the script while it plays, a person's keys otherwise.

The fleet itself is the state: what is struck is asked of its spells, so that script and keys cannot disagree.
"""

from collections.abc import Callable

from adapter.demo.faults import Fault, Spell, reigning
from adapter.demo.fleet import Fleet
from adapter.demo.script import Scene, Script
from adapter.demo.server import RunningFleet

KEYS = {
    "f": Fault.FREEZE,
    "h": Fault.HANG,
    "n": Fault.NAN,
    "z": Fault.FALSE_ZERO,
    "k": Fault.KILLED,
    "l": Fault.LOST_LABELS,
}
RECOVER, PAUSE, QUIT = "r", " ", "q"


class Director:
    """elapsed: seconds of the script that have played. step: the most that one `advance` plays, so that a machine that
    stalls stretches a scene and does not skip it."""

    def __init__(self, running: RunningFleet, script: Script, clock: Callable[[], float], step: float) -> None:
        self._running = running
        self._script = script
        self._clock = clock
        self._step = step
        self._at = clock()
        self.elapsed = 0.0
        self.playing = True
        self.scene: Scene | None = None

    @property
    def over(self) -> bool:
        return self.elapsed >= self._script.length

    @property
    def left(self) -> float:
        """Seconds until the script changes something."""
        elapsed = self.elapsed % self._script.length
        return self._script.change_after(elapsed) - elapsed

    async def advance(self) -> None:
        """Plays on to the present."""
        now = self._clock()
        if self.playing:
            self.elapsed += min(now - self._at, self._step)
        self._at = now
        scene = self._script.at(self.elapsed % self._script.length)
        if self.playing and scene != self.scene:
            await self._heal()
            if scene is not None:
                await self._strike(scene.node, scene.fault)
            self.scene = scene

    async def press(self, key: str) -> None:
        """A fault strikes the next healthy exporter, r heals all; both stop the script. Space stops it or goes on."""
        if key == PAUSE:
            if not self.playing and self.scene is None:
                await self._heal()
            self.playing = not self.playing
        elif key == RECOVER or key in KEYS:
            await self._take_over()
            if key == RECOVER:
                await self._heal()
            elif healthy := [node for node, fault in ailments(self._running.fleet, self._clock()) if fault is None]:
                await self._strike(healthy[0], KEYS[key])

    async def _take_over(self) -> None:
        """The scene that plays, if any, ends here; the script will go on with the rest after it."""
        self.playing = False
        if self.scene is not None:
            await self._heal()
            self.elapsed += self.left
            self.scene = None

    async def _strike(self, node: str, fault: Fault) -> None:
        await self._running.change(self._running.fleet.struck(node, Spell(fault, self._clock())))

    async def _heal(self) -> None:
        fleet, now = self._running.fleet, self._clock()
        for node, fault in ailments(fleet, now):
            if fault is not None:
                fleet = fleet.healed(node, fault, now)
        await self._running.change(fleet)


def ailments(fleet: Fleet, now: float) -> list[tuple[str, Fault | None]]:
    """Each node's fault at `now`, at most one; None: healthy."""
    return [(e.node, next(iter(reigning(e.spells, now)), None)) for e in fleet.exporters]
