"""A reading is as old as the last look that still showed the heartbeat before this one.

Exporters print no times. That one has collected again shows only in something that moves whenever it does: the device's
energy counter, or its profiling ratios. While that stands still, `born` stands still, and so a freeze shows as age.
Until it has been seen to move once, nothing is known: the reading is pending.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from adapter.core.gpu import DeviceSample
from adapter.core.points import Device
from adapter.core.profiles import ENERGY, ENGINE, POWER, PROF_FIELDS, SM_ACTIVE, TEMPERATURE

ABSENT = -1.0  # none of these families goes below 0
LEARN_FROM = 8  # intervals between moves that make a learnt collect interval


class Shown(NamedTuple):
    """What a look shows that moves when the exporter collects.

    driver: which family, and its numbers: the energy counter, without one power and temperature; None: neither.
    ratios: the profiling fields in their fixed order. ABSENT stands for what the look lacks.
    """

    driver: tuple[str, tuple[float, ...]] | None
    ratios: tuple[float, ...]

    @property
    def energy(self) -> float | None:
        return self.driver[1][0] if self.driver and self.driver[0] == ENERGY else None

    @property
    def profiling(self) -> bool:
        """Ratios strictly between 0 and 1 move with every collect; a plain 0 or 1 need not, nor idle memory's floor."""
        return any(0 < ratio < 1 for ratio in self.ratios[:-1])


class Move(NamedTuple):
    """The exporter collected between two looks, both on our clock in seconds."""

    after: float
    before: float


class Collect(NamedTuple):
    """What a collect showed that can contradict a zero: mJ counted so far, and the busiest engine ratio (0–1)."""

    move: Move
    energy: float | None
    engine: float | None


@dataclass(frozen=True, slots=True)
class Beat:
    """One heartbeat's memory.

    at: the last look at it; since: the first one; born: None until it was seen to move. Seconds on our clock.
    """

    shown: Shown
    at: float
    since: float
    born: float | None = None
    moves: tuple[Move, ...] = ()

    @property
    def interval(self) -> float | None:
        """The exporter's collect interval, learnt; never shorter than it is on average. None: too few moves yet."""
        if len(self.moves) <= LEARN_FROM:
            return None
        return (self.moves[-1].before - self.moves[0].after) / LEARN_FROM


@dataclass(frozen=True, slots=True)
class Track:
    """What is remembered of a device between looks. `sample` is the one that counts, seen at `seen`.

    dev, prof: the heartbeats of fields read from the driver and of profiling ratios; None: it shows none.
    collects: the last two.
    fell: the energy counter was lower at the last look, which one more look will call a reset. left: what it showed
    before the last reset.
    """

    sample: DeviceSample
    seen: float
    dev: Beat | None
    prof: Beat | None
    collects: tuple[Collect, ...] = ()
    fell: bool = False
    left: float | None = None


@dataclass(frozen=True, slots=True)
class History:
    """All that is remembered of one target; `stamp` orders its looks."""

    stamp: float = float("-inf")
    tracks: Mapping[Device, Track] = field(default_factory=lambda: MappingProxyType({}))


def follow(history: History, samples: Mapping[Device, DeviceSample], stamp: float, began: float, gap: float) -> History:
    """The history after one more good look.

    stamp: orders the looks; one that is not newer changes nothing. began: its start, seconds on our clock.
    gap: after so many seconds without a look at a device, what was known of its heartbeat is void.
    Devices that the look lacks are remembered for `gap`, so that a row that comes back is not pending again.
    """
    if stamp <= history.stamp:
        return history
    tracks = {device: track for device, track in history.tracks.items() if began - track.seen <= gap}
    for device, sample in samples.items():
        shown = Shown(_driver(sample, samples), _ratios(sample))
        tracks[device] = _track(tracks.get(device), sample, shown, began)
    return History(stamp, MappingProxyType(tracks))


