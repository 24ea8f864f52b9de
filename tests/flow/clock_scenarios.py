"""A real Prometheus over a page whose values spell the time at which they were true, and many readers of ours over it.

Each scenario has clocks and a proxy of its own; all run at once.
"""

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import aiohttp
from aiohttp import web

from adapter.api import wire
from adapter.core.answer import Catalog, Items, Served, answer
from adapter.core.ask import Ask
from adapter.core.attribution import GpuMetric
from adapter.core.pace import Pace
from adapter.core.profiles import PROFILES
from adapter.core.selectors import EVERYTHING
from adapter.poller import Reader, WriteLine, read
from adapter.settings.groups import Metric, Prometheus
from adapter.sources.connection import session
from adapter.sources.profile import ProfileReader
from adapter.sources.prometheus import PrometheusServer
from adapter.sources.query import QueryReader
from adapter.store import Store
from adapter.telemetry import Telemetry
from tests.flow.ageing import NAMESPACE, pods
from tests.flow.fault_proxy import FaultProxy, running_proxy
from tests.flow.prometheus_server import running_prometheus

NAMES = [f"p-{number}" for number in range(8)]
MEMORY, TOLD = "memory", "told"
MAX_AGE = 60.0  # more than any delay here: what is said is to be seen
MIB = 1 << 20
SETTLED = 4.0  # seconds until faults begin
SECONDS = 20.0  # that every scenario runs
CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 900ms}}
scrape_configs: [{{job_name: page, honor_labels: true, static_configs: [{{targets: ["{target}"]}}]}}]
"""


def page(t: float) -> str:
    """GPUs that are each collected once a second, an eighth of a second after one another, and an app that is live."""
    lines = []
    for number, name in enumerate(NAMES):
        phase = number / len(NAMES)
        collected = math.floor(t - phase) + phase
        labels = f'{{gpu="{number}",UUID="GPU-{number}",namespace="{NAMESPACE}",pod="{name}"}}'
        lines += [
            f"DCGM_FI_DEV_FB_USED{labels} {collected!r}",
            f"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{labels} {1000 * collected!r}",
            f'told{{namespace="{NAMESPACE}",pod="{name}"}} {t!r}',
        ]
    return "\n".join(sorted(lines)) + "\n"


@asynccontextmanager
async def running_page() -> AsyncIterator[str]:
    """Yields its host and port."""

    async def answer_page(_: web.Request) -> web.Response:
        return web.Response(text=page(time.monotonic()))

    app = web.Application()
    app.router.add_get("/metrics", answer_page)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


Course = Callable[[float], float]  # from the seconds since faults began


def none(_: float) -> float:
    return 0.0


def now_and_then(seconds: float, every: float) -> Course:
    """Half of the time, once faults have begun."""
    return lambda t: seconds if t > 0 and t % every > every / 2 else 0.0


@dataclass(frozen=True)
class Faults:
    """What one scenario's readers suffer; seconds.

    shift: our clock less the machine's. wall: how far our wall clock is off. there, back, replay, dates, others: as
    FaultProxy's. costs: by how much the ages of queries may be over-estimated.
    """

    shift: float = 0.0
    wall: Course = none
    there: Course = none
    back: Course = none
    replay: Course = none
    dates: bool = True
    others: bool = False
    costs: float = 1.5  # a server's time in whole seconds, by chance, is taken for a coarse one


def always(seconds: float) -> Course:
    return lambda _: seconds


SCENARIOS = {
    "our wall clock 30 s slow": Faults(-500.0, wall=always(-30.0)),
    "our wall clock 30 s fast": Faults(1e6, wall=always(30.0)),
    "our wall clock stepped": Faults(0.125, wall=lambda t: (0.0, 30.0, -30.0, 0.0)[int(t / 4) % 4]),
    "replies 3 s late": Faults(7e3, back=always(3.0)),
    "requests 3 s late": Faults(there=always(3.0), costs=4.5),
    "now this late, now that": Faults(
        there=lambda t: abs(math.sin(t)), back=lambda t: 3 * abs(math.sin(7 * t)), costs=3.0
    ),
    "told again": Faults(replay=now_and_then(3.0, 8.0)),
    "told again with a new Date": Faults(replay=now_and_then(3.0, 8.0), dates=False),
    "told others before": Faults(replay=now_and_then(5.0, 8.0), others=True),
    "told others before, with a new Date": Faults(replay=now_and_then(5.0, 8.0), others=True, dates=False),
    "replies late, then told others before": Faults(
        back=lambda t: 3.0 if t < 8 else 0.0,
        replay=lambda t: 1.5 if t > 8 and int(t) % 3 == 0 else 0.0,
        others=True,
        costs=5.0,
    ),
}


@dataclass
class Seen:
    """What was said of one metric. Seconds: by how much too young, and too old, at worst.

    stamped: by how much rendered timestamps lie before the wall clock less the age, the least and the most.
    """

    count: int = 0
    under: float = -math.inf
    over: float = -math.inf
    stamped: tuple[float, float] = (math.inf, -math.inf)


@dataclass
class Scenario:
    """One set of readers behind their proxy."""

    faults: Faults
    proxy: FaultProxy
    began: float
    seen: dict[str, Seen] = field(default_factory=lambda: {MEMORY: Seen(), TOLD: Seen()})

    def __post_init__(self) -> None:
        faults, proxy = self.faults, self.proxy
        proxy.there = lambda: self._at(faults.there)
        proxy.back = lambda: self._at(faults.back)
        proxy.replay = lambda: self._at(faults.replay)
        proxy.dates, proxy.others = faults.dates, faults.others
        index = pods(NAMES)
        self.line = WriteLine(Store(self.now), Telemetry("test", ()), self.now, self.wall, lambda: index)

    def _at(self, course: Course) -> float:
        return course(time.monotonic() - self.began)

    def now(self) -> float:
        return time.monotonic() + self.faults.shift

    def wall(self) -> float:
        return time.time() + self._at(self.faults.wall)

    async def run(self, url: str, http: aiohttp.ClientSession) -> None:
        server = PrometheusServer(Prometheus("prom", url), http, self.now)
        pace = Pace("prom", 1.0, 0.0, ttl=1.0, pages="live", via="prometheus")
        metric = GpuMetric(MEMORY, PROFILES["gpu_memory_used_bytes"], MAX_AGE)
        told = Metric(TOLD, ("prom",), query=TOLD, labels={"namespace": "namespace", "pod": "pod"})
        await asyncio.gather(
            self._poll(MEMORY, ProfileReader(MEMORY, server, [metric], pace, self.now)),
            self._poll(TOLD, QueryReader(TOLD, server, told, max_age=MAX_AGE, ttl=1.0, read=0.5, clock=self.now)),
        )

    async def _poll(self, metric: str, reader: Reader) -> None:
        while time.monotonic() < self.began + SECONDS:
            await read(reader, self.line)
            self._look(metric)
            await asyncio.sleep(0.2)

    def _look(self, metric: str) -> None:
        seen, moment = self.seen[metric], wire.Moment(self.now(), self.wall())
        served = Served(metric, "pods", namespaced=True, feeds=(metric,), gpu=False, worst_healthy_age=5.0)
        catalog: Catalog = {("pods", metric): served}
        ask = Ask("pods", NAMESPACE, "*", metric, EVERYTHING, EVERYTHING)
        given = answer(ask, catalog, self.line.store.snapshots, self.line.pods(), moment.now)
        if not isinstance(given, Items):
            return
        for item, told in zip(given.items, _timestamps(ask, given, moment), strict=True):
            point = item.point
            true = (point.value / MIB if metric == MEMORY else point.value) + self.faults.shift
            early = moment.wall - (moment.now - point.born) - told
            seen.count += 1
            seen.under = max(seen.under, point.born - true)
            seen.over = max(seen.over, true - point.born)
            seen.stamped = min(seen.stamped[0], early), max(seen.stamped[1], early)


def _timestamps(ask: Ask, given: Items, moment: wire.Moment) -> Iterable[float]:
    body = json.loads(wire.render("v1beta2", ask, given.items, moment))
    return [datetime.fromisoformat(item["timestamp"]).timestamp() for item in body["items"]]


async def run_all(directory: Path) -> dict[str, Scenario]:
    async with AsyncExitStack() as stack:
        target = await stack.enter_async_context(running_page())
        http = await stack.enter_async_context(session())
        url = stack.enter_context(running_prometheus(directory, CONFIG.format(target=target)))
        behind = await stack.enter_async_context(aiohttp.ClientSession())
        began = time.monotonic() + SETTLED
        scenarios = {name: Scenario(faults, FaultProxy(url, behind), began) for name, faults in SCENARIOS.items()}
        running = []
        for scenario in scenarios.values():
            own = await stack.enter_async_context(running_proxy(scenario.proxy))
            running.append(scenario.run(own, http))
        await asyncio.gather(*running)
        return scenarios
