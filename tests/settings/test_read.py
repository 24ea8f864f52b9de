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
    assert "66.5s = collect 30s + ticker page 30s + two polls 6s + read 0.5s" in found[-1]
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
        pytest.param("{name: [m], from: [dcgm], series: gpu_utilization}", "name: must be text", id="name's type"),
        pytest.param("{name: m, from: [{a: b}], series: gpu_utilization}", "from[0]: must be text", id="from's type"),
        pytest.param("{name: m, from: [dcgm], series: x}", "there are gpu_utilization,", id="unknown profile"),
        pytest.param(
            "{name: m, from: [prometheus], query: up, labels: {namespace: n, pod: n}}", "different one", id="one label"
        ),
        pytest.param(
            "{name: m, from: [prometheus], query: up, labels: {node: 'a b'}}", "different one", id="no label's name"
        ),
        pytest.param(
            "{name: m, from: [prometheus], query: '" + "(" * 2000 + "x" + ")" * 2000 + "'}", "too deep", id="brackets"
        ),
        pytest.param("{name: m, from: [prometheus], query: up, sourceAge: auto}", "must be a duration", id="auto"),
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
        pytest.param("metrics: []", "names nothing to serve", id="no metric"),
        pytest.param("hpa: {syncPeriod: auto}\nmetrics: []", "hpa.syncPeriod: must be a duration", id="auto"),
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
        pytest.param("sources: {dcgm: {static: ['http://a:9400']}}", "names a server but no page", id="no page"),
        pytest.param("sources: {prometheus: {url: 'http://a b'}}", "must be a URL", id="blank in a URL"),
        pytest.param("sources: {prometheus: {url: 'http://a?token=x'}}", "must not hold a query", id="query in a URL"),
        pytest.param("sources: {prometheus: {url: 'http://a:99999'}}", "is not a URL", id="port"),
        pytest.param("sources: {prometheus: {name: '', url: 'http://a'}}", "name: is empty", id="empty name"),
        pytest.param("sources: {prometheus: {url: 'http://a', bearerTokenFile: ''}}", "is empty", id="empty file"),
        pytest.param("sources: {prometheus: {url: 'http://a', basicAuth: {}}}", "needs a username", id="no user"),
        pytest.param(
            "sources: {prometheus: {url: 'http://a', basicAuth: {username: 'a:b'}}}", "colon", id="colon in a user"
        ),
        pytest.param(
            "sources: {prometheus: {url: 'http://a', headers: {Host: b}}}", "sets itself", id="header of the connection"
        ),
        pytest.param(
            "sources: {prometheus: {url: 'http://a', headers: {X-Vault-Token: b}}}", "holds a secret", id="token"
        ),
        pytest.param(
            "sources: {prometheus: {url: 'http://a', headers: {A: b}, headerFiles: {a: /b}}}", "both", id="header twice"
        ),
        pytest.param(
            "sources: {prometheus: {url: 'http://a', bearerTokenFile: /a, headerFiles: {authorization: /b}}}",
            "can hold one",
            id="two Authorizations",
        ),
        pytest.param("sources: {dcgm: {maxPageSize: 99Gi}}", "at most 1Gi", id="size"),
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


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        pytest.param("hpa: {}\nrules:\n- seriesQuery: a\n", 2, "prometheus-adapter", id="prometheus-adapter's"),
        pytest.param("resourceRules:\n", 1, "prometheus-adapter", id="prometheus-adapter's, of resources"),
        pytest.param("rules: {default: true}\nimage: {tag: v1}\n", 2, "Helm", id="Helm values"),
        pytest.param("kind: ConfigMap\ndata: {}\napiVersion: v1\n", 3, "Kubernetes manifest", id="ConfigMap"),
        pytest.param("scrape_configs: []\n", 1, "sources.prometheus", id="Prometheus' own"),
    ],
)
def test_another_programs_file_is_one_fault(content: str, line: int, words: str) -> None:
    (found,) = texts(content)
    assert found.startswith(f"line {line}: ")
    assert words in found


def test_limit_is_refused_where_it_stands() -> None:
    entry = "  - name: m\n    from: [dcgm]\n    series: gpu_utilization\n    freshness:\n      maxAge: 1s\n"
    (found,) = texts(BASE + entry)
    assert found.startswith("line 10: metrics[0].freshness.maxAge: m: maxAge 1s is below")
    (found,) = texts("freshness: {maxAge: 1s}" + BASE + GPU)
    assert found.startswith("line 1: freshness.maxAge: gpu: maxAge 1s is below")


def test_each_metric_has_its_own_limit_or_the_one_for_all() -> None:
    entries = [
        "  - {name: a, from: [dcgm], series: gpu_utilization}\n",
        "  - {name: b, from: [dcgm], series: gpu_utilization, freshness: {maxAge: 50s, minCoverage: 1}}\n",
        "  - {name: c, from: [dcgm], series: gpu_utilization, freshness: {maxAge: auto}}\n",
    ]
    settings = parse(("freshness: {maxAge: 40s, minCoverage: 0.7}" + BASE + "".join(entries)).encode())
    assert [(metric.max_age, metric.min_coverage) for metric in settings.metrics] == [(40, 0.7), (50, 1), (None, 0.7)]
    assert settings.max_age is None, "it would overrule the `auto` of c"


def test_no_secret_is_repeated() -> None:
    found = texts(
        """
sources:
  dcgm: {headers: {X-Token: hunter2}, static: ["http://hunter2@a/metrics", "http://a/metrics#hunter2"]}
  prometheus: {url: "http://me:hunter2@a", bearerToken: hunter2, headers: {Authorization: "Bearer hunter2"}}
metrics: []
"""
    )
    assert len(found) == 7
    assert not any("hunter2" in text for text in found)


KEYS = (
    "hpa", "syncPeriod", "cache", "ttl", "freshness", "maxAge", "minCoverage", "onNaN", "sources", "dcgm",
    "collectInterval", "poll", "pages", "heartbeat", "readTime", "deadline", "maxPageSize", "static", "url", "tls",
    "caFile", "certFile", "insecureSkipVerify", "basicAuth", "username", "passwordFile", "headers", "headerFiles",
    "prometheus", "name", "dialect", "metrics", "from", "series", "query", "labels", "namespace", "pod", "node",
    "devices", "raw", "sourceAge",
)  # fmt: skip
SCALARS = st.sampled_from(
    ["auto", "15s", "1", "0.5", "true", "~", '""', "dcgm", "prometheus", "gpu_utilization", "mean", "http://a/metrics",
     "http://[", "sum(x)", "x:y", "8Mi", '"\\n"', "9" * 5000, "pod", "é"]
)  # fmt: skip
TREES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6).map(
            lambda entries: f"{{{', '.join(f'{key}: {value}' for key, value in entries.items())}}}"
        )
    ),
    max_leaves=25,
)


@given(st.dictionaries(st.sampled_from(["hpa", "cache", "freshness", "sources", "metrics"]), TREES))
def test_any_shape_is_read_or_refused(entries: dict[str, str]) -> None:
    try:
        parse("".join(f"{key}: {value}\n" for key, value in entries.items()).encode())
    except ConfigError as error:
        assert error.faults


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with pytest.raises(ConfigError):
        parse(content)


@given(st.text(max_size=60), st.sampled_from(["hpa", "cache", "freshness", "sources", "metrics"]))
def test_any_value_is_read_or_refused(value: str, key: str) -> None:
    try:
        parse(f"{key}: {value!r}\nmetrics: {value!r}".encode(errors="replace"))
    except ConfigError as error:
        assert error.faults
