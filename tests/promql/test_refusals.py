"""What cannot be dated is refused, and the message says which part, why, and what to write instead."""

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapter.core.errors import UndatableQuery
from adapter.promql.plan import plan

REFUSED = [
    ("constant for missing", "sum(x) or vector(0)", "or vector(0)", "nothing was measured"),
    ("constant for missing, on()", "sum(x) or on () vector(0)", "or vector(0)", "nothing was measured"),
    ("constant inside", "sum(x or vector(0))", "or vector(0)", "nothing was measured"),
    ("vector", "vector(1)", "vector(1)", "row even when nothing was measured"),
    ("vector of scalar", "vector(scalar(x))", "vector(scalar(x))", "row even when nothing was measured"),
    ("joined with a constant", "x * on () group_left () vector(2)", "vector(2)", "nothing was measured"),
    ("zeros of a target", "queue or 0 * up", "or (0 * up)", "nothing was measured"),
    ("zeros on the other side", "queue or (up * -0)", "or (up * 0)", "nothing was measured"),
    ("zeros of a difference", "queue or sum(x - x)", "or sum((x - x))", "nothing was measured"),
    ("zeros of a share", "queue or clamp(x, 0, 0)", "or clamp(x, 0, 0)", "nothing was measured"),
    ("zeros further right", "queue or (spare or 0 * up)", "or (spare or (0 * up))", "nothing was measured"),
    ("zeros in a sum", "sum(queue or 0 * up)", "or (0 * up)", "nothing was measured"),
    ("ones for missing", "queue or group by (pod) (up)", "or group by (pod) (up)", "nothing was measured"),
    ("ones of an equation", "queue or up == 1", "or (up == 1)", "nothing was measured"),
    ("truth for missing", "queue or info == bool 2", "or (info == bool 2)", "nothing was measured"),
    ("truth of a scalar", "x > bool scalar(y)", "(x > bool scalar(y))", "gone is NaN"),
    ("power of a scalar", "2 * x ^ scalar(y)", "(x ^ scalar(y))", "gone is NaN"),
    ("scalar to a power", "scalar(y) ^ x", "(scalar(y) ^ x)", "gone is NaN"),
    ("truth inside a number", "x * (scalar(y) > bool 1)", "(scalar(y) > bool 1)", "gone is NaN"),
    ("our label, by", "sum by (fresh_q) (x)", "fresh_q", "our own rows"),
    ("our label, matched", 'x{fresh_q=""}', "fresh_q", "our own rows"),
    ("our label, written", 'label_replace(x, "fr\\x65sh_q", "a", "b", "c")', "fresh_q", "our own rows"),
    ("absent", "absent(x)", "absent(x)", "nothing was measured"),
    ("absent_over_time", "1 - absent_over_time(x[5m])", "absent_over_time(x[5m])", "nothing was measured"),
    ("absent as a filter", "x and on () absent(y)", "absent(y)", "nothing was measured"),
    ("fill", "x + fill (0) y", "x{} + fill (0) y{}", "nothing was measured"),
    ("count_values", 'count_values("v", x)', 'count_values("v", x)', "labels"),
    ("too many leaves", " + ".join(["x"] * 33), "x + " * 10 + "…", "33 places"),
    ("number", "1 + 2", "(1 + 2)", "bare value"),
    ("scalar", "scalar(sum(x))", "scalar(sum(x))", "bare value"),
    ("time", "time()", "time()", "bare value"),
    ("string", '"a"', '"a"', "bare value"),
    ("clock", "hour()", "hour()", "clock"),
    ("joined with the clock", "x * on () group_left () hour()", "hour()", "clock"),
    ("range", "x[5m]", "x[5m]", "range of samples"),
    ("bare subquery", "x[5m:]", "(x)[5m:]", "range of samples"),
    ("@ end()", "x @ end()", "x{} @ end()", "pins"),
    ("@ start() on the right", "x unless y @ start()", "y{} @ start()", "pins"),
    ("@ time in a range", "rate(x[5m] @ 1600000000)", "x{} @ 1600000000.000", "pins"),
    ("@ on a subquery", "max_over_time(x[5m:] @ end())", "x{}[5m] @ end()", "pins"),
    ("or in a subquery", "max_over_time((a or b)[5m:])", "(a or b)", "which side"),
    ("timestamp of a sum", "timestamp(sum(x))", "timestamp(sum(x))", "time of evaluation"),
    ("timestamp of a product", "timestamp(x * 1)", "timestamp((x * 1))", "time of evaluation"),
    ("info", "info(x)", "info(x)", "does not name"),
    ("rollup without a window", "rate(x)", "rate(x)", "expected type matrix"),
    ("MetricsQL function", "default_rollup(x[5m])", "default_rollup(x[5m])", "unknown function"),
    ("MetricsQL keyword", "x keep_metric_names", "x keep_metric_names", "not PromQL"),
    ("duration arithmetic", "rate(x[1m + 30s])", "rate(x[1m + 30s])", "not PromQL"),
    ("template", "rate(x[$__rate_interval])", "rate(x[$__rate_interval])", "not PromQL"),
    ("unclosed", "sum(x", "sum(x", "unclosed"),
    ("escape", r'x{a="\d"}', r'x{a="\d"}', "escape"),
    ("empty", "", "", "no expression"),
]


@pytest.mark.parametrize(
    ("query", "construct", "why"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_what_cannot_be_dated_is_refused_with_its_remedy(query: str, construct: str, why: str) -> None:
    with pytest.raises(UndatableQuery) as refusal:
        plan(query, ("pod",), 40.0)
    assert refusal.value.query == query
    assert refusal.value.construct == construct
    assert why in refusal.value.why
    assert refusal.value.remedy


@pytest.mark.parametrize("query", ["x and on () vector(1)", "x and on () hour() > 8", "x unless on () absent(y)"])
def test_what_only_filters_rows_may_read_no_series(query: str) -> None:
    assert [leaf.selector for leaf in plan(query, ("pod",), 40.0).leaves] == ["x"]


@pytest.mark.parametrize(
    "query",
    [
        "queue or spare * 2",
        "queue or spare > 0",
        "queue or count by (pod) (up)",
        "queue and 0 * up",
        "x ^ 2",
        "x > bool 3",
        "x > scalar(y)",
    ],
)
def test_what_was_measured_may_stand_in_for_what_is_missing_and_be_compared(query: str) -> None:
    assert plan(query, ("pod",), 40.0).leaves


_WORDS = """x y ( ) { } [5m] [5m:] [ : " ` = =~ @ end() offset -5m 1e999 sum by on ignoring group_left
bool or and unless + > , rate scalar #"""


@given(st.one_of(st.text(max_size=30), st.lists(st.sampled_from(_WORDS.split()), max_size=10).map(" ".join)))
@example("x[9999999999y]")
@example("x offset 99999999999999999y")
@example("x @ 1e300")
@example("1" * 400)
def test_any_text_is_planned_or_refused_and_never_a_crash(text: str) -> None:
    with suppress(UndatableQuery):
        assert plan(text, ("pod",), 40.0).leaves
