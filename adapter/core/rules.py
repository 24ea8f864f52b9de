"""A device's number becomes a reading only if it can be true: in range, dated, no zero that the device contradicts.

Suspicion may only withhold. Nothing here replaces a value by another.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

from adapter.core import timing
from adapter.core.gpu import DeviceSample, Value, is_blank
from adapter.core.heartbeat import Beat, Track
from adapter.core.points import Point, Reading, Reason, Withheld
from adapter.core.profiles import ENERGY, ENGINE, SM_ACTIVE, Field, Profile

MIN_ENGINE = 0.05  # ratio below which an engine counts as idle: idle parts show noise, DRAM a constant
POWER_SHARE = 0.5  # of the board's limit: weights in memory alone keep a board below 40 % of it
CLOCK_SKEW = 2.0  # seconds by which a clock that stamped a row may differ from ours


@dataclass(frozen=True, slots=True)
class Pace:
    """How a target of a source is looked at; seconds.

    collect: the exporter's collect interval as configured; look: between our looks (poll, or scrape interval).
    ttl: between our reads of a Prometheus, 0 for pages that we read ourselves.
    heartbeat False: dated by the look and the collect interval alone, unable to see a freeze.
    """

    source: str
    collect: float
    look: float
    read: float = timing.READ_TIME
    ttl: float = 0.0
    pages: timing.Pages = "ticker"
    heartbeat: bool = True
    via: Literal["page", "prometheus"] = "page"

    def at(self, look: float) -> "Pace":
        return replace(self, look=look)

    def collects_every(self, learnt: float | None) -> float:
        """A learnt interval may shorten the configured one, never lengthen it."""
        return self.collect if learnt is None else min(self.collect, learnt)

    def budget(self, learnt: float | None = None) -> timing.Budget:
        collect = self.collects_every(learnt)
        if self.via == "page":
            return timing.direct(collect, self.look, self.read, self.pages)
        return timing.profile(collect, self.look, self.read, self.ttl, self.pages)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What is known of one device of one target when its values are judged.

    wall: our wall clock at the look, seconds of Unix time.
    """

    pace: Pace
    track: Track
    wall: float
    max_age: float | None = None

    def reading(self, profile: Profile, field: Field, values: tuple[Value, ...], *, alone: bool) -> Reading:
        """One pod's reading of one field. alone: the device is a whole GPU that this pod holds by itself."""
        bad = _domain(field, values)
        if bad is not None:
            return Withheld(*bad, self.pace.source)
        beat = self.track.prof if field.profiling else self.track.dev
        born = self._born(beat)
        if isinstance(born, Withheld):
            return born
        walls = [value.wall for value in values if value.wall is not None]
        if walls:
            if max(walls) > self.wall + CLOCK_SKEW:
                ahead = timing.seconds(max(walls) - self.wall)
                return Withheld(Reason.FUTURE, f"its timestamp is {ahead} ahead of our clock", self.pace.source)
            born = min(born, self.track.seen - (self.wall - min(walls)) - CLOCK_SKEW)
        limit = self.max_age or self.pace.budget(beat.interval if beat else None).limit
        number = max(value.number for value in values) * field.scale
        if number == 0 and profile.activity and alone and self.pace.heartbeat:
            if not can_tell(self.track):
                return Withheld(
                    Reason.PENDING, "0 % is believed once two collects bear it out", self.pace.source, born, limit
                )
            if witness := contradiction(self.track):
                return Withheld(Reason.IMPLAUSIBLE_ZERO, f"0 % while {witness}", self.pace.source, born, limit)
        device = frozenset((self.track.sample.device,))
        patience = 2 * self.pace.look + self.pace.read + self.pace.ttl
        return Point(number, born, born + limit, self.track.seen, self.pace.source, patience, devices=device)

    def _born(self, beat: Beat | None) -> float | Withheld:
        pace = self.pace
        if not pace.heartbeat:
            return self.track.seen - pace.collect * (2 if pace.pages == "ticker" else 1)
        if beat is None:
            return Withheld(
                Reason.UNSUPPORTED,
                "its rows have nothing that moves (no energy, power or temperature), so a freeze could not be seen; "
                "to serve it all the same set sources.dcgm.heartbeat: none",
                pace.source,
            )
        if beat.born is None:
            return _not_yet(beat, pace)
        return beat.born - (pace.collects_every(beat.interval) if pace.pages == "ticker" else 0.0)


def _not_yet(beat: Beat, pace: Pace) -> Withheld:
    watched = timing.seconds(beat.at - beat.since)
    limit = pace.budget().limit
    if beat.at - beat.since <= limit:
        return Withheld(
            Reason.PENDING,
            f"seen for {watched}, its exporter has not collected again yet",
            pace.source,
            limit=limit,
        )
    what = "energy counter has" if beat.shown.energy is not None else "power and temperature have"
    return Withheld(
        Reason.UNSUPPORTED,
        f"its {what} not moved for {watched}: the exporter is frozen, or this device has no heartbeat; "
        "if it has none, set sources.dcgm.heartbeat: none",
        pace.source,
        limit=limit,
    )


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
