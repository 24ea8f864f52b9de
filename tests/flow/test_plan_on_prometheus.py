"""What a plan says about time, held against a real Prometheus whose samples' times are known to the millisecond."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from adapter.promql.plan import plan
from adapter.promql.rows import NOW, TAG, TIMES, VALUE, VANISHED, device_rows
from tests.flow.known_page import Scene, by_labels, known_scene, until
from tests.flow.prometheus_server import ask
from tests.promql.expressions import expressions

pytestmark = pytest.mark.prometheus

# Query, and per value row the age of each leaf at the start.
DATED = [
    ("selector", "util", {"gpu=0,pod=a": [10], "gpu=1,pod=a": [12.5], "gpu=0,pod=b": [5], "gpu=1,pod=b": [45.25]}),
    ("as old as its stalest series", "avg by (pod) (util)", {"pod=a": [12.5], "pod=b": [45.25]}),
    ("sum of all", "sum(util)", {"": [45.25]}),
    ("without", "max without (gpu) (util)", {"pod=a": [12.5], "pod=b": [45.25]}),
    ("offset", "old offset 30s", {"pod=a": [90]}),
    ("minus and parentheses", "-(queue) * 2", {"pod=a": [20], "pod=b": [8]}),
    ("rate", "rate(queue[5m])", {"pod=a": [20], "pod=b": [8]}),
    ("aggregated rate", "sum by (pod) (rate(util[5m]))", {"pod=a": [12.5], "pod=b": [45.25]}),
    ("maximum over time", "max_over_time(util{gpu='0'}[2m])", {"gpu=0,pod=a": [10], "gpu=0,pod=b": [5]}),
    ("histogram", "histogram_quantile(0.9, sum by (le, pod) (rate(lat_bucket[5m])))", {"pod=a": [17]}),
    ("topk", "topk(1, queue)", {"pod=b": [8]}),
    ("number compared", "queue > 3", {"pod=b": [8]}),
    ("number compared, bool", "queue > bool 3", {"pod=a": [20], "pod=b": [8]}),
    ("and", "queue and on (pod) util", {"pod=a": [20, 12.5], "pod=b": [8, 45.25]}),
    ("and, same labels", "queue and (queue > 3)", {"pod=b": [8, 8]}),
    ("unless", "queue unless on (pod) (util > 75)", {"pod=a": [20]}),
    ("unless, on nothing", "queue unless on () missing", {"pod=a": [20], "pod=b": [8]}),
    ("number out of a vector", "queue / scalar(sum(util))", {"pod=a": [20, 45.25], "pod=b": [8, 45.25]}),
    ("filter by a number out of a vector", "queue > scalar(min(queue))", {"pod=b": [8, 20]}),
    ("subquery", "max_over_time(sum by (pod) (util)[1m:1s])", {"pod=a": [12.5], "pod=b": [45.25]}),
    ("own time", "time() - timestamp(queue)", {"pod=a": [20], "pod=b": [8]}),
    (
        "division",
        "sum by (pod) (util) / on (pod) queue",
        {"pod=a": [12.5, 20], "pod=b": [45.25, 8]},
    ),
    (
        "vectors compared",
        "queue < on (pod) sum by (pod) (util)",
        {"pod=a": [20, 12.5], "pod=b": [8, 45.25]},
    ),
    (
        "join that lends",
        "avg by (app) (util * on (pod) group_left (app) owner)",
        {"app=web": [12.5, 30], "app=db": [45.25, 25]},
    ),
    (
        "lender on the left",
        "owner * on (pod) group_right (app) queue",
        {"app=web,pod=a": [30, 20], "app=db,pod=b": [25, 8]},
    ),
    (
        "label_replace",
        'label_replace(queue, "node", "n-$1", "pod", "(.*)")',
        {"node=n-a,pod=a": [20], "node=n-b,pod=b": [8]},
    ),
]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with known_scene(tmp_path_factory.mktemp("prometheus")) as found:
        yield found


@pytest.mark.parametrize(("query", "ages"), [case[1:] for case in DATED], ids=[case[0] for case in DATED])
def test_every_value_row_has_the_true_time_of_every_leaf(
    scene: Scene, query: str, ages: dict[str, list[float]]
) -> None:
    made = plan(query, ("pod",), 60.0)
    rows = scene.rows(made.combined)
    assert by_labels(rows, None).keys() == ages.keys()
    for index in range(len(made.leaves)):
        times = by_labels(rows, f"{TIMES}{index}")
        assert {key: times[key] for key in ages} == {key: scene.born(found[index]) for key, found in ages.items()}
        assert by_labels(rows, f"{VANISHED}{index}") == {}


def test_values_are_those_of_the_expression_alone(scene: Scene) -> None:
    query = "avg by (app) (util * on (pod) group_left (app) owner)"
    assert by_labels(scene.rows(plan(query, (), 60.0).combined), None) == {"app=web": 60.0, "app=db": 45.0}


def test_or_dates_each_row_by_the_side_it_came_from(scene: Scene) -> None:
    rows = scene.rows(plan("queue or spare", (), 60.0).combined)
    now = by_labels(rows, NOW)[""]
    assert by_labels(rows, f"{TIMES}0") == {"pod=a": scene.born(20), "pod=b": scene.born(8), "pod=c": now}
    assert by_labels(rows, f"{TIMES}1") == {"pod=a": now, "pod=b": now, "pod=c": scene.born(33)}


def test_times_of_scraped_samples_are_those_of_the_samples(scene: Scene) -> None:
    """A sample may arrive between the two questions, so they are asked until they agree; a wrong time never would."""

    def agree() -> bool:
        rows = scene.rows(plan("beat", (), 60.0).combined)
        answer = ask(scene.url, "beat[30s]", time=repr(by_labels(rows, NOW)[""]))
        newest = {
            f"gpu={series['metric']['gpu']},pod={series['metric']['pod']}": series["values"][-1][0]
            for series in answer["data"]["result"]
        }
        return newest == by_labels(rows, f"{TIMES}0") and len(newest) > 0

    until(agree, within=10.0)


def test_targets_of_a_leaf_are_named(scene: Scene) -> None:
    (leaf,) = plan("sum(rate(util[5m]))", (), 60.0).leaves
    (row,) = scene.rows(leaf.targets)
    assert row["metric"].keys() == {"job", "instance"}


def test_device_rows_pair_values_and_times_of_every_family(scene: Scene) -> None:
    rows = scene.rows(device_rows(["util", "queue"], ['pod="b"']))
    assert by_labels(rows, f"{VALUE}0") == {"gpu=0,pod=b": 80, "gpu=1,pod=b": 10}
    assert by_labels(rows, f"{TIMES}0") == {"gpu=0,pod=b": scene.born(5), "gpu=1,pod=b": scene.born(45.25)}
    assert by_labels(rows, f"{VALUE}1") == {"pod=b": 4}
    assert by_labels(rows, f"{TIMES}1") == {"pod=b": scene.born(8)}
    assert {row["metric"].get("__name__") for row in rows if row["metric"][TAG].startswith(VALUE)} == {"util", "queue"}


@settings(deadline=None, max_examples=60)
@given(query=expressions)
def test_prometheus_understands_every_combined_query(scene: Scene, query: str) -> None:
    """No series match, so an answer means that it was parsed and type-checked."""
    assert by_labels(scene.rows(plan(query, ("namespace", "pod"), 40.0).combined), NOW)


# Query, the object's labels, and per leaf the rows that say what vanished.
LOST = [
    ("by the object", "sum by (pod) (beat)", ("pod",), [{"pod=a", "pod=b"}]),
    ("one value for all", "avg(beat)", ("pod",), [{"pod=a", "pod=b"}]),
    ("one value, no object", "avg(beat)", (), [{""}]),
    ("without", "sum without (gpu) (beat)", ("pod",), [{"pod=a", "pod=b"}]),
    ("over a range", "sum by (pod) (count_over_time(beat[1m]))", ("pod",), [{"pod=a", "pod=b"}]),
    ("all inputs at once", "sum by (pod) (beat / (beat + beat))", ("pod",), [{"pod=a", "pod=b"}] * 3),
    (
        "labels lent",
        "avg by (app) (beat * on (pod) group_left (app) beat_owner)",
        ("pod",),
        [{"app=web,pod=a", "app=db,pod=b"}, {"app=db,pod=b"}],
    ),
    ("filtered by a join", 'avg(beat * on (pod) group_left () beat_owner{app="web"})', ("pod",), [{"pod=a"}, set()]),
    ("filtered by and", 'avg(beat and on (pod) beat_owner{app="db"})', ("pod",), [{"pod=b"}, {"pod=b"}]),
    ("shared sum", "beat / on (pod) group_left () sum by (pod) (beat)", ("pod",), [set(), {"pod=a", "pod=b"}]),
    ("number out of a sum", "beat / scalar(sum(beat))", ("pod",), [set(), {""}]),
]


def test_vanished_inputs_are_seen_by_object_and_only_once_they_vanished(scene: Scene) -> None:
    def losses(query: str, object_labels: tuple[str, ...]) -> list[set[str]]:
        made = plan(query, object_labels, 60.0)
        rows = scene.rows(made.combined)
        return [set(by_labels(rows, f"{VANISHED}{index}")) for index in range(len(made.leaves))]

    before = {name: losses(query, object_labels) for name, query, object_labels, _ in LOST}
    assert not any(any(found) for found in before.values())
    scene.page.beats -= {'beat{pod="a",gpu="1"}', 'beat{pod="b",gpu="0"}', 'beat_owner{pod="b",app="db"}'}
    until(lambda: by_labels(scene.rows("count(beat)"), None) == {"": 1.0})
    assert {name: losses(query, object_labels) for name, query, object_labels, _ in LOST} == {
        name: found for name, _, _, found in LOST
    }
    ranged = scene.rows(plan("count_over_time(beat[1m])", ("pod",), 60.0).combined)
    assert by_labels(ranged, None).keys() == {"gpu=0,pod=a", "gpu=1,pod=a", "gpu=0,pod=b"}
    assert by_labels(ranged, f"{TIMES}0").keys() == {"gpu=0,pod=a"}
