"""`check` says what a file would do, with the sums; or all that is wrong, and fails."""

from pathlib import Path

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
        "worst healthy age 62.5s = collect 30s + ticker page 30s + 2 × poll 2s + read 0.5s",
        "from prometheus: limit 90s (configured); worst healthy age 63.5s = scrape 60s + read 0.5s + cache 3s",
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
