"""The metrics of our own file: which profile or query, from where, about which object."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, cast

from adapter.core import timing
from adapter.core.attribution import Combine
from adapter.core.document import Item, Section
from adapter.core.errors import UndatableQuery
from adapter.core.profiles import PROFILES
from adapter.promql.plan import plan
from adapter.settings.budgets import DCGM, budgets
from adapter.settings.groups import Metric, Settings

COMBINES: Final = ("mean", "max", "min", "sum")
SHAPES: Final = ({"namespace", "pod"}, {"node"}, {"namespace"})
PODS: Final = MappingProxyType({"namespace": "namespace", "pod": "pod"})
MAX_NESTING: Final = 50  # of brackets in a query: the parser's time grows with its cube
_LABEL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def metric(section: Section, settings: Settings, common: Item | None) -> Metric:
    """One entry of `metrics`, complete: what it leaves open is taken from `settings`, which has all but the metrics.

    common: where the file gives the limit that a metric without one takes. Faults collect in the document.
    """
    series, query = _text(section, "series"), _text(section, "query", lines=True)
    if (section.get("series") is None) == (section.get("query") is None):
        section.fault("needs either series (a GPU profile) or query (PromQL)")
    if series is not None and series not in PROFILES:
        section.fault_on("series", f"no such profile; there are {', '.join(PROFILES)}")
    freshness = section.section("freshness")
    made = Metric(
        name=_name(section, series),
        sources=_sources(section, settings, query=query is not None),
        series=series,
        query=query,
        labels=_labels(section, query=query is not None),
        devices=_devices(section, query=query is not None),
        max_age=duration(freshness, "maxAge", auto=True) if freshness.get("maxAge") else settings.max_age,
        min_coverage=ratio(freshness, "minCoverage", settings.min_coverage),
        raw=_raw(section, query=query is not None),
        source_age=_for_queries(section, "sourceAge", query=query is not None),
        exporter_refresh=_for_queries(section, "exporterRefresh", query=query is not None) or 0.0,
        where=(section.path, section.line),
    )
    if made.raw and made.source_age is not None:
        section.fault_on("sourceAge", "contradicts raw: true, which says that no rule records these series")
    if query is not None:
        _datable(section, made)
    _keepable(freshness.get("maxAge") or common, settings, made)
    freshness.close()
    section.close()
    return made


def duration(section: Section, key: str, *, auto: bool = False) -> float | None:
    """Seconds; None where it is absent, and for `auto` where that may stand."""
    item = section.get(key)
    if item is None or (auto and item.is_auto):
        return None
    return item.duration(None)


def ratio(section: Section, key: str, default: float) -> float:
    item = section.get(key)
    return item.number(default, 0.0, 1.0) if item else default


def _text(section: Section, key: str, *, lines: bool = False) -> str | None:
    item = section.get(key)
    return item.text(None, lines=lines) if item else None


def _name(section: Section, series: str | None) -> str:
    name = _text(section, "name")
    if name is None and series in PROFILES:
        return PROFILES[series].metric
    if name is None:
        if section.get("name") is None:
            section.fault("needs a name")
        return ""
    if name in ("", ".", "..") or any(c in "/%*?#" or c.isspace() or not c.isprintable() for c in name):
        section.fault_on("name", "cannot be asked for: no /, %, *, ?, # or blanks, and not . or ..")
    return name


def _sources(section: Section, settings: Settings, *, query: bool) -> tuple[str, ...]:
    known = frozenset([*([DCGM] if settings.dcgm else []), *(server.name for server in settings.prometheus)])
    item = section.get("from")
    if item is None:
        section.fault(f"needs from: a list of {', '.join(sorted(known)) or 'sources'}")
        return ()
    names = []
    for entry in item.items() if item.is_list else [item]:
        name = entry.text(None)
        if name is None:
            continue
        if name not in known:
            entry.fault(f"no such source; configured are {', '.join(sorted(known)) or 'none'}")
        elif query and name == DCGM:
            entry.fault("exporters' pages answer no query: use series, or a Prometheus")
        elif name in names:
            entry.fault("is named twice")
        else:
            names.append(name)
    if item.is_list and not item.items():
        item.fault(f"names no source; configured are {', '.join(sorted(known)) or 'none'}")
    return tuple(names)


def _labels(section: Section, *, query: bool) -> Mapping[str, str]:
    item = section.get("labels")
    if item is None:
        return PODS if query else MappingProxyType({})
    if not query:
        item.fault("is for queries; a profile's pods are told by its rows")
        return MappingProxyType({})
    named = item.section()
    labels = {key: found.text("") for key in named.keys() if (found := named.get(key))}  # noqa: SIM118
    if set(labels) not in SHAPES:
        item.fault("must name the labels of namespace and pod, of node, or of namespace alone")
        return PODS
    if len(set(labels.values())) < len(labels) or not all(map(_LABEL.fullmatch, labels.values())):
        item.fault("must name labels of the query's rows, a different one each")
    return MappingProxyType(labels)


def _devices(section: Section, *, query: bool) -> Combine:
    item = section.get("devices")
    if item is None:
        return "mean"
    if query:
        item.fault("is for GPU profiles; aggregate in the query")
    return cast("Combine", item.choice(COMBINES, "mean"))


def _raw(section: Section, *, query: bool) -> bool:
    item = section.get("raw")
    if item is None:
        return False
    if not query:
        item.fault("is for queries")
    return item.flag(default=False)


def _for_queries(section: Section, key: str, *, query: bool) -> float | None:
    item = section.get(key)
    if item is None:
        return None
    if not query:
        item.fault("is for queries")
    return item.duration(None)


def _datable(section: Section, made: Metric) -> None:
    """What hides its inputs' age is a fault, with the remedy."""
    query = made.query or ""
    deep = _nesting(query) > MAX_NESTING
    try:
        if not deep:
            plan(query, tuple(made.labels.values()), made.max_age or timing.UNKNOWN_SCRAPE_INTERVAL)
    except UndatableQuery as error:
        section.fault_on("query", str(error))
    except RecursionError:
        deep = True
    if deep:
        section.fault_on("query", f"is nested too deep; at most {MAX_NESTING} brackets may be open at once")


def _nesting(query: str) -> int:
    """How many brackets are open at once, at most; those in strings count as well."""
    depth = deepest = 0
    for character in query:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    return deepest


def _keepable(where: Item | None, settings: Settings, made: Metric) -> None:
    """An explicit limit below what every source of the metric needs in health would withhold healthy values.

    By what is configured: how often a Prometheus scrapes is not known here, and counts as nothing.
    """
    profile_or_query = made.series in PROFILES or made.query is not None
    if where is None or made.max_age is None or not made.sources or not profile_or_query:
        return
    refused = timing.refusal(made.max_age, budgets(settings, made, scrape=0.0))
    if refused:
        where.fault(f"{made.name}: {refused}")
