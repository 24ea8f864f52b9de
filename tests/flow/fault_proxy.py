"""A proxy before a Prometheus that delays what passes, and answers queries with what it kept, as caches do."""

import asyncio
import re
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import NamedTuple

import aiohttp
from aiohttp import web

from adapter.promql.rows import NOW

KEPT = 30.0  # seconds
FILL = 0.25  # seconds between the queries of the other clients that fill the cache


class Reply(NamedTuple):
    at: float
    status: int
    content: bytes
    content_type: str
    date: str


def nothing() -> float:
    return 0.0


@dataclass
class FaultProxy:
    """Faults of instant queries; everything else passes.

    there, back: seconds by which requests and replies are delayed. replay: queries get what was answered so many
    seconds ago, 0: never. dates: replayed replies carry the origin's Date, else the proxy's own. others: other clients
    ask the same all the time, so that what is answered again need not have been answered to us.
    """

    url: str
    http: aiohttp.ClientSession
    there: Callable[[], float] = nothing
    back: Callable[[], float] = nothing
    replay: Callable[[], float] = nothing
    dates: bool = True
    others: bool = False
    kept: dict[str, deque[Reply]] = field(default_factory=lambda: defaultdict(deque))

    async def answer(self, request: web.Request) -> web.Response:
        if request.path != "/api/v1/query":
            return _response(await self._ask(request.path_qs), dates=True)
        query = str((await request.post())["query"])
        await asyncio.sleep(self.there())
        reply = self._old(query) or await self._query(query)
        await asyncio.sleep(self.back())
        return _response(reply, dates=self.dates)

    async def fill(self) -> None:
        """Asks for ever what has ever been asked, as other clients of the same cache would."""
        while True:
            await asyncio.gather(*(self._query(query) for query in list(self.kept) if self.others))
            await asyncio.sleep(FILL)

    def _old(self, query: str) -> Reply | None:
        age = self.replay()
        if not age:
            return None
        return next(
            (reply for reply in reversed(self.kept[unnumbered(query)]) if time.monotonic() - reply.at >= age), None
        )

    async def _query(self, query: str) -> Reply:
        reply = await self._ask("/api/v1/query", query)
        kept = self.kept[unnumbered(query)]
        kept.append(reply)
        while reply.at - kept[0].at > KEPT:
            kept.popleft()
        return reply

    async def _ask(self, path: str, query: str | None = None) -> Reply:
        form = None if query is None else {"query": query}
        async with self.http.request("GET" if form is None else "POST", self.url + path, data=form) as reply:
            content = await reply.read()
            return Reply(time.monotonic(), reply.status, content, reply.content_type, reply.headers["Date"])


def unnumbered(query: str) -> str:
    """What a cache that is too clever would take for the same question."""
    return re.sub(f'"{NOW}[0-9a-f]+"', f'"{NOW}"', query)


def _response(reply: Reply, *, dates: bool) -> web.Response:
    date = reply.date if dates else formatdate(usegmt=True)
    headers = {"Content-Type": reply.content_type, "Date": date}
    return web.Response(status=reply.status, body=reply.content, headers=headers)


@asynccontextmanager
async def running_proxy(proxy: FaultProxy) -> AsyncIterator[str]:
    """Yields its URL."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", proxy.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.0)
    await runner.setup()
    filling = asyncio.create_task(proxy.fill())
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        filling.cancel()
        await runner.cleanup()
