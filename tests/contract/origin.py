"""A loopback server that is an exporter and a Prometheus over the same GPUs, and can fail in every way."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import NamedTuple

from aiohttp import web
from multidict import CIMultiDict

from adapter.core.profiles import ENERGY
from adapter.demo.exporter import GPU_UTIL
from adapter.promql.rows import NOW, TAG
from tests.flow.simulated import tagged_families

OFFSET = 1_700_000_000.25  # its clock less ours
SCRAPED = 1.0  # seconds before each query
NAMESPACE = "ml"
HOST = "127.0.0.1"
JSON = "application/json"


@dataclass
class Clock:
    """Ours, standing still between reads."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


class Asked(NamedTuple):
    method: str
    path: str
    form: Mapping[str, str]
    headers: CIMultiDict[str]


Fault = Callable[[web.Request], Awaitable[web.StreamResponse]]


def clock_tag(query: str) -> str:
    """How a query tags the row with the server's time: with its own number."""
    found = re.search(f'"{TAG}", "({NOW}[^"]*)"', query)
    return found[1] if found else NOW


def answers(
    body: bytes, content_type: str = JSON, status: int = 200, headers: Mapping[str, str] | None = None
) -> Fault:
    """Always the same, but for the number of the question."""

    async def fault(request: web.Request) -> web.StreamResponse:
        query = {**request.query, **(await request.post())}.get("query", "")
        told = body.replace(b'"now"', f'"{clock_tag(str(query))}"'.encode())
        return web.Response(body=told, status=status, content_type=content_type, headers=headers)

    return fault


@dataclass
class Origin:
    """shown: each pod's utilization in percent. asked: every request so far. headers: added to healthy replies.

    fault: what answers instead, to these `methods`, for paths that begin with `where`.
    behind: seconds that evaluations lie in the past where it is not asked for better.
    """

    clock: Clock
    shown: dict[str, float] = field(default_factory=lambda: {"p-0": 40.0, "p-1": 60.0})
    fault: Fault | None = None
    where: str = "/"
    methods: tuple[str, ...] = ("GET", "POST")
    behind: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    port: int = 0

    def __post_init__(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.0, handler_cancellation=True)
        self._site: web.TCPSite | None = None

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    async def open(self) -> None:
        if self._site is None:
            await self._runner.setup()
            self._site = web.TCPSite(self._runner, HOST, self.port)
            await self._site.start()
            self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        if self._site is not None:
            await self._site.stop()
            self._site = None

    async def end(self) -> None:
        await self.close()
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        form = {**request.query, **{key: str(value) for key, value in (await request.post()).items()}}
        self.asked.append(Asked(request.method, request.path, form, CIMultiDict(request.headers)))
        if self.fault and request.method in self.methods and request.path.startswith(self.where):
            response = await self.fault(request)
        else:
            response = self._healthy(request.path, form)
        response.headers.setdefault("Date", formatdate(int(self.clock.now + OFFSET), usegmt=True))
        response.force_close()  # so that closing the port is felt at once
        return response

    def _healthy(self, path: str, form: Mapping[str, str]) -> web.Response:
        match path:
            case "/metrics":
                lines = [f"{name}{_braces(labels)} {value}\n" for name, labels, value in self._rows()]
                return web.Response(text="".join(lines), headers=self.headers)
            case "/api/v1/query":
                return web.json_response(self.vector(form), headers=self.headers)
            case "/api/v1/targets":
                target = {"labels": {"job": "gpus", "instance": "e"}, "scrapeInterval": "5s"}
                return web.json_response({"status": "success", "data": {"activeTargets": [target]}})
            case "/api/v1/rules":
                return web.json_response({"status": "success", "data": {"groups": []}})
        return web.Response(status=404)

    def vector(self, form: Mapping[str, str]) -> dict[str, object]:
        """An instant query's whole answer."""
        server = self.clock.now + OFFSET - (0.0 if form.get("nocache") == "1" else self.behind)
        families = tagged_families(form["query"])
        rows: list[tuple[dict[str, str], float]] = [({TAG: clock_tag(form["query"])}, server)]
        for name, own, value in self._rows():
            labels = {**own, "job": "gpus", "instance": "e"}
            if name in families:
                rows.append(({**labels, TAG: f"v{families[name]}"}, value))
                rows.append(({**labels, TAG: f"t{families[name]}"}, server - SCRAPED))
            elif not families and name == GPU_UTIL:
                rows.append((labels, value))
                rows.append(({**labels, TAG: "t0"}, server - SCRAPED))
        result = [{"metric": labels, "value": [server, repr(value)]} for labels, value in rows]
        return {"status": "success", "data": {"resultType": "vector", "result": result}}

    def _rows(self) -> list[tuple[str, dict[str, str], float]]:
        found = []
        for pod, percent in self.shown.items():
            labels = {"UUID": f"GPU-{pod}", "namespace": NAMESPACE, "pod": pod}
            found += [(GPU_UTIL, labels, percent), (ENERGY, labels, 1000 * self.clock.now)]
        return sorted(found, key=lambda row: row[0])


def _braces(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{name}={json.dumps(value)}" for name, value in labels.items()) + "}"


@asynccontextmanager
async def running_origin() -> AsyncIterator[Origin]:
    origin = Origin(Clock())
    await origin.open()
    try:
        yield origin
    finally:
        await origin.end()
