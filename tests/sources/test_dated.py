"""Rows of one evaluation: a value counts only with the time of each of its inputs, and is as old as the oldest."""

import math
import time

import pytest

from adapter.core.errors import SourceError
from adapter.core.lag import Heard, Lag
from adapter.core.pods import Pod, PodIndex
from adapter.core.points import ObjectKey, Point, Reading, Reason, Withheld
from adapter.promql.plan import plan
from adapter.promql.rows import TAG
from adapter.sources.dated import Losses, QueryRules, readings, server_time
from adapter.sources.promapi import Sample

SERVER = 1_700_000_000.0  # what the server's clock showed at the evaluation
HEARD = Heard(sent=500.0, received=500.1, server_time=SERVER, date=None)
POD = {"namespace": "ml", "pod": "p-0"}
NONE = Lag()
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


def read(*samples: Sample, of: object = SUM, limits: tuple[float, ...] = (34.0,), lag: Lag = NONE) -> Reading | None:
    rules = QueryRules("queue", "prom", {"namespace": "namespace", "pod": "pod"}, limits)
    found = readings(of, samples, rules, HEARD, lag, PODS)  # type: ignore[arg-type]
    return found[KEY][0] if KEY in found else None


def test_value_is_as_old_as_its_sample_by_the_servers_clock() -> None:
    reading = read(value(4), row("t0", SERVER - 7))
    assert isinstance(reading, Point)
    assert (reading.value, reading.born, reading.expires, reading.seen) == (4, 493, 527, 500)


@pytest.mark.parametrize("order", [(-3000, -1), (-1, -3000)])
def test_time_that_is_told_twice_is_the_older_one(order: tuple[float, float]) -> None:
    reading = read(value(4), *(row("t0", SERVER + age) for age in order))
    assert isinstance(reading, Point)
    assert reading.born == 500 - 3000


def test_lag_of_the_evaluation_counts() -> None:
    reading = read(value(4), row("t0", SERVER - 7), lag=Lag(3.0))
    assert isinstance(reading, Point)
    assert reading.born == 490


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        pytest.param([value(4)], Reason.MISSING, id="no time"),
        pytest.param([value(4), row("t0", math.nan)], Reason.MISSING, id="a time that is no number"),
        pytest.param([value(4), row("t0", -math.inf)], Reason.MISSING, id="an infinite time"),
        pytest.param([value(4), row("t1", SERVER - 7)], Reason.MISSING, id="a time of no input of it"),
        pytest.param(
            [value(4), row("t0", SERVER - 7, __name__="x")], Reason.MISSING, id="a value that poses as a time"
        ),
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


def test_one_time_that_is_no_number_hides_behind_no_other() -> None:
    both = [value(4), row("t0", SERVER - 7)]
    of = plan("queue / on (namespace, pod) owner", ("namespace", "pod"), 30.0)
    for order in ([*both, row("t1", math.nan)], [value(4), row("t0", math.nan), row("t1", SERVER - 7)]):
        reading = read(*order, of=of, limits=(34.0, 34.0))
        assert isinstance(reading, Withheld)
        assert reading.reason == Reason.MISSING


@pytest.mark.parametrize("tag", ["now", "v0", "t9", "c9", "tx", "c", "s0", ""])
def test_scraped_row_with_a_label_called_like_our_tag_is_dropped(tag: str) -> None:
    reading = read(value(4), row("t0", SERVER - 7), row(tag, math.nan, __name__="queue"))
    assert isinstance(reading, Point)
    assert (reading.value, reading.born) == (4, 493)


def test_scraped_row_poses_as_no_loss() -> None:
    assert isinstance(read(value(4), row("t0", SERVER - 7), row("c0", 1, __name__="queue")), Point)


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
    (reading,) = readings(SUM, samples, rules, HEARD, NONE, known)[KEY]
    assert isinstance(reading, Withheld) is concerned


def test_input_that_left_with_its_pod_makes_nothing_partial() -> None:
    rules = QueryRules("queue", "prom", {"namespace": "namespace", "pod": "pod"}, (34.0,))
    gone = [Sample({**POD, "pod": "gone"}, 4), row("t0", SERVER - 1, pod="gone"), row("c0", 1, pod="gone")]
    found = readings(SUM, gone, rules, HEARD, NONE, PODS)
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
    (reading,) = readings(SUM, [value(4), row("t0", SERVER - 1)], rules, HEARD, NONE, PODS)[KEY]
    assert isinstance(reading, Point)
    assert reading.born == 480


@pytest.mark.parametrize("number", [math.nan, math.inf, SERVER - 300])
def test_clock_is_the_row_with_no_other_label_whatever_an_app_exposes(number: float) -> None:
    posing = [row("now", number), Sample({TAG: "now", "__name__": "x"}, number)]
    assert server_time([*posing, Sample({TAG: "now"}, SERVER)]) == SERVER


@pytest.mark.parametrize(
    "samples",
    [
        pytest.param([], id="none"),
        pytest.param([row("now", SERVER)], id="only one that poses as it"),
        pytest.param([Sample({TAG: "now"}, math.nan)], id="NaN"),
        pytest.param([Sample({TAG: "now"}, math.inf)], id="infinite"),
        pytest.param([Sample({TAG: "now"}, SERVER), Sample({TAG: "now"}, SERVER - 9)], id="two"),
    ],
)
def test_answer_without_one_server_time_is_refused(samples: list[Sample]) -> None:
    with pytest.raises(SourceError, match="server's time") as error:
        server_time([value(4), *samples])
    assert error.value.kind == "malformed"


@pytest.mark.parametrize("wrong", [[row("c0", 1)], [], [row("t0", SERVER + 9)]], ids=["partial", "missing", "future"])
def test_what_is_withheld_says_of_which_series(wrong: list[Sample]) -> None:
    of = plan("sum by (namespace, pod, model) (queue)", ("namespace", "pod"), 30.0)
    wrong = [sample._replace(labels={**sample.labels, "model": "a"}) for sample in wrong]
    reading = read(value(4, model="a"), *wrong, of=of)
    assert isinstance(reading, Withheld)
    assert reading.labels == (("model", "a"),)


def test_losses_are_found_fast_also_where_values_lack_labels_of_theirs() -> None:
    losses = Losses([(("namespace", f"ns{i % 1000}"), ("pod", f"p{i}")) for i in range(10_000)])
    began = time.process_time()
    concerned = [losses.concern((("namespace", f"ns{number}"),)) for number in range(900, 1100)]
    assert time.process_time() - began < 0.1
    assert concerned == [True] * 100 + [False] * 100
