"""DESIGN's table of answers: what is served, what is refused, and in which words."""

from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.answer import Answer, Catalog, Items, Refusal, Served, answer
from adapter.core.ask import Ask
from adapter.core.explain import REMEDIES
from adapter.core.pods import Pod, PodIndex
from adapter.core.points import ObjectKey, Point, Reading, Reason, Withheld
from adapter.core.selectors import EVERYTHING, Selector, parse
from adapter.core.snapshot import Snapshot
from tests.core.build import key, pod, point, withheld

METRIC = "nvidia_gpu_utilization"
NOW = 120.0
APP = parse("app=infer")
CATALOG: Catalog = {
    ("pods", METRIC): Served(METRIC, "pods", True, ("dcgm",), True, 36.5),
    ("pods", "queue"): Served("queue", "pods", True, ("queue",), False, 18.5),
    ("nodes", "load"): Served("load", "nodes", False, ("load",), False, 18.5),
    ("namespaces", "load"): Served("load", "namespaces", False, ("load",), False, 18.5),
}


def snapshot(feed: str, metric: str, readings: dict[ObjectKey, Reading], **kwargs: object) -> Snapshot:
    of = MappingProxyType({k: (r,) for k, r in readings.items()})
    return Snapshot(feed, feed, 100.0, MappingProxyType({metric: of}), **kwargs)  # type: ignore[arg-type]


def ask(
    name: str = "*",
    selector: Selector = APP,
    *,
    metric: str = METRIC,
    resource: str = "pods",
    namespace: str = "ml",
    series: Selector = EVERYTHING,
) -> Ask:
    return Ask(resource, namespace, name, metric, selector, series)


def answered(
    readings: dict[str, Reading], request: Ask | None = None, pods: list[Pod] | None = None, now: float = NOW
) -> Answer:
    """Four pods of one workload, long since started, and what the DCGM feed says of some of them."""
    known = pods if pods is not None else [pod(f"p-{i}", started=0.0) for i in range(4)]
    said = snapshot("dcgm", METRIC, {key(name): reading for name, reading in readings.items()})
    return answer(request or ask(), CATALOG, {"dcgm": said}, PodIndex(known), now)


def names(given: Answer) -> list[str]:
    assert isinstance(given, Items), given
    return [item.key.name for item in given.items]


def refusal(given: Answer) -> Refusal:
    assert isinstance(given, Refusal), given
    return given


def test_fresh_and_complete_is_served() -> None:
    assert names(answered({f"p-{i}": point() for i in range(4)})) == ["p-0", "p-1", "p-2", "p-3"]


def test_half_the_expected_pods_are_enough() -> None:
    given = answered({"p-0": point(), "p-1": point(), "p-2": withheld(Reason.BLANK)})
    assert names(given) == ["p-0", "p-1"]
    assert isinstance(given, Items)
    assert [(k.name, w.reason) for k, w in given.withheld] == [("p-2", "blank"), ("p-3", "missing")]


def test_fewer_than_half_is_unavailable_with_counts_age_limit_reason_and_remedy() -> None:
    old = point(born=49.0, seen=118.0)
    given = refusal(answered({"p-0": point(), "p-1": old, "p-2": old, "p-3": withheld(Reason.BLANK)}))
    assert given.kind == "unavailable"
    for part in (
        f"{METRIC}: 1 of 4 pods have a value that is true and young",
        "youngest withheld 71s old, limit 44s",
        "2 frozen, 1 blank; p-1: 71s old, limit 44s: its exporter still answers",
        "restart that exporter",
    ):
        assert part in given.message


