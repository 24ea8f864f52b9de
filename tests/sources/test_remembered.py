"""What a rule read is dated by what was known of its sources when it ran, and never taken for younger."""

import time

import pytest

from adapter.core.points import Labels
from adapter.sources.remembered import Memory

T = 1_700_000_000.0
P0: Labels = (("namespace", "ml"), ("pod", "p-0"))
P1: Labels = (("namespace", "ml"), ("pod", "p-1"))
OTHER: Labels = (("namespace", "monitoring"), ("pod", "agent"))
ALL: Labels = ()


def memory(*looks: tuple[float, list[dict[Labels, float]]], keep: float = 60.0, lost: float = 60.0) -> Memory:
    made = Memory(keep, lost)
    for at, found in looks:
        made.take(at, found)
    return made


@pytest.mark.parametrize(
    ("found", "true"),
    [
        pytest.param([{P0: T - 3, P1: T - 40}], T - 3, id="its own"),
        pytest.param([{P0[:1]: T - 9, P1: T - 40}], T - 9, id="one that says less"),
        pytest.param([{ALL: T - 9}], T - 9, id="one for all"),
        pytest.param([{P0: T - 3, ALL: T - 9}], T - 9, id="the oldest of those"),
        pytest.param([{P1: T - 3, OTHER: T - 40}], T - 40, id="none of its own: the oldest"),
        pytest.param([{P0: T - 3}, {P1: T - 9, OTHER: T - 40}], T - 40, id="none of its own of one source"),
        pytest.param([{P0: T - 3}, {}], T - 3, id="a source that was never there"),
        pytest.param([{}, {}], None, id="none at all"),
    ],
)
def test_row_is_as_old_as_the_oldest_of_every_source(found: list[dict[Labels, float]], true: float | None) -> None:
    assert memory((T, found)).true_at(P0, T + 1) == true


def test_what_was_known_when_the_rule_ran_counts() -> None:
    known = memory((T, [{P0: T - 1}]), (T + 5, [{P0: T + 4}]), (T + 10, [{P0: T + 9}]))
    assert [known.true_at(P0, T + written) for written in (-1, 0, 4.9, 5, 99)] == [None, T - 1, T - 1, T + 4, T + 9]


def test_before_the_first_look_nothing_was_younger_than_then() -> None:
    known = memory((T, [{P0: T - 1, P1: T - 200}]), (T + 5, [{P0: T + 4, P1: T - 200}]))
    assert [known.earliest(P0), known.earliest(P1), memory().earliest(P0)] == [T - 1, T - 200, None]


def test_series_that_vanished_keeps_its_last_time_while_the_rule_may_still_read_it() -> None:
    known = memory((T, [{P0: T - 1, P1: T - 1}]), *((T + s, [{P1: T + s - 1}]) for s in range(5, 66, 5)))
    assert [known.true_at(P0, T + s) for s in (5, 60)] == [T - 1, T - 1]
    assert known.true_at(P0, T + 65) == T + 64


def test_source_whose_series_all_vanished_is_not_forgotten() -> None:
    known = memory((T, [{P0: T - 1}, {P0: T - 2}]), (T + 5, [{P0: T + 4}, {}]))
    assert known.true_at(P0, T + 5) == T - 2


def test_moments_are_kept_only_as_long_as_samples_from_then_can_be_served() -> None:
    known = memory(*((T + s, [{P0: T + s - 1}]) for s in range(0, 600, 3)), keep=30.0)
    assert known.true_at(P0, T + 597 - 30) == T + 597 - 31
    assert known.true_at(P0, T + 597 - 34) is None


def test_answer_that_is_told_again_teaches_nothing() -> None:
    known = memory((T, [{P0: T - 1}]), (T + 5, [{P0: T + 4}]), (T, [{P0: T - 1}]))
    assert known.true_at(P0, T + 6) == T + 4


def test_after_the_servers_clock_was_set_back_only_what_is_heard_since_counts() -> None:
    known = memory((T, [{P0: T - 1}]), (T - 3600, [{P0: T - 3601}]), (T - 3597, [{P0: T - 3598}]))
    assert known.true_at(P0, T - 3596) == T - 3598


def test_ten_thousand_rows_of_ten_thousand_sources_are_dated_fast() -> None:
    sources: dict[Labels, float] = {(("namespace", "ml"), ("pod", f"p-{n}")): T - n for n in range(10_000)}
    known = memory((T, [sources]))
    began = time.process_time()
    told = [known.true_at(labels, T + 1) for labels in sources]
    assert time.process_time() - began < 0.2
    assert told == list(sources.values())
