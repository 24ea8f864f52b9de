"""What the configured values need in health, per metric and source. Seconds."""

from adapter.core import timing
from adapter.settings.groups import Dcgm, Metric, Settings, StaticTarget


def cache_ttl(settings: Settings, interval: float, targets: int = 0) -> float:
    return settings.cache_ttl or timing.ttl(settings.sync_period, interval, targets)


def poll_interval(settings: Settings, targets: int) -> float:
    dcgm = settings.dcgm or Dcgm()
    return dcgm.poll or timing.ttl(settings.sync_period, dcgm.collect_interval, targets)


def pages_of(dcgm: Dcgm, target: StaticTarget | None) -> timing.Pages:
    pages = (target.pages if target else None) or dcgm.pages
    return "live" if pages == "live" else "ticker"


def budgets(settings: Settings, metric: Metric) -> dict[str, timing.Budget]:
    return {source: _budget(settings, metric, source) for source in metric.sources}


def _budget(settings: Settings, metric: Metric, source: str) -> timing.Budget:
    dcgm = settings.dcgm or Dcgm()
    if source == "dcgm":
        return timing.direct(
            dcgm.collect_interval, poll_interval(settings, len(dcgm.static)), dcgm.read_time, pages_of(dcgm, None)
        )
    ttl = cache_ttl(settings, dcgm.collect_interval)
    if metric.series is not None:
        return timing.profile(
            dcgm.collect_interval, timing.UNKNOWN_SCRAPE_INTERVAL, timing.READ_TIME, ttl, pages_of(dcgm, None)
        )
    return timing.query(timing.UNKNOWN_SCRAPE_INTERVAL, ttl, timing.READ_TIME, metric.exporter_refresh)