def test_pods_that_cannot_have_the_metric_yet_count_on_neither_side() -> None:
    others = [
        Pod("ml", "pending", labels={"app": "infer"}, phase="Pending", gpus=1),
        Pod("ml", "deleting", labels={"app": "infer"}, deleting=True, started=0.0, gpus=1),
        Pod("ml", "young", labels={"app": "infer"}, started=NOW - 41, gpus=1),
        Pod("ml", "crashing", labels={"app": "infer"}, started=None, gpus=1),
        Pod("ml", "sidecar", labels={"app": "infer"}, started=0.0, gpus=0),
    ]
    assert names(answered({"p-0": point()}, pods=[pod("p-0"), *others])) == ["p-0"]


def test_value_from_before_a_pods_container_is_an_earlier_pods() -> None:
    given = refusal(answered({"p-0": point(born=100)}, ask("p-0", EVERYTHING), [pod("p-0", started=98.0)]))
    assert "measured before its container started" in given.message


def test_pod_whose_container_is_down_has_no_device_value() -> None:
    given = refusal(answered({"p-0": point()}, ask("p-0", EVERYTHING), [pod("p-0", started=None)]))
    assert "its container is not running" in given.message


def test_finished_pods_are_not_listed() -> None:
    done = Pod("ml", "done", labels={"app": "infer"}, phase="Succeeded", started=0.0, gpus=1)
    assert names(answered({"p-0": point(), "done": point()}, pods=[pod("p-0"), done])) == ["p-0"]


def test_without_a_selector_what_is_fresh_is_listed() -> None:
    assert names(answered({"p-0": point()}, ask(selector=EVERYTHING))) == ["p-0"]


def test_nothing_served_is_unavailable_and_names_why() -> None:
    assert "4 missing; p-0: no source shows it" in refusal(answered({})).message


def test_known_metric_whose_selector_matches_nothing_is_an_empty_list() -> None:
    assert answered({}, ask(selector=parse("app=other"))) == Items(())


@pytest.mark.parametrize(
    ("request_", "kind", "message"),
    [
        pytest.param(
            ask(metric="nope"), "unknown_metric", "the server could not find the metric nope for pods", id="metric"
        ),
        pytest.param(
            ask("p-0", metric="nope"),
            "unknown_metric",
            "the server could not find the metric nope for pods",
            id="named",
        ),
        pytest.param(
            ask("p-9"), "unknown_object", f"the server could not find the metric {METRIC} for pods p-9", id="object"
        ),
        pytest.param(
            ask("n9", EVERYTHING, metric="load", resource="nodes", namespace=""),
            "unknown_object",
            "the server could not find the metric load for nodes n9",
            id="node",
        ),
    ],
)
def test_what_does_not_exist_is_not_found_in_prometheus_adapters_words(request_: Ask, kind: str, message: str) -> None:
    given = refusal(answered({}, request_))
    assert (given.kind, given.message) == (kind, message)


def test_named_pod_with_a_withheld_value_is_unavailable() -> None:
    assert "p-0: why" in refusal(answered({"p-0": withheld(Reason.BLANK)}, ask("p-0", EVERYTHING))).message


def test_existing_node_without_a_sample_is_unavailable() -> None:
    given = refusal(answered({}, ask("n1", EVERYTHING, metric="load", resource="nodes", namespace="")))
    assert given.kind == "unavailable"


def test_metric_of_a_query_is_expected_of_pods_that_had_it_within_the_hour() -> None:
    pods = PodIndex([pod(f"p-{i}", started=-9000.0) for i in range(4)])
    had = MappingProxyType({key("p-0"): 100.0, key("p-1"): 100.0, key("p-2"): 100.0, key("p-3"): -4000.0})
    feeds = {"queue": snapshot("queue", "queue", {key("p-0"): point(devices=frozenset())}, had=had)}
    given = refusal(answer(ask(metric="queue"), CATALOG, feeds, pods, NOW))
    assert "1 of 3 pods" in given.message


