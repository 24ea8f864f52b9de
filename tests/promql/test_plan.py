"""Every construct of PromQL that can be dated, and the laws that hold for all of them."""

import promql_parser
import pytest
from hypothesis import given

from adapter.promql.parse import parse
from adapter.promql.plan import plan
from adapter.promql.text import show
from adapter.promql.tree import reads
from tests.promql.expressions import expressions

POD = ("namespace", "pod")
GPU_OF_APP = "avg by (label_app) (util * on (namespace, pod) group_left (label_app) kube_pod_labels)"
LENT = "+ on (namespace, pod) group_left (label_app)"
BUCKETS = "histogram_quantile(0.9, sum by (le, pod) (rate(b_bucket[5m])))"

TIMES = [
    ("selector", "x", ["timestamp(x)"]),
    ("matchers", 'x{a="b", c!~"d|e"}', ['timestamp(x{a="b",c!~"d|e"})']),
    ("quotes", """x{a='it"s'}""", ['timestamp(x{a="it\\"s"})']),
    ("any name", '{__name__=~"a.b"}', ['timestamp({__name__=~"a.b"})']),
    ("utf-8 name", '{"a.b", c="d"}', ['timestamp({__name__="a.b",c="d"})']),
    ("offset", "x offset 1m", ["timestamp(x offset 1m)"]),
    ("ahead", "x offset -1m30s", ["timestamp(x offset -90s)"]),
    ("parentheses", "((x))", ["timestamp(x)"]),
    ("minus", "-x ^ 2", ["timestamp(x)"]),
    ("row for row", "clamp_max(round(x, 0.1), 5)", ["timestamp(x)"]),
    ("own time", "time() - timestamp(x)", ["timestamp(x)"]),
    ("clock of a sample", "day_of_week(x)", ["timestamp(x)"]),
    ("range", "rate(x[5m])", ["timestamp(x)"]),
    ("range, offset", "max_over_time(x[1m] offset 10s)", ["timestamp(x offset 10s)"]),
    ("parameter first", "quantile_over_time(0.9, x[5m])", ["timestamp(x)"]),
    ("sum by", "sum by (namespace, pod) (x)", ["min by (namespace, pod) (timestamp(x))"]),
    ("sum of all", "sum(x)", ["min(timestamp(x))"]),
    ("without", "avg without (instance) (x)", ["min without (instance) (timestamp(x))"]),
    ("by behind", "max(rate(x[5m])) by (pod)", ["min by (pod) (timestamp(x))"]),
    ("quantile", "quantile by (pod) (0.9, x)", ["min by (pod) (timestamp(x))"]),
    ("nested", "sum(max by (pod) (x))", ["min(min by (pod) (timestamp(x)))"]),
    ("histogram", BUCKETS, ["min without (le) (min by (le, pod) (timestamp(b_bucket)))"]),
    ("topk", "topk by (pod) (3, x)", ["(timestamp(x) and topk by (pod) (3, x))"]),
    (
        "label_replace",
        'label_replace(x, "pod", "$1", "exported_pod", "(.*)")',
        ['label_replace(timestamp(x), "pod", "$1", "exported_pod", "(.*)")'],
    ),
    ("label_join", 'label_join(x, "a", "-", "b", "c")', ['label_join(timestamp(x), "a", "-", "b", "c")']),
    ("scalar", "100 * x / 2", ["timestamp(x)"]),
    ("filter", "x > 5", ["(timestamp(x) and (x > 5))"]),
    ("filter, turned", "5 <= x", ["(timestamp(x) and (5 <= x))"]),
    ("bool", "x > bool 5", ["timestamp(x)"]),
    ("division", "a / b", ["(timestamp(a) + 0 * timestamp(b))", "(0 * timestamp(a) + timestamp(b))"]),
    (
        "join",
        "a * on (pod) group_left () b",
        [
            "(timestamp(a) + on (pod) group_left () 0 * timestamp(b))",
            "(0 * timestamp(a) + on (pod) group_left () timestamp(b))",
        ],
    ),
    (
        "join that lends",
        GPU_OF_APP,
        [
            f"min by (label_app) ((timestamp(util) {LENT} 0 * timestamp(kube_pod_labels)))",
            f"min by (label_app) ((0 * timestamp(util) {LENT} timestamp(kube_pod_labels)))",
        ],
    ),
    (
        "comparison of vectors",
        "a > ignoring (c) b",
        [
            "((timestamp(a) + ignoring (c) 0 * timestamp(b)) and (a > ignoring (c) b))",
            "((0 * timestamp(a) + ignoring (c) timestamp(b)) and (a > ignoring (c) b))",
        ],
    ),
    (
        "and",
        "a and on (pod) b",
        ["(timestamp(a) and on (pod) b)", "(0 * timestamp(a) + on (pod) group_left () min by (pod) (timestamp(b)))"],
    ),
    (
        "and, same labels",
        "a and b",
        ["(timestamp(a) and b)", "(0 * timestamp(a) + ignoring () group_left () min without () (timestamp(b)))"],
    ),
    ("and the clock", "x and on () (hour() > 8)", ["(timestamp(x) and on () (hour() > 8))"]),
    ("unless", "a unless on () b", ["(timestamp(a) unless on () b)"]),
    (
        "or",
        "a or on (pod) b",
        [
            "((timestamp(a) and a) or ((0 * timestamp(b) + time()) unless on (pod) a))",
            "(((0 * timestamp(a) + time()) and a) or (timestamp(b) unless on (pod) a))",
        ],
    ),
    (
        "number out of a vector",
        "x / scalar(sum(y))",
        ["timestamp(x)", "(0 * timestamp(x) + scalar(min(timestamp(y))))"],
    ),
    (
        "subquery",
        "max_over_time(sum by (pod) (x)[5m:30s] offset 1m)",
        ["max_over_time((min by (pod) (timestamp(x)))[5m:30s] offset 1m)"],
    ),
    ("subquery, default step", "rate(x[5m:])", ["max_over_time((timestamp(x))[5m:])"]),
]


