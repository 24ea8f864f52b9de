"""How old the sources of a recorded series were, moment by moment. Law: what is not known is never taken for younger.

A series that vanished keeps its last known time for as long as the rule may still have read it. Pure.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from adapter.core.points import Labels


@dataclass(frozen=True, slots=True)
class Times:
    """Sample times of one selector's series by their labels, seconds by the server's clock; found by label names."""

    by_labels: Mapping[Labels, float]
    names: frozenset[tuple[str, ...]]
    oldest: float

    def of(self, row: Mapping[str, str]) -> float:
        """The oldest of the series that say nothing else than the row; where there is none, the oldest of all."""
        return min(self._own(row), default=self.oldest)

    def _own(self, row: Mapping[str, str]) -> Iterator[float]:
        for names in self.names:
            if all(name in row for name in names):
                at = self.by_labels.get(tuple((name, row[name]) for name in names))
                if at is not None:
                    yield at


def times(by_labels: Mapping[Labels, float]) -> Times:
    """by_labels: not empty."""
    names = frozenset(tuple(name for name, _ in labels) for labels in by_labels)
    return Times(by_labels, names, min(by_labels.values()))


class Moment(NamedTuple):
    """at: seconds by the server's clock; known: of every selector that has ever had a series."""

    at: float
    known: tuple[Times, ...]


@dataclass(slots=True)
class Memory:
    """keep: seconds for which moments are remembered; lost: for which a series that vanished keeps its last time."""

    keep: float
    lost: float
    _moments: deque[Moment] = field(default_factory=deque)
    _latest: dict[int, dict[Labels, float]] = field(default_factory=dict)
    _seen: dict[int, dict[Labels, float]] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not self._moments

    def take(self, at: float, found: Sequence[Mapping[Labels, float]]) -> None:
        """found: sample times by labels, per selector, as they were at `at`. Nothing is learnt from an older look,
        unless it is so old that the server's clock must have been set back."""
        if self._moments and at <= self._moments[-1].at:
            if self._moments[-1].at - at <= self.keep:
                return
            self._moments.clear()
            self._seen.clear()
            self._latest.clear()
        for index, now in enumerate(found):
            self._latest[index] = self._merged(index, at, now)
        self._moments.append(Moment(at, tuple(times(known) for known in self._latest.values() if known)))
        while len(self._moments) > 1 and self._moments[1].at <= at - self.keep:
            self._moments.popleft()

    def _merged(self, index: int, at: float, now: Mapping[Labels, float]) -> dict[Labels, float]:
        seen = self._seen.setdefault(index, {})
        seen.update(dict.fromkeys(now, at))
        merged = {**self._latest.get(index, {}), **now}
        if len(merged) > len(now):
            for labels in [labels for labels in merged if at - seen[labels] > self.lost]:
                del merged[labels], seen[labels]
        return merged

    def true_at(self, row: Labels, written: float) -> float | None:
        """When the sources of a row were true, as far as was known at `written`; None: nothing was."""
        return _oldest(next((moment.known for moment in reversed(self._moments) if moment.at <= written), ()), row)

    def earliest(self, row: Labels) -> float | None:
        """What they were at the first moment that is remembered: before it they were not younger. None: unknown."""
        return _oldest(self._moments[0].known if self._moments else (), row)


def _oldest(known: Sequence[Times], row: Labels) -> float | None:
    own = dict(row)
    return min((times.of(own) for times in known), default=None)
