"""What a path and a query ask for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.api.request import NO_SUCH_PATH, Rejected, Target, ask, parameters, segments, target
from adapter.core.ask import Ask
from adapter.core.selectors import EVERYTHING, parse

V2 = "/apis/custom.metrics.k8s.io/v1beta2"


def at(path: str) -> Target | Rejected:
    parts = segments(path)
    return Rejected("not_found", NO_SUCH_PATH) if parts is None else target(parts)


def asked(query: str, name: str = "*") -> Ask | Rejected:
    return ask(Target("v1beta2", "pods", "ml-a", name, "m"), query)


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        pytest.param("/namespaces/ml-a/pods/%2A/m", ("pods", "ml-a", "*", "m"), id="all pods, as the HPA asks"),
        pytest.param("/namespaces/ml-a/pods/p-0/m", ("pods", "ml-a", "p-0", "m"), id="one pod"),
        pytest.param("/namespaces/ml-a/pod/p-0/m", ("pods", "ml-a", "p-0", "m"), id="singular"),
        pytest.param("/namespaces/ml-a/Pods/p-0/m", ("pods", "ml-a", "p-0", "m"), id="capital"),
        pytest.param("/namespaces/ml-a/pods/p-0/m/", ("pods", "ml-a", "p-0", "m"), id="final slash"),
        pytest.param("/namespaces/ml-a/metrics/m", ("namespaces", "", "ml-a", "m"), id="a namespace"),
        pytest.param("/namespaces/%2A/metrics/m", ("namespaces", "", "*", "m"), id="all namespaces"),
        pytest.param("/nodes/n1/m", ("nodes", "", "n1", "m"), id="a node"),
        pytest.param("/nodes/*/m", ("nodes", "", "*", "m"), id="all nodes"),
        pytest.param("/namespaces/ml-a/nodes/n1/m", ("nodes", "", "n1", "m"), id="a node, as the HPA asks"),
        pytest.param("/namespaces/a/deployments.apps/d/m", ("deployments.apps", "a", "d", "m"), id="not served kind"),
        pytest.param("/namespaces/ml-a/pods/p-0/Rate%3A5m", ("pods", "ml-a", "p-0", "Rate:5m"), id="metric keeps case"),
    ],
)
def test_path_names_its_objects(path: str, meant: tuple[str, str, str, str]) -> None:
    assert at(V2 + path) == Target("v1beta2", *meant)


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_version_is_the_one_in_the_path(version: str) -> None:
    named = at(f"/apis/custom.metrics.k8s.io/{version}/nodes/n1/m")
    assert isinstance(named, Target)
    assert named.version == version


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/apis/custom.metrics.k8s.io/v1/nodes/n1/m", id="version"),
        pytest.param("/apis/metrics.k8s.io/v1beta2/nodes/n1/m", id="group"),
        pytest.param(f"{V2}/nodes/n1", id="too few segments"),
        pytest.param(f"{V2}/namespaces/ml-a/pods/p-0", id="no metric"),
        pytest.param(f"{V2}/namespaces/ml-a/pods/p-0/m/more", id="too many segments"),
        pytest.param(f"{V2}/namespaces/ml-a//p-0/m", id="empty segment"),
        pytest.param(f"{V2}/namespaces/ml-a/pods/../m", id="parent segment"),
        pytest.param(f"{V2}/namespaces/ml-a/pods/%2E%2E/m", id="encoded parent segment"),
        pytest.param(f"{V2}/namespaces/ml-a/pods/./m", id="dot segment"),
        pytest.param(f"{V2}/namespaces/ml-a/pods/a%2Fb/m", id="encoded slash parts segments"),
        pytest.param(f"{V2}/nodes/n1/m//", id="two final slashes"),
        pytest.param("apis/custom.metrics.k8s.io/v1beta2/nodes/n1/m", id="relative"),
        pytest.param("*", id="asterisk"),
        pytest.param("", id="nothing"),
    ],
)
def test_wrong_path_is_not_found(path: str) -> None:
    assert at(path) == Rejected("not_found", NO_SUCH_PATH)


@pytest.mark.parametrize("path", ["/namespaces/ml-a/m", "/namespaces/*/m"])
def test_namespace_without_the_word_metrics_is_an_invalid_path(path: str) -> None:
    assert at(V2 + path) == Rejected("bad_request", "invalid request path")


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        pytest.param("/pods/p-0/m", "pods", id="a pod without a namespace"),
        pytest.param("/pods/*/m", "pods", id="all pods of all namespaces"),
        pytest.param("/namespaces/a/namespaces/b/m", "namespaces", id="a namespace in a namespace"),
    ],
)
def test_object_in_the_wrong_scope_has_no_such_metric(path: str, resource: str) -> None:
    assert at(V2 + path) == Rejected("unknown_metric", f"the server could not find the metric m for {resource}")


@pytest.mark.parametrize(
    ("query", "selector", "metric_selector"),
    [
        pytest.param("", "", "", id="none"),
        pytest.param("labelSelector=app%3Dinfer", "app=infer", "", id="objects"),
        pytest.param("metricLabelSelector=gpu%3D0", "", "gpu=0", id="series"),
        pytest.param("labelSelector=a+in+(x,y)&metricLabelSelector=!z", "a in (x,y)", "!z", id="both"),
        pytest.param("labelSelector=a%3Db&labelSelector=((", "a=b", "", id="the first of two counts"),
        pytest.param("labelSelector=&metricLabelSelector", "", "", id="empty"),
        pytest.param("timeout=32s&limit=500&resourceVersion=0&selector=((&x", "", "", id="unknown ones are ignored"),
        pytest.param("watch=false", "", "", id="no watch"),
        pytest.param("watch=0", "", "", id="no watch, as a number"),
        pytest.param("fieldSelector=", "", "", id="no field selector"),
        pytest.param("fieldSelector=metadata.name%3D*", "", "", id="field selector that repeats the path"),
    ],
)
def test_query_is_understood(query: str, selector: str, metric_selector: str) -> None:
    assert asked(query) == Ask("pods", "ml-a", "*", "m", parse(selector), parse(metric_selector))


@pytest.mark.parametrize(
    ("query", "kind", "message", "parameter"),
    [
        pytest.param(
            "labelSelector=((bad",
            "bad_request",
            "found '(', expected: !, identifier, or 'end of string'",
            "labelSelector",
            id="label selector in Kubernetes' own words",
        ),
        pytest.param(
            "metricLabelSelector=((bad",
            "bad_request",
            "metricLabelSelector: found '(', expected: !, identifier, or 'end of string'",
            "metricLabelSelector",
            id="metric selector by its name",
        ),
        pytest.param(
            "metricLabelSelector=gpu>1",
            "bad_request",
            'metricLabelSelector: "gt" isn\'t supported in label selectors',
            "metricLabelSelector",
            id="metric selector that no answer could echo",
        ),
        pytest.param(
            "watch=true",
            "method_not_allowed",
            "watch is not supported: ask again for newer values",
            "watch",
            id="watch",
        ),
        pytest.param(
            "fieldSelector=spec.nodeName%3Dn1",
            "bad_request",
            "fieldSelector 'spec.nodeName=n1' is not supported: only metadata.name=*, which the path says already",
            "fieldSelector",
            id="field selector",
        ),
    ],
)
def test_bad_parameter_is_refused_and_named(query: str, kind: str, message: str, parameter: str) -> None:
    rejected = asked(query)
    assert isinstance(rejected, Rejected)
    assert (rejected.kind, rejected.message, rejected.parameter) == (kind, message, parameter)


def test_field_selector_of_another_name_is_refused() -> None:
    assert isinstance(asked("fieldSelector=metadata.name==p-0", name="p-0"), Ask)
    assert isinstance(asked("fieldSelector=metadata.name==p-1", name="p-0"), Rejected)


def test_parameters_keep_their_order_and_their_blanks() -> None:
    assert parameters("exclude=a&verbose&exclude=b") == {"exclude": ["a", "b"], "verbose": [""]}


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
PIECES = st.lists(
    st.sampled_from(["namespaces", "pods", "nodes", "metrics", "*", "%2F", "%ff", "..", "", "a", "\udcff"]), max_size=7
)


@given(st.one_of(ANY_TEXT, PIECES.map(lambda pieces: "/".join([V2, *pieces]))))
def test_any_path_is_understood_or_rejected_in_words_that_can_be_written(path: str) -> None:
    named = at(path)
    text = named.message if isinstance(named, Rejected) else "".join((named.resource, named.name, named.metric))
    assert text.encode()


@given(ANY_TEXT, st.sampled_from(["", "labelSelector=", "metricLabelSelector=", "fieldSelector=", "watch="]))
def test_any_query_is_understood_or_rejected_in_words_that_can_be_written(text: str, prefix: str) -> None:
    result = asked(prefix + text)
    assert isinstance(result, Ask) or result.message.encode()


def test_empty_selectors_select_everything() -> None:
    result = asked("")
    assert isinstance(result, Ask)
    assert result.selector == result.metric_selector == EVERYTHING
