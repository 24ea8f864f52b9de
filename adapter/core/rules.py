"""A device's number becomes a reading only if it can be true: in range, dated, no zero that the device contradicts.

Suspicion may only withhold. Nothing here replaces a value by another.
"""

import math
from dataclasses import dataclass

from adapter.core import timing
from adapter.core.gpu import DeviceSample, Value, is_blank
from adapter.core.heartbeat import Beat, Track
from adapter.core.pace import Pace
from adapter.core.points import Point, Reading, Reason, Withheld
from adapter.core.profiles import ENERGY, ENGINE, SM_ACTIVE, Field, Profile

MIN_ENGINE = 0.05  # ratio below which an engine counts as idle: idle parts show noise, DRAM a constant
POWER_SHARE = 0.5  # of the board's limit: weights in memory alone keep a board below 40 % of it
CLOCK_SKEW = 2.0  # seconds by which a clock that stamped a row may differ from ours


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What is known of one device of one target when its values are judged.

    wall: our wall clock at the look, seconds of Unix time. max_age: seconds, None for `auto`.
    """

    pace: Pace
    track: Track
    wall: float
    max_age: float | None = None

    def reading(self, profile: Profile, field: Field, values: tuple[Value, ...], *, whole: float = 0.0) -> Reading:
        """One pod's reading of one field. whole: what the device's own row says beside the pod's, 0 without one."""
        source, track = self.pace.source, self.track
        bad = _domain(field, values)
        if bad is not None:
            return Withheld(*bad, source)
        beat = track.prof if field.profiling else track.dev
        born = self._stated(self._born(beat, profiling=field.profiling), values)
        if isinstance(born, Withheld):
            return born
        limit = self._limit(beat)
        number = max(value.number for value in values) * field.scale
        if number == 0 and profile.activity and (doubt := self._doubt(whole)):
            return Withheld(*doubt, source, born, limit)
        device = frozenset((track.sample.device,))
        return Point(number, born, born + limit, track.seen, source, self.pace.patience, devices=device)

    def _limit(self, beat: Beat | None) -> float:
        learnt = beat.interval if beat and self.pace.heartbeat else None
        return self.max_age or self.pace.limit(learnt)

    def _born(self, beat: Beat | None, *, profiling: bool) -> float | Withheld:
        pace = self.pace
        if not pace.heartbeat:
            return self.track.seen - pace.collect - pace.behind
        if beat is None:
            detail = f"its rows have nothing that moves (no energy, power or temperature); {_BLIND}"
            return Withheld(Reason.UNSUPPORTED, detail, pace.source)
        if beat.born is None:
            return _not_yet(beat, pace, profiling=profiling)
        return beat.born - pace.behind

    def _stated(self, born: float | Withheld, values: tuple[Value, ...]) -> float | Withheld:
        """A row that carries a time is no younger than it says, and true only if that time has come."""
        walls = [value.wall for value in values if value.wall is not None]
        if not walls or isinstance(born, Withheld):
            return born
        if max(walls) > self.wall + CLOCK_SKEW:
            ahead = timing.seconds(max(walls) - self.wall)
            return Withheld(Reason.FUTURE, f"its timestamp is {ahead} ahead of our clock", self.pace.source)
        return min(born, self.track.seen - (self.wall - min(walls)) - CLOCK_SKEW)

    def _doubt(self, whole: float) -> tuple[Reason, str] | None:
        """Why a 0 is not believed; None: nothing speaks against it."""
        if whole:
            return Reason.IMPLAUSIBLE_ZERO, f"0 % for the pod alone, while the device's own row says {whole:g}"
        if self.track.sample.device.instance or not self.pace.heartbeat:
            return None
        if not can_tell(self.track):
            return Reason.PENDING, "0 % is believed once two collects bear it out"
        witness = contradiction(self.track)
        return (Reason.IMPLAUSIBLE_ZERO, f"0 % while {witness}") if witness else None


_BLIND = "if a freeze need not be seen, set sources.dcgm.heartbeat: none"


def _not_yet(beat: Beat, pace: Pace, *, profiling: bool) -> Withheld:
    watched, limit = beat.at - beat.since, pace.limit()
    if watched <= limit:
        detail = f"seen for {timing.seconds(watched)}, its exporter has not collected again yet"
        return Withheld(Reason.PENDING, detail, pace.source, limit=limit)
    what = "energy counter has" if beat.shown.energy is not None else "power and temperature have"
    if profiling and beat.shown.profiling:
        what = "profiling ratios have"
    detail = (
        f"its {what} not moved for {timing.seconds(watched)}: the exporter is frozen, or nothing in it moves; {_BLIND}"
    )
    return Withheld(Reason.UNSUPPORTED, detail, pace.source, limit=limit)


def served_field(profile: Profile, sample: DeviceSample) -> Field | Withheld:
    """The family that carries the profile on this device; a MIG instance has its own."""
    fields = profile.mig if sample.device.instance else profile.fields
    for field in fields:
        if field.name in sample.values:
            return field
    names = " or ".join(field.name for field in fields)
    if not names:
        return Withheld(Reason.UNSUPPORTED, f"{profile.name} does not exist on MIG instances", "")
    return Withheld(Reason.MISSING, f"its rows lack {names}", "")


def _domain(field: Field, values: tuple[Value, ...]) -> tuple[Reason, str] | None:
    for value in values:
        if math.isnan(value.number):
            return Reason.NOT_A_NUMBER, f"{field.name} is NaN"
        if is_blank(value.number):
            return Reason.BLANK, f"{field.name} is DCGM's code for no value"
        if not 0 <= value.number * field.scale <= field.high:
            return (
                Reason.OUT_OF_RANGE,
                f"{field.name} is {value.number:g}, outside 0 to {field.high / field.scale:g}",
            )
    return None


def can_tell(track: Track) -> bool:
    """Whether a zero could be contradicted by now, if the device has anything that could contradict it."""
    if len(track.collects) == 2:
        return True
    sample = track.sample
    engine = any(sample.witness(family) is not None for family in (ENGINE, SM_ACTIVE))
    return not engine and (sample.witness(ENERGY) is None or sample.power_limit is None)


def contradiction(track: Track) -> str | None:
    """What shows that this device worked over its last two collects; None: nothing does.

    One collect is not enough: utilization is a moment's, energy and engine activity are averages that lag behind it.
    """
    if len(track.collects) < 2:
        return None
    first, last = track.collects
    if first.engine is not None and last.engine is not None and min(first.engine, last.engine) >= MIN_ENGINE:
        return f"its engine was active {last.engine:.0%} of the time"
    limit = track.sample.power_limit
    if limit is None or first.energy is None or last.energy is None:
        return None
    # mJ over the time between the looks that first showed the two collects: right on average, off by a look at most.
    watts = (last.energy - first.energy) / 1000 / (last.move.before - first.move.before)
    if watts < POWER_SHARE * limit:
        return None
    return f"it drew {watts:.0f} W of {limit:.0f} W"