def _track(track: Track | None, sample: DeviceSample, shown: Shown, began: float) -> Track:
    if track is None:
        return _first(sample, shown, began)
    if _falls(track.dev, shown):
        # An old page behind a balancer, or a driver that was reloaded: only the next look tells.
        if not track.fell:
            return replace(track, fell=True)
        left = track.dev.shown.energy if track.dev else None
        return replace(_first(sample, shown, began), left=left)
    if track.left is not None and shown.energy == track.left:
        return track  # back at what it had left: old and new pages in turn, and no collect between them
    dev = _advance(track.dev, shown, began, _driver_moved) if shown.driver else None
    prof = _advance(track.prof, shown, began, _profiling_moved) if shown.driver or shown.profiling else None
    return Track(sample, began, dev, prof, _collects(track, sample, dev), left=track.left)


def _first(sample: DeviceSample, shown: Shown, began: float) -> Track:
    beat = Beat(shown, began, began)
    return Track(sample, began, beat if shown.driver else None, beat if shown.driver or shown.profiling else None)


def _falls(beat: Beat | None, shown: Shown) -> bool:
    return (
        beat is not None
        and beat.shown.energy is not None
        and shown.energy is not None
        and shown.energy < beat.shown.energy
    )


def _advance(beat: Beat | None, shown: Shown, began: float, moved: Callable[[Shown, Shown], bool | None]) -> Beat:
    verdict = moved(beat.shown, shown) if beat else None
    if beat is None or verdict is None:
        return Beat(shown, began, began)
    if not verdict:
        return replace(beat, shown=shown, at=began)
    move = Move(beat.at, began)
    return Beat(shown, began, beat.since, move.after, (*beat.moves[-LEARN_FROM:], move))


def _driver_moved(before: Shown, now: Shown) -> bool | None:
    """None: another family than before, so nothing can be compared."""
    if before.driver is None or now.driver is None or before.driver[0] != now.driver[0]:
        return None
    return any(a != b for a, b in _both(before.driver[1], now.driver[1]))


def _profiling_moved(before: Shown, now: Shown) -> bool | None:
    """By the ratios while any of them moves; an idle device's stay 0, so there the driver's heartbeat counts."""
    if before.profiling or now.profiling:
        return any(a != b and (0 < a < 1 or 0 < b < 1) for a, b in _both(before.ratios, now.ratios))
    return _driver_moved(before, now)


def _both(before: tuple[float, ...], now: tuple[float, ...]) -> list[tuple[float, float]]:
    """Only what both looks show is compared: a row that came or went is no proof of a new collect."""
    return [(a, b) for a, b in zip(before, now, strict=True) if ABSENT not in (a, b)]


def _collects(track: Track, sample: DeviceSample, dev: Beat | None) -> tuple[Collect, ...]:
    if dev is None or not dev.moves:
        return ()
    if track.dev is not None and dev.moves == track.dev.moves:
        return track.collects
    engine = max((ratio for f in (ENGINE, SM_ACTIVE) if (ratio := sample.witness(f)) is not None), default=None)
    return (*track.collects[-1:], Collect(dev.moves[-1], dev.shown.energy, engine))


def _driver(sample: DeviceSample, samples: Mapping[Device, DeviceSample]) -> tuple[str, tuple[float, ...]] | None:
    """A MIG instance shows its parent's energy, or none: then any row of the same GPU speaks for it."""
    energy = sample.witness(ENERGY)
    if energy is None and sample.device.instance:
        kin = (other.witness(ENERGY) for device, other in samples.items() if device.uuid == sample.device.uuid)
        energy = max((e for e in kin if e is not None), default=None)
    if energy is not None:
        return ENERGY, (energy,)
    readings = tuple(_shown(sample, family) for family in (POWER, TEMPERATURE))
    return (POWER, readings) if readings != (ABSENT, ABSENT) else None


def _ratios(sample: DeviceSample) -> tuple[float, ...]:
    return tuple(_shown(sample, family) for family in PROF_FIELDS)


def _shown(sample: DeviceSample, family: str) -> float:
    number = sample.witness(family)
    return ABSENT if number is None else number
