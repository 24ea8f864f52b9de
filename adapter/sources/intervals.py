"""How often a server scrapes what a query reads: from its targets API, else from the samples, else long.

What is learnt from samples is the least step ever seen, which errs short at worst: a limit may only shrink by it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from adapter.core.errors import SourceError
from adapter.promql.rows import of_targets, sample_rows
from adapter.sources.promapi import Series
from adapter.sources.prometheus import PrometheusServer
from adapter.sources.scrapes import Target, target_of

REFRESH = 60.0  # seconds between looks at the targets API
RETRY = 5.0  # seconds, while something is not known yet
SOON = 1.0  # seconds, while the samples of a target do not tell yet
RELEARN = 600.0  # seconds after which what the samples told is asked again
STEPS = 10
TOGETHER = 32  # targets whose samples are asked for in one query
WINDOW = "15m"


def least_step(times: Sequence[float]) -> float | None:
    """The shortest of the last ten steps between one series' samples, in seconds; None: fewer than two samples."""
    recent = times[-STEPS - 1 :]
    return min((b - a for a, b in pairwise(recent) if b > a), default=None)


def slowest(targets: Iterable[tuple[str, str]], intervals: Mapping[tuple[str, str], float]) -> float | None:
    """The longest interval of these (job, instance); None: the API knows none of them."""
    return max((intervals[target] for target in targets if target in intervals), default=None)


async def interval_of(
    server: PrometheusServer, selector: str, targets: str, intervals: Mapping[tuple[str, str], float]
) -> float | None:
    """Seconds between the samples of a selector; None: nothing tells yet.

    targets: the query that names the (job, instance) pairs behind it. Raises SourceError.
    """
    pairs = [(row.labels.get("job", ""), row.labels.get("instance", "")) for row in await server.rows(targets)]
    known = slowest(pairs, intervals)
    if known is not None:
        return known
    one = await server.rows(f"topk(1, {selector})")
    if not one:
        return None
    matchers = ", ".join(f'{key}="{_escape(value)}"' for key, value in sorted(one[0].labels.items()))
    try:
        series = await server.raw("{" + matchers + f"}}[{WINDOW}]")
    except SourceError:
        return None
    return min((step for s in series if (step := least_step(s.times)) is not None), default=None)


class Intervals:
    """Seconds between scrapes by target: as the targets API tells, else as the samples do.

    When our reads find a newer sample tells nothing: behind one address may stand replicas whose samples take turns.
    """

    def __init__(self, server: PrometheusServer, clock: Callable[[], float]) -> None:
        self._server = server
        self._clock = clock
        self._told: dict[Target, float] = {}
        self._told_at = float("-inf")
        self._seen: dict[Target, float] = {}
        self._asked: dict[Target, float] = {}

    def of(self, target: Target) -> float | None:
        """None: not known yet."""
        return self._told.get(target) or self._seen.get(target)

    async def learn(self, families: Mapping[Target, str]) -> None:
        """Asks what is due, at most two queries. families: of each present target one that it shows.

        All others are forgotten. A server without a targets API (Thanos, Mimir) is no fault: the samples tell then.
        """
        self._seen = {target: step for target, step in self._seen.items() if target in families}
        self._asked = {target: at for target, at in self._asked.items() if target in families}
        now = self._clock()
        if now - self._told_at >= REFRESH:
            self._told_at = now
            await self._ask_api(families)
        due = sorted((t for t in families if self._due(t, now)), key=lambda t: self._asked.get(t, float("-inf")))
        if due:
            await self._ask_samples({target: families[target] for target in due[:TOGETHER]}, now)

    async def _ask_api(self, families: Mapping[Target, str]) -> None:
        try:
            told = await self._server.scrape_intervals()
        except SourceError:
            return
        # A server that just restarted knows nothing, and unlearns nothing for us.
        self._told = {target: step for target, step in self._told.items() if target in families} | told

    def _due(self, target: Target, now: float) -> bool:
        wait = RELEARN if target in self._seen else SOON
        return target not in self._told and now - self._asked.get(target, float("-inf")) >= wait

    async def _ask_samples(self, families: Mapping[Target, str], now: float) -> None:
        self._asked |= dict.fromkeys(families, now)
        try:
            series = await self._server.raw(sample_rows(families.values(), of_targets(families), WINDOW))
        except SourceError:
            return
        self._seen |= {target: step for target, step in least_steps(series).items() if target in families}


def least_steps(series: Iterable[Series]) -> dict[Target, float]:
    """By target, the least step of any one series; steps from one series to another are none."""
    steps: dict[Target, float] = {}
    for one in series:
        target, step = target_of(one), least_step(one.times)
        if step is not None:
            steps[target] = min(step, steps.get(target, step))
    return steps


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
