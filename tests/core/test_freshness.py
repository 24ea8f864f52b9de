"""Only age decides, at the moment of the answer; and two sources of one truth never make a value younger or truer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.freshness import decide, younger
from adapter.core.points import Device, Point, Reading, Reason, Withheld
from tests.core.build import GPU_A, GPU_B, point, withheld


@pytest.mark.parametrize(
    ("reading", "now", "expected"),
    [
        pytest.param(point(born=100), 144.0, None, id="at its limit"),
        pytest.param(point(born=100), 144.1, Reason.STALE, id="beyond, and not seen since"),
        pytest.param(point(born=100, seen=140), 144.1, Reason.FROZEN, id="beyond, while its page is still seen"),
        pytest.param(point(born=100, seen=140), 151.0, Reason.STALE, id="frozen, then gone"),
        pytest.param(point(born=100, seen=130), 144.1, Reason.STALE, id="beyond, and not answering any more"),
        pytest.param(withheld(Reason.BLANK), 0.0, Reason.BLANK, id="withheld stays withheld"),
    ],
)
def test_a_point_is_served_while_it_is_within_its_limit(reading: Reading, now: float, expected: Reason | None) -> None:
    decided = decide(reading, now)
    assert (decided.reason if isinstance(decided, Withheld) else None) == expected


def test_a_stale_point_says_its_age_and_limit() -> None:
    decided = decide(point(born=100, seen=101), 171.0)
    assert isinstance(decided, Withheld)
    assert decided.detail == "71s old, limit 44s: last seen 70s ago"
    assert decided.born == 100


BOTH = frozenset((GPU_A, GPU_B))


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([point(1, 100), point(2, 110, source="prom")], 2.0, id="the younger wins"),
        pytest.param([withheld(Reason.PENDING), point(2, 110, source="prom")], 2.0, id="pending falls over"),
        pytest.param([withheld(Reason.MISSING), point(2, 110, source="prom")], 2.0, id="missing falls over"),
        pytest.param(
            [withheld(Reason.SOURCE_PARTIAL), point(2, 110, source="prom")], 2.0, id="partial source falls over"
        ),
        pytest.param([withheld(Reason.SOURCE_ERROR), point(2, 110, source="prom")], 2.0, id="source error falls over"),
        pytest.param([point(1, 10), point(2, 110, source="prom")], 2.0, id="stale falls over"),
        pytest.param(
            [withheld(Reason.BLANK), point(2, 110, source="prom")], Reason.BLANK, id="blank withholds for all"
        ),
        pytest.param(
            [withheld(Reason.IMPLAUSIBLE_ZERO), point(0, 110, source="prom")],
            Reason.IMPLAUSIBLE_ZERO,
            id="false zero withholds",
        ),
        pytest.param([point(1, 50, seen=119), point(2, 110, source="prom")], Reason.FROZEN, id="frozen withholds"),
        pytest.param([withheld(Reason.PENDING), withheld(Reason.MISSING)], Reason.MISSING, id="nothing anywhere"),
        pytest.param([point(1, 100, devices=BOTH), point(2, 110, source="prom")], 1.0, id="more devices beat younger"),
        pytest.param(
            [point(1, 100), point(2, 110, source="prom", devices=frozenset((GPU_B,)))],
            Reason.AMBIGUOUS,
            id="different devices",
        ),
    ],
)
def test_two_sources_are_replicas_of_one_truth(readings: list[Reading], expected: float | Reason) -> None:
    for order in (readings, readings[::-1]):
        decided = younger(order, 120.0)
        assert (decided.value if isinstance(decided, Point) else decided.reason) == expected


moments = st.floats(0, 1000)
points = st.builds(
    point,
    value=st.floats(0, 100),
    born=moments,
    limit=st.floats(1, 100),
    source=st.sampled_from(["dcgm", "prom"]),
    devices=st.frozensets(st.sampled_from([GPU_A, GPU_B, Device("GPU-c")]), min_size=1),
)
reasons = st.builds(withheld, reason=st.sampled_from(list(Reason)), born=st.none() | moments)
several = st.lists(points | reasons, min_size=1, max_size=4)


@given(several, moments)
def test_nothing_beyond_its_limit_is_ever_chosen(readings: list[Reading], now: float) -> None:
    chosen = younger(readings, now)
    if isinstance(chosen, Point):
        assert chosen in readings
        assert now <= chosen.expires


@given(several, moments, st.randoms(use_true_random=False))
def test_order_of_sources_never_changes_the_choice(readings: list[Reading], now: float, random: st.DataObject) -> None:
    shuffled = list(readings)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    a, b = younger(readings, now), younger(shuffled, now)
    assert (type(a), a.born, a.source) == (type(b), b.born, b.source)


@given(st.lists(points, min_size=1, max_size=4), st.integers(0, 3), moments)
def test_withholding_more_never_makes_the_choice_younger(readings: list[Point], index: int, now: float) -> None:
    """Taking a point away may lose the value or age it, never the reverse."""
    same = [Point(p.value, p.born, p.expires, p.seen, p.source, devices=frozenset((GPU_A,))) for p in readings]
    before = younger(list(same), now)
    fewer: list[Reading] = [*same]
    fewer[index % len(fewer)] = withheld(Reason.MISSING)
    after = younger(fewer, now)
    if isinstance(after, Point):
        assert isinstance(before, Point)
        assert after.born <= before.born