@pytest.mark.parametrize(("query", "times"), [case[1:] for case in TIMES], ids=[case[0] for case in TIMES])
def test_each_leaf_gives_the_time_of_its_samples(query: str, times: list[str]) -> None:
    assert [leaf.times for leaf in plan(query, POD, 40.0).leaves] == times


SHAPES = [
    ("instant", "x", [("x", "x", "value", None, 0.0)], None),
    ("range", "rate(x[5m])", [("x", "x", "value", 300.0, 0.0)], 300.0),
    ("offset", "x offset 1m", [("x offset 1m", "x", "value", None, 60.0)], None),
    ("subquery", "max_over_time(rate(x[1m])[5m:30s])", [("x", "x", "value", 360.0, 0.0)], 360.0),
    (
        "subquery moved back",
        "max_over_time((x offset 10s)[5m:] offset 1m)",
        [("x offset 70s", "x", "value", 300.0, 70.0)],
        300.0,
    ),
    ("by label only", '{job="a"}', [('{job="a"}', "", "value", None, 0.0)], None),
    (
        "lender by role, not by name",
        "kube_pod_info * on (pod) group_left (team) util",
        [("kube_pod_info", "kube_pod_info", "value", None, 0.0), ("util", "util", "labels", None, 0.0)],
        None,
    ),
    (
        "lender on the left",
        "owner * on (pod) group_right (team) util",
        [("owner", "owner", "labels", None, 0.0), ("util", "util", "value", None, 0.0)],
        None,
    ),
    (
        "one side that lends nothing",
        "util * on (pod) group_left () kube_pod_info",
        [("util", "util", "value", None, 0.0), ("kube_pod_info", "kube_pod_info", "value", None, 0.0)],
        None,
    ),
    (
        "a divisor is a value, whatever labels it lends",
        "x / on (pod) group_left (zone) cap",
        [("x", "x", "value", None, 0.0), ("cap", "cap", "value", None, 0.0)],
        None,
    ),
    (
        "a lender's range is no window",
        "x * on (pod) group_left (team) last_over_time(owner[1h])",
        [("x", "x", "value", None, 0.0), ("owner", "owner", "labels", 3600.0, 0.0)],
        None,
    ),
]


