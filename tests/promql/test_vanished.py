"""For every leaf below an aggregation, a query that shows what the aggregation lost."""

import promql_parser
import pytest
from hypothesis import given

from adapter.promql.plan import plan
from tests.promql.expressions import expressions

POD = ("namespace", "pod")
OF_APP = 'y{app="a"}'
LENT = "* on (pod) group_left (app) topk by (pod)"


def lost(selector: str, window: str = "40s") -> str:
    return f"(present_over_time({selector}[{window}]) unless {selector})"


CASES = [
    ("not aggregated", "rate(x[5m])", POD, [None]),
    ("chosen, not aggregated", "topk(3, x)", POD, [None]),
    ("by the object", "sum by (namespace, pod) (x)", POD, [f"count by (namespace, pod) ({lost('x')})"]),
    ("one value for all", "avg(x)", POD, [f"count by (namespace, pod) ({lost('x')})"]),
    ("one value, no object", "avg(x)", (), [f"count({lost('x')})"]),
    ("by something else", "avg by (app) (x)", POD, [f"count by (app, namespace, pod) ({lost('x')})"]),
    ("without", "sum without (instance) (x)", POD, [f"count without (instance) ({lost('x')})"]),
    ("without the object", "sum without (instance, pod) (x)", POD, [f"count without (instance) ({lost('x')})"]),
    ("its range", "sum by (pod) (rate(x[5m]))", ("pod",), [f"count by (pod) ({lost('x', '5m')})"]),
    (
        "its offset",
        "sum by (pod) (x offset 1m)",
        ("pod",),
        ["count by (pod) ((present_over_time(x[40s] offset 1m) unless x offset 1m))"],
    ),
    (
        "subquery, moved back",
        "max_over_time(sum by (pod) (x)[5m:30s] offset 1m)",
        ("pod",),
        ["count by (pod) ((present_over_time(x[5m] offset 1m) unless x offset 1m))"],
    ),
    (
        "histogram",
        "histogram_quantile(0.9, sum by (le, pod) (rate(b[5m])))",
        ("pod",),
        [f"count by (pod) ({lost('b', '5m')})"],
    ),
    ("bare histogram", "histogram_quantile(0.9, rate(b[5m]))", ("pod",), [f"count without (le) ({lost('b', '5m')})"]),
    ("nested", "sum by (ns) (max by (ns, pod) (x))", ("ns",), [f"count by (ns) ({lost('x')})"]),
    (
        "two aggregations",
        "sum by (pod) (a) / sum by (pod) (b)",
        ("pod",),
        [f"count by (pod) ({lost('a')})", f"count by (pod) ({lost('b')})"],
    ),
    (
        "one side shared by many rows",
        "x / on (namespace) group_left () sum by (namespace) (y)",
        POD,
        [None, f"count by (namespace) ({lost('y')})"],
    ),
    ("number out of a sum", "x / scalar(sum(y))", POD, [None, f"count({lost('y')})"]),
    (
        "number inside a sum",
        "sum by (ns) (x / scalar(y))",
        ("ns",),
        [f"count by (ns) ({lost('x')})", f"count by (ns) (count({lost('y')}))"],
    ),
    (
        "labels lent",
        "avg by (app) (x * on (pod) group_left (app) y)",
        ("pod",),
        [
            f"count by (app, pod) (({lost('x')} {LENT} (1, present_over_time(y[40s]))))",
            f"count by (app, pod) ((present_over_time(x[40s]) {LENT} (1, {lost('y')})))",
        ],
    ),
    (
        "filtered by a join",
        f"avg(x * on (pod) {OF_APP})",
        ("pod",),
        [
            f"count by (pod) (({lost('x')} and on (pod) present_over_time({OF_APP}[40s])))",
            f"count by (pod) (({lost(OF_APP)} and on (pod) present_over_time(x[40s])))",
        ],
    ),
    (
        "filtered by and",
        "avg(x and on (pod) y)",
        ("pod",),
        [
            f"count by (pod) (({lost('x')} and on (pod) present_over_time(y[40s])))",
            f"count by (pod) ((present_over_time(x[40s]) and on (pod) {lost('y')}))",
        ],
    ),
    (
        "matched by all labels",
        "sum by (pod) (a / b)",
        ("pod",),
        [f"count by (pod) ({lost('a')})", f"count by (pod) ({lost('b')})"],
    ),
    (
        "shared, ignoring",
        "sum by (pod) (a / ignoring (pod) group_left () b)",
        ("pod",),
        [f"count by (pod) ({lost('a')})", f"count by (pod) (count without (pod) ({lost('b')}))"],
    ),
    ("either", "sum(a or b)", (), [f"count({lost('a')})", f"count({lost('b')})"]),
    ("unless", "sum(a unless on (pod) b)", (), [f"count({lost('a')})"]),
    (
        "renamed above",
        'label_replace(sum by (exported_pod) (x), "pod", "$1", "exported_pod", "(.*)")',
        ("pod",),
        [f'label_replace(count by (exported_pod) ({lost("x")}), "pod", "$1", "exported_pod", "(.*)")'],
    ),
    (
        "renamed below",
        'sum by (pod) (label_replace(x, "pod", "$1", "exported_pod", "(.*)"))',
        ("pod",),
        [f'count by (pod) (label_replace({lost("x")}, "pod", "$1", "exported_pod", "(.*)"))'],
    ),
]


@pytest.mark.parametrize(
    ("query", "object_labels", "vanished"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_an_aggregation_shows_what_it_lost(
    query: str, object_labels: tuple[str, ...], vanished: list[str | None]
) -> None:
    assert [leaf.vanished for leaf in plan(query, object_labels, 40.0).leaves] == vanished


@given(expressions)
def test_losses_can_always_be_parsed_and_look_at_now_and_before(query: str) -> None:
    for leaf in plan(query, POD, 40.0).leaves:
        if leaf.vanished is not None:
            assert promql_parser.parse(leaf.vanished) is not None
            assert f"unless {leaf.selector}" in leaf.vanished
