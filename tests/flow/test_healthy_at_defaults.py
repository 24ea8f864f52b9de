"""Healthy exporters are served without a gap at the defaults, and frozen ones are withheld within the limit.

Ten minutes in virtual time, with the irregularities of health: collects, looks and answers come late.
"""

import pytest

from adapter.core.points import Reason
from tests.flow.simulated_site import Case, Faults, simulate
from tests.virtual_time import START

CASES = {
    "direct, live pages": Case(44),
    "direct, ticker pages": Case(74, pages="ticker"),
    "direct, tuned": Case(9, 5, 5),
    "GPUs through Prometheus": Case(79, scrape=15),
    "GPUs through Prometheus, tuned": Case(22, 5, 5, scrape=5),
    "query": Case(34, scrape=15, query=True),
}
BY_CASE = [pytest.param(case, id=name) for name, case in CASES.items()]
SEEDS = range(2)  # of three phases each


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("case", BY_CASE)
def test_healthy_is_served_without_a_gap(case: Case, seed: int) -> None:
    seen = simulate(case, seed)
    assert seen.first <= START + case.limit
    assert seen.gaps == []
    assert seen.limits[-1] == pytest.approx(case.limit, abs=1.0)  # a learnt interval may shorten it a little


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case(79, scrape=15, lists_targets=False), id="GPUs"),
        pytest.param(Case(34, scrape=15, query=True, lists_targets=False), id="query"),
    ],
)
def test_scrape_interval_is_learnt_from_the_samples_where_no_api_tells(case: Case, seed: int) -> None:
    seen = simulate(case, seed)
    assert seen.gaps == []
    assert seen.limits[-1] == pytest.approx(case.limit, abs=2.0)


LEARNT = [
    pytest.param(Case(15, collect=5), id="direct"),
    pytest.param(Case(25, collect=5, scrape=5), id="through Prometheus"),
    pytest.param(Case(66, collect=5, scrape=15), id="scraped more slowly than collected"),
]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", LEARNT)
def test_exporter_that_collects_more_often_than_configured_gets_a_shorter_limit(case: Case, seed: int) -> None:
    seen = simulate(case, seed)
    assert seen.gaps == []
    assert seen.limits[-1] == pytest.approx(case.limit, abs=2.0)
    assert seen.limits[0] > case.limit + 10


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", [*BY_CASE[:-1], *LEARNT])  # a query cannot see its exporter freeze
def test_frozen_exporter_is_named_so_within_the_limit(case: Case, seed: int) -> None:
    freeze = START + 150.0 + 7.3 * seed
    seen = simulate(case, seed, Faults(freeze=freeze), freeze + case.limit + 5.0 - START)
    assert freeze < seen.last <= freeze + case.limit + 1.0
    assert seen.reasons == {Reason.FROZEN}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", BY_CASE)
def test_silent_exporter_is_stale_within_the_limit(case: Case, seed: int) -> None:
    silence = START + 150.0 + 7.3 * seed
    seen = simulate(case, seed, Faults(silence=silence), silence + case.limit + 5.0 - START)
    assert silence < seen.last <= silence + case.limit + 1.0
    assert seen.reasons <= {Reason.STALE, Reason.FROZEN}
