"""The HPA's arithmetic for Pods metrics: a missing pod never turns its direction."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.demo.hpa import desired_replicas


def fleet(*groups: tuple[int, float | None]) -> dict[str, float | None]:
    values = [value for count, value in groups for _ in range(count)]
    return {f"p-{number}": value for number, value in enumerate(values)}


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        pytest.param(fleet((10, 100)), 13, id="all at 100"),
        pytest.param(fleet((10, 20)), 3, id="all at 20"),
        pytest.param(fleet((9, 100), (1, None)), 12, id="9 at 100, 1 omitted"),
        pytest.param(fleet((9, 20), (1, None)), 4, id="9 at 20, 1 omitted"),
        pytest.param(fleet((5, 80), (5, None)), 10, id="5 at target, 5 omitted"),
        pytest.param(fleet((5, 80), (5, 0)), 5, id="5 at target, 5 reported as 0"),
        pytest.param(fleet((5, 160), (5, None)), 10, id="5 at twice the target, 5 omitted"),
        pytest.param(fleet((8, 100), (2, None)), 10, id="8 at 100, 2 without a value"),
        pytest.param(fleet((3, 100), (1, None)), 4, id="3 at 100, 1 omitted"),
        pytest.param(fleet((3, 20), (1, None)), 2, id="3 at 20, 1 omitted"),
        pytest.param(fleet((10, 87.9)), 10, id="within tolerance above"),
        pytest.param(fleet((10, 72.1)), 10, id="within tolerance below"),
        pytest.param(fleet((10, 88.1)), 12, id="just outside tolerance"),
        pytest.param(fleet((10, None)), 10, id="nothing known"),
        pytest.param(fleet((3, 75), (7, None)), 10, id="filled up it is within tolerance"),
    ],
)
def test_replicas_for_target_80(values: dict[str, float | None], wanted: int) -> None:
    assert desired_replicas(len(values), 80, values) == wanted


def test_no_pod_at_all_changes_nothing() -> None:
    assert desired_replicas(7, 80, {}) == 7


def test_more_missing_pods_than_replicas_do_not_grow_a_fleet_that_is_to_shrink() -> None:
    assert desired_replicas(3, 80, fleet((3, 20), (9, None))) == 3


@given(
    known=st.lists(st.integers(0, 400), min_size=1, max_size=12), missing=st.integers(1, 12), target=st.integers(1, 200)
)
def test_missing_pods_dampen_and_never_turn_the_direction(known: list[int], missing: int, target: int) -> None:
    total = len(known) + missing
    wanted = desired_replicas(total, target, fleet(*((1, value) for value in known), (missing, None)))
    if sum(known) >= target * len(known):
        assert total <= wanted <= max(total, -(-sum(known) // target))
    else:
        assert missing <= wanted <= total
