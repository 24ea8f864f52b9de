"""What can be asked, as documents."""

import json
from typing import Any

import pytest

from adapter.api.discovery import Document, documents
from adapter.api.negotiation import AGGREGATED
from tests.api.world import catalog, golden, served

GROUP = "custom.metrics.k8s.io"


def read(document: Document) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(document.body)
    return content


BOTH = catalog(served("b"), served("a"), served("a", "namespaces"), served("load", "nodes"))


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@pytest.mark.parametrize("name", ["pods", "cluster-scoped"])
def test_list_is_that_of_prometheus_adapter(name: str, version: str) -> None:
    recorded = golden(name)["discovery"][f"{GROUP}/{version}"]
    entries = [served(metric, resource) for resource, metric in (r["name"].split("/") for r in recorded["resources"])]
    ours = read(documents(catalog(*entries), "0.1.0").by_path[f"/apis/{GROUP}/{version}"])
    recorded["resources"].sort(key=lambda resource: resource["name"])  # theirs come in any order
    assert ours == recorded
    assert list(ours["resources"][0]) == list(recorded["resources"][0])


def test_list_is_sorted_and_says_what_has_a_namespace() -> None:
    resources = read(documents(BOTH, "0.1.0").by_path[f"/apis/{GROUP}/v1beta2"])["resources"]
    assert [(resource["name"], resource["namespaced"]) for resource in resources] == [
        ("namespaces/a", False),
        ("nodes/load", False),
        ("pods/a", True),
        ("pods/b", True),
    ]


def test_empty_catalog_is_an_empty_list_and_no_missing_group() -> None:
    by_path = documents({}, "0.1.0").by_path
    assert read(by_path[f"/apis/{GROUP}/v1beta1"])["resources"] == []
    assert [group["name"] for group in read(by_path["/apis"])["groups"]] == [GROUP]


def test_group_prefers_the_newer_version() -> None:
    group = read(documents(BOTH, "0.1.0").by_path[f"/apis/{GROUP}"])
    assert group["preferredVersion"] == {"groupVersion": f"{GROUP}/v1beta2", "version": "v1beta2"}
    assert [version["version"] for version in group["versions"]] == ["v1beta2", "v1beta1"]
    assert (group["kind"], group["apiVersion"], group["name"]) == ("APIGroup", "v1", GROUP)


def test_aggregated_document_has_every_version_and_every_metric() -> None:
    document = documents(BOTH, "0.1.0").aggregated
    assert document.content_type == AGGREGATED
    (group,) = read(document)["items"]
    assert [version["version"] for version in group["versions"]] == ["v1beta2", "v1beta1"]
    for version in group["versions"]:
        assert version["freshness"] == "Current"
        assert [(parent["resource"], parent["scope"]) for parent in version["resources"]] == [
            ("namespaces", "Cluster"),
            ("nodes", "Cluster"),
            ("pods", "Namespaced"),
        ]
        assert [metric["subresource"] for metric in version["resources"][2]["subresources"]] == ["a", "b"]
        for resource in version["resources"]:
            assert resource["responseKind"] == {"group": "", "version": "", "kind": ""}
            assert resource["verbs"] == []
            for metric in resource["subresources"]:
                assert metric["verbs"] == ["get"]
                assert metric["responseKind"] == {
                    "group": GROUP,
                    "version": version["version"],
                    "kind": "MetricValueList",
                }


def test_aggregated_document_of_an_empty_catalog_still_has_every_version() -> None:
    (group,) = read(documents({}, "0.1.0").aggregated)["items"]
    assert [(version["version"], version["resources"]) for version in group["versions"]] == [
        ("v1beta2", []),
        ("v1beta1", []),
    ]


def test_etag_follows_the_content() -> None:
    path = f"/apis/{GROUP}/v1beta2"
    first, again = documents(BOTH, "0.1.0").by_path[path], documents(BOTH, "0.1.0").by_path[path]
    other = documents(catalog(served("b")), "0.1.0").by_path[path]
    assert first.etag == again.etag != other.etag


@pytest.mark.parametrize(
    ("header", "known"),
    [
        pytest.param('"x"', True, id="the same"),
        pytest.param('"y", "x"', True, id="among others"),
        pytest.param('W/"x"', True, id="weak"),
        pytest.param("*", True, id="any"),
        pytest.param('"y"', False, id="another"),
        pytest.param("x", False, id="unquoted"),
        pytest.param("", False, id="none"),
    ],
)
def test_if_none_match_spares_the_body(header: str, *, known: bool) -> None:
    assert Document(b"{}", '"x"').known_to(header) is known


def test_version_is_the_release() -> None:
    version = read(documents({}, "1.4.2").by_path["/version"])
    assert version == {"major": "1", "minor": "4", "gitVersion": "v1.4.2"}


def test_openapi_roots_are_there_and_empty() -> None:
    by_path = documents({}, "0.1.0").by_path
    assert read(by_path["/openapi/v3"]) == {"paths": {}}
    assert read(by_path["/openapi/v2"])["swagger"] == "2.0"
