"""Simulated exporters on real ports of the loopback interface, each with the transport faults that its spells name.

One port for each, so that a killed exporter really refuses connections and a Prometheus sees instances of their own.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from typing import NamedTuple

from aiohttp import web

from adapter.demo.exporter import Exporter
from adapter.demo.faults import TRANSPORT, Fault, Spell, reigning
from adapter.demo.fleet import Fleet

HOST = "127.0.0.1"
SETTLE = 0.05  # seconds between looks at the clock for exporters that are to be killed or revived
HUGE_BYTES = 200_000_000
BOMB_BYTES = 256 << 20  # what the bomb unpacks to
CHUNK = b"# nothing but comment\n" * 3000
PAUSE = 0.002  # seconds between chunks: about 30 MB/s, so that a reader without a cap is harmed slowly
CONTENT_TYPE = "text/plain; charset=utf-8"  # as Go's server guesses it for dcgm-exporter

Clock = Callable[[], float]


class Asked(NamedTuple):
    """A request for `page` that meets the fault of `spell`."""

    request: web.BaseRequest
    page: bytes
    spell: Spell


class RunningFleet:
    """A fleet that is being served. urls: each node's page, fixed for as long as it runs."""

    def __init__(self, fleet: Fleet, clock: Clock) -> None:
        self._fleet = fleet
        self._clock = clock
        self._ports = {exporter.node: _Port(self._now_of(exporter.node)) for exporter in fleet.exporters}

    @property
    def fleet(self) -> Fleet:
        return self._fleet

    @property
    def urls(self) -> Mapping[str, str]:
        return {node: f"http://{HOST}:{port.number}/metrics" for node, port in self._ports.items()}

    async def change(self, fleet: Fleet) -> None:
        """From now on these exporters are served, on the same nodes. Raises KeyError where one is missing."""
        for node in self._ports:
            fleet.exporter(node)
        self._fleet = fleet
        await self.settle()

    async def settle(self) -> None:
        """Closes the ports of those that are killed by now, opens those that live again. Done every SETTLE anyway."""
        for node, port in self._ports.items():
            exporter, now = self._now_of(node)()
            await port.settle(open_=Fault.KILLED not in reigning(exporter.spells, now))

    async def close(self) -> None:
        for port in self._ports.values():
            await port.close()

    def _now_of(self, node: str) -> Callable[[], tuple[Exporter, float]]:
        return lambda: (self._fleet.exporter(node), self._clock())


@asynccontextmanager
async def running_fleet(fleet: Fleet, clock: Clock) -> AsyncIterator[RunningFleet]:
    """Serves the fleet while the context lasts. clock: seconds on our clock, of which every page is a function."""
    running = RunningFleet(fleet, clock)
    for_ever = asyncio.create_task(_keep(running))
    try:
        await running.settle()
        yield running
    finally:
        for_ever.cancel()
        with suppress(asyncio.CancelledError):
            await for_ever
        await running.close()


async def _keep(running: RunningFleet) -> None:
    while True:
        await asyncio.sleep(SETTLE)
        await running.settle()


class _Port:
    """One exporter's listening socket; it keeps its number when it is closed and opened again."""

    def __init__(self, now: Callable[[], tuple[Exporter, float]]) -> None:
        self._now = now
        self._http = web.Server(self._answer, handler_cancellation=True, access_log=None)
        self._socket: asyncio.Server | None = None
        self._turn = asyncio.Lock()
        self.number = 0

    async def settle(self, *, open_: bool) -> None:
        async with self._turn:
            if open_ and self._socket is None:
                self._socket = await asyncio.get_running_loop().create_server(self._http, HOST, self.number)
                self.number = self._socket.sockets[0].getsockname()[1]
            elif not open_ and self._socket is not None:
                self._hang_up()

    async def close(self) -> None:
        async with self._turn:
            self._hang_up()
            await self._http.shutdown(1.0)

    def _hang_up(self) -> None:
        if self._socket:
            self._socket.close()
            self._socket = None
        for connection in self._http.connections:
            if connection.transport:
                connection.transport.abort()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        exporter, now = self._now()
        page = exporter.page(now)
        faults = reigning(exporter.spells, now)
        fault = next((f for f in faults if f in TRANSPORT), None)
        if request.path == MOVED:
            return _healthy(page)
        if fault is None:
            return _healthy(page) if request.path == "/metrics" else web.Response(status=404)
        return await _ANSWERS[fault](Asked(request, page, faults[fault]))


