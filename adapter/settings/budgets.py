"""What the configured values need in health, by metric and source. Seconds."""

from adapter.core import timing
from adapter.core.pace import Pace
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
        paces = [page_pace(settings, target) for target in dcgm.static or (None,)]
        return max((pace.budget() for pace in paces), key=lambda budget: budget.worst_healthy_age)
    server = next((s for s in settings.prometheus if s.name == source), Prometheus(source, ""))
    if metric.series is not None:
        return profile_pace(settings, server).at(scrape).budget()
    ttl = cache_ttl(settings, settings.sync_period)
    return timing.query(scrape, ttl, server.read_time, metric.exporter_refresh)


def page_pace(settings: Settings, target: StaticTarget | None) -> Pace:
    """How an exporter's page is read; None: one that nothing special is said of."""
    dcgm = settings.dcgm or Dcgm()
    return Pace(
        source=DCGM,
        collect=(target.collect_interval if target else None) or dcgm.collect_interval,
        look=poll_interval(settings, len(dcgm.static)),
        read=dcgm.read_time,
        pages=pages_of(dcgm, target),
        heartbeat=((target.heartbeat if target else None) or dcgm.heartbeat) != "none",
    )


def profile_pace(settings: Settings, server: Prometheus) -> Pace:
    """How GPU rows are read from a Prometheus; what it scrapes how often is learnt by the reader."""
    dcgm = settings.dcgm or Dcgm()
    return Pace(
        source=server.name,
        collect=dcgm.collect_interval,
        look=timing.UNKNOWN_SCRAPE_INTERVAL,
        read=server.read_time,
        ttl=cache_ttl(settings, dcgm.collect_interval),
        pages=pages_of(dcgm, None),
        heartbeat=dcgm.heartbeat != "none",
        via="prometheus",
    )
