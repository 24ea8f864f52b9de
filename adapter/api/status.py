"""Every failure as a Kubernetes Status: its message is what `kubectl describe hpa` shows.

Never a Retry-After and never retryAfterSeconds: client-go would sleep that long inside one of the HPA's few workers.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from adapter.api.request import Rejected, Target
from adapter.api.resources import GROUP
from adapter.core.answer import Refusal
from adapter.core.errors import AdapterError, ConfigError, SelectorError, SourceError, UndatableQuery


class Failure(NamedTuple):
    """HTTP code and Kubernetes' word for it (k8s.io/apimachinery, meta/v1 StatusReason)."""

    code: int
    reason: str


FAILURES: Final[Mapping[str | type[AdapterError], Failure]] = {
    "bad_request": Failure(400, "BadRequest"),
    "not_found": Failure(404, "NotFound"),
    "unknown_metric": Failure(404, "NotFound"),
    "unknown_object": Failure(404, "NotFound"),
    "method_not_allowed": Failure(405, "MethodNotAllowed"),
    "not_acceptable": Failure(406, "NotAcceptable"),
    "url_too_long": Failure(414, "BadRequest"),
    "header_too_large": Failure(431, "BadRequest"),
    "internal": Failure(500, "InternalError"),
    "unavailable": Failure(503, "ServiceUnavailable"),
    SelectorError: Failure(400, "BadRequest"),
    ConfigError: Failure(500, "InternalError"),
    SourceError: Failure(503, "ServiceUnavailable"),
    UndatableQuery: Failure(503, "ServiceUnavailable"),
}
INTERNAL: Final = "Internal error occurred: the adapter's log says more"


class Cause(msgspec.Struct, omit_defaults=True):
    message: str
    field: str


class Details(msgspec.Struct, omit_defaults=True):
    name: str = ""
    group: str = ""
    kind: str = ""
    causes: list[Cause] = []


class _ListMeta(msgspec.Struct):
    pass


class _Status(msgspec.Struct, omit_defaults=True):
    kind: str
    apiVersion: str  # noqa: N815 - the field's name on the wire
    metadata: _ListMeta
    status: str
    message: str
    reason: str
    details: Details | None = None
    code: int = 0


class Reply(NamedTuple):
    """An HTTP code and the Status body that goes with it."""

    code: int
    body: bytes


_ENCODER: Final = msgspec.json.Encoder()


def status(kind: str | type[AdapterError], message: str, details: Details | None = None) -> Reply:
    """`kind` is a key of FAILURES."""
    code, reason = FAILURES[kind]
    body = _Status("Status", "v1", _ListMeta(), "Failure", message, reason, details, code)
    return Reply(code, _ENCODER.encode(body))


def rejection(rejected: Rejected) -> Reply:
    """A request that could not be understood; the parameter at fault is named as the cause's field."""
    causes = [Cause(rejected.message, rejected.parameter)] if rejected.parameter else []
    return status(rejected.kind, rejected.message, Details(causes=causes) if causes else None)


def refusal(refused: Refusal, target: Target) -> Reply:
    """An answer that is withheld. Only where prometheus-adapter has no such answer does it carry details."""
    if refused.kind != "unavailable":
        return status(refused.kind, refused.message)
    name = "" if target.name == "*" else target.name
    return status(refused.kind, refused.message, Details(name, GROUP, target.resource))


def failure(error: Exception) -> Reply:
    """An exception that reached the rim. What is not ours is a bug, of which nothing is told."""
    if isinstance(error, AdapterError) and type(error) in FAILURES and FAILURES[type(error)].code != 500:
        return status(type(error), str(error))
    return status("internal", INTERNAL)
