"""The metrics of our own file: which profile or query, from where, about which object."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, cast

from adapter.core import timing
from adapter.core.attribution import Combine
from adapter.core.document import Section
from adapter.core.errors import UndatableQuery
from adapter.core.profiles import PROFILES
from adapter.promql.plan import plan
from adapter.settings.groups import Metric

COMBINES: Final = ("mean", "max", "min", "sum")
SHAPES: Final = ({"namespace", "pod"}, {"node"}, {"namespace"})
PODS: Final = MappingProxyType({"namespace": "namespace", "pod": "pod"})


def metric(section: Section, sources: frozenset[str], min_coverage: float) -> Metric:
    """One entry of `metrics`. sources: the names that `from` may say. Faults collect in the document."""
    series, query = _text(section, "series"), _text(section, "query")
    if (series is None) == (query is None):
        section.fault("needs either series (a GPU profile) or query (PromQL)")
    if series is not None and series not in PROFILES:
        _fault(section, "series", f"no such profile; there are {', '.join(PROFILES)}")
    freshness = section.section("freshness")
    made = Metric(
        name=_name(section, series),
        sources=_sources(section, sources, query=query is not None),
        series=series,
        query=query,
        labels=_labels(section, query=query is not None),
        devices=_devices(section, query=query is not None),
        max_age=duration(freshness, "maxAge"),
        min_coverage=ratio(freshness, "minCoverage", min_coverage),
        raw=_raw(section, query=query is not None),
        source_age=_for_queries(section, "sourceAge", query=query is not None),
        exporter_refresh=_for_queries(section, "exporterRefresh", query=query is not None) or 0.0,
        where=(section.path, section.line),
    )
    if made.raw and made.source_age is not None:
        _fault(section, "sourceAge", "contradicts raw: true, which says that no rule records these series")
    if query is not None:
        _datable(section, made)
    freshness.close()
    section.close()
    return made


def duration(section: Section, key: str) -> float | None:
    """Seconds; None for `auto` and where it is absent."""
    item = section.get(key)
    if item is None or item.is_auto:
        return None
    return item.duration(None)


def ratio(section: Section, key: str, default: float) -> float:
    item = section.get(key)
    return item.number(default, 0.0, 1.0) if item else default


def _text(section: Section, key: str) -> str | None:
    item = section.get(key)
    return item.text(None) if item else None


def _fault(section: Section, key: str, text: str) -> None:
    item = section.get(key)
    if item:
        item.fault(text)
    else:
        section.fault(f"{key}: {text}")


def _name(section: Section, series: str | None) -> str:
    name = _text(section, "name")
    if name is None and series in PROFILES:
        return PROFILES[series].metric
    if name is None:
        section.fault("needs a name")
        return ""
    if name in ("", ".", "..") or any(c in "/%*?#" or c.isspace() or not c.isprintable() for c in name):
        _fault(section, "name", "cannot be asked for: no /, %, *, ?, # or blanks, and not . or ..")
    return name


def _sources(section: Section, known: frozenset[str], *, query: bool) -> tuple[str, ...]:
    item = section.get("from")
    if item is None:
        section.fault(f"needs from: a list of {', '.join(sorted(known)) or 'sources'}")
        return ()
    names = []
    for entry in item.items() if item.is_list else [item]:
        name = entry.text("")
        if name not in known:
            entry.fault(f"no such source; configured are {', '.join(sorted(known)) or 'none'}")
        elif query and name == "dcgm":
            entry.fault("exporters' pages answer no query: use series, or a Prometheus")
        elif name in names:
            entry.fault("is named twice")
        else:
            names.append(name)
    if item.is_list and not item.items():
        item.fault("names no source")
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
    try:
        plan(made.query or "", tuple(made.labels.values()), made.max_age or timing.UNKNOWN_SCRAPE_INTERVAL)
    except UndatableQuery as error:
        _fault(section, "query", str(error))
