"""Prometheus' HTTP API as bytes and values: what is asked, and what an answer says. Pure.

Source: https://prometheus.io/docs/prometheus/latest/querying/api/ and measurements on 2.42, 3.x and VictoriaMetrics.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from adapter.core.errors import SourceError
from adapter.settings.groups import Dialect


class Sample(NamedTuple):
    """One row of an instant vector; a histogram has no number and reads as NaN."""

    labels: Mapping[str, str]
    value: float


class Series(NamedTuple):
    """One row of a range vector: its samples' times, oldest first, seconds of Unix time by the server."""

    labels: Mapping[str, str]
    times: tuple[float, ...]


class _Row(msgspec.Struct, gc=False):
    metric: dict[str, str]
    value: tuple[float, str] | None = None
    values: list[tuple[float, str]] = []


class _Data(msgspec.Struct):
    resultType: str = ""  # noqa: N815 - Prometheus' spelling
    result: msgspec.Raw = msgspec.Raw(b"[]")


class _Reply(msgspec.Struct):
    status: str
    data: _Data = msgspec.field(default_factory=_Data)
    errorType: str = ""  # noqa: N815 - Prometheus' spelling
    error: str = ""
    warnings: list[str] = []


class _Target(msgspec.Struct):
    labels: dict[str, str] = {}
    discoveredLabels: dict[str, str] = {}  # noqa: N815 - Prometheus' spelling
    scrapeInterval: str = ""  # noqa: N815 - Prometheus' spelling


class _Targets(msgspec.Struct):
    activeTargets: list[_Target] = []  # noqa: N815 - Prometheus' spelling


class _Rule(msgspec.Struct):
    name: str
    query: str = ""
    type: str = ""


class _Group(msgspec.Struct):
    interval: float = 60.0
    rules: list[_Rule] = []


class _Groups(msgspec.Struct):
    groups: list[_Group] = []


class Rule(NamedTuple):
    """A recording rule as the server has it; interval in seconds."""

    name: str
    query: str
    interval: float


UNREADABLE = (msgspec.DecodeError, RecursionError)  # what the decoder raises for bytes of any kind

_REPLY = msgspec.json.Decoder(_Reply)
_VECTOR = msgspec.json.Decoder(list[_Row])


def form(query: str, deadline: float, dialect: Dialect) -> dict[str, str]:
    """The parameters of an instant query. Never `time`: with a wrong clock of ours it would fetch old data and call it
    new."""
    parameters = {"query": query, "timeout": f"{deadline:g}s"}
    if dialect == "victoriametrics":
        parameters["nocache"] = "1"  # else it evaluates 30 s in the past
    if dialect == "thanos":
        parameters["partial_response"] = "false"
    return parameters


def _reply(content: bytes, content_type: str) -> _Reply:
    if "json" not in content_type:
        raise SourceError("malformed", f"answered {content_type or 'no content type'} where JSON was expected")
    try:
        reply = _REPLY.decode(content)
    except UNREADABLE as error:
        raise SourceError("malformed", f"answered JSON that is no Prometheus answer: {error}") from None
    if reply.status != "success":
        raise SourceError("status", f"refused the query ({reply.errorType}): {reply.error[:300]}")
    partial = [warning for warning in reply.warnings if not warning.startswith("PromQL info:")]
    if partial:
        raise SourceError("partial", f"says that its answer is incomplete: {partial[0][:300]}")
    return reply


def vector(content: bytes, content_type: str) -> list[Sample]:
    """The rows of an instant query's answer. Raises SourceError: malformed, status, partial."""
    reply = _reply(content, content_type)
    if reply.data.resultType != "vector":
        raise SourceError("malformed", f"answered a {reply.data.resultType or 'nothing'} where a vector was expected")
    return [Sample(row.metric, math.nan if row.value is None else _number(row.value[1])) for row in _rows(reply)]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SourceError("malformed", f"answered {text[:50]!r} where a number was expected") from None


def matrix(content: bytes, content_type: str) -> list[Series]:
    """The series of a range selector's answer. Raises SourceError as `vector`."""
    return [Series(row.metric, tuple(t for t, _ in row.values)) for row in _rows(_reply(content, content_type))]


def _rows(reply: _Reply) -> list[_Row]:
    try:
        return _VECTOR.decode(reply.data.result)
    except UNREADABLE as error:
        raise SourceError("malformed", f"answered rows that do not parse: {error}") from None


class _TargetsReply(msgspec.Struct):
    data: _Targets


class _RulesReply(msgspec.Struct):
    data: _Groups


def scrape_intervals(content: bytes) -> dict[tuple[str, str], float]:
    """Seconds between scrapes by (job, instance), from /api/v1/targets. Raises SourceError (malformed).

    VictoriaMetrics has them in discoveredLabels only.
    """
    try:
        targets = msgspec.json.decode(content, type=_TargetsReply).data.activeTargets
    except UNREADABLE as error:
        raise SourceError("malformed", f"answered no list of targets: {error}") from None
    intervals: dict[tuple[str, str], float] = {}
    for target in targets:
        interval = duration(target.scrapeInterval or target.discoveredLabels.get("__scrape_interval__", ""))
        if interval is not None:
            key = target.labels.get("job", ""), target.labels.get("instance", "")
            intervals[key] = max(interval, intervals.get(key, 0.0))
    return intervals


def recording_rules(content: bytes) -> list[Rule]:
    """The recording rules of /api/v1/rules. Raises SourceError (malformed)."""
    try:
        groups = msgspec.json.decode(content, type=_RulesReply).data.groups
    except UNREADABLE as error:
        raise SourceError("malformed", f"answered no list of rules: {error}") from None
    if not all(0 < group.interval <= LONGEST for group in groups):
        raise SourceError("malformed", "answered a group of rules with an impossible interval")
    return [
        Rule(rule.name, rule.query, group.interval)
        for group in groups
        for rule in group.rules
        if rule.type == "recording"
    ]


MAX_DIGITS = 9  # of one part of a duration
LONGEST = 7 * 86400.0  # seconds; a rule that runs more rarely dates nothing
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}


def duration(text: str) -> float | None:
    """Seconds of a Prometheus duration such as `1m30s`; None where it is none."""
    seconds, number, rest = 0.0, "", text
    while rest:
        digits = len(rest) - len(rest.lstrip("0123456789"))
        number, rest = rest[:digits], rest[digits:]
        unit = next((u for u in ("ms", "s", "m", "h", "d", "w", "y") if rest.startswith(u)), None)
        if not 0 < len(number) <= MAX_DIGITS or unit is None:
            return None
        seconds, rest = seconds + int(number) * _UNITS[unit], rest[len(unit) :]
    return seconds if text else None
