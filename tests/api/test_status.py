"""Every failure as a Kubernetes Status."""

import json
from typing import Any

import pytest

from adapter.api.request import Rejected, Target, ask, segments, target
from adapter.api.status import FAILURES, INTERNAL, Reply, failure, refusal, rejection, status
from adapter.core.answer import Refusal, answer
from adapter.core.errors import AdapterError, ConfigError, Fault, SelectorError, SourceError
from tests.api.world import NOW, golden, reads

TARGET = Target("v1beta2", "pods", "ml-a", "*", "m")


def leaves(root: type[AdapterError] = AdapterError) -> list[type[AdapterError]]:
    below = root.__subclasses__()
    return [leaf for child in below for leaf in leaves(child)] if below else [root]


def fails(url: str) -> Reply:
    """What becomes of a request that cannot be answered, without any network."""
    path, _, query = url.partition("?")
    parts = segments(path)
    named = target(parts) if parts else Rejected("not_found", "")
    if isinstance(named, Rejected):
        return rejection(named)
    asked = ask(named, query)
    if isinstance(asked, Rejected):
        return rejection(asked)
    world = reads()
    result = answer(asked, world.catalog(), world.feeds(), world.pods(), NOW)
    assert isinstance(result, Refusal)
    return refusal(result, named)


def same_as_prometheus_adapter(recorded: dict[str, Any]) -> bool:
    """Not where we differ on purpose: empty selections are 200, bad metric selectors 400, nodes namespaced."""
    url = recorded["request"]
    return recorded["code"] >= 400 and not any(
        part in url for part in ("app%3Dnone", "metricLabelSelector=%28", "namespaces/ml-a/nodes")
    )


FAILING = [
    pytest.param(recorded, id=recorded["request"].removeprefix("/apis/custom.metrics.k8s.io/v1beta2/"))
    for name in ("pods", "cluster-scoped")
    for recorded in golden(name)["answers"]
    if same_as_prometheus_adapter(recorded)
]


@pytest.mark.parametrize("recorded", FAILING)
def test_status_is_worded_as_prometheus_adapter_words_it(recorded: dict[str, Any]) -> None:
    reply = fails(recorded["request"])
    body = json.loads(reply.body)
    body.pop("details", None)
    assert (reply.code, body) == (recorded["code"], recorded["body"])


@pytest.mark.parametrize("error", leaves(), ids=lambda error: error.__name__)
def test_every_error_has_a_row(error: type[AdapterError]) -> None:
    code, reason = FAILURES[error]
    assert 400 <= code < 600
    assert reason


@pytest.mark.parametrize("kind", ["unknown_metric", "unknown_object", "bad_request", "unavailable"])
def test_every_refusal_has_a_row(kind: str) -> None:
    assert FAILURES[kind].code in {400, 404, 503}


def test_withheld_answer_says_why_and_of_what() -> None:
    body = refusal(Refusal("unavailable", "m: 0 of 8 pods have a value that is true and young"), TARGET).body
    assert json.loads(body) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "m: 0 of 8 pods have a value that is true and young",
        "reason": "ServiceUnavailable",
        "details": {"group": "custom.metrics.k8s.io", "kind": "pods"},
        "code": 503,
    }


def test_bad_parameter_is_named_as_the_cause() -> None:
    body = json.loads(rejection(Rejected("bad_request", "found '('", "labelSelector")).body)
    assert body["details"] == {"causes": [{"message": "found '('", "field": "labelSelector"}]}
    assert body["message"] == "found '('"


@pytest.mark.parametrize("kind", FAILURES, ids=str)
def test_no_status_asks_for_a_retry(kind: str | type[AdapterError]) -> None:
    assert b"retry" not in status(kind, "m").body.lower()


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        pytest.param(SelectorError("found '('"), 400, "found '('", id="selector"),
        pytest.param(SourceError("timeout", "no answer within 5 s"), 503, "no answer within 5 s", id="source"),
        pytest.param(ConfigError([Fault(3, "metrics[0]", "no")]), 500, INTERNAL, id="configuration"),
        pytest.param(RuntimeError("password=hunter2"), 500, INTERNAL, id="bug"),
    ],
)
def test_error_at_the_rim_tells_only_what_is_ours_to_tell(error: Exception, code: int, message: str) -> None:
    reply = failure(error)
    assert (reply.code, json.loads(reply.body)["message"]) == (code, message)
