"""`check` says what a file would do, with the sums; or all that is wrong, and fails."""

from pathlib import Path

import pytest

from adapter.doctor.check import check
from tests.settings.test_read import TEN_FAULTS

EXAMPLE = Path(__file__).parents[2] / "manifests/example-config.yaml"


def test_ten_faults_are_printed_and_counted() -> None:
    code, text = check("config.yaml", TEN_FAULTS)
    lines = text.splitlines()
    assert code == 1
    assert len(lines) == 11
    assert lines[0].startswith("config.yaml: line 1: hpa.syncPeriod: must be a duration")
    assert lines[-1] == "10 faults"


def test_each_metric_is_shown_with_its_sources_and_sums() -> None:
    code, text = check("config.yaml", EXAMPLE.read_bytes())
    assert code == 0
    for line in (
        "pods/nvidia_gpu_utilization  (percent, mean over a pod's GPUs)",
        "http://10.0.0.11:9400/metrics (live pages)",
        "worst healthy age 62.5s = collect 30s + ticker page 30s + two polls 2s + read 0.5s",
        "from prometheus: limit 90s (configured); worst healthy age 68.5s = exporterRefresh 5s + scrape 60s",
    ):
        assert line in text


def test_what_an_operator_should_know_is_said() -> None:
    _, text = check(
        "config.yaml",
        b"""
sources:
  dcgm: {heartbeat: none}
  prometheus: {url: http://prom:9090}
metrics:
  - {name: a, from: [dcgm], series: gpu_utilization}
  - {name: b, from: [prometheus], query: "max by (namespace, pod) (DCGM_FI_DEV_GPU_UTIL)"}
""",
    )
    for words in (
        "DCGM_EXPORTER_INTERVAL",
        "pages: live",
        "cannot see a freeze",
        "lists no exporter",
        "b: a query cannot",
    ):
        assert words in text


def test_a_limit_says_what_it_asks_of_a_prometheus() -> None:
    entry = "{name: %s, from: [prometheus], %s, freshness: {maxAge: %s}}"
    metrics = [
        entry % ("a", "query: up", "20s"),
        entry % ("b", "series: gpu_utilization", "20s"),
        entry % ("c", "query: up", "90s"),
    ]
    dcgm = "sources: {dcgm: {collectInterval: 5s, pages: live}, prometheus: {url: 'http://p'}}\nmetrics:\n"
    code, text = check("config.yaml", (dcgm + "\n".join(f"  - {metric}" for metric in metrics)).encode())
    assert code == 0
    assert "a: prometheus keeps its limit only where it scrapes at least every 16.5s" in text, "20 − 0.5 − 3"
    assert "b: prometheus keeps its limit only where it scrapes at least every 6.8s" in text, "(20 − 5 − 0.5 − 1) ÷ 2"
    assert "c: prometheus keeps" not in text


def test_limit_that_one_of_two_sources_cannot_keep_is_said() -> None:
    content = b"""
sources:
  dcgm: {collectInterval: 10s, pages: live, poll: 6s, static: [http://a/metrics]}
  prometheus: {url: http://p}
metrics:
  - {name: a, from: [dcgm, prometheus], series: gpu_utilization, freshness: {maxAge: 15s}}
"""
    code, text = check("config.yaml", content)
    assert code == 0
    assert "a: from dcgm even healthy values can be 22.5s old, beyond its limit" in text


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ("{url: http://p, bearerTokenFile: /t}", "prometheus: its credentials go over plain http"),
        ("{url: https://p, tls: {insecureSkipVerify: true}}", "prometheus: insecureSkipVerify"),
        ("{name: spare, url: https://p}", "spare: no metric is read from it"),
    ],
)
def test_what_is_unsafe_or_unused_is_said(server: str, words: str) -> None:
    content = f"""
sources: {{dcgm: {{static: [http://a/metrics]}}, prometheus: {server}}}
metrics:
  - {{name: a, from: [dcgm], series: gpu_utilization}}
"""
    code, text = check("config.yaml", content.encode())
    assert code == 0
    assert words in text


def test_query_is_shown_on_one_line() -> None:
    content = b"""
sources: {prometheus: {url: https://p}}
metrics:
  - name: a
    from: [prometheus]
    query: |
      sum by (namespace, pod) (
        x
      )
"""
    assert "pods/a  (of sum by (namespace, pod) ( x ))" in check("config.yaml", content)[1]
