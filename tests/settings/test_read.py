"""A configuration is used as a whole or refused with everything that is wrong with it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.errors import ConfigError
from adapter.settings import default_settings, parse

BASE = """
sources:
  dcgm: {collectInterval: 5s, static: [http://a:9400/metrics]}
  prometheus: {url: http://prom:9090}
metrics:
"""
GPU = "  - {name: gpu, from: [dcgm], series: gpu_utilization}\n"

TEN_FAULTS = b"""\
hpa: {syncPeriod: soon}
cache: {tll: 1s}
freshness: {maxAge: auto, minCoverage: 3}
sources:
  dcgm:
    collectInterval: 30s
    static: [ftp://a/metrics]
  prometheus: {url: "http://me:secret@prom:9090"}
metrics:
  - {name: a/b, from: [dcgm], series: gpu_utilization}
  - {name: c, from: [dcgm], series: gpu_utilisation}
  - {name: d, from: [nowhere], query: up}
  - {name: e, from: [prometheus], query: "sum(x) or vector(0)"}
  - {name: f, from: [dcgm], series: gpu_utilization, freshness: {maxAge: 20s}}
"""


def texts(content: str | bytes) -> list[str]:
    with pytest.raises(ConfigError) as error:
        parse(content if isinstance(content, bytes) else content.encode())
    return [str(fault) for fault in error.value.faults]


def test_ten_faults_are_ten_faults_with_their_lines() -> None:
    found = texts(TEN_FAULTS)
    assert [text.split(": ")[0] for text in found] == [
        "line 1", "line 2", "line 3", "line 7", "line 8", "line 10", "line 11", "line 12", "line 13", "line 14",
    ]  # fmt: skip
    assert "36.5s" not in found[-1], "ticker pages cost a collect more"
    assert "66.5s = collect 30s + ticker page 30s + 2 × poll 6s + read 0.5s" in found[-1]
    assert not any("secret" in text for text in found)


def test_example_configuration_is_accepted() -> None:
    settings = parse((Path(__file__).parents[2] / "manifests/example-config.yaml").read_bytes())
    assert [metric.name for metric in settings.metrics] == ["nvidia_gpu_utilization", "queue_depth"]
    assert settings.dcgm is not None
    assert settings.dcgm.collect_interval == 5
    assert settings.dcgm.static[1].pages == "ticker"
    assert settings.prometheus[0].connection.headers == {"X-Scope-OrgID": "gpu"}


def test_without_a_file_the_gpu_profiles_are_served() -> None:
    assert "nvidia_gpu_utilization" in {metric.name for metric in default_settings().metrics}


def test_a_metric_without_a_name_takes_its_profiles() -> None:
    assert (
        parse((BASE + "  - {from: [dcgm], series: gpu_utilization}").encode()).metrics[0].name
        == "nvidia_gpu_utilization"
    )


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        pytest.param("{name: m, from: [dcgm]}", "either series", id="neither"),
        pytest.param("{name: m, from: [dcgm], series: gpu_utilization, query: up}", "either series", id="both"),
        pytest.param("{from: [prometheus], query: up}", "needs a name", id="no name"),
        pytest.param("{name: m, series: gpu_utilization}", "needs from", id="no source"),
        pytest.param("{name: m, from: [], series: gpu_utilization}", "names no source", id="empty from"),
        pytest.param("{name: m, from: [dcgm, dcgm], series: gpu_utilization}", "named twice", id="twice"),
        pytest.param("{name: m, from: [dcgm], query: up}", "answer no query", id="query at exporters"),
        pytest.param("{name: m, from: [prometheus], query: up, labels: {pod: p}}", "namespace and pod", id="labels"),
        pytest.param("{name: m, from: [prometheus], query: up, devices: max}", "aggregate in the query", id="devices"),
        pytest.param(
            "{name: m, from: [dcgm], series: gpu_utilization, labels: {pod: p}}", "told by its rows", id="profile"
        ),
        pytest.param("{name: m, from: [dcgm], series: gpu_utilization, raw: true}", "is for queries", id="raw"),
        pytest.param(
            "{name: m, from: [prometheus], query: 'a:b', raw: true, sourceAge: 1m}", "contradicts raw", id="raw and age"
        ),
        pytest.param("{name: m, from: [prometheus], query: 'sum('}", "age of `sum(`", id="syntax"),
        pytest.param("{name: m, from: [prometheus], query: 'absent(x)'}", "absent", id="undatable"),
        pytest.param("{name: m, form: [dcgm], series: gpu_utilization}", "did you mean from?", id="typing error"),
        pytest.param("{name: 'a b', from: [dcgm], series: gpu_utilization}", "cannot be asked for", id="name"),
        pytest.param("[1]", "must be a mapping", id="no mapping"),
    ],
)
def test_metric_that_cannot_be_served_is_a_fault(entry: str, words: str) -> None:
    found = texts(BASE + GPU + f"  - {entry}\n")
    assert any(words in text and text.startswith("line 7: metrics[1]") for text in found), found


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param("", "names nothing to serve", id="empty"),
        pytest.param("[]", "must be a mapping", id="a list"),
        pytest.param("rules: [{seriesQuery: a}]", "prometheus-adapter", id="prometheus-adapter's file"),
        pytest.param(BASE + GPU + GPU, "served already by the entry in line 6", id="twice"),
        pytest.param(
            "sources: {prometheus: [{url: 'http://a'}]}\nmetrics: []", "needs a name", id="list without names"
        ),
        pytest.param(
            "sources: {prometheus: [{name: a, url: 'http://a'}, {name: a, url: 'http://b'}]}\nmetrics: []",
            "two servers",
            id="two of a name",
        ),
        pytest.param(
            "sources: {prometheus: {name: dcgm, url: 'http://a'}}\nmetrics: []", "choose another", id="reserved"
        ),
        pytest.param(
            "sources: {prometheus: {url: 'http://a', headers: {Authorization: x}}}\nmetrics: []",
            "headerFiles",
            id="secret",
        ),
        pytest.param(
            "sources: {prometheus: {url: 'http://a', tls: {certFile: a}}}\nmetrics: []",
            "belong together",
            id="half a pair",
        ),
        pytest.param(
            "sources: {prometheus: {url: 'http://a', bearerTokenFile: a, basicAuth: {username: b}}}\nmetrics: []",
            "can hold one",
            id="two identities",
        ),
        pytest.param("sources: {dcgm: {discovery: {}}}\nmetrics: []", "not in this version", id="discovery"),
        pytest.param(
            "sources: {dcgm: {static: ['http://a/m', 'http://a/m']}}\nmetrics: []", "listed twice", id="target twice"
        ),
        pytest.param("freshness: {onNaN: zero}\nmetrics: []", "prometheus-adapter", id="onNaN"),
    ],
)
def test_file_that_cannot_be_used_says_why(content: str, words: str) -> None:
    found = texts(content)
    assert any(words in text for text in found), found


def test_limit_that_one_source_keeps_is_accepted() -> None:
    entry = "  - {name: m, from: [dcgm, prometheus], series: gpu_utilization, freshness: {maxAge: 20s}}\n"
    assert parse((BASE + entry).encode()).metrics[0].max_age == 20


def test_limit_of_a_query_is_not_refused_for_a_scrape_interval_that_nobody_configured() -> None:
    entry = "  - {name: m, from: [prometheus], query: up, freshness: {maxAge: 20s}}\n"
    assert parse((BASE + entry).encode()).metrics[0].max_age == 20


@given(st.text(max_size=60), st.sampled_from(["hpa", "cache", "freshness", "sources", "metrics"]))
def test_any_value_is_read_or_refused(value: str, key: str) -> None:
    try:
        parse(f"{key}: {value!r}\nmetrics: {value!r}".encode(errors="replace"))
    except ConfigError as error:
        assert error.faults
