"""What the configured values need in health, by metric and source. Seconds."""

from adapter.core import timing
from adapter.settings.groups import Dcgm, Metric, Prometheus, Settings, StaticTarget

DCGM = "dcgm"


def cache_ttl(settings: Settings, interval: float) -> float:
    """Between reads of a feed whose source has something new every `interval`."""
    return settings.cache_ttl or timing.ttl(settings.sync_period, interval)


def poll_interval(settings: Settings, targets: int) -> float:
    """Between looks at one exporter, of so many."""
    dcgm = settings.dcgm or Dcgm()
    return dcgm.poll or timing.ttl(settings.sync_period, dcgm.collect_interval, targets)


def pages_of(dcgm: Dcgm, target: StaticTarget | None) -> timing.Pages:
    """`auto` knows nothing of an exporter that is named by its URL, and takes it for the older kind."""
    pages = (target.pages if target else None) or dcgm.pages
    return "live" if pages == "live" else "ticker"


def budgets(
    settings: Settings, metric: Metric, scrape: float = timing.UNKNOWN_SCRAPE_INTERVAL
) -> dict[str, timing.Budget]:
    """The worst healthy age from each source of a metric; of exporters that differ, the slowest one's.

    scrape: what to take a Prometheus' scrape interval for, which is learnt only later.
    """
    return {source: _budget(settings, metric, source, scrape) for source in metric.sources}


def _budget(settings: Settings, metric: Metric, source: str, scrape: float) -> timing.Budget:
    dcgm = settings.dcgm or Dcgm()
    if source == DCGM:
        return _pages(settings, dcgm)
    server = next((s for s in settings.prometheus if s.name == source), Prometheus(source, ""))
    if metric.series is not None:
        ttl = cache_ttl(settings, dcgm.collect_interval)
        return timing.profile(dcgm.collect_interval, scrape, server.read_time, ttl, pages_of(dcgm, None))
    ttl = cache_ttl(settings, settings.sync_period)
    return timing.query(scrape, ttl, server.read_time, metric.exporter_refresh)


def _pages(settings: Settings, dcgm: Dcgm) -> timing.Budget:
    poll = poll_interval(settings, len(dcgm.static))
    each = [
        timing.direct(target.collect_interval or dcgm.collect_interval, poll, dcgm.read_time, pages_of(dcgm, target))
        for target in dcgm.static
    ]
    plain = timing.direct(dcgm.collect_interval, poll, dcgm.read_time, pages_of(dcgm, None))
    return max(each, key=lambda budget: budget.worst_healthy_age, default=plain)
