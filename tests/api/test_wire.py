"""The bytes of a list, against those that prometheus-adapter really sent."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.api.request import Target, ask, segments, target
from adapter.api.resources import RESOURCES
from adapter.api.wire import Moment, render
from adapter.core.answer import Item
from adapter.core.ask import Ask
from adapter.core.points import ObjectKey
from adapter.core.quantity import read
from adapter.core.selectors import EVERYTHING, parse
from tests.api.world import NOW, WALL, golden, pod_key, point

MOMENT = Moment(NOW, WALL)
LISTS = [
    pytest.param(answer["request"], answer["body"], id=answer["request"].removeprefix("/apis/custom.metrics.k8s.io/"))
    for name in ("pods", "pods-spelled", "cluster-scoped")
    for answer in golden(name)["answers"]
    if answer["code"] == 200
]
PLURALS = {resource.kind: resource.plural for resource in RESOURCES.values()}


def item_of(written: dict[str, Any]) -> Item:
    described = written["describedObject"]
    key = ObjectKey(PLURALS[described["kind"]], described.get("namespace", ""), described["name"])
    return Item(key, point(float(read(written["value"]))))


@pytest.mark.parametrize(("request_url", "body"), LISTS)
def test_list_is_written_as_prometheus_adapter_writes_it(request_url: str, body: dict[str, Any]) -> None:
    path, _, query = request_url.partition("?")
    parts = segments(path)
    assert parts is not None
    named = target(parts)
    assert isinstance(named, Target)
    asked = ask(named, query)
    assert isinstance(asked, Ask)
    rendered = render(parts[2], asked, [item_of(written) for written in body["items"]], MOMENT)
    expected = json.dumps(body, separators=(",", ":")).replace("<TIME>", "2026-05-28T20:26:37Z")
    assert rendered.decode() == expected


def one(version: str, **changes: Any) -> dict[str, Any]:
    asked = Ask("pods", "ml-a", "*", "m", EVERYTHING, EVERYTHING)
    item: dict[str, Any] = json.loads(render(version, asked, [Item(pod_key("p"), point(1.0, **changes))], MOMENT))
    return item["items"][0]  # type: ignore[no-any-return] # any JSON


@pytest.mark.parametrize(
    ("age", "timestamp"),
    [
        pytest.param(0.0, "2026-05-28T20:26:40Z", id="0.25 s after the second"),
        pytest.param(0.25, "2026-05-28T20:26:40Z", id="on the second"),
        pytest.param(0.5, "2026-05-28T20:26:39Z", id="just before it"),
        pytest.param(3.25, "2026-05-28T20:26:37Z", id="seconds ago"),
    ],
)
def test_timestamp_is_when_the_value_was_true_and_never_younger(age: float, timestamp: str) -> None:
    assert one("v1beta2", age=age)["timestamp"] == timestamp


@pytest.mark.parametrize(("version", "name"), [("v1beta1", "window"), ("v1beta2", "windowSeconds")])
def test_window_is_whole_seconds_and_left_out_where_there_is_none(version: str, name: str) -> None:
    assert one(version, window=30.0)[name] == 30
    assert name not in one(version)


def test_fields_keep_their_order() -> None:
    assert list(one("v1beta2", window=30.0)) == ["describedObject", "metric", "timestamp", "windowSeconds", "value"]
    assert list(one("v1beta1", window=30.0)) == [
        "describedObject",
        "metricName",
        "timestamp",
        "window",
        "value",
        "selector",
    ]


def test_no_items_are_an_empty_list() -> None:
    asked = Ask("pods", "ml-a", "*", "m", EVERYTHING, parse("a in (x,y)"))
    body = render("v1beta1", asked, [], MOMENT)
    assert body == (b'{"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta1","metadata":{},"items":[]}')


def test_expressions_of_the_metric_selector_are_echoed() -> None:
    asked = Ask("pods", "ml-a", "*", "m", EVERYTHING, parse("a in (x,y),!b"))
    body = json.loads(render("v1beta2", asked, [Item(pod_key("p"), point(1.0))], MOMENT))
    assert body["items"][0]["metric"]["selector"] == {
        "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["x", "y"]},
            {"key": "b", "operator": "DoesNotExist"},
        ]
    }


@given(st.floats(0, 1e12), st.floats(0, 86_400))
def test_no_value_is_written_lower_or_younger_than_it_is(value: float, age: float) -> None:
    asked = Ask("pods", "ml-a", "*", "m", EVERYTHING, EVERYTHING)
    body = json.loads(render("v1beta2", asked, [Item(pod_key("p"), point(value, age=age))], MOMENT))
    written = body["items"][0]
    assert float(read(written["value"])) >= value * (1 - 1e-12)
    assert written["timestamp"] <= "2026-05-28T20:26:40Z"
