"""Each transport fault does on the wire what its name says, and our own reader is never harmed by it for long."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from urllib.parse import urlsplit

import aiohttp
import pytest

from adapter.core.errors import SourceError
from adapter.demo.faults import TRANSPORT, Fault, Spell
from adapter.demo.fleet import NODES, demo_fleet
from adapter.demo.server import BOMB_BYTES, HUGE_BYTES, RunningFleet, running_fleet
from adapter.settings.groups import Connection
from adapter.sources.connection import Body, Credentials, Request, fetch, session

NOW = 1000.0
NODE = NODES[0]
CAP = 1 << 20  # bytes
DEADLINE = 0.25  # seconds


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def running() -> AsyncIterator[RunningFleet]:
    async with running_fleet(demo_fleet(), Clock()) as fleet:
        yield fleet


async def strike(running: RunningFleet, fault: Fault, delay: float = 0.05) -> None:
    await running.change(running.fleet.struck(NODE, Spell(fault, NOW, delay=delay)))


async def read(running: RunningFleet, node: str = NODE, deadline: float = DEADLINE) -> Body:
    """As the adapter reads it."""
    async with session() as http:
        return await fetch(http, Request(running.urls[node], deadline, CAP), Credentials(Connection()), time.monotonic)


async def raw(running: RunningFleet, patience: float = DEADLINE, path: str = "/metrics") -> bytes:
    """What comes over the wire until the server is done or patience ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(running.urls[NODE]).port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    received = bytearray()
    try:
        async with asyncio.timeout(patience):
            while chunk := await reader.read(1 << 16):
                received += chunk
    except TimeoutError:
        pass
    writer.close()
    return bytes(received)


async def test_every_exporter_has_a_port_of_its_own_and_serves_its_page(running: RunningFleet) -> None:
    assert len({urlsplit(url).port for url in running.urls.values()}) == len(NODES)
    for node, url in running.urls.items():
        assert urlsplit(url).hostname == "127.0.0.1"
        body = await read(running, node)
        assert (body.status, body.content_type) == (200, "text/plain")
        assert body.content == running.fleet.exporter(node).page(NOW)


async def test_page_follows_the_clock_that_was_given() -> None:
    clock = Clock()
    async with running_fleet(demo_fleet(), clock) as running:
        before = (await read(running)).content
        clock.now += 60
        after = (await read(running)).content
    assert before == demo_fleet().exporter(NODE).page(NOW)
    assert after == demo_fleet().exporter(NODE).page(NOW + 60) != before


async def test_unknown_path_is_not_found(running: RunningFleet) -> None:
    assert (await raw(running, path="/other")).startswith(b"HTTP/1.1 404")


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.KILLED, "connect"),
        (Fault.HANG, "timeout"),
        (Fault.TRICKLE, "timeout"),
        (Fault.REDIRECT, "redirect"),
        (Fault.ENDLESS, "too_large"),
        (Fault.HUGE, "too_large"),
        (Fault.GZIP_BOMB, "malformed"),
        (Fault.TRUNCATED, "malformed"),
    ],
)
async def test_our_reader_names_the_fault_and_is_done_in_time(running: RunningFleet, fault: Fault, kind: str) -> None:
    await strike(running, fault)
    deadline = 5.0 if kind != "timeout" else DEADLINE
    began = time.monotonic()
    with pytest.raises(SourceError) as caught:
        await read(running, deadline=deadline)
    assert caught.value.kind == kind
    assert time.monotonic() - began < 3.0
    assert (await read(running, NODES[1])).status == 200, "other exporters are not touched"


def test_every_transport_fault_is_tried_here() -> None:
    tried = {Fault.KILLED, Fault.HANG, Fault.TRICKLE, Fault.REDIRECT, Fault.ENDLESS, Fault.HUGE, Fault.GZIP_BOMB}
    assert tried | {Fault.TRUNCATED, Fault.SLOW, Fault.HTTP_500} == set(TRANSPORT)


async def test_hang_accepts_and_never_says_a_byte(running: RunningFleet) -> None:
    await strike(running, Fault.HANG)
    assert await raw(running) == b""


async def test_http_500_has_that_status(running: RunningFleet) -> None:
    await strike(running, Fault.HTTP_500)
    assert (await read(running)).status == 500


