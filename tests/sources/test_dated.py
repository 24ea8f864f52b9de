"""Rows of one evaluation: a value counts only with the time of each of its inputs, and is as old as the oldest."""

import math

import pytest

from adapter.core.errors import SourceError
from adapter.core.lag import Heard
from adapter.core.pods import Pod, PodIndex
from adapter.core.points import ObjectKey, Point, Reading, Reason, Withheld
from adapter.promql.plan import plan
from adapter.promql.rows import TAG
from adapter.sources.dated import QueryRules, looks, readings, server_time
from adapter.sources.promapi import Sample

SERVER = 1_700_000_000.0  # what the server's clock showed at the evaluation
HEARD = Heard(sent=500.0, received=500.1, server_time=SERVER, date=None)
POD = {"namespace": "ml", "pod": "p-0"}
KEY = ObjectKey("pods", "ml", "p-0")
PODS = PodIndex([Pod("ml", "p-0", started=0.0)])
SUM = plan("sum by (namespace, pod) (queue)", ("namespace", "pod"), 30.0)
JOIN = plan(
    "sum by (namespace, pod) (queue * on (namespace, pod) group_left (app) kube_pod_labels)", ("namespace", "pod"), 30.0
)


def value(number: float, **labels: str) -> Sample:
    return Sample({**POD, **labels}, number)


def row(tag: str, number: float, **labels: str) -> Sample:
    return Sample({**POD, TAG: tag, **labels}, number)


def read(*samples: Sample, of: object = SUM, limits: tuple[float, ...] = (34.0,), lag: float = 0.0) -> Reading | None:
    rules = QueryRules("queue", "prom", {"namespace": "namespace", "pod": "pod"}, limits)
    found = readings(of, samples, rules, HEARD, lag, PODS)  # type: ignore[arg-type]
    return found[KEY][0] if KEY in found else None


def test_value_is_as_old_as_its_sample_by_the_servers_clock() -> None:
    reading = read(value(4), row("t0", SERVER - 7))
    assert isinstance(reading, Point)
    assert (reading.value, reading.born, reading.expires, reading.seen) == (4, 493, 527, 500)


def test_lag_of_the_evaluation_counts() -> None:
    reading = read(value(4), row("t0", SERVER - 7), lag=3.0)
    assert isinstance(reading, Point)
    assert reading.born == 490


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        pytest.param([value(4)], Reason.MISSING, id="no time"),
        pytest.param([value(math.nan), row("t0", SERVER - 7)], Reason.NOT_A_NUMBER, id="NaN"),
        pytest.param([value(math.inf), row("t0", SERVER - 7)], Reason.NOT_A_NUMBER, id="infinite"),
        pytest.param([value(1e16), row("t0", SERVER - 7)], Reason.OUT_OF_RANGE, id="the HPA would read it as 0"),
        pytest.param([value(4), row("t0", SERVER + 1)], Reason.FUTURE, id="a time to come"),
        pytest.param([value(4), row("t0", SERVER - 7), row("c0", 1)], Reason.PARTIAL, id="an input is gone"),
    ],
)
def test_what_cannot_be_served_is_withheld(samples: list[Sample], reason: Reason) -> None:
    reading = read(*samples)
    assert isinstance(reading, Withheld)
    assert reading.reason == reason


def test_times_without_a_value_are_nothing() -> None:
    assert read(row("t0", SERVER - 7)) is None


def test_row_that_names_no_object_is_left_out() -> None:
    assert read(Sample({"namespace": "ml"}, 4)) is None


