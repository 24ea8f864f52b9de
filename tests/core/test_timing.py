"""The budget holds DESIGN's numbers, and a limit that health cannot meet is refused with its arithmetic."""

import pytest

from adapter.core import timing
from adapter.core.timing import Budget


@pytest.mark.parametrize(
    ("budget", "limit"),
    [
        pytest.param(timing.direct(30, 3), 44, id="direct, exporter default"),
        pytest.param(timing.direct(5, 1), 9, id="direct, tuned exporter"),
        pytest.param(timing.profile(5, 5, 0.5, 1), 22, id="through Prometheus, tuned"),
        pytest.param(timing.profile(30, 15, 0.5, 3), 79, id="through Prometheus, defaults"),
        pytest.param(timing.direct(30, 3, behind=30), 74, id="ticker pages cost one collect more"),
        pytest.param(timing.query(15, 3), 34, id="other PromQL: two scrapes"),
    ],
)
def test_auto_limit_is_the_worst_healthy_age_and_one_missed_look(budget: Budget, limit: float) -> None:
    assert budget.limit == limit
    assert budget.limit >= budget.worst_healthy_age


@pytest.mark.parametrize(
    ("sync", "interval", "targets", "ttl"),
    [
        pytest.param(15, 30, 0, 3, id="a fifth of the HPA's period"),
        pytest.param(15, 5, 0, 1, id="a fifth of the source's"),
        pytest.param(15, 1, 0, 1, id="never below a second"),
        pytest.param(60, 60, 0, 5, id="never above five"),
        pytest.param(15, 5, 3000, 3, id="a millisecond per target"),
    ],
)
def test_ttl_follows_the_shorter_period(sync: float, interval: float, targets: int, ttl: float) -> None:
    assert timing.ttl(sync, interval, targets) == ttl


def test_limit_below_every_sources_need_is_refused_with_the_sum() -> None:
    text = timing.refusal(20, {"dcgm": timing.direct(30, 3)})
    assert text is not None
    assert "maxAge 20s" in text
    assert "36.5s = collect 30s + two polls 6s + read 0.5s" in text
    assert "at least 37s" in text
    assert "DCGM_EXPORTER_INTERVAL" in text


def test_limit_that_one_source_can_keep_is_accepted() -> None:
    assert timing.refusal(20, {"dcgm": timing.direct(5, 1), "prometheus": timing.profile(30, 15, 0.5, 3)}) is None


def test_dominant_term_names_the_remedy() -> None:
    assert timing.profile(5, 60, 0.5, 1).dominant.name == "two scrapes"
    assert "scrape interval" in timing.profile(5, 60, 0.5, 1).dominant.remedy
