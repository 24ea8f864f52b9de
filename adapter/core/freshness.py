"""Only age decides what may be served, at the moment of the answer.

Not a scrape's success, not `up`, not a cache's age: a Point is served while now <= expires, else withheld.
"""

from adapter.core.points import Point, Reading, Reason, Withheld
from adapter.core.timing import seconds


def decide(reading: Reading, now: float) -> Reading:
    """The reading itself if it may be served at `now` (seconds, our clock), else the Withheld that says why not."""
    if reading.expires is None or now <= reading.expires:
        return reading
    if isinstance(reading, Withheld):
        detail = f"not seen for so long that it no longer counts; it was {reading.reason} then"
        return Withheld(Reason.STALE, detail, reading.source, reading.born, reading.limit, reading.labels)
    return too_old(reading, now)


def too_old(point: Point, now: float) -> Withheld:
    """Frozen is the name of an age beyond the limit while its source still shows the value; else it is stale."""
    age, limit = seconds(now - point.born), seconds(point.limit)
    if now - point.seen <= point.patience:
        reason, why = Reason.FROZEN, "its exporter still answers but has not collected again"
    else:
        reason, why = Reason.STALE, f"last seen {seconds(now - point.seen)} ago"
    return Withheld(reason, f"{age} old, limit {limit}: {why}", point.source, point.born, point.limit, point.labels)


FALLS_OVER = frozenset({Reason.STALE, Reason.MISSING, Reason.PENDING, Reason.SOURCE_PARTIAL, Reason.SOURCE_ERROR})


def younger(readings: list[Reading], now: float) -> Reading:
    """One object's readings from several sources that are replicas of one truth, at least one of them.

    A source that has nothing yields to one that has; a source that knows the value to be false withholds it for all.
    Between values the younger wins if both cover the same devices, else the one that covers more; values over devices
    of which neither holds the other's are ambiguous.
    """
    decided = [decide(reading, now) for reading in readings]
    vetoes = [r for r in decided if isinstance(r, Withheld) and r.reason not in FALLS_OVER]
    if vetoes:
        return min(vetoes, key=_order)
    points = [r for r in decided if isinstance(r, Point)]
    if points:
        return _best(points)
    return min((r for r in decided if isinstance(r, Withheld)), key=_order)


def _best(points: list[Point]) -> Reading:
    covered = frozenset(device for point in points for device in point.devices)
    widest = [point for point in points if point.devices == covered]
    if not widest:
        sources = sorted({point.source for point in points})
        detail = f"{' and '.join(sources)} each show devices of it that the other lacks"
        return Withheld(Reason.AMBIGUOUS, detail, sources[0], labels=points[0].labels)
    return max(widest, key=lambda point: (point.born, point.source, point.value))


def _order(withheld: Withheld) -> tuple[bool, float, str, str]:
    """The most telling reason first: the youngest birth, then by name, so that the order of sources is no input."""
    return (withheld.born is None, -(withheld.born or 0.0), withheld.reason, withheld.source)
