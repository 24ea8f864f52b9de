"""Ages are right whatever the clocks say, and however late, or how often, an answer comes."""

import asyncio

import pytest

from tests.flow.clock_scenarios import MEMORY, NAMES, SCENARIOS, TOLD, Scenario, run_all
from tests.flow.simulated_site import Case, Faults, simulate
from tests.virtual_time import START

UNDER_ESTIMATE = 0.010  # seconds: clocks are read in milliseconds, and processes wake late


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scenario]:
    return asyncio.run(run_all(tmp_path_factory.mktemp("prometheus")))


@pytest.mark.prometheus
@pytest.mark.parametrize("metric", [MEMORY, TOLD])
@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_is_said_to_be_younger_than_it_is(scenarios: dict[str, Scenario], name: str, metric: str) -> None:
    seen = scenarios[name].seen[metric]
    assert seen.count >= len(NAMES)
    assert seen.under <= UNDER_ESTIMATE


@pytest.mark.prometheus
@pytest.mark.parametrize("name", SCENARIOS)
def test_query_is_said_to_be_little_older_than_it_is(scenarios: dict[str, Scenario], name: str) -> None:
    assert scenarios[name].seen[TOLD].over <= scenarios[name].faults.costs


@pytest.mark.prometheus
@pytest.mark.parametrize("metric", [MEMORY, TOLD])
@pytest.mark.parametrize("name", [name for name in SCENARIOS if "wall" in name])
def test_timestamp_is_our_wall_clock_less_the_age(scenarios: dict[str, Scenario], name: str, metric: str) -> None:
    """Rounded down to a whole second, as it is written."""
    least, most = scenarios[name].seen[metric].stamped
    assert least > -1e-3
    assert most < 1.0


QUERY, GPUS = Case(34, scrape=15, query=True), Case(79, scrape=15)


@pytest.mark.parametrize("set_by", [-30.0, -1.5, 1.5, 30.0])
@pytest.mark.parametrize("case", [pytest.param(QUERY, id="query"), pytest.param(GPUS, id="GPUs")])
def test_servers_clock_that_is_set_makes_nothing_younger_and_is_soon_forgiven(case: Case, set_by: float) -> None:
    """Samples from before carry the old clock's times; every moment is held to the truth."""
    set_at = START + 200.0
    seen = simulate(case, seed=1, faults=Faults(set_at=set_at, set_by=set_by))
    assert seen.first < set_at
    assert [gap for gap in seen.gaps if gap > set_at + abs(set_by) + case.limit] == []
