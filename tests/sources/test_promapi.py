"""What a Prometheus answers is read strictly; what it warns of is incomplete."""

import math

import pytest

from adapter.core.errors import SourceError
from adapter.settings.groups import Dialect
from adapter.sources.promapi import duration, form, matrix, recording_rules, scrape_intervals, vector

JSON = "application/json"
VECTOR = b'{"status":"success","data":{"resultType":"vector","result":[%s]}%s}'


def test_rows_are_labels_and_numbers() -> None:
    body = VECTOR % (b'{"metric":{"pod":"a"},"value":[1,"4.5"]},{"metric":{},"value":[1,"NaN"]}', b"")
    first, second = vector(body, JSON)
    assert (first.labels, first.value) == ({"pod": "a"}, 4.5)
    assert math.isnan(second.value)


def test_histogram_row_has_no_number() -> None:
    (sample,) = vector(VECTOR % (b'{"metric":{},"histogram":[1,{"count":"3"}]}', b""), JSON)
    assert math.isnan(sample.value)


@pytest.mark.parametrize(
    ("body", "content_type", "kind", "words"),
    [
        pytest.param(b"<html>", "text/html", "malformed", "text/html where JSON", id="HTML"),
        pytest.param(b"{", JSON, "malformed", "no Prometheus answer", id="cut off"),
        pytest.param(
            b'{"status":"error","errorType":"bad_data","error":"parse error"}',
            JSON,
            "status",
            "parse error",
            id="refused",
        ),
        pytest.param(VECTOR % (b"", b',"warnings":["results truncated"]'), JSON, "partial", "truncated", id="warned"),
        pytest.param(
            b'{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}',
            JSON,
            "malformed",
            "scalar",
            id="scalar",
        ),
        pytest.param(VECTOR % (b'{"value":1}', b""), JSON, "malformed", "do not parse", id="bad row"),
        pytest.param(
            VECTOR % (b'{"metric":{},"value":[1,"abc"]}', b""), JSON, "malformed", "'abc' where a number", id="a word"
        ),
        pytest.param(
            VECTOR % (b'{"metric":{"a":"\xff"},"value":[1,"1"]}', b""), JSON, "malformed", "parse", id="bytes"
        ),
        pytest.param(b"[" * 100_000, JSON, "malformed", "no Prometheus answer", id="nested without end"),
    ],
)
def test_what_is_no_complete_answer_is_refused(body: bytes, content_type: str, kind: str, words: str) -> None:
    with pytest.raises(SourceError, match=words) as error:
        vector(body, content_type)
    assert error.value.kind == kind


def test_notes_are_no_warnings() -> None:
    assert (
        vector(VECTOR % (b"", b',"warnings":["PromQL info: metric might not be a counter"],"infos":["x"]'), JSON) == []
    )


def test_form_never_carries_a_time() -> None:
    dialects: tuple[Dialect, ...] = ("auto", "prometheus", "victoriametrics", "thanos", "mimir")
    assert all("time" not in form("up", 5.0, dialect) for dialect in dialects)
    assert form("up", 5.0, "victoriametrics")["nocache"] == "1"
    assert form("up", 5.0, "thanos")["partial_response"] == "false"


def test_range_selector_gives_sample_times() -> None:
    series = b'{"metric":{"a":"b"},"values":[[1.5,"1"],[3,"2"]]}'
    body = b'{"status":"success","data":{"resultType":"matrix","result":[' + series + b"]}}"
    (found,) = matrix(body, JSON)
    assert found.times == (1.5, 3.0)


def test_scrape_intervals_come_by_target_from_either_field() -> None:
    body = b"""{"status":"success","data":{"activeTargets":[
        {"labels":{"job":"a","instance":"1"},"scrapeInterval":"15s"},
        {"labels":{"job":"b","instance":"2"},"discoveredLabels":{"__scrape_interval__":"1m30s"}},
        {"labels":{"job":"c","instance":"3"}}]}}"""
    assert scrape_intervals(body) == {("a", "1"): 15.0, ("b", "2"): 90.0}


@pytest.mark.parametrize("interval", ["1e308", "-5", "0"])
def test_rules_with_an_impossible_interval_are_refused_and_not_taken_for_raw(interval: str) -> None:
    body = b'{"data":{"groups":[{"interval":%s,"rules":[{"name":"a:b","query":"x","type":"recording"}]}]}}'
    with pytest.raises(SourceError, match="impossible interval"):
        recording_rules(body % interval.encode())


def test_only_recording_rules_are_listed() -> None:
    body = b"""{"status":"success","data":{"groups":[{"interval":30,"rules":[
        {"name":"a:b","query":"sum(x)","type":"recording"},{"name":"Alert","query":"up","type":"alerting"}]}]}}"""
    assert [(rule.name, rule.query, rule.interval) for rule in recording_rules(body)] == [("a:b", "sum(x)", 30)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15s", 15),
        ("1m30s", 90),
        ("500ms", 0.5),
        ("2h", 7200),
        ("", None),
        ("15", None),
        ("s", None),
        ("15x", None),
        ("9" * 400 + "s", None),
        ("9" * 5000 + "s", None),
    ],
)
def test_durations_are_read_as_prometheus_writes_them(text: str, seconds: float | None) -> None:
    assert duration(text) == seconds