@pytest.mark.parametrize(
    ("lost", "concerned"),
    [
        pytest.param({"namespace": "ml", "pod": "p-0"}, True, id="its own"),
        pytest.param({"namespace": "ml", "pod": "p-1"}, False, id="another pod's"),
        pytest.param({"namespace": "ml"}, True, id="shared by its namespace"),
        pytest.param({"namespace": "other"}, False, id="another namespace's"),
        pytest.param({}, True, id="shared by all"),
        pytest.param({"gpu": "0"}, True, id="by a label that the value lacks"),
    ],
)
def test_loss_concerns_every_value_that_agrees_on_the_labels_both_have(lost: dict[str, str], concerned: bool) -> None:
    known = PodIndex([Pod("ml", name, started=0.0) for name in ("p-0", "p-1")])
    rules = QueryRules("queue", "prom", {"namespace": "namespace", "pod": "pod"}, (34.0,))
    samples = [value(4), row("t0", SERVER - 7), Sample({**lost, TAG: "c0"}, 1)]
    (reading,) = readings(SUM, samples, rules, HEARD, 0.0, known)[KEY]
    assert isinstance(reading, Withheld) is concerned


def test_input_that_left_with_its_pod_makes_nothing_partial() -> None:
    rules = QueryRules("queue", "prom", {"namespace": "namespace", "pod": "pod"}, (34.0,))
    gone = [Sample({**POD, "pod": "gone"}, 4), row("t0", SERVER - 1, pod="gone"), row("c0", 1, pod="gone")]
    found = readings(SUM, gone, rules, HEARD, 0.0, PODS)
    assert isinstance(found[KEY._replace(name="gone")][0], Point)


def test_series_that_only_lend_labels_date_nothing_but_must_not_be_too_old() -> None:
    fresh = read(value(4), row("t0", SERVER - 7), row("t1", SERVER - 90), of=JOIN, limits=(34.0, 102.0))
    assert isinstance(fresh, Point)
    assert fresh.born == 493
    assert fresh.expires == 500 - 90 + 102


def test_labels_beside_the_objects_tell_series_apart() -> None:
    reading = read(value(4, model="a"), row("t0", SERVER - 7, model="a"), of=plan("queue", ("namespace", "pod"), 30.0))
    assert isinstance(reading, Point)
    assert reading.labels == (("model", "a"),)


def test_recorded_series_is_as_old_as_its_sources() -> None:
    rules = QueryRules(
        "queue",
        "prom",
        {"namespace": "namespace", "pod": "pod"},
        (34.0,),
        recorded={0: lambda _row, _at: SERVER - 20},
    )
    (reading,) = readings(SUM, [value(4), row("t0", SERVER - 1)], rules, HEARD, 0.0, PODS)[KEY]
    assert isinstance(reading, Point)
    assert reading.born == 480


def test_answer_without_the_servers_time_is_refused() -> None:
    with pytest.raises(SourceError, match="server's time"):
        server_time([value(4)])


def device(tag: str, number: float, gpu: str, instance: str = "10.0.0.1:9400") -> Sample:
    return Sample({"UUID": gpu, "instance": instance, TAG: tag, "pod": ""}, number)


def test_newest_scrape_of_an_instance_is_one_look() -> None:
    samples = [
        device("v0", 50, "GPU-a"),
        device("t0", SERVER - 5, "GPU-a"),
        device("v0", 60, "GPU-b"),
        device("t0", SERVER - 20, "GPU-b"),  # an earlier scrape: the newest does not show it
        device("v0", 70, "GPU-c", "10.0.0.2:9400"),
        device("t0", SERVER - 9, "GPU-c", "10.0.0.2:9400"),
        device("v0", 80, "GPU-d"),  # a value whose time is not told
    ]
    found = looks(samples, ["UTIL"], "prom", HEARD, 0.0)
    assert {target: [(r.labels["UUID"], r.value) for r in look.rows] for target, look in found.items()} == {
        "10.0.0.1:9400": [("GPU-a", 50)],
        "10.0.0.2:9400": [("GPU-c", 70)],
    }
    assert found["10.0.0.1:9400"].stamp == SERVER - 5
    assert found["10.0.0.1:9400"].began == 495
    assert "pod" not in found["10.0.0.1:9400"].rows[0].labels
