"""Which media type a client gets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.api.negotiation import AGGREGATED, JSON, negotiate, not_acceptable

KCM = "application/vnd.kubernetes.protobuf, */*"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        pytest.param("", JSON, id="no header"),
        pytest.param("*/*", JSON, id="anything"),
        pytest.param("application/*", JSON, id="any application type"),
        pytest.param("Application/JSON; charset=utf-8", JSON, id="json with a charset"),
        pytest.param(KCM, JSON, id="kube-controller-manager"),
        pytest.param(f"{TABLE},application/json", JSON, id="kubectl"),
        pytest.param("text/html;q=0.9,*/*;q=0.1", JSON, id="browser"),
        pytest.param(TABLE, None, id="table alone"),
        pytest.param("application/vnd.kubernetes.protobuf", None, id="protobuf alone"),
        pytest.param("application/yaml", None, id="yaml"),
        pytest.param("text/html", None, id="html"),
        pytest.param("application/json;q=0", None, id="json refused"),
        pytest.param("application/json;q=nonsense", JSON, id="quality that is no number"),
        pytest.param(",;,", None, id="punctuation"),
    ],
)
def test_accept_header_chooses(accept: str, chosen: str | None) -> None:
    assert negotiate(accept) == chosen


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        pytest.param(AGGREGATED, AGGREGATED, id="asked for"),
        pytest.param(
            "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", AGGREGATED, id="any order"
        ),
        pytest.param(f"{AGGREGATED},application/json", AGGREGATED, id="the first of two"),
        pytest.param(f"application/json;q=0.5,{AGGREGATED};q=0.9", AGGREGATED, id="the better of two"),
        pytest.param(AGGREGATED.replace("v=v2", "v=v2beta1") + ",application/json", JSON, id="a version we lack"),
        pytest.param("*/*", JSON, id="anything is the plain document"),
        pytest.param("", JSON, id="no header"),
    ],
)
def test_aggregated_discovery_goes_to_those_who_ask_for_it(accept: str, chosen: str) -> None:
    assert negotiate(accept, (AGGREGATED, JSON)) == chosen


def test_refusal_lists_what_is_offered() -> None:
    assert not_acceptable() == "only the following media types are accepted: application/json"


@given(st.text(max_size=100))
def test_any_accept_header_chooses_an_offer_or_none(accept: str) -> None:
    assert negotiate(accept) in {JSON, None}
