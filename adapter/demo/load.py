"""How busy a GPU is, as a function of time; its integral is exact, and so is the energy that it takes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Load(Protocol):
    """What a GPU has to do."""

    def at(self, t: float) -> float:
        """Ratio 0–1 at `t` seconds."""
        ...

    def total(self, t: float) -> float:
        """The integral of `at` from 0 to `t`: seconds of full load, negative before 0."""
        ...


@dataclass(frozen=True, slots=True)
class Waves:
    """Steps that repeat, with a sine on top.

    levels: ratios 0–1, each held for `hold` seconds, for ever in turn.
    swing, period, phase: amplitude (ratio), seconds and radians of the sine. Raises ValueError: it leaves 0–1.
    """

    levels: Sequence[float]
    hold: float = 60.0
    swing: float = 0.0
    period: float = 60.0
    phase: float = 0.0

    def __post_init__(self) -> None:
        if min(self.levels) - abs(self.swing) < 0 or max(self.levels) + abs(self.swing) > 1:
            raise ValueError(f"levels {self.levels} with a swing of {self.swing:g} leave 0 to 1: lower the swing")

    def at(self, t: float) -> float:
        step = int(t % (self.hold * len(self.levels)) / self.hold)
        level = self.levels[min(step, len(self.levels) - 1)]
        return level + self.swing * math.sin(2 * math.pi * t / self.period + self.phase)

    def total(self, t: float) -> float:
        cycles, rest = divmod(t, self.hold * len(self.levels))
        steps = cycles * self.hold * sum(self.levels)
        for level in self.levels:
            steps += level * min(self.hold, max(0.0, rest))
            rest -= self.hold
        turn = 2 * math.pi / self.period
        return steps + self.swing / turn * (math.cos(self.phase) - math.cos(turn * t + self.phase))


IDLE = Waves((0.0,))
