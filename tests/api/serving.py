"""The API on a real socket: HTTPS on loopback, a port of the system's choice, a client that trusts it."""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Middleware
from yarl import URL

from adapter.api.handlers import Reads
from adapter.api.health import Checks
from adapter.api.routes import make_app
from adapter.api.server import runner
from adapter.api.tls import context, self_signed
from adapter.telemetry import Telemetry

PEM = self_signed(["fresh-metrics-adapter.monitoring.svc"], time.time())
V1, V2 = "/apis/custom.metrics.k8s.io/v1beta1", "/apis/custom.metrics.k8s.io/v1beta2"


class Reply(NamedTuple):
    code: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.body)
        return content


@dataclass(frozen=True, slots=True)
class Serving:
    """A running server. get: asks it as a client that keeps its connections."""

    port: int
    http: aiohttp.ClientSession
    telemetry: Telemetry
    running: web.AppRunner
    scheme: str = "https"

    async def get(self, path: str, *, method: str = "GET", **headers: str) -> Reply:
        url = URL(f"{self.scheme}://127.0.0.1:{self.port}{path}", encoded=True)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.http.request(method, url, headers=sent, allow_redirects=False) as reply:
            return Reply(reply.status, reply.headers, await reply.read())


@asynccontextmanager
async def serving(
    reads: Reads,
    checks: Checks | None = None,
    *,
    secure: ssl.SSLContext | None = None,
    middleware: Middleware | None = None,
) -> AsyncIterator[Serving]:
    """secure: another server's side of TLS than the one of PEM."""
    telemetry = Telemetry("0.1.0", {metric for _, metric in reads.catalog()})
    app = make_app(reads, checks or Checks(), telemetry)
    if middleware:
        app.middlewares.append(middleware)
    running = runner(app)
    await running.setup()
    await web.TCPSite(running, "127.0.0.1", 0, ssl_context=secure or context(PEM)).start()
    trusting = ssl.create_default_context(cadata=PEM.decode())
    if secure:
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    connector = aiohttp.TCPConnector(ssl=trusting, limit=50)
    port = running.addresses[0][1]
    async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as http:
        yield Serving(port, http, telemetry, running)
    await running.cleanup()


async def exchange(port: int, sent: bytes, secure: ssl.SSLContext | None = None) -> bytes:
    """Everything that comes back until the server closes; the client sends `sent` and nothing else."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=secure)
    writer.write(sent)
    async with asyncio.timeout(10):
        received = await reader.read()
    writer.close()
    return received
