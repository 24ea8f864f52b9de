"""A recorded series is followed, rule by rule, to what is scraped."""

from collections.abc import Sequence

import pytest

from adapter.core.errors import UndatableQuery
from adapter.promql.plan import plan
from adapter.promql.recorded import RecordingRule, Sources, sources_of, sources_read


def rules(*listed: tuple[str, str, float]) -> dict[str, Sequence[RecordingRule]]:
    found: dict[str, list[RecordingRule]] = {}
    for name, query, interval in listed:
        found.setdefault(name, []).append(RecordingRule(name, query, interval))
    return dict(found)


FOLLOWED = [
    ("one rule", [("a:b", "sum(rate(x[5m]))", 30)], Sources(("x",), 30, 300)),
    ("two leaves", [("a:b", "x / on (pod) y{a='b'}", 30)], Sources(("x", 'y{a="b"}'), 30)),
    ("rule on rule", [("a:b", "sum(c:d)", 30), ("c:d", "avg by (pod) (x)", 15)], Sources(("x",), 45)),
    (
        "deepest path",
        [("a:b", "c:d + y + e:f", 30), ("c:d", "x", 10), ("e:f", "x + c:d", 60)],
        Sources(("x", "y"), 100),
    ),
    ("several rules of one name", [("a:b", "x", 30), ("a:b", "y", 60)], Sources(("x", "y"), 60)),
    ("each source once", [("a:b", "x / (x + x)", 30)], Sources(("x",), 30)),
    ("old sources stay old", [("a:b", "sum(x offset 1h)", 30)], Sources(("x offset 1h",), 30)),
    ("its own last value", [("a:b", "a:b + increase(x[1m])", 60)], Sources(("x",), 60, 60)),
    (
        "ranges along the path",
        [("a:b", "max_over_time(c:d[10m])", 30), ("c:d", "rate(x[5m])", 15)],
        Sources(("x",), 45, 900),
    ),
    ("a circle with a way in", [("a:b", "c:d", 10), ("c:d", "a:b + x", 20)], Sources(("x",), 30)),
    (
        "a pattern that fits a rule",
        [("a:b", 'sum({__name__=~"c:.*|x"})', 30), ("c:d", "y", 15), ("e:f", "z", 15)],
        Sources(('{__name__=~"c:.*|x"}', "y"), 45),
    ),
    ("a recorded name without a colon", [("a:b", "total", 30), ("total", "sum(x)", 5)], Sources(("x",), 35)),
]


@pytest.mark.parametrize(("listed", "sources"), [case[1:] for case in FOLLOWED], ids=[case[0] for case in FOLLOWED])
def test_recorded_series_are_followed_to_what_is_scraped(
    listed: list[tuple[str, str, float]], sources: Sources
) -> None:
    assert sources_of("a:b", rules(*listed)) == sources


PATTERNS = [
    ("a pattern", 'sum({__name__=~"c:.*|raw"})', Sources(("y",), 15)),
    ("every name", '{job="a"}', Sources(("x", "y"), 45)),
    ("none of them", '{__name__=~"raw.*"}', None),
    ("an exact name", "a:b", Sources(("x", "y"), 45)),
]


@pytest.mark.parametrize(("query", "sources"), [case[1:] for case in PATTERNS], ids=[case[0] for case in PATTERNS])
def test_a_pattern_reads_every_recorded_series_whose_name_fits(query: str, sources: Sources | None) -> None:
    (leaf,) = plan(query, ("pod",), 40.0).leaves
    listed = rules(("a:b", "x + on (pod) c:d", 30), ("c:d", "y", 15))
    assert sources_read(leaf.may_read, listed) == sources


UNKNOWN = [
    ("no such rule", [], "no rule that records it"),
    ("only itself", [("a:b", "a:b", 30)], "no series but their own"),
    ("a circle", [("a:b", "c:d", 30), ("c:d", "a:b", 30)], "no series but their own"),
    ("made up", [("a:b", "sum(x) or vector(0)", 30)], "in the recording rule a:b"),
    ("made up further down", [("a:b", "c:d", 30), ("c:d", "absent(x)", 30)], "in the recording rule c:d"),
    ("another language", [("a:b", "default_rollup(x[5m])", 30)], "unknown function"),
]


@pytest.mark.parametrize(("listed", "why"), [case[1:] for case in UNKNOWN], ids=[case[0] for case in UNKNOWN])
def test_a_recorded_series_of_unknown_source_is_refused(listed: list[tuple[str, str, float]], why: str) -> None:
    with pytest.raises(UndatableQuery, match=why):
        sources_of("a:b", rules(*listed))
