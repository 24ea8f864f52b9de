"""Bytes become Settings, or every fault at once, each with its path and line. Nothing is guessed, nothing ignored."""

from dataclasses import replace
from typing import Final, cast

from adapter.core import timing
from adapter.core.document import Item, Section, document
from adapter.core.profiles import PROFILES
from adapter.settings.budgets import DCGM
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
FOREIGN: Final = (  # keys by which other files are known, most telling first
    (("apiVersion", "kind"), "is a Kubernetes manifest: give the configuration that is inside it"),
    (("image", "replicas", "rbac"), "is a Helm chart's values: give the configuration file itself"),
    (("scrape_configs", "rule_files"), "is Prometheus' own configuration: name that server under sources.prometheus"),
    (
        ("rules", "externalRules", "resourceRules"),
        "belongs to prometheus-adapter's file (--config), which this version does not read",
    ),
)


def default_settings() -> Settings:
    """What is served without a file: every GPU profile under its own name."""
    metrics = tuple(Metric(profile.metric, (DCGM,), series=profile.name) for profile in PROFILES.values())
    return Settings(dcgm=Dcgm(), metrics=metrics)


def parse(content: bytes) -> Settings:
    """Raises ConfigError with all that is wrong."""
    top = document(content)
    _refuse_foreign(top)
    hpa, cache, freshness = top.section("hpa"), top.section("cache"), top.section("freshness")
    sources = top.section("sources")
    if (nan := freshness.get("onNaN")) and nan.choice(("omit", "zero"), "omit") == "zero":
        nan.fault("zero is for the rules of prometheus-adapter's file, which this version does not read")
    common = Settings(
        sync_period=duration(hpa, "syncPeriod") or timing.HPA_SYNC_PERIOD,
        cache_ttl=duration(cache, "ttl", auto=True),
        max_age=duration(freshness, "maxAge", auto=True),
        min_coverage=ratio(freshness, "minCoverage", 0.5),
        dcgm=_dcgm(sources),
        prometheus=_servers(sources),
    )
    metrics = _metrics(top, common, freshness.get("maxAge"))
    for section in (hpa, cache, freshness, sources, top):
        section.close()
    top.refuse()
    return replace(common, max_age=None, metrics=metrics)


def _refuse_foreign(top: Section) -> None:
    """Another program's file is one fault, not one for each of its keys."""
    for keys, text in FOREIGN:
        for key in keys:
            if key in top.keys():  # noqa: SIM118 - a Section is no mapping
                top.fault_on(key, text)
                top.refuse()


def _metrics(top: Section, common: Settings, limit: Item | None) -> tuple[Metric, ...]:
    item = top.get("metrics")
    entries = item.items() if item else []
    if item is None or (item.is_list and not entries):
        top.fault_on("metrics", "names nothing to serve; list at least one metric")
    made: list[Metric] = []
    first: dict[tuple[str, frozenset[str]], int] = {}
    for entry in entries:
        one = metric(entry.section(), common, limit)
        about = one.name, frozenset(one.labels or ("namespace", "pod"))
        if one.name and about in first:
            entry.fault(f"{one.name} is served already by the entry in line {first[about]}")
        first.setdefault(about, entry.line)
        made.append(one)
    return tuple(made)


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
        poll=duration(section, "poll", auto=True),
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
        if target.url and target.url in targets:
            entry.fault("is listed twice")
        targets[target.url] = target
    return tuple(targets.values())


def _target(entry: Item) -> StaticTarget:
    if not entry.is_mapping:
        return StaticTarget(url(entry, page=True))
    section = entry.section()
    address = section.get("url")
    if address is None:
        section.fault("needs a url")
    made = StaticTarget(
        url(address, page=True) if address else "",
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
        if server.name == DCGM:
            entry.fault("dcgm is the name of the exporters: choose another one")
        elif server.name and server.name in servers:
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
        name=name.text("") if name else "prometheus" if alone else "",
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
