"""What can go wrong with an exporter, and when: a fault reigns for a spell, and so every page stays a function of time.

Ways in which real exporters fail: NVIDIA/dcgm-exporter issues 164 (values stuck), 418 (garbage), 662 (zero while busy),
378 (pod labels lost); the transport faults are what networks and proxies add.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """Where several of one kind reign at once, the first in this order is seen."""

    FREEZE = "freeze"  # collects stop, the page is served on
    PROF_FREEZE = "prof_freeze"  # profiling ratios stand still, what the driver says moves on
    ENERGY_RESET = "energy_reset"  # the energy counter begins at 0 again (driver reloaded)

    NAN = "nan"  # GPU_UTIL is NaN
    BLANK = "blank"  # GPU_UTIL is DCGM's code for "not supported"
    GARBAGE = "garbage"  # GPU_UTIL is 808 million
    FALSE_ZERO = "false_zero"  # GPU_UTIL is 0 while power and engine say otherwise
    SERIES_GONE = "series_gone"  # no GPU_UTIL rows

    EMPTY = "empty"  # 200 without a byte
    LOST_LABELS = "lost_labels"  # rows name no pods
    TIMESTAMPS = "timestamps"  # rows carry the time of their collect

    KILLED = "killed"  # the port is closed
    HANG = "hang"  # accepts and never answers
    HTTP_500 = "http_500"
    REDIRECT = "redirect"
    SLOW = "slow"  # answers after a while
    TRICKLE = "trickle"  # a byte a second
    ENDLESS = "endless"  # rows without an end
    HUGE = "huge"  # 200 MB, announced
    GZIP_BOMB = "gzip_bomb"  # small and compressed, unasked
    TRUNCATED = "truncated"  # the connection breaks in mid-page


MEASURED = (Fault.NAN, Fault.BLANK, Fault.GARBAGE, Fault.FALSE_ZERO, Fault.SERIES_GONE)  # come true at a collect
TRANSPORT = tuple(Fault)[tuple(Fault).index(Fault.KILLED) :]  # the server's part; pages know nothing of them


@dataclass(frozen=True, slots=True)
class Spell:
    """A fault reigns from `start` until just before `end`, seconds on our clock. delay: seconds, of a SLOW answer."""

    fault: Fault
    start: float
    end: float = float("inf")
    delay: float = 2.0

    def reigns(self, now: float) -> bool:
        return self.start <= now < self.end


def reigning(spells: Iterable[Spell], now: float) -> dict[Fault, Spell]:
    """The faults at `now`, in the order of Fault; of several spells of one fault the last given."""
    now_on = {spell.fault: spell for spell in spells if spell.reigns(now)}
    return {fault: now_on[fault] for fault in Fault if fault in now_on}
