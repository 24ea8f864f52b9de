"""What a configuration file would serve, from where, and how old it can be in health; or all that is wrong with it."""

from adapter.core import timing
from adapter.core.errors import ConfigError
from adapter.core.profiles import PROFILES
from adapter.settings import budgets, pages_of, parse, poll_interval
from adapter.settings.groups import Dcgm, Metric, Settings


def check(name: str, content: bytes) -> tuple[int, str]:
    """An exit code and a text for people. name: the file's, for messages."""
    try:
        settings = parse(content)
    except ConfigError as error:
        count = len(error.faults)
        lines = [f"{name}: {fault}" for fault in error.faults]
        return 1, "\n".join([*lines, f"{count} fault{'s' if count != 1 else ''}"])
    return 0, report(settings)


def report(settings: Settings) -> str:
    """The configuration in the adapter's own words."""
    parts = ["Sources", *_sources(settings), "", "Metrics"]
    for metric in settings.metrics:
        parts += _metric(settings, metric)
    warnings = list(dict.fromkeys(_warnings(settings)))
    if warnings:
        parts += ["", "Worth knowing", *(f"  - {warning}" for warning in warnings)]
    return "\n".join(parts)


def _sources(settings: Settings) -> list[str]:
    lines = []
    if settings.dcgm:
        dcgm = settings.dcgm
        poll = timing.seconds(poll_interval(settings, len(dcgm.static)))
        collect = timing.seconds(dcgm.collect_interval)
        lines.append(f"  dcgm        {len(dcgm.static)} exporters, read every {poll}; they collect every {collect}")
        lines += [f"              {target.url} ({pages_of(dcgm, target)} pages)" for target in dcgm.static]
    lines += [f"  {server.name:<11} {server.url}" for server in settings.prometheus]
    return lines or ["  none"]


def _metric(settings: Settings, metric: Metric) -> list[str]:
    what = PROFILES[metric.series].unit if metric.series else f"of {metric.query}"
    about = "pods" if metric.series or "pod" in metric.labels else "nodes" if "node" in metric.labels else "namespaces"
    combine = f", {metric.devices} over a pod's GPUs" if metric.series else ""
    lines = [f"  {about}/{metric.name}  ({what}{combine})"]
    explicit = metric.max_age or settings.max_age
    for source, budget in budgets(settings, metric).items():
        limit = f"{timing.seconds(explicit)} (configured)" if explicit else f"{timing.seconds(budget.limit)} (auto)"
        lines.append(f"    from {source}: limit {limit}; worst healthy age {budget.explain()}")
        if source != "dcgm":
            lines.append("      the scrape interval is taken for 60s until the server tells; the limit then shrinks")
    return lines


def _warnings(settings: Settings) -> list[str]:
    found = []
    dcgm = settings.dcgm or Dcgm()
    profiles = [metric for metric in settings.metrics if metric.series]
    for metric in settings.metrics:
        explicit = metric.max_age or settings.max_age
        for source, budget in budgets(settings, metric).items():
            if explicit and explicit < budget.worst_healthy_age:
                need = timing.seconds(budget.worst_healthy_age)
                found.append(f"{metric.name}: from {source} even healthy values can be {need} old, beyond its limit")
        if metric.query and "DCGM_FI_" in metric.query:
            found.append(f"{metric.name}: a query cannot see a frozen exporter or a false zero; series: can")
    if profiles and dcgm.collect_interval >= timing.DCGM_COLLECT_INTERVAL:
        found.append(
            "the exporters' collect interval dominates: set DCGM_EXPORTER_INTERVAL to 5000, collectInterval to 5s"
        )
    if profiles and pages_of(dcgm, None) == "ticker" and dcgm.pages == "auto":
        found.append("exporters are taken for older than 4.0, which costs one collect interval: else set pages: live")
    if dcgm.heartbeat == "none" or any(target.heartbeat == "none" for target in dcgm.static):
        found.append("heartbeat: none cannot see a freeze")
    if any("dcgm" in metric.sources for metric in profiles) and not dcgm.static:
        found.append("sources.dcgm.static lists no exporter: nothing is read directly")
    return found
