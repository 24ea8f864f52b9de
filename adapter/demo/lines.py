"""The demo for pipes and logs: plain lines, one a fault for `--once`, else one whenever something changes."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TextIO

from adapter.core.timing import seconds
from adapter.demo.moment import Moment, Opening, state
from adapter.demo.promises import Promise, Promises
from adapter.demo.script import TOLD, Scene
from adapter.demo.view import WorkloadView

PACE = 1.0  # seconds between lines, at least


class Plain:
    """Writes whole lines to `out`."""

    def __init__(self, out: TextIO) -> None:
        self.log: logging.Handler = logging.StreamHandler()
        self.log.setLevel(logging.ERROR)  # to standard error: what is withheld is told here anyway
        self._out = out

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was taken."""

    def open(self, opening: Opening) -> None:
        rhythm = opening.rhythm
        self._line(
            f"{opening.exporters} simulated exporters, {opening.pods} pods, and the real adapter: exporters collect "
            f"every {seconds(rhythm.collect)}, it looks every {seconds(rhythm.poll)}, limit {seconds(rhythm.limit)}"
        )
        self._line(f"ask it yourself: {opening.curl}")
        self._line(f"its telemetry:   {opening.metrics}")
        self._line("")

    def close(self, promises: Promises, *, complete: bool) -> None:
        for line in verdict(promises, complete=complete):
            self._line(line)

    def _line(self, text: str) -> None:
        self._out.write(text + "\n")
        self._out.flush()


class Changes(Plain):
    """One line whenever what is answered changes, at most one each PACE."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        self._said = ""
        self._at = -PACE

    def seen(self, moment: Moment) -> None:
        now = changed(moment)
        if now != self._said and moment.at - self._at >= PACE:
            self._said, self._at = now, moment.at
            self._line(f"{moment.at:7.1f}s  {now}")


def changed(moment: Moment) -> str:
    """One observation as one line, without its time."""
    rows = [row for view in moment.views for row in view.pods]
    withheld = [f"{row.pod} {row.reason}" for row in rows if row.answer is None]
    served = f"{len(rows) - len(withheld)} of {len(rows)} pods served"
    answers = ", ".join([served, *withheld])
    hpa = "; ".join(map(wants, moment.views))
    return f"{state(moment):24}  {answers:60}  HPA of {hpa}"


def wants(view: WorkloadView) -> str:
    wanted = view.wanted
    return f"{view.name} at {view.replicas} wants {wanted.ours} (naive {wanted.naive}, truth {wanted.truth})"


@dataclass
class Chapter:
    """What one scene brought, and the rest after it. Times in seconds since the scene's first or last observation."""

    scene: Scene
    began: float
    ended: float | None = None
    reason: dict[str, str] = field(default_factory=dict)
    after: float | None = None
    again: dict[str, float] = field(default_factory=dict)
    worst: WorkloadView | None = None

    def add(self, moment: Moment) -> None:
        rows = [row for view in moment.views for row in view.pods]
        if moment.scene is not None:
            for row in rows:
                if row.answer is None:
                    self.reason[row.pod] = row.reason
                    self.after = moment.at - self.began if self.after is None else self.after
            for view in moment.views:
                if self.worst is None or view.wanted.harm > self.worst.wanted.harm:
                    self.worst = view
            return
        self.ended = moment.at if self.ended is None else self.ended
        for row in rows:
            if row.pod in self.reason and row.answer is not None:
                self.again.setdefault(row.pod, moment.at - self.ended)

    def __str__(self) -> str:
        title = f"{TOLD[self.scene.fault].title} on {self.scene.node}"
        reasons = sorted(set(self.reason.values()))
        withheld = f"{' '.join(sorted(self.reason))} {'/'.join(reasons)} after {seconds(self.after or 0)}"
        again = f"after {seconds(max(self.again.values()))}" if len(self.again) == len(self.reason) > 0 else "not yet"
        hpa = wants(self.worst) if self.worst else ""
        return f"{self.began:5.1f}s  {title:22} {withheld if self.reason else 'nothing':44} {again:13} {hpa}"


HEADING = f"{'at':>6}  {'fault':22} {'withheld, and why':44} {'served again':13} HPA, when naive is most wrong"


class Report(Plain):
    """One line a fault."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        self._chapter: Chapter | None = None

    def open(self, opening: Opening) -> None:
        super().open(opening)
        self._line(HEADING)

    def seen(self, moment: Moment) -> None:
        if moment.scene is not None and (self._chapter is None or moment.scene != self._chapter.scene):
            self._turn()
            self._chapter = Chapter(moment.scene, moment.at)
        if self._chapter is not None:
            self._chapter.add(moment)

    def close(self, promises: Promises, *, complete: bool) -> None:
        self._turn()
        self._line("")
        super().close(promises, complete=complete)

    def _turn(self) -> None:
        if self._chapter is not None:
            self._line(str(self._chapter))
        self._chapter = None


def verdict(promises: Promises, *, complete: bool) -> Iterable[str]:
    """Every promise with how often it was checked, what was broken, and the sum."""
    broken = {broken.promise for broken in promises.broken}
    for promise in Promise:
        word = "broken" if promise in broken else "kept" if promises.kept[promise] else "unchecked"
        yield f"{word:9} {promise} ({promises.kept[promise]:,} checks)"
    yield f"the oldest value served was {seconds(promises.oldest)} old, limit {seconds(promises.limit)}"
    yield from map(str, promises.broken)
    if not complete:
        yield "stopped before the script was over"
    kept = sum(1 for promise in Promise if promise not in broken and promises.kept[promise])
    yield f"{kept} promises kept, {len(broken)} broken"
