"""An age is never under-estimated: not by a slow network, an old cached answer, or clocks that were set."""

from hypothesis import given
from hypothesis import strategies as st

from adapter.core.lag import Heard, ServerClock, born, hear

OFFSET = 1_700_000_000.25  # the server's clock less ours


def reply(sent: float, *, delay_there: float = 0.1, delay_back: float = 0.1, step: float = 0.0) -> Heard:
    evaluated = sent + delay_there
    server = evaluated + OFFSET + step
    return Heard(sent, evaluated + delay_back, server, float(int(server)))


def test_direct_reply_is_dated_from_its_sending() -> None:
    _, lag = hear(None, reply(100.0))
    assert lag == 0.0
    sample = 100.0 + OFFSET - 3.0  # scraped 3 s before the sending
    assert born(reply(100.0), lag, sample) <= 97.0
    assert born(reply(100.0), lag, sample) > 96.8


def test_replayed_answer_is_as_old_as_its_first_evaluation() -> None:
    clock, _ = hear(None, reply(100.0))
    old = reply(100.0)
    replay = Heard(110.0, 110.1, old.server_time, old.date)
    _, lag = hear(clock, replay)
    sample = old.server_time - 2.0
    assert born(replay, lag, sample) <= 100.1 - 2.0
    assert born(replay, lag, sample) > 97.5


def test_server_clock_set_back_is_lag_until_its_date_follows() -> None:
    clock, _ = hear(None, reply(100.0))
    _, lag = hear(clock, Heard(110.0, 110.2, 110.1 + OFFSET - 30, None))
    assert lag > 29


def test_server_clock_set_back_with_its_date_is_a_new_base() -> None:
    clock, _ = hear(None, reply(100.0))
    clock, lag = hear(clock, reply(110.0, step=-30))
    assert lag == 0.0
    _, lag = hear(clock, reply(115.0, step=-30))
    assert lag == 0.0


def test_answer_that_always_lags_shows_against_its_date() -> None:
    server = 130.1 + OFFSET
    _, lag = hear(None, Heard(130.0, 130.2, server - 30, float(int(server))))
    assert lag >= 30


def test_whole_second_times_hide_up_to_a_second() -> None:
    _, lag = hear(None, Heard(100.0, 100.1, 1_700_000_100.0, None))
    assert lag == 1.0


@given(
    st.lists(
        st.tuples(
            st.floats(0.1, 30),  # since the last request
            st.floats(0, 3),  # way there
            st.floats(0, 3),  # way back
            st.floats(0, 20),  # how much earlier it was evaluated
        ),
        min_size=1,
        max_size=30,
    )
)
def test_no_answer_is_younger_than_the_truth_once_one_was_prompt(
    replies: list[tuple[float, float, float, float]],
) -> None:
    clock: ServerClock | None
    clock, _ = hear(None, reply(0.0, delay_there=0.0, delay_back=0.0))
    now = 0.0
    for wait, there, back, early in replies:
        now += wait
        evaluated = now + there - early
        heard = Heard(now, now + there + back, evaluated + OFFSET, None)
        clock, lag = hear(clock, heard)
        sampled = evaluated - 1.0  # our clock
        assert born(heard, lag, sampled + OFFSET) <= sampled + 0.01 + 1e-3 * now
        now += there + back
