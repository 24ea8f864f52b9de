"""What a configuration file would serve, from where, and how old it can be in health; or all that is wrong with it."""

from collections.abc import Iterator

from adapter.core import timing
from adapter.core.errors import ConfigError
from adapter.core.profiles import PROFILES
from adapter.core.timing import seconds
from adapter.settings import budgets, pages_of, parse, poll_interval
from adapter.settings.budgets import DCGM
from adapter.settings.groups import Connection, Dcgm, Metric, Settings


def check(name: str, content: bytes) -> tuple[int, str]:
    """An exit code and a text for people. name: the file's, for messages."""
    try:
        settings = parse(content)
    except ConfigError as error:
        lines = [f"{name}: {fault}" for fault in error.faults]
        return 1, "\n".join([*lines, _count(len(error.faults), "fault")])
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
        poll = seconds(poll_interval(settings, len(dcgm.static)))
        exporters = _count(len(dcgm.static), "exporter")
        lines.append(f"  dcgm        {exporters}, read every {poll}; collecting every {seconds(dcgm.collect_interval)}")
        lines += [f"              {target.url} ({pages_of(dcgm, target)} pages)" for target in dcgm.static]
    lines += [f"  {server.name:<11} {server.url}" for server in settings.prometheus]
    return lines or ["  none"]


def _metric(settings: Settings, metric: Metric) -> list[str]:
    what = PROFILES[metric.series].unit if metric.series else f"of {' '.join((metric.query or '').split())}"
    about = "pods" if metric.series or "pod" in metric.labels else "nodes" if "node" in metric.labels else "namespaces"
    combine = f", {metric.devices} over a pod's GPUs" if metric.series else ""
    lines = [f"  {about}/{metric.name}  ({what}{combine})"]
    explicit = metric.max_age
    for source, budget in budgets(settings, metric).items():
        limit = (
            f"{seconds(explicit)} (configured)"
            if explicit
            else f"{seconds(budget.limit)} (auto: {seconds(budget.slack)} on top)"
        )
        lines.append(f"    from {source}: limit {limit}; worst healthy age {budget.explain()}")
        if source != DCGM:
            unknown = seconds(timing.UNKNOWN_SCRAPE_INTERVAL)
            lines.append(f"      a scrape of {unknown} is assumed at first, until the targets API or the samples tell")
    return lines


def _warnings(settings: Settings) -> Iterator[str]:
    for metric in settings.metrics:
        yield from _limit(settings, metric)
        if metric.query and "DCGM_FI_" in metric.query:
            yield f"{metric.name}: a query cannot see a frozen exporter or a false zero; series: can"
    if any(metric.series for metric in settings.metrics):
        yield from _exporters(settings.dcgm or Dcgm())
    if any(DCGM in metric.sources for metric in settings.metrics) and not (settings.dcgm and settings.dcgm.static):
        yield "sources.dcgm.static lists no exporter: nothing is read directly"
    if settings.dcgm:
        plain = any(target.url.startswith("http:") for target in settings.dcgm.static)
        yield from _secrecy(DCGM, settings.dcgm.connection, plain=plain)
    for server in settings.prometheus:
        if not any(server.name in metric.sources for metric in settings.metrics):
            yield f"{server.name}: no metric is read from it"
        yield from _secrecy(server.name, server.connection, plain=server.url.startswith("http:"))


def _limit(settings: Settings, metric: Metric) -> Iterator[str]:
    """A configured limit that a source keeps only if it is quick enough, or not at all."""
    explicit = metric.max_age
    if explicit is None:
        return
    for source, budget in budgets(settings, metric, scrape=0.0).items():
        spare = explicit - budget.worst_healthy_age
        scrape = spare / 2 if metric.series else spare  # a profile waits for two scrapes, see core/timing
        if spare < 0 or (source != DCGM and scrape <= 0):
            need = seconds(budget.worst_healthy_age)
            yield f"{metric.name}: from {source} even healthy values can be {need} old, beyond its limit"
        elif source != DCGM and scrape < timing.UNKNOWN_SCRAPE_INTERVAL:
            yield f"{metric.name}: {source} keeps its limit only where it scrapes at least every {seconds(scrape)}"


def _exporters(dcgm: Dcgm) -> Iterator[str]:
    if dcgm.collect_interval >= timing.DCGM_COLLECT_INTERVAL:
        yield (
            "the exporters' collect interval dominates: set DCGM_EXPORTER_INTERVAL to 5000 (ms), "
            "then sources.dcgm.collectInterval to 5s"
        )
    if pages_of(dcgm, None) == "ticker" and dcgm.pages == "auto":
        yield "exporters are taken for older than 4.0, which costs one collect interval: else set pages: live"
    if dcgm.heartbeat == "none" or any(target.heartbeat == "none" for target in dcgm.static):
        yield "heartbeat: none cannot see a freeze"


def _secrecy(source: str, connection: Connection, *, plain: bool) -> Iterator[str]:
    secret = connection.bearer_token_file or connection.password_file or connection.header_files
    if secret and plain:
        yield f"{source}: its credentials go over plain http, where they can be read"
    if connection.insecure_skip_verify:
        yield f"{source}: insecureSkipVerify: whoever is in between can invent values"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
