"""Whatever a target sends costs only its own look, within its deadline and cap."""

import resource
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest

from adapter.core.errors import SourceError
from adapter.core.profiles import PROFILES, families
from adapter.demo.faults import Fault, Spell
from adapter.demo.fleet import demo_fleet
from adapter.demo.server import RunningFleet, running_fleet
from adapter.settings.groups import Dcgm
from adapter.sources.connection import session
from adapter.sources.dcgm import Exporter
from adapter.sources.exposition import compile_wanted

WANTED = compile_wanted(families(tuple(PROFILES.values())))
NODE = "node-a"
DEADLINE = 1.5
CAP = 1 << 20
ALLOWED_MEMORY = (
    64 << 20
)  # bytes by which a look may raise the peak of the process: the cap, sockets, the test's server


@pytest.fixture
async def fleet() -> AsyncIterator[RunningFleet]:
    async with running_fleet(demo_fleet(), time.monotonic) as running:
        yield running


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with session() as opened:
        yield opened


@pytest.mark.parametrize(
    ("fault", "kinds"),
    [
        pytest.param(Fault.KILLED, {"connect"}, id="killed"),
        pytest.param(Fault.HANG, {"timeout"}, id="hangs"),
        pytest.param(Fault.HTTP_500, {"status"}, id="500"),
        pytest.param(Fault.REDIRECT, {"redirect"}, id="redirect"),
        pytest.param(Fault.SLOW, {"timeout"}, id="slow"),
        pytest.param(Fault.TRICKLE, {"timeout"}, id="a byte a second"),
        pytest.param(Fault.ENDLESS, {"too_large", "timeout"}, id="endless"),
        pytest.param(Fault.HUGE, {"too_large"}, id="200 MB"),
        pytest.param(Fault.GZIP_BOMB, {"malformed"}, id="gzip bomb"),
        pytest.param(Fault.TRUNCATED, {"malformed"}, id="truncated"),
        pytest.param(Fault.EMPTY, {"empty"}, id="empty"),
    ],
)
async def test_bad_page_is_a_failed_look_within_deadline_and_cap(
    fleet: RunningFleet, http: aiohttp.ClientSession, fault: Fault, kinds: set[str]
) -> None:
    await fleet.change(fleet.fleet.struck(NODE, Spell(fault, 0.0, delay=30.0)))
    exporter = Exporter("dcgm", fleet.urls[NODE], Dcgm(deadline=DEADLINE, max_page_bytes=CAP), WANTED, http)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    with pytest.raises(SourceError) as error:
        await exporter.look(time.monotonic, time.time)
    assert error.value.kind in kinds
    assert time.monotonic() - began < DEADLINE + 1.0
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < ALLOWED_MEMORY
    other = Exporter("dcgm", fleet.urls["node-b"], Dcgm(), WANTED, http)
    assert (await other.look(time.monotonic, time.time)).rows


async def test_good_page_is_a_look_dated_by_its_start(fleet: RunningFleet, http: aiohttp.ClientSession) -> None:
    exporter = Exporter("dcgm", fleet.urls[NODE], Dcgm(), WANTED, http)
    before = time.monotonic()
    look = await exporter.look(time.monotonic, time.time)
    assert before <= look.began <= time.monotonic()
    assert look.stamp == look.began
    assert {row.name for row in look.rows} >= {"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"}