MOVED = "/moved"  # where a redirect leads; whoever arrives there has followed it


def _healthy(page: bytes) -> web.Response:
    return web.Response(body=page, headers={"Content-Type": CONTENT_TYPE})


async def _hang(asked: Asked) -> web.StreamResponse:
    await asyncio.Event().wait()  # cancelled when the client has had enough
    return _healthy(asked.page)


async def _killed(asked: Asked) -> web.StreamResponse:
    """A request that came in before the port was closed."""
    if asked.request.transport:
        asked.request.transport.abort()
    return web.Response()


async def _http_500(_: Asked) -> web.StreamResponse:
    return web.Response(status=500, text="failed to write response\n")


async def _redirect(_: Asked) -> web.StreamResponse:
    return web.Response(status=302, headers={"Location": MOVED})


async def _slow(asked: Asked) -> web.StreamResponse:
    await asyncio.sleep(asked.spell.delay)
    return _healthy(asked.page)


async def _trickle(asked: Asked) -> web.StreamResponse:
    response = await _begun(asked.request, {"Content-Length": str(len(asked.page))})
    for position in range(len(asked.page)):
        await response.write(asked.page[position : position + 1])
        await asyncio.sleep(1)
    return response


async def _endless(asked: Asked) -> web.StreamResponse:
    response = await _begun(asked.request, {})
    await response.write(asked.page)
    while True:
        await response.write(CHUNK)
        await asyncio.sleep(PAUSE)


async def _huge(asked: Asked) -> web.StreamResponse:
    response = await _begun(asked.request, {"Content-Length": str(HUGE_BYTES)})
    await response.write(asked.page)
    left = HUGE_BYTES - len(asked.page)
    while left:
        await response.write(CHUNK[:left])
        left -= len(CHUNK[:left])
        await asyncio.sleep(PAUSE)
    return response


async def _gzip_bomb(_: Asked) -> web.StreamResponse:
    return web.Response(body=_bomb(), headers={"Content-Type": CONTENT_TYPE, "Content-Encoding": "gzip"})


async def _truncated(asked: Asked) -> web.StreamResponse:
    response = await _begun(asked.request, {"Content-Length": str(len(asked.page))})
    await response.write(asked.page[: len(asked.page) // 2])
    if asked.request.transport:
        asked.request.transport.close()  # after what was written has gone out
    return response


_ANSWERS: Mapping[Fault, Callable[[Asked], Awaitable[web.StreamResponse]]] = {
    Fault.KILLED: _killed,
    Fault.HANG: _hang,
    Fault.HTTP_500: _http_500,
    Fault.REDIRECT: _redirect,
    Fault.SLOW: _slow,
    Fault.TRICKLE: _trickle,
    Fault.ENDLESS: _endless,
    Fault.HUGE: _huge,
    Fault.GZIP_BOMB: _gzip_bomb,
    Fault.TRUNCATED: _truncated,
}


async def _begun(request: web.BaseRequest, headers: Mapping[str, str]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE, **headers})
    await response.prepare(request)
    return response


@lru_cache(maxsize=1)
def _bomb() -> bytes:
    """BOMB_BYTES zeros as one gzip stream of a thousandth of that size."""
    squeeze = zlib.compressobj(level=1, wbits=31)
    zeros = bytes(1 << 20)
    return b"".join([squeeze.compress(zeros) for _ in range(BOMB_BYTES >> 20)]) + squeeze.flush()
