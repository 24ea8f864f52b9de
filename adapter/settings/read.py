"""Bytes become Settings, or every fault at once, each with its path and line. Nothing is guessed, nothing ignored."""

from typing import Final, cast

from adapter.core import timing
from adapter.core.document import Item, Section, document
from adapter.core.profiles import PROFILES
from adapter.settings.budgets import budgets
from adapter.settings.connections import connection, url
from adapter.settings.groups import (
    Dcgm,
    Dialect,
    Heartbeat,
    Metric,
    PagesSetting,
    Prometheus,
    Settings,
    StaticTarget,
)
from adapter.settings.metrics import duration, metric, ratio

PAGES: Final = ("auto", "live", "ticker")
HEARTBEATS: Final = ("auto", "none")
DIALECTS: Final = ("auto", "prometheus", "victoriametrics", "thanos", "mimir")
OF_PROMETHEUS_ADAPTER: Final = ("rules", "externalRules", "resourceRules")


def default_settings() -> Settings:
    """What is served without a file: every GPU profile under its own name."""
    metrics = tuple(Metric(profile.metric, ("dcgm",), series=profile.name) for profile in PROFILES.values())
    return Settings(dcgm=Dcgm(), metrics=metrics)


def parse(content: bytes) -> Settings:
    """Raises ConfigError with all that is wrong."""
    top = document(content)
    for key in OF_PROMETHEUS_ADAPTER:
        if item := top.get(key):
            item.fault("belongs to prometheus-adapter's file (--config), which this version does not read")
    hpa, cache, freshness = top.section("hpa"), top.section("cache"), top.section("freshness")
    sources = top.section("sources")
    dcgm, servers = _dcgm(sources), _servers(sources)
    min_coverage = ratio(freshness, "minCoverage", 0.5)
    if (nan := freshness.get("onNaN")) and nan.choice(("omit", "zero"), "omit") == "zero":
        nan.fault("zero is for the rules of prometheus-adapter's file, which this version does not read")
    settings = Settings(
        sync_period=duration(hpa, "syncPeriod") or timing.HPA_SYNC_PERIOD,
        cache_ttl=duration(cache, "ttl"),
        max_age=duration(freshness, "maxAge"),
        min_coverage=min_coverage,
        dcgm=dcgm,
        prometheus=servers,
        metrics=_metrics(top, dcgm, servers, min_coverage),
    )
    _limits(top, settings)
    for section in (hpa, cache, freshness, sources, top):
        section.close()
    top.refuse()
    return settings


def _metrics(
    top: Section, dcgm: Dcgm | None, servers: tuple[Prometheus, ...], min_coverage: float
) -> tuple[Metric, ...]:
    item = top.get("metrics")
    if item is None:
        top.fault("metrics: names nothing to serve; list at least one metric")
        return ()
    known = frozenset([*(["dcgm"] if dcgm else []), *(server.name for server in servers)])
    made: list[Metric] = []
    first: dict[tuple[str, frozenset[str]], int] = {}
    for entry in item.items():
        one = metric(entry.section(), known, min_coverage)
        about = one.name, frozenset(one.labels or ("namespace", "pod"))
        if one.name and about in first:
            entry.fault(f"{one.name} is served already by the entry in line {first[about]}")
        first.setdefault(about, entry.line)
        made.append(one)
    return tuple(made)


def _limits(top: Section, settings: Settings) -> None:
    """An explicit limit below what every source of the metric needs in health would withhold healthy values.

    By what is configured: how often a Prometheus scrapes is not known here, and counts as nothing.
    """
    for one in settings.metrics:
        limit = one.max_age or settings.max_age
        if limit is None or not one.sources or (one.series not in PROFILES and one.query is None):
            continue
        refused = timing.refusal(limit, budgets(settings, one, scrape=0.0))
        if refused:
            path, line = one.where
            where = f"{path}.freshness.maxAge" if one.max_age else "freshness.maxAge"
            top.fault_at(line, where, f"{one.name}: {refused}")


def _dcgm(sources: Section) -> Dcgm | None:
    item = sources.get("dcgm")
    if item is None:
        return None
    section = item.section()
    if discovery := section.get("discovery"):
        discovery.fault("finding exporters through Kubernetes is not in this version: list their URLs under static")
    default = Dcgm()
    made = Dcgm(
        collect_interval=duration(section, "collectInterval") or default.collect_interval,
        poll=duration(section, "poll"),
        pages=cast("PagesSetting", _choice(section, "pages", PAGES, "auto")),
        heartbeat=cast("Heartbeat", _choice(section, "heartbeat", HEARTBEATS, "auto")),
        read_time=duration(section, "readTime") or default.read_time,
        deadline=duration(section, "deadline") or default.deadline,
        max_page_bytes=_size(section, "maxPageSize", default.max_page_bytes),
        static=_targets(section),
        connection=connection(section),
    )
    section.close()
    return made


def _targets(section: Section) -> tuple[StaticTarget, ...]:
    item = section.get("static")
    if item is None:
        return ()
    targets: dict[str, StaticTarget] = {}
    for entry in item.items():
        target = _target(entry)
        if target.url in targets:
            entry.fault("is listed twice")
        targets[target.url] = target
    return tuple(targets.values())


def _target(entry: Item) -> StaticTarget:
    if not entry.is_mapping:
        return StaticTarget(url(entry))
    section = entry.section()
    address = section.get("url")
    if address is None:
        section.fault("needs a url")
    made = StaticTarget(
        url(address) if address else "",
        heartbeat=cast("Heartbeat | None", _choice(section, "heartbeat", HEARTBEATS, None)),
        pages=cast("PagesSetting | None", _choice(section, "pages", PAGES, None)),
        collect_interval=duration(section, "collectInterval"),
    )
    section.close()
    return made


def _servers(sources: Section) -> tuple[Prometheus, ...]:
    item = sources.get("prometheus")
    if item is None:
        return ()
    entries = item.items() if item.is_list else [item]
    servers: dict[str, Prometheus] = {}
    for entry in entries:
        server = _server(entry.section(), alone=not item.is_list)
        if server.name == "dcgm":
            entry.fault("dcgm is the name of the exporters: choose another one")
        elif server.name in servers:
            entry.fault(f"there are two servers named {server.name}")
        servers[server.name] = server
    return tuple(servers.values())


def _server(section: Section, *, alone: bool) -> Prometheus:
    name, address = section.get("name"), section.get("url")
    if address is None:
        section.fault("needs a url")
    if name is None and not alone:
        section.fault("needs a name, which metrics[].from can say")
    default = Prometheus("", "")
    made = Prometheus(
        name=name.text("") if name else "prometheus",
        url=url(address) if address else "",
        read_time=duration(section, "readTime") or default.read_time,
        deadline=duration(section, "deadline") or default.deadline,
        max_answer_bytes=_size(section, "maxAnswerSize", default.max_answer_bytes),
        dialect=cast("Dialect", _choice(section, "dialect", DIALECTS, "auto")),
        connection=connection(section),
    )
    section.close()
    return made


def _choice(section: Section, key: str, options: tuple[str, ...], default: str | None) -> str | None:
    item = section.get(key)
    return item.choice(options, default) if item else default


def _size(section: Section, key: str, default: int) -> int:
    item = section.get(key)
    return item.size(default) if item else default
