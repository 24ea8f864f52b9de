"""The kinds of objects that metrics describe, under the names that requests and answers use for them."""

from typing import Final, NamedTuple

GROUP: Final = "custom.metrics.k8s.io"
VERSIONS: Final = ("v1beta2", "v1beta1")  # the preferred one first


class Resource(NamedTuple):
    """One kind. api_version: group, slash and version, as prometheus-adapter writes it; so the core group has "/v1"."""

    plural: str
    singular: str
    kind: str
    api_version: str
    namespaced: bool


RESOURCES: Final = {
    resource.plural: resource
    for resource in (
        Resource("pods", "pod", "Pod", "/v1", namespaced=True),
        Resource("nodes", "node", "Node", "/v1", namespaced=False),
        Resource("namespaces", "namespace", "Namespace", "/v1", namespaced=False),
    )
}
_PLURALS: Final = {resource.singular: resource.plural for resource in RESOURCES.values()}


def plural(segment: str) -> str:
    """The resource that a path segment means, in any case, singular or plural; one that is unknown stays as it is."""
    lowered = segment.lower()
    return _PLURALS.get(lowered, lowered)