async def test_slow_answers_complete_after_its_delay(running: RunningFleet) -> None:
    await strike(running, Fault.SLOW, delay=0.1)
    body = await read(running, deadline=5.0)
    assert body.received - body.sent >= 0.1
    assert body.content == running.fleet.exporter(NODE).page(NOW)


async def test_trickle_announces_a_page_and_gives_a_byte(running: RunningFleet) -> None:
    await strike(running, Fault.TRICKLE)
    head, _, body = (await raw(running)).partition(b"\r\n\r\n")
    assert f"content-length: {len(running.fleet.exporter(NODE).page(NOW))}".encode() in head.lower()
    assert body == b"#"


async def test_endless_page_announces_no_length_and_goes_on(running: RunningFleet) -> None:
    await strike(running, Fault.ENDLESS)
    received = await raw(running)
    assert b"content-length" not in received.partition(b"\r\n\r\n")[0].lower()
    assert len(received) > CAP


async def test_huge_page_announces_its_200_megabytes(running: RunningFleet) -> None:
    await strike(running, Fault.HUGE)
    received = await raw(running)
    assert f"content-length: {HUGE_BYTES}".encode() in received.partition(b"\r\n\r\n")[0].lower()
    assert len(received) > CAP


async def test_redirect_leads_to_a_page_for_those_who_follow(running: RunningFleet) -> None:
    await strike(running, Fault.REDIRECT)
    assert (await raw(running)).startswith(b"HTTP/1.1 302")
    async with aiohttp.ClientSession() as follows, follows.get(running.urls[NODE]) as reply:
        assert (reply.url.path, reply.status) == ("/moved", 200)


async def test_gzip_bomb_is_small_on_the_wire_and_large_unpacked(running: RunningFleet) -> None:
    await strike(running, Fault.GZIP_BOMB)
    head, _, body = (await raw(running, patience=5.0)).partition(b"\r\n\r\n")
    assert b"content-encoding: gzip" in head.lower()
    assert len(body) < BOMB_BYTES / 200
    assert len(body) == int(head.lower().partition(b"content-length: ")[2].split()[0])


async def test_truncated_page_breaks_off_below_its_announced_length(running: RunningFleet) -> None:
    await strike(running, Fault.TRUNCATED)
    page = running.fleet.exporter(NODE).page(NOW)
    head, _, body = (await raw(running, patience=5.0)).partition(b"\r\n\r\n")
    assert f"content-length: {len(page)}".encode() in head.lower()
    assert body == page[: len(page) // 2]


async def test_killed_exporter_refuses_and_cuts_open_connections_and_comes_back_on_its_port(
    running: RunningFleet,
) -> None:
    url = running.urls[NODE]
    async with session() as http:
        request, credentials = Request(url, 5.0, CAP), Credentials(Connection())
        assert (await fetch(http, request, credentials, time.monotonic)).status == 200
        await strike(running, Fault.KILLED)
        with pytest.raises(SourceError, match="cannot be reached"):
            await fetch(http, request, credentials, time.monotonic)
        await running.change(running.fleet.healed(NODE, Fault.KILLED, NOW))
        assert running.urls[NODE] == url
        assert (await fetch(http, request, credentials, time.monotonic)).status == 200


async def test_exporter_is_killed_when_its_time_comes() -> None:
    clock = Clock()
    fleet = demo_fleet().struck(NODE, Spell(Fault.KILLED, NOW + 10, NOW + 20))
    async with running_fleet(fleet, clock) as running:
        for now, alive in ((NOW, True), (NOW + 10, False), (NOW + 20, True)):
            clock.now = now
            await running.settle()
            if alive:
                assert (await read(running)).status == 200
            else:
                with pytest.raises(SourceError):
                    await read(running)


async def test_fleet_that_stops_leaves_no_port_and_no_waiting_client() -> None:
    async with running_fleet(demo_fleet().struck(NODE, Spell(Fault.TRICKLE, NOW)), Clock()) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(running.urls[NODE]).port)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n#")
    with suppress(ConnectionResetError):
        assert await asyncio.wait_for(reader.read(), 1.0) == b""
    writer.close()
    with pytest.raises(SourceError):
        await read(running)
