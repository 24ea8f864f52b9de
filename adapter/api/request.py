"""What a path and a query ask for: decoded once, then either an Ask or what is wrong with them.

The same parts decide who may ask and what is answered, so nothing is parsed twice. Facts: the routes of
kubernetes-sigs/custom-metrics-apiserver (pkg/apiserver/installer) and k8s.io/apiserver's RequestInfo.
"""

from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import parse_qsl, unquote

from adapter.api.resources import GROUP, RESOURCES, VERSIONS, plural
from adapter.core.ask import Ask
from adapter.core.errors import SelectorError
from adapter.core.explain import unknown_metric
from adapter.core.selectors import EVERYTHING, Selector, as_object, parse

NO_SUCH_PATH: Final = "the server could not find the requested resource"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A request that asks for nothing that could be answered. parameter: the query parameter at fault, "" for none."""

    kind: Literal["not_found", "unknown_metric", "bad_request", "method_not_allowed"]
    message: str
    parameter: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """The objects and the metric that a path names. namespace: "" for cluster-scoped objects; name: "*" for all."""

    version: str
    resource: str
    namespace: str
    name: str
    metric: str


def segments(raw_path: str) -> tuple[str, ...] | None:
    """A path's decoded segments, without the slash that may end it; None where one is empty, `.` or `..`.

    Decoding comes first: the aggregator does the same, so that `%2F` parts segments. What is no UTF-8 becomes U+FFFD,
    which names nothing.
    """
    decoded = _clean(unquote(raw_path))
    parts = tuple(decoded.removeprefix("/").removesuffix("/").split("/"))
    if not decoded.startswith("/") or any(part in {"", ".", ".."} for part in parts):
        return None
    return parts


def is_group(parts: tuple[str, ...]) -> bool:
    """Whether a path lies below a version of our group; discovery is not part of that."""
    return len(parts) > 3 and parts[:2] == ("apis", GROUP) and parts[2] in VERSIONS


def target(parts: tuple[str, ...]) -> Target | Rejected:
    """What the path of a request names."""
    if not is_group(parts):
        return Rejected("not_found", NO_SUCH_PATH)
    version = parts[2]
    match parts[3:]:
        case ("namespaces", namespace, "metrics", metric):
            return Target(version, "namespaces", "", namespace, metric)
        case ("namespaces", namespace, resource, name, metric):
            return _scoped(Target(version, plural(resource), namespace, name, metric))
        case ("namespaces", _, _):
            return Rejected("bad_request", "invalid request path")
        case (resource, name, metric):
            return _scoped(Target(version, plural(resource), "", name, metric))
        case _:
            return Rejected("not_found", NO_SUCH_PATH)


def _scoped(named: Target) -> Target | Rejected:
    """Pods have a namespace. Nodes have none, but the HPA asks for them as if they had; a namespace lies in none."""
    known = RESOURCES.get(named.resource)
    if known is None:
        return named
    if known.namespaced != bool(named.namespace) and named.resource != "nodes":
        return Rejected("unknown_metric", unknown_metric(_ask(named, EVERYTHING, EVERYTHING)))
    return named if known.namespaced else Target(named.version, named.resource, "", named.name, named.metric)


def parameters(raw_query: str) -> dict[str, list[str]]:
    """A query's decoded values by name, in their order; names without a value have the value ""."""
    found: dict[str, list[str]] = {}
    for key, value in parse_qsl(_clean(raw_query), keep_blank_values=True):
        found.setdefault(key, []).append(value)
    return found


def ask(named: Target, raw_query: str) -> Ask | Rejected:
    """The whole question. The first of repeated parameters counts; unknown ones are ignored."""
    first = {key: values[0] for key, values in parameters(raw_query).items()}
    # k8s.io/apimachinery, Convert_Slice_string_To_bool: whatever is given and not "false" or "0" is true.
    if first.get("watch", "false").lower() not in {"false", "0"}:
        return Rejected("method_not_allowed", "watch is not supported: ask again for newer values", "watch")
    if wrong := _field_selector(named, first.get("fieldSelector", "").strip()):
        return wrong
    selector = _selector("labelSelector", first)
    if isinstance(selector, Rejected):
        return selector
    metric_selector = _selector("metricLabelSelector", first)
    if isinstance(metric_selector, Rejected):
        return metric_selector
    return _ask(named, selector, metric_selector)


def _ask(named: Target, selector: Selector, metric_selector: Selector) -> Ask:
    return Ask(named.resource, named.namespace, named.name, named.metric, selector, metric_selector)


def _field_selector(named: Target, text: str) -> Rejected | None:
    if text in {"", f"metadata.name={named.name}", f"metadata.name=={named.name}"}:
        return None
    message = f"fieldSelector {text!r} is not supported: only metadata.name={named.name}, which the path says already"
    return Rejected("bad_request", message, "fieldSelector")


def _selector(parameter: str, given: dict[str, str]) -> Selector | Rejected:
    """The parameter's selector. An answer echoes the metric selector, so one that no LabelSelector can say is refused.

    A bad labelSelector is refused in Kubernetes' bare words, as every list in a cluster does; the other one is the
    user's own, in an HPA's `metric.selector`, and the message is all that is shown of it there: so it is named.
    """
    try:
        selector = parse(given.get(parameter, ""))
        if parameter == "metricLabelSelector":
            as_object(selector)
    except SelectorError as error:
        prefix = "" if parameter == "labelSelector" else f"{parameter}: "
        return Rejected("bad_request", f"{prefix}{error}", parameter)
    return selector


def _clean(text: str) -> str:
    """Lone surrogates, which stand for bytes that are no UTF-8, become `?`: every answer must be able to say them."""
    return text.encode("utf-8", "replace").decode("utf-8")
