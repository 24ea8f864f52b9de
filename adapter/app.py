"""The composition root: the only place that names a clock, and where both lines are put together and taken apart.

Every loop lives in one TaskGroup: one that dies takes the process with it, loudly. On the way out the read line goes
first and answers what is in flight, while the write line still keeps it fresh.
"""

import asyncio
import hashlib
import ipaddress
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from ssl import SSLContext
from typing import NamedTuple

from aiohttp import web

from adapter import __version__, feeds, telemetry
from adapter.api import tls
from adapter.api.handlers import Reads
from adapter.api.health import Check, Checks
from adapter.api.routes import make_app
from adapter.api.server import runner
from adapter.core.answer import Catalog
from adapter.core.errors import ConfigError, Fault
from adapter.core.pods import PodIndex
from adapter.logs import event
from adapter.poller import PagePoller, WriteLine, poll
from adapter.settings.groups import Settings
from adapter.sources.connection import session
from adapter.store import Store

log = logging.getLogger("adapter")

Loop = Coroutine[object, object, None]


def boottime() -> float:
    """Our clock: seconds, monotonic, counting suspend. Two machines' clocks are never compared."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class Clocks:
    """now: our clock; wall: Unix time, only to write timestamps and to compare explicit ones with. Seconds."""

    now: Callable[[], float] = boottime
    wall: Callable[[], float] = time.time


@dataclass(frozen=True, slots=True)
class Listen:
    """Where to serve. Port 0: any free one. Without both files a certificate is made at start."""

    host: str = "127.0.0.1"
    port: int = 6443
    metrics_host: str = "127.0.0.1"
    metrics_port: int = 9443
    cert_file: str | None = None
    key_file: str | None = None


class Addresses(NamedTuple):
    """Where it serves, as URLs."""

    api: str
    metrics: str


async def run(
    settings: Settings,
    listen: Listen,
    pods: Callable[[], PodIndex],
    stop: asyncio.Event,
    started: Callable[[Addresses], None],
    clocks: Clocks | None = None,
) -> None:
    """Serves until `stop` is set, then drains. Calls `started` once it listens.

    Raises ConfigError where it must not or cannot listen; an exception group where a loop has died.
    """
    refuse_exposure(listen)
    clocks = clocks or Clocks()
    catalog = feeds.catalog(settings)
    told = telemetry.Telemetry(__version__, {served.metric for served in catalog.values()})
    store = Store(clocks.now)
    told.config(hashlib.sha256(repr(settings).encode()).hexdigest()[:16])
    told.watch(lambda: store.snapshots, clocks.now)
    line = WriteLine(store, told, clocks.now, clocks.wall, pods)
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(session())
        loops = write_line(line, feeds.pages(settings, http), feeds.polled(settings, http, clocks.now))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(loop) for loop in (*loops, telemetry.watch_loop(told))]
            try:
                reads = Reads(lambda: catalog, lambda: store.snapshots, pods, clocks.now, clocks.wall, store.ask)
                await serve(listen, reads, readiness(store, catalog, stop), told, stop, started)
            finally:
                for task in tasks:
                    task.cancel()


def write_line(line: WriteLine, pages: feeds.Pages | None, polled: list[feeds.Polled]) -> list[Loop]:
    """Every loop that fills the store."""
    loops: list[Loop] = [poll(each.reader, each.interval, line) for each in polled]
    if pages is not None:
        poller = PagePoller(pages.feed, line)
        loops += [poller.watch(exporter, pace) for exporter, pace in pages.exporters]
        loops.append(poller.publish())
    return loops


def readiness(store: Store, catalog: Catalog, stop: asyncio.Event) -> Checks:
    """Ready: this process can serve. Fresh data are no condition, but each feed's first read must have ended."""
    wanted = {feed for served in catalog.values() for feed in served.feeds}

    def first_reads() -> str | None:
        unread = sorted(
            feed for feed in wanted if (s := store.snapshots.get(feed)) is None or (s.taken is None and not s.trouble)
        )
        return f"not read yet: {', '.join(unread)}" if unread else None

    def running() -> str | None:
        return "shutting down" if stop.is_set() else None

    return Checks(ready=(Check("first-reads", first_reads), Check("shutdown", running)))


async def serve(
    listen: Listen,
    reads: Reads,
    checks: Checks,
    told: telemetry.Telemetry,
    stop: asyncio.Event,
    started: Callable[[Addresses], None],
) -> None:
    """The read line, until `stop`; requests in flight are answered before it returns."""
    context = certificate(listen, told, reads.wall)
    api = runner(make_app(reads, checks, told))
    metrics = web.AppRunner(telemetry.make_app(told), access_log=None)
    try:
        api_port = await listening(api, listen.host, listen.port, context)
        metrics_port = await listening(metrics, listen.metrics_host, listen.metrics_port, None)
        addresses = Addresses(url("https", listen.host, api_port), url("http", listen.metrics_host, metrics_port))
        event(log, logging.INFO, "serving", **addresses._asdict())
        started(addresses)
        await stop.wait()
        event(log, logging.INFO, "draining")
    finally:
        await api.cleanup()
        await metrics.cleanup()


async def listening(app: web.AppRunner, host: str, port: int, context: SSLContext | None) -> int:
    """Opens a port and says which. Raises ConfigError where that cannot be."""
    await app.setup()
    try:
        await web.TCPSite(app, host, port, ssl_context=context).start()
    except OSError as error:
        what = f"cannot listen on {host}:{port}: {error.strerror or error}; free the port or name another one"
        raise ConfigError([Fault(0, "", what)]) from None
    return int(app.addresses[0][1])


def certificate(listen: Listen, told: telemetry.Telemetry, wall: Callable[[], float]) -> SSLContext:
    """Raises ConfigError where the files cannot be used."""
    if listen.cert_file is None or listen.key_file is None:
        event(log, logging.INFO, "self_signed_certificate", why="no certificate files are given")
        return tls.context(tls.self_signed((), wall()))
    try:
        files = tls.Files(listen.cert_file, listen.key_file)
        return tls.Certificates(files, told.certificate_reload_failed).context
    except (OSError, ValueError) as error:
        what = f"the certificate files {listen.cert_file} and {listen.key_file} cannot be used: {error}"
        raise ConfigError([Fault(0, "", what)]) from None


def refuse_exposure(listen: Listen) -> None:
    """Nobody is asked who they are yet, so nobody from outside may ask. Raises ConfigError."""
    for host in (listen.host, listen.metrics_host):
        if not is_loopback(host):
            what = (
                f"cannot listen on {host}: this version does not check who is asking, so it serves on the loopback "
                "interface only (127.0.0.1 or ::1)"
            )
            raise ConfigError([Fault(0, "", what)])


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def url(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
