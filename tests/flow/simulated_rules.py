"""A Prometheus in virtual time that records what it scrapes, and whose every answer takes its time."""

import math
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from adapter.core.errors import SourceError
from adapter.core.lag import Heard, hear
from adapter.poller import every
from adapter.promql.rows import NOW, TAG
from adapter.sources.promapi import Rule, Sample
from adapter.sources.prometheus import Evaluation
from tests.flow.ageing import NAMESPACE
from tests.flow.simulated import LOOKBACK, SimulatedPrometheus
from tests.virtual_time import now

TOLD, RECORDED = "told", "pod:told:max"
RULE = f"max by (namespace, pod) ({TOLD})"


class Written(NamedTuple):
    """A recorded sample: when the rule ran, seconds by the server's clock, and what it read, by pod."""

    stamp: float
    values: dict[str, float]


@dataclass
class RecordingPrometheus(SimulatedPrometheus):
    """Its one rule runs every `rule_interval` seconds. silent: from when on it tells nothing of itself, our clock."""

    rule_interval: float = 15.0
    silent: float = math.inf
    written: list[Written] = field(default_factory=list)

    def loops(self) -> list[Coroutine[object, object, None]]:
        first = now() + self.jitter.random.uniform(0, self.rule_interval)
        return [*super().loops(), every(self.rule_interval, first, now, self._record)]

    async def _record(self) -> None:
        await self.jitter.wait()
        self.written.append(Written(self.time(), {pod: value for pod, (_, value) in self._newest().items()}))

    def _newest(self) -> dict[str, tuple[float, float]]:
        """Per pod the newest sample: its time and value."""
        scrapes = {pod: kept[-1] for pod, kept in self.scraped.items() if self.time() - kept[-1].stamp <= LOOKBACK}
        return {pod: (scrape.stamp, scrape.rows[0].value) for pod, scrape in scrapes.items()}

    async def evaluate(self, query: str) -> Evaluation:
        await self.jitter.wait()
        sent = now()
        at, samples = await self.jitter.read(lambda: (self.time(), list(self._rows(query))))
        heard = Heard(sent, now(), at, float(math.floor(at)))
        self._server, lag = hear(self._server, heard)
        return Evaluation([*samples, Sample({TAG: NOW}, at)], heard, lag)

    def _rows(self, query: str) -> Iterable[Sample]:
        if RECORDED in query:
            written = self.written[-1] if self.written else Written(0.0, {})
            for pod, value in written.values.items():
                yield from _row(pod, "t0", written.stamp, value)
            return
        for pod, (stamp, value) in self._newest().items():
            yield from _row(pod, "s0" if '"s0"' in query else "t0", stamp, value)

    async def rows(self, query: str) -> list[Sample]:
        await self._tell()
        return await super().rows(query)

    async def scrape_intervals(self) -> dict[tuple[str, str], float]:
        await self._tell()
        return await super().scrape_intervals()

    async def recording_rules(self) -> list[Rule]:
        await self._tell()
        return [Rule(RECORDED, RULE, self.rule_interval)]

    async def _tell(self) -> None:
        await self.jitter.read(lambda: None)
        if now() >= self.silent:
            raise SourceError("timeout", "took too long")


def _row(pod: str, tag: str, stamp: float, value: float) -> Iterable[Sample]:
    labels = {"namespace": NAMESPACE, "pod": pod}
    yield Sample({**labels, TAG: tag}, stamp)
    if tag == "t0":
        yield Sample(labels, value)
