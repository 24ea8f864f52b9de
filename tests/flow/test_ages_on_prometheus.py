"""Behind a real Prometheus: through every fault, nothing is ever served whose true age is beyond its limit.

The rows are those of docs/freshness.md; `pytest -s` prints what this machine saw.
"""

import asyncio
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from adapter.demo.faults import Fault, Spell
from adapter.demo.server import running_fleet
from adapter.sources.connection import session
from tests.flow.ageing import GPU_METRIC, Seen, configure, fleet, watch, write_targets
from tests.flow.prometheus_server import running_prometheus

pytestmark = pytest.mark.prometheus

FAULTS = {
    "healthy": (),
    "frozen": (Fault.FREEZE,),
    "a-killed": (Fault.KILLED,),
    "b-hung": (Fault.HANG,),
    "c-series-gone": (Fault.SERIES_GONE,),
    "d1-timestamps-frozen": (Fault.FREEZE,),
    "d2-timestamps-gone": (Fault.SERIES_GONE,),
    "e-target-removed": (),
}
STAMPED = ("d1-timestamps-frozen", "d2-timestamps-gone", "e-target-removed")
BLIND = {("plain", "frozen"), ("bare", "frozen"), ("recorded", "frozen")}  # a page without times or siblings hides it
NAMES = list(FAULTS)
ENOUGH = 25.0  # seconds; several times any limit here


async def test_nothing_is_served_beyond_its_limit_through_every_fault(tmp_path: Path) -> None:
    whole = fleet(NAMES)
    for name in STAMPED:
        whole = whole.struck(name, Spell(Fault.TIMESTAMPS, 0.0))
    async with running_fleet(whole, time.monotonic) as running, session() as http:
        targets = {name: urlsplit(url).netloc for name, url in running.urls.items()}
        config = configure(tmp_path, targets.values())
        with running_prometheus(tmp_path, config) as url:
            watched = watch(url, http, NAMES)
            polling = asyncio.create_task(watched.poll())
            try:
                wanted = {(metric, name) for _, metric in watched.catalog for name in NAMES}
                assert await watched.until(lambda: set(watched.seen) == wanted, NAMES, ENOUGH), wanted - set(
                    watched.seen
                )
                await watched.until(lambda: False, NAMES, 3.0)
                watched.seen.clear()
                struck = time.monotonic()
                for name, faults in FAULTS.items():
                    for fault in faults:
                        whole = whole.struck(name, Spell(fault, struck))
                await running.change(whole)
                write_targets(tmp_path, [t for name, t in targets.items() if name != "e-target-removed"])
                await watched.until(lambda: False, NAMES, ENOUGH)
                report(watched.seen, struck)
                hold(watched.seen, time.monotonic())
            finally:
                polling.cancel()


def hold(seen: dict[tuple[str, str], Seen], now: float) -> None:
    for (metric, name), of in seen.items():
        if (metric, name) in BLIND:
            continue
        assert of.oldest <= of.limit, f"{metric} of {name} was served at {of.oldest:.2f}s, limit {of.limit:.2f}s"
        assert of.flattery <= 0.01, f"{metric} of {name} was said to be {of.flattery:.3f}s younger than it was"
        if name == "healthy":
            assert of.gap < 1.0, f"{metric} of a healthy exporter was not served for {of.gap:.1f}s"
            assert now - of.last < 1.0
        else:
            assert now - of.last > ENOUGH / 2, f"{metric} of {name} is still served"


def report(seen: dict[tuple[str, str], Seen], struck: float) -> None:
    for (metric, name), of in sorted(seen.items(), key=lambda item: (item[0][1], item[0][0])):
        cells = (name, metric, f"{of.oldest:.1f}", f"{of.limit:.0f}", f"{max(0.0, of.last - struck):.1f}")
        print(f"| {' | '.join(cells)} |")


async def test_what_vanished_while_prometheus_was_down_is_no_ghost(tmp_path: Path) -> None:
    """Row f: the restarted server knows no staleness marker for it and answers its last sample for five minutes."""
    names = ["stays", "vanishes"]
    whole = fleet(names)
    async with running_fleet(whole, time.monotonic) as running, session() as http:
        targets = {name: urlsplit(url).netloc for name, url in running.urls.items()}
        config = configure(tmp_path, targets.values())
        with running_prometheus(tmp_path, config) as url:
            port = urlsplit(url).port
            watched = watch(url, http, names)
            polling = asyncio.create_task(watched.poll())
            wanted = {(metric, name) for _, metric in watched.catalog for name in names}
            assert await watched.until(lambda: set(watched.seen) == wanted, names, ENOUGH)
        await running.change(whole.struck("vanishes", Spell(Fault.KILLED, 0.0)))
        write_targets(tmp_path, [targets["stays"]])
        await watched.until(lambda: False, names, 2.0)
        watched.seen.clear()
        with running_prometheus(tmp_path, config, port=port):
            try:
                struck = time.monotonic()
                kept = {(metric, "stays") for _, metric in watched.catalog}
                assert await watched.until(lambda: kept <= set(watched.seen), names, ENOUGH)
                await watched.until(lambda: False, names, 12.0)
                report(watched.seen, struck)
                ghosts = {key: of for key, of in watched.seen.items() if key[1] == "vanishes"}
                for key, of in watched.seen.items():
                    assert of.oldest <= of.limit, key
                assert all(time.monotonic() - of.last > 5.0 for of in ghosts.values())
            finally:
                polling.cancel()


def test_the_gpu_path_is_not_blind_to_a_frozen_exporter() -> None:
    assert (GPU_METRIC, "frozen") not in BLIND
