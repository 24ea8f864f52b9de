"""What a client gets over HTTPS."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapter.api.health import Check, Checks
from adapter.api.negotiation import AGGREGATED
from adapter.core.points import Reason
from adapter.telemetry import Telemetry
from tests.api.serving import V1, V2, Serving, serving
from tests.api.world import GPU, awake, golden, pod, pod_key, point, reads, served, withheld

INFER = "/namespaces/ml-a/pods/%2A/gpu_busy_ratio?labelSelector=app%3Dinfer"


@pytest.fixture
async def server() -> AsyncIterator[Serving]:
    async with serving(reads()) as running:
        yield running


def counted(telemetry: Telemetry, line: str) -> bool:
    return line in telemetry.render().decode().splitlines()


async def test_hpa_gets_the_values_of_its_pods(server: Serving) -> None:
    reply = await server.get(V2 + INFER, Accept="application/vnd.kubernetes.protobuf, */*")
    assert (reply.code, reply.headers["Content-Type"]) == (200, "application/json")
    assert [(item["describedObject"]["name"], item["value"]) for item in reply.json["items"]] == [
        ("infer-0", "900m"),
        ("infer-1", "200m"),
    ]


@pytest.mark.parametrize("version", [V1, V2])
async def test_body_is_that_of_prometheus_adapter(server: Serving, version: str) -> None:
    recorded = next(
        a for a in golden("pods")["answers"] if a["request"].startswith(f"{version}/namespaces/ml-a/pods/*")
    )
    reply = await server.get(recorded["request"])
    expected = json.dumps(recorded["body"], separators=(",", ":")).replace("<TIME>", "2026-05-28T20:26:37Z")
    assert reply.body.decode() == expected


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("/namespaces/ml-a/pods/%2A/none", "the metric none for pods", id="all pods"),
        pytest.param("/namespaces/ml-a/pods/infer-0/none", "the metric none for pods", id="one pod"),
        pytest.param(
            "/namespaces/ml-a/pods/nobody/gpu_busy_ratio", "the metric gpu_busy_ratio for pods nobody", id="no such pod"
        ),
        pytest.param(
            "/namespaces/ml-a/widgets/w/gpu_busy_ratio", "the metric gpu_busy_ratio for widgets", id="no such kind"
        ),
    ],
)
async def test_unknown_metric_is_404_in_the_words_of_prometheus_adapter(
    server: Serving, path: str, message: str
) -> None:
    reply = await server.get(V2 + path)
    assert reply.code == 404
    assert reply.json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"the server could not find {message}",
        "reason": "NotFound",
        "code": 404,
    }


@pytest.mark.parametrize("parameter", ["labelSelector", "metricLabelSelector"])
async def test_bad_selector_is_400_in_the_words_of_kubernetes(server: Serving, parameter: str) -> None:
    reply = await server.get(f"{V2}/namespaces/ml-a/pods/*/gpu_busy_ratio?{parameter}=%28%28bad")
    assert (reply.code, reply.json["reason"]) == (400, "BadRequest")
    assert reply.json["message"].endswith("found '(', expected: !, identifier, or 'end of string'")
    assert reply.json["details"]["causes"][0]["field"] == parameter


async def test_withheld_answer_is_503_that_says_why_and_asks_for_no_retry() -> None:
    stale = {pod_key("infer-0"): withheld(), pod_key("infer-1"): withheld(Reason.FROZEN)}
    async with serving(reads(stale)) as server:
        reply = await server.get(V2 + INFER)
        assert (reply.code, reply.json["reason"]) == (503, "ServiceUnavailable")
        assert reply.json["details"] == {"group": "custom.metrics.k8s.io", "kind": "pods"}
        assert reply.json["message"].startswith("gpu_busy_ratio: 0 of 2 pods have a value that is true and young")
        assert "Retry-After" not in reply.headers
        assert "retryAfterSeconds" not in reply.json["details"]
        name = "fresh_metrics_adapter_withheld_total"
        assert counted(server.telemetry, f'{name}{{metric="gpu_busy_ratio",reason="stale"}} 1.0')
        assert counted(server.telemetry, f'{name}{{metric="gpu_busy_ratio",reason="frozen"}} 1.0')


async def test_one_withheld_pod_is_left_out_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "adapter.answers")
    async with serving(reads({pod_key("infer-0"): point(0.9), pod_key("infer-1"): withheld()})) as server:
        for _ in range(3):
            reply = await server.get(V2 + INFER)
            assert [item["describedObject"]["name"] for item in reply.json["items"]] == ["infer-0"]
    assert [record.getMessage() for record in caplog.records] == ["withheld"]


@pytest.mark.parametrize("path", ["/nodes/n1/load", "/namespaces/ml-a/nodes/n1/load", "/nodes/*/load"])
async def test_node_is_found_where_the_hpa_asks_and_where_kubectl_does(path: str) -> None:
    key = pod_key("n1")._replace(resource="nodes", namespace="")
    async with serving(reads({key: point(3.0)}, [served("load", "nodes")])) as server:
        reply = await server.get(V2 + path)
        assert reply.json["items"][0]["describedObject"] == {"kind": "Node", "name": "n1", "apiVersion": "/v1"}


async def test_head_is_get_without_a_body(server: Serving) -> None:
    get, head = await server.get(V2 + INFER), await server.get(V2 + INFER, method="HEAD")
    assert (head.code, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(get.body))
    assert (await server.get(f"{V2}/nope", method="HEAD")).code == 404


@pytest.mark.parametrize("path", [V2 + INFER, V2, "/healthz", "/apis", f"{V2}/namespaces/ml-a/pods/x"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_other_methods_are_405(server: Serving, method: str, path: str) -> None:
    reply = await server.get(path, method=method)
    assert (reply.code, reply.json["reason"]) == (405, "MethodNotAllowed")
    assert reply.headers["Allow"] == "GET, HEAD"


async def test_watch_is_405(server: Serving) -> None:
    reply = await server.get(f"{V2}{INFER}&watch=true")
    assert (reply.code, reply.json["reason"]) == (405, "MethodNotAllowed")


@pytest.mark.parametrize("path", [V2 + INFER, V2, "/apis"])
async def test_media_type_that_we_lack_is_406_and_lists_ours(server: Serving, path: str) -> None:
    reply = await server.get(path, Accept="text/html")
    assert (reply.code, reply.json["reason"]) == (406, "NotAcceptable")
    assert reply.json["message"].startswith("only the following media types are accepted: application/json")


@pytest.mark.parametrize(
    "path",
    ["/", "/api", "/apis/apps/v1", f"{V2}//pods", f"{V2}/../v1beta1", "/healthz/nothing", "/livez/ping/x", "/metrics"],
)
async def test_unknown_path_is_404_and_no_redirect(server: Serving, path: str) -> None:
    reply = await server.get(path, Accept="text/html")
    assert (reply.code, reply.json["reason"]) == (404, "NotFound")
    assert reply.json["message"] == "the server could not find the requested resource"


async def test_every_response_forbids_caching_and_echoes_its_audit_id(server: Serving) -> None:
    for path in (V2 + INFER, "/nope", "/healthz", V2):
        reply = await server.get(path, Audit_Id="7c9-1")
        assert reply.headers["Cache-Control"] == "no-cache, private"
        assert reply.headers["Audit-Id"] == "7c9-1"
    for odd in ("x" * 129, "a\tb"):
        assert "Audit-Id" not in (await server.get("/healthz", Audit_Id=odd)).headers


async def test_bug_is_500_without_internals_and_with_a_traceback_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> Any:
        raise RuntimeError("hunter2")

    world = reads()
    broken = type(world)(world.catalog, fails, world.pods, world.clock, world.wall, awake)
    async with serving(broken) as server:
        reply = await server.get(V2 + INFER)
        assert (reply.code, reply.json["reason"]) == (500, "InternalError")
        assert b"hunter2" not in reply.body
        assert (await server.get(V2)).code == 200  # discovery does not depend on it
    (record,) = [record for record in caplog.records if record.getMessage() == "request_failed"]
    assert record.exc_info


async def test_discovery_and_its_aggregated_form_are_cached_by_etag(server: Serving) -> None:
    for path, accept in ((V2, "application/json"), ("/apis", AGGREGATED), ("/openapi/v2", ""), (f"{V2}/", "")):
        reply = await server.get(path, Accept=accept)
        assert reply.code == 200
        assert reply.headers["Vary"] == "Accept"
        again = await server.get(path, Accept=accept, If_None_Match=reply.headers["ETag"])
        assert (again.code, again.body) == (304, b"")
    assert (await server.get("/apis", Accept=AGGREGATED)).headers["Content-Type"] == AGGREGATED
    assert (await server.get("/apis")).json["kind"] == "APIGroupList"


async def test_discovery_follows_the_catalog() -> None:
    catalogs = [{("pods", "a"): GPU}]
    world = reads()
    follows = type(world)(lambda: catalogs[-1], world.feeds, world.pods, world.clock, world.wall, awake)
    async with serving(follows) as server:
        before = (await server.get(V2)).json["resources"]
        catalogs.append({("pods", "b"): GPU})
        after = (await server.get(V2)).json["resources"]
    assert [before[0]["name"], after[0]["name"]] == ["pods/a", "pods/b"]


async def test_health_is_plain_text_by_endpoint_and_by_check(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    state: list[str | None] = ["not listed yet"]
    checks = Checks(live=[Check("loop", lambda: None)], ready=[Check("pods", lambda: state[0])])
    async with serving(reads(), checks) as server:
        assert (await server.get("/livez")).body == (await server.get("/healthz")).body == b"ok"
        assert (await server.get("/livez/loop")).code == 200
        for _ in range(2):
            reply = await server.get("/readyz")
            assert (reply.code, reply.headers["Content-Type"]) == (500, "text/plain; charset=utf-8")
            assert b"[-]pods failed: not listed yet" in reply.body
        assert (await server.get("/readyz/pods")).code == 500
        assert (await server.get("/readyz?exclude=pods")).code == 200
        assert (await server.get("/readyz")).code == 500
        state[0] = None
        assert (await server.get("/readyz?verbose")).body == b"[+]ping ok\n[+]pods ok\nreadyz check passed\n"
    events = [record.getMessage() for record in caplog.records if record.name == "adapter.api.handlers"]
    assert events == ["health_failing", "health_recovered"]


async def test_requests_and_served_ages_are_counted(server: Serving) -> None:
    await server.get(V2 + INFER)
    await server.get("/nope", method="PUT")
    name = "fresh_metrics_adapter_requests_total"
    assert counted(server.telemetry, f'{name}{{code="200",group="custom.metrics.k8s.io",verb="GET"}} 1.0')
    assert counted(server.telemetry, f'{name}{{code="404",group="other",verb="other"}} 1.0')
    freshness = 'metrics_apiserver_metric_freshness_seconds_sum{group="custom.metrics.k8s.io"} 6.0'
    assert counted(server.telemetry, freshness)


async def test_two_hundred_at_once_are_all_answered() -> None:
    many = [pod(f"infer-{n}") for n in range(200)]
    async with serving(reads({one.key: point(float(n)) for n, one in enumerate(many)}, pods=many)) as server:
        replies = await asyncio.gather(
            *(server.get(f"{V2}/namespaces/ml-a/pods/infer-{n}/gpu_busy_ratio") for n in range(200))
        )
    assert [reply.json["items"][0]["value"] for reply in replies] == [str(n) for n in range(200)]
