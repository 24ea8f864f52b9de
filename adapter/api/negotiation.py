"""Which of the media types that we can write a client accepts.

kube-controller-manager prefers protobuf and takes `*/*`, kubectl prefers a Table and takes JSON, the aggregator prefers
the aggregated discovery document: what we cannot write is skipped, and the next best entry counts.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

JSON: Final = "application/json"
AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_VIEW: Final = ("as", "g", "v")  # the parameters that ask for another shape of the same content


class _Range(NamedTuple):
    media: str
    view: Mapping[str, str]
    quality: float


def negotiate(accept: str, offers: Sequence[str] = (JSON,)) -> str | None:
    """The offer that suits the Accept header best; None: none does. Without a header the last offer is taken.

    Ties go to the client's order, as in k8s.io/apiserver's negotiation; an entry that asks for another view, as
    `as=Table` does, matches nothing but that view.
    """
    if not accept.strip():
        return offers[-1]
    ranges = [_range(entry) for entry in accept.split(",") if entry.strip()]
    for wanted in sorted(ranges, key=lambda one: -one.quality):
        for offer in offers if wanted.quality > 0 else ():
            if _suits(wanted, _range(offer)):
                return offer
    return None


def not_acceptable(offers: Sequence[str] = (JSON,)) -> str:
    """Kubernetes' wording (k8s.io/apiserver, endpoints/handlers/negotiation/errors.go)."""
    return f"only the following media types are accepted: {', '.join(offers)}"


def _range(entry: str) -> _Range:
    media, *rest = (part.strip().lower() for part in entry.split(";"))
    parameters = {key.strip(): value.strip().strip('"') for key, _, value in (part.partition("=") for part in rest)}
    view: dict[str, str] = {key: parameters[key] for key in _VIEW if key in parameters}
    return _Range(media, view, _quality(parameters.get("q", "1")))


def _quality(text: str) -> float:
    try:
        quality = float(text)
    except ValueError:
        return 1.0
    return min(max(quality, 0.0), 1.0) if math.isfinite(quality) else 1.0


def _suits(wanted: _Range, offer: _Range) -> bool:
    kind, _, _ = offer.media.partition("/")
    return wanted.media in {offer.media, f"{kind}/*", "*/*"} and wanted.view == offer.view
