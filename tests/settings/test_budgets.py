"""What is configured gives the limits of docs/freshness.md."""

import pytest

from adapter.settings import budgets, pages_of, poll_interval
from adapter.settings.groups import Dcgm, Metric, Prometheus, Settings, StaticTarget

GPU = Metric("gpu", ("dcgm", "prom"), series="gpu_utilization")
PROM = Prometheus("prom", "http://prom")


@pytest.mark.parametrize(
    ("dcgm", "scrape", "direct", "through"),
    [
        pytest.param(Dcgm(30, pages="live"), 15, 44, 79, id="exporter's default"),
        pytest.param(Dcgm(5, pages="live"), 5, 9, 22, id="tuned"),
        pytest.param(Dcgm(30), 15, 74, 109, id="ticker pages, which auto assumes"),
    ],
)
def test_limits_follow_from_what_is_configured(dcgm: Dcgm, scrape: float, direct: float, through: float) -> None:
    found = budgets(Settings(dcgm=dcgm, prometheus=(PROM,)), GPU, scrape)
    assert {source: budget.limit for source, budget in found.items()} == {"dcgm": direct, "prom": through}


def test_slowest_exporter_counts() -> None:
    dcgm = Dcgm(5, pages="live", static=(StaticTarget("http://a"), StaticTarget("http://b", collect_interval=30)))
    assert budgets(Settings(dcgm=dcgm), GPU)["dcgm"].worst_healthy_age == 30 + 2 + 0.5


def test_poll_follows_the_exporters_and_their_number() -> None:
    assert poll_interval(Settings(dcgm=Dcgm(5)), 3) == 1
    assert poll_interval(Settings(dcgm=Dcgm(30)), 3) == 3
    assert poll_interval(Settings(dcgm=Dcgm(5)), 4000) == 4
    assert poll_interval(Settings(dcgm=Dcgm(5, poll=2)), 4000) == 2


def test_an_exporter_can_differ_from_the_others() -> None:
    assert pages_of(Dcgm(pages="live"), StaticTarget("http://a", pages="ticker")) == "ticker"
    assert pages_of(Dcgm(pages="live"), StaticTarget("http://a")) == "live"
