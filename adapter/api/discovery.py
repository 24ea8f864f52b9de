"""What can be asked: written once from the catalog, and true whatever the state of the data.

An API group that loses its discovery document hurts the whole cluster (namespace deletion, garbage collection,
kubectl), so nothing here can fail or be slow. Only `get` is offered: whatever could list or delete would be tried.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import msgspec

from adapter.api.negotiation import AGGREGATED, JSON
from adapter.api.resources import GROUP, VERSIONS
from adapter.core.answer import Catalog

Json = Mapping[str, object]

_KIND: Final = "MetricValueList"
_VERBS: Final = ("get",)
_GROUP_VERSIONS: Final = [{"groupVersion": f"{GROUP}/{version}", "version": version} for version in VERSIONS]
_API_GROUP: Final = {"name": GROUP, "versions": _GROUP_VERSIONS, "preferredVersion": _GROUP_VERSIONS[0]}


@dataclass(frozen=True, slots=True)
class Document:
    """A finished body. etag: quoted, over the bytes, so that it changes with them and with nothing else."""

    body: bytes
    etag: str
    content_type: str = JSON

    def known_to(self, if_none_match: str) -> bool:
        """Whether the client holds it already (RFC 9110 §13.1.2; weak comparison)."""
        held = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
        return bool(held & {self.etag, "*"})


@dataclass(frozen=True, slots=True)
class Documents:
    """Everything static. by_path: decoded path without a final slash; aggregated: `/apis` for those that accept it."""

    by_path: Mapping[str, Document]
    aggregated: Document


def documents(catalog: Catalog, release: str) -> Documents:
    """All documents for what `catalog` serves; `release` is our own version."""
    plain: dict[str, Json] = {
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_API_GROUP]},
        f"/apis/{GROUP}": {"kind": "APIGroup", "apiVersion": "v1", **_API_GROUP},
        **{f"/apis/{GROUP}/{version}": _resource_list(catalog, version) for version in VERSIONS},
        "/version": _version(release),
        "/openapi/v2": {"swagger": "2.0", "info": {"title": "fresh-metrics-adapter", "version": release}, "paths": {}},
        "/openapi/v3": {"paths": {}},
    }
    by_path = {path: _document(content) for path, content in plain.items()}
    return Documents(by_path, _document(_aggregated(catalog), AGGREGATED))


def _document(content: Json, content_type: str = JSON) -> Document:
    body = msgspec.json.encode(content)
    return Document(body, f'"{sha256(body).hexdigest()[:32]}"', content_type)


def _resource_list(catalog: Catalog, version: str) -> Json:
    """`/apis/GROUP/VERSION`; empty is legal, and better than an absent group."""
    resources = [
        {
            "name": f"{resource}/{metric}",
            "singularName": "",
            "namespaced": served.namespaced,
            "kind": _KIND,
            "verbs": _VERBS,
        }
        for (resource, metric), served in sorted(catalog.items())
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{version}", "resources": resources}


def _aggregated(catalog: Catalog) -> Json:
    """All groups in one document (k8s.io/api, apidiscovery/v2); each registered version must be in it."""
    versions = [
        {"version": version, "freshness": "Current", "resources": _parents(catalog, version)} for version in VERSIONS
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [{"metadata": {"name": GROUP, "creationTimestamp": None}, "versions": versions}],
    }


def _parents(catalog: Catalog, version: str) -> list[Json]:
    """Metrics are subresources of a parent that cannot be asked; client-go 0.26 crashes if that has no responseKind."""
    metrics: dict[str, list[str]] = defaultdict(list)
    for resource, metric in sorted(catalog):
        metrics[resource].append(metric)
    kind = {"group": GROUP, "version": version, "kind": _KIND}
    return [
        {
            "resource": resource,
            "responseKind": {"group": "", "version": "", "kind": ""},
            "scope": "Namespaced" if catalog[resource, names[0]].namespaced else "Cluster",
            "singularResource": "",
            "verbs": [],
            "subresources": [{"subresource": name, "responseKind": kind, "verbs": _VERBS} for name in names],
        }
        for resource, names in metrics.items()
    ]


def _version(release: str) -> Json:
    major, _, rest = release.partition(".")
    return {"major": major, "minor": rest.partition(".")[0], "gitVersion": f"v{release}"}