def test_trouble_of_the_source_is_told() -> None:
    feeds = {"dcgm": Snapshot("dcgm", "dcgm", trouble="1 of 1 targets fail: http://e cannot be reached")}
    given = refusal(answer(ask(), CATALOG, feeds, PodIndex([pod()]), NOW))
    assert "dcgm: 1 of 1 targets fail: http://e cannot be reached" in given.message
    assert "no read of its source has succeeded yet" in given.message


SERIES = (
    point(10, devices=frozenset(), labels=(("model", "a"),)),
    point(20, devices=frozenset(), labels=(("model", "b"),)),
)


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        pytest.param(parse("model=a"), 10.0, id="picked by label"),
        pytest.param(EVERYTHING, "unequal", id="unequal"),
        pytest.param(parse("model=c"), "none of its series", id="none matches"),
    ],
)
def test_several_series_of_one_object_need_one_to_be_picked(series: Selector, expected: float | str) -> None:
    said = MappingProxyType({"queue": MappingProxyType({key(): SERIES})})
    feeds = {"queue": Snapshot("queue", "queue", 100.0, said)}
    given = answer(ask(metric="queue", series=series), CATALOG, feeds, PodIndex([pod()]), NOW)
    if isinstance(expected, float):
        assert isinstance(given, Items)
        assert given.items[0].point.value == expected
    else:
        assert {"unequal": "different values"}.get(expected, expected) in refusal(given).message


def test_equal_series_are_one_value_as_old_as_the_oldest() -> None:
    twins = (
        point(10, 110, devices=frozenset(), labels=(("job", "a"),)),
        point(10, 100, devices=frozenset(), labels=(("job", "b"),)),
    )
    feeds = {"queue": Snapshot("queue", "queue", 100.0, MappingProxyType({"queue": MappingProxyType({key(): twins})}))}
    given = answer(ask(metric="queue"), CATALOG, feeds, PodIndex([pod()]), NOW)
    assert isinstance(given, Items)
    assert given.items[0].point.born == 100


readings = st.dictionaries(
    st.sampled_from([f"p-{i}" for i in range(4)]),
    st.builds(point, value=st.floats(0, 100), born=st.floats(0, 200), limit=st.floats(1, 60))
    | st.builds(withheld, reason=st.sampled_from(list(Reason))),
)


@given(readings, st.floats(0, 300), st.sampled_from([APP, EVERYTHING]))
def test_an_answer_never_contains_a_point_beyond_its_limit(
    said: dict[str, Reading], now: float, selector: Selector
) -> None:
    given = answered(said, ask(selector=selector), now=now)
    if isinstance(given, Items):
        for item in given.items:
            assert now <= item.point.expires
            assert item.point is said[item.key.name]


@given(readings, st.floats(0, 300), st.sampled_from([f"p-{i}" for i in range(4)]))
def test_withholding_one_pod_changes_no_other_pods_value(said: dict[str, Reading], now: float, lost: str) -> None:
    before = answered(said, ask(selector=EVERYTHING), now=now)
    after = answered({**said, lost: withheld(Reason.BLANK)}, ask(selector=EVERYTHING), now=now)
    if isinstance(after, Items):
        assert isinstance(before, Items)
        kept = {item.key: item.point for item in before.items}
        assert all(kept[item.key] == item.point for item in after.items)
        assert set(kept) - {item.key for item in after.items} <= {key(lost)}


@given(readings, st.floats(0, 300), st.permutations(range(4)))
def test_order_of_pods_and_readings_never_changes_an_answer(
    said: dict[str, Reading], now: float, order: list[int]
) -> None:
    shuffled = {name: said[name] for name in sorted(said, key=lambda n: order[int(n[-1])])}
    pods = [pod(f"p-{i}", started=0.0) for i in order]
    assert answered(said, now=now) == answered(shuffled, pods=pods, now=now)


def test_every_reason_has_a_remedy() -> None:
    assert set(REMEDIES) == set(Reason)


def test_points_and_withhelds_are_all_there_is() -> None:
    assert set(Reading.__args__) == {Point, Withheld}