@pytest.mark.parametrize(("query", "leaves", "window"), [case[1:] for case in SHAPES], ids=[case[0] for case in SHAPES])
def test_leaves_say_what_is_read_and_in_what_role(query: str, leaves: list[tuple[object, ...]], window: float) -> None:
    made = plan(query, POD, 40.0)
    assert [(leaf.selector, leaf.metric, leaf.role, leaf.window, leaf.offset) for leaf in made.leaves] == leaves
    assert made.window == window
    assert [leaf.targets for leaf in made.leaves] == [f"group by (job, instance) ({leaf[0]})" for leaf in leaves]


@pytest.mark.parametrize(
    ("query", "recorded"),
    [
        ("job:x:sum", True),
        ("x", False),
        ('{__name__="a:b"}', True),
        ('{__name__=~".+:sum"}', True),
        ('{__name__=~"queue.*"}', True),
        ('{job="a"}', True),
        ('{__name__="x"}', False),
        ('x{a=":"}', False),
    ],
)
def test_a_colon_in_the_name_or_a_pattern_for_it_may_be_a_recording_rule(query: str, recorded: bool) -> None:
    assert [leaf.recorded for leaf in plan(query, POD, 40.0).leaves] == [recorded]


def test_combined_query_holds_values_times_losses_and_clock_once_each() -> None:
    made = plan("sum by (pod) (x) / sum by (pod) (y)", ("pod",), 40.0)
    assert made.combined.splitlines() == [
        '((label_replace(vector(time()), "fresh_q", "now", "", "")',
        'or (label_replace((min by (pod) (timestamp(x)) + 0 * min by (pod) (timestamp(y))), "fresh_q", "t0", "", "")',
        'or label_replace((0 * min by (pod) (timestamp(x)) + min by (pod) (timestamp(y))), "fresh_q", "t1", "", "")))',
        'or (label_replace(count by (pod) ((present_over_time(x[40s]) unless x)), "fresh_q", "c0", "", "")',
        'or (label_replace(count by (pod) ((present_over_time(y[40s]) unless y)), "fresh_q", "c1", "", "")',
        "or (sum by (pod) (x) / sum by (pod) (y)",
        "))))",
    ]


def test_comment_at_the_end_swallows_nothing() -> None:
    made = plan("x # the queue", POD, 40.0)
    assert made.query == "x # the queue"
    assert promql_parser.parse(made.combined) is not None


@given(expressions)
def test_what_is_supported_can_always_be_derived_and_parsed_again(query: str) -> None:
    made = plan(query, POD, 40.0)
    assert made.query == query
    assert made.leaves
    for text in (made.combined, *(part for leaf in made.leaves for part in (leaf.selector, leaf.times, leaf.targets))):
        assert promql_parser.parse(text) is not None


@given(expressions)
def test_timestamp_is_only_ever_asked_of_a_bare_selector(query: str) -> None:
    """On anything else Prometheus answers with the time of evaluation: an age of nothing."""
    nodes: list[promql_parser.Expr] = []
    for leaf in plan(query, POD, 40.0).leaves:
        promql_parser.walk(promql_parser.parse(leaf.times), nodes.append)
    calls = [node for node in nodes if isinstance(node, promql_parser.Call) and node.func.name == "timestamp"]
    assert calls
    assert all(isinstance(call.args[0], promql_parser.VectorSelector) for call in calls)


@given(expressions)
def test_every_selector_is_a_leaf_except_what_only_removes_rows(query: str) -> None:
    selectors: list[object] = []
    promql_parser.walk(
        promql_parser.parse(query),
        lambda node: selectors.append(node) if isinstance(node, promql_parser.VectorSelector) else None,
    )
    leaves = plan(query, POD, 40.0).leaves
    assert len(leaves) <= len(selectors) if "unless" in query else len(leaves) == len(selectors)


@given(expressions)
def test_what_is_printed_means_what_was_parsed(query: str) -> None:
    printed = show(promql_parser.parse(query))
    assert show(promql_parser.parse(printed)) == printed
    assert list(reads(parse(printed))) == list(reads(parse(query)))
