"""How often a server scrapes what a query reads: from its targets API, else from the samples, else long.

What is learnt from samples is the least step ever seen, which errs short at worst: a limit may only shrink by it.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from adapter.core.errors import SourceError
from adapter.sources.prometheus import PrometheusServer

REFRESH = 60.0  # seconds between looks at the targets API
RETRY = 5.0  # seconds, while something is not known yet
STEPS = 10


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
        series = await server.raw("{" + matchers + "}[15m]")
    except SourceError:
        return None
    return min((step for s in series if (step := least_step(s.times)) is not None), default=None)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
