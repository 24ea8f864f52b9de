"""An age is never under-estimated: by no slow network, no answer from the past, and no clock that was set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.lag import Heard, Lag, ServerClock, born, hear

OFFSET = 1_700_000_000.25  # the server's clock less ours


def reply(sent: float, *, there: float = 0.1, back: float = 0.1, step: float = 0.0) -> Heard:
    server = sent + there + OFFSET + step
    return Heard(sent, sent + there + back, server, float(int(server + back)))


def test_sample_is_dated_from_the_sending() -> None:
    heard = reply(100.0)
    _, lag = hear(None, heard)
    assert lag == Lag()
    assert 96.8 < born(heard, lag, 100.0 + OFFSET - 3.0) <= 97.0


@pytest.mark.parametrize(("there", "back"), [(0, 3), (3, 0), (3, 3), (0, 0)])
def test_slow_network_makes_nothing_younger_and_is_no_lag(there: float, back: float) -> None:
    heard = reply(100.0, there=there, back=back)
    _, lag = hear(None, heard)
    assert lag.always == 0.0
    sampled = 100.0 + there - 1.0  # our clock
    assert born(heard, lag, sampled + OFFSET) <= sampled + 1e-6


def test_samples_from_before_the_servers_clock_was_set_back_are_older_than_it_says() -> None:
    clock, _ = hear(None, reply(100.0))
    before = 99.0 + OFFSET  # sampled at 99 by our clock
    heard = reply(110.0, step=-30)
    clock, lag = hear(clock, heard)
    assert born(heard, lag, before) <= 99.0 + 0.01
    after = 109.0 + OFFSET - 30  # sampled at 109, with the new clock
    assert born(heard, lag, after) <= 109.0
    later = reply(150.0, step=-30)
    clock, lag = hear(clock, later)
    assert born(later, lag, before) <= 99.0 + 0.02, "also once its clock has passed that time again"
    fresh = 149.0 + OFFSET - 30
    assert 148.8 < born(later, lag, fresh) <= 149.0


def test_server_clock_set_forward_makes_nothing_younger() -> None:
    clock, _ = hear(None, reply(100.0))
    heard = reply(110.0, step=60)
    clock, lag = hear(clock, heard)
    assert born(heard, lag, 99.0 + OFFSET) <= 99.0
    assert 108.8 < born(heard, lag, 109.0 + OFFSET + 60) <= 109.0


def test_answer_from_the_past_shows_against_its_date() -> None:
    server = 130.1 + OFFSET
    _, lag = hear(None, Heard(130.0, 130.2, server - 30, float(int(server))))
    assert lag.always >= 30


def test_slow_evaluation_is_no_answer_from_the_past() -> None:
    _, lag = hear(None, Heard(100.0, 103.2, 100.05 + OFFSET, float(int(103.1 + OFFSET))))
    assert lag.always == 0.0


def test_whole_second_times_hide_up_to_a_second() -> None:
    _, lag = hear(None, Heard(100.0, 100.1, 1_700_000_100.0, None))
    assert lag.always == 1.0


@given(
    st.lists(
        st.tuples(
            st.floats(0.1, 30),  # since the last request
            st.floats(0, 3),  # way there
            st.floats(0, 3),  # way back
            st.sampled_from([0.0] * 6 + [-30.0, -2.0, 45.0]),  # the server's clock is set by so much before it
        ),
        min_size=1,
        max_size=30,
    )
)
def test_no_sample_is_younger_than_the_truth_however_clocks_are_set(
    replies: list[tuple[float, float, float, float]],
) -> None:
    clock: ServerClock | None = None
    now, step, known = 0.0, 0.0, float("-inf")
    stamped: list[tuple[float, float]] = []  # (true time on our clock, the server's stamp)
    for wait, there, back, change in replies:
        now += wait
        step += change
        evaluated = now + there
        stamped.append((evaluated - 0.05, evaluated - 0.05 + OFFSET + step))
        heard = Heard(now, evaluated + back, evaluated + OFFSET + step, None)
        clock, lag = hear(clock, heard)
        if change < 0 and lag.until == known:
            stamped = stamped[-1:]  # set back by less than the replies' own spread: it cannot be seen
        known = lag.until
        for true, stamp in stamped:
            if stamp <= heard.server_time:
                assert born(heard, lag, stamp) <= true + 0.01 + 1e-3 * now
        now = heard.received
