"""What the adapter says of itself."""

import asyncio
from collections.abc import Mapping

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client.parser import text_string_to_metric_families

from adapter.core.points import ObjectKey, Reason, Withheld
from adapter.core.snapshot import Snapshot
from adapter.telemetry import Telemetry, make_app, watch_loop

GROUP = "custom.metrics.k8s.io"
Labels = Mapping[str, str]


def value(telemetry: Telemetry, name: str, **labels: str) -> float | None:
    """What a scrape would store of one series."""
    for family in text_string_to_metric_families(telemetry.render().decode()):
        for sample in family.samples:
            if sample.name == name and sample.labels == labels:
                return float(sample.value)
    return None


def labels(telemetry: Telemetry, name: str) -> list[Labels]:
    families = text_string_to_metric_families(telemetry.render().decode())
    return [sample.labels for family in families for sample in family.samples if sample.name == name]


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry("0.1.0", ["gpu"])


def test_registries_are_strangers(telemetry: Telemetry) -> None:
    telemetry.certificate_reload_failed()
    name = "fresh_metrics_adapter_certificate_reload_failures_total"
    assert value(telemetry, name) == 1
    assert value(Telemetry("0.1.0", []), name) == 0


def test_requests_are_counted_by_group_verb_and_code(telemetry: Telemetry) -> None:
    telemetry.request(GROUP, "GET", 200, 0.002)
    telemetry.request(GROUP, "GET", 200, 0.002)
    telemetry.request(GROUP, "BREW", 405, 0.002)
    name = "fresh_metrics_adapter_requests_total"
    assert value(telemetry, name, group=GROUP, verb="GET", code="200") == 2
    assert value(telemetry, name, group=GROUP, verb="other", code="405") == 1
    assert value(telemetry, "fresh_metrics_adapter_answer_duration_seconds_count", group=GROUP) == 3


def test_withheld_values_are_counted_by_metric_and_reason_never_by_pod(telemetry: Telemetry) -> None:
    readings = [(ObjectKey("pods", "a", f"p-{n}"), Withheld(Reason.STALE, "old", "dcgm")) for n in range(3)]
    telemetry.withheld("gpu", readings)
    telemetry.withheld("whatever a client wrote", readings)
    assert labels(telemetry, "fresh_metrics_adapter_withheld_total") == [
        {"metric": "gpu", "reason": "stale"},
        {"metric": "other", "reason": "stale"},
    ]
    assert value(telemetry, "fresh_metrics_adapter_withheld_total", metric="gpu", reason="stale") == 3
    assert b"p-0" not in telemetry.render()


def test_served_ages_keep_their_known_name(telemetry: Telemetry) -> None:
    telemetry.served(GROUP, [3.0, 5.0])
    assert value(telemetry, "metrics_apiserver_metric_freshness_seconds_sum", group=GROUP) == 8
    assert value(telemetry, "metrics_apiserver_metric_freshness_seconds_count", group=GROUP) == 2


def test_looks_are_counted_by_how_they_ended(telemetry: Telemetry) -> None:
    telemetry.look("dcgm", "ok", 0.01)
    telemetry.look("dcgm", "timeout", 5.0)
    telemetry.skipped("dcgm", 7)
    name = "fresh_metrics_adapter_looks_total"
    assert value(telemetry, name, source="dcgm", outcome="ok") == 1
    assert value(telemetry, name, source="dcgm", outcome="timeout") == 1
    assert value(telemetry, "fresh_metrics_adapter_look_duration_seconds_count", source="dcgm") == 2
    assert value(telemetry, "fresh_metrics_adapter_rows_skipped_total", source="dcgm") == 7


def test_targets_are_counted_by_state(telemetry: Telemetry) -> None:
    telemetry.targets("dcgm", up=990, failing=10)
    telemetry.targets("dcgm", up=1000, failing=0)
    assert value(telemetry, "fresh_metrics_adapter_targets", source="dcgm", state="up") == 1000
    assert value(telemetry, "fresh_metrics_adapter_targets", source="dcgm", state="failing") == 0


def test_feed_ages_as_its_source_does_not_as_it_was_last_told(telemetry: Telemetry) -> None:
    now = 100.0
    feeds = {"gpu": Snapshot("gpu", "dcgm", taken=97.0), "new": Snapshot("new", "dcgm")}
    telemetry.watch(lambda: feeds, lambda: now)
    name = "fresh_metrics_adapter_feed_age_seconds"
    assert value(telemetry, name, feed="gpu", source="dcgm") == 3
    now = 160.0
    assert value(telemetry, name, feed="gpu", source="dcgm") == 63
    assert value(telemetry, name, feed="new", source="dcgm") is None


def test_one_configuration_is_in_use(telemetry: Telemetry) -> None:
    telemetry.config("aa")
    telemetry.config("bb")
    assert labels(telemetry, "fresh_metrics_adapter_config_info") == [{"sha256": "bb"}]
    assert value(telemetry, "fresh_metrics_adapter_build_info", version="0.1.0") == 1


def test_births_of_counters_are_no_series(telemetry: Telemetry) -> None:
    telemetry.request(GROUP, "GET", 200, 0.002)
    assert b"_created" not in telemetry.render()


async def test_loop_lag_is_measured(telemetry: Telemetry) -> None:
    task = asyncio.create_task(watch_loop(telemetry, 0.0))
    for _ in range(10):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert value(telemetry, "fresh_metrics_adapter_event_loop_lag_seconds_count")


@pytest.mark.parametrize(("path", "code"), [("/metrics", 200), ("/", 404), ("/apis", 404)])
async def test_own_port_has_metrics_and_nothing_else(telemetry: Telemetry, path: str, code: int) -> None:
    app: web.Application = make_app(telemetry)
    async with TestClient(TestServer(app)) as client, client.get(path) as reply:
        assert reply.status == code
        assert reply.headers[aiohttp.hdrs.CONTENT_TYPE].startswith("text/plain")
        assert (b"fresh_metrics_adapter_build_info" in await reply.read()) is (code == 200)
