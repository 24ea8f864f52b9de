"""What the server makes of its limits, of its end, and of bytes that are no request."""

import asyncio
import json
import ssl
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest
import uvloop
from aiohttp import web
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapter.api.middleware import Handler
from adapter.api.server import MAX_HEADER, MAX_HEADERS, MAX_URL
from adapter.api.tls import Certificates, Files, self_signed
from tests.api.serving import PEM, V2, exchange, serving
from tests.api.world import WALL, reads

PATH = f"{V2}/namespaces/ml-a/pods/*/gpu_busy_ratio"


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=PEM.decode())


def parsed(raw: bytes) -> tuple[int, dict[str, str], bytes]:
    """Code, headers and body of the first response in what came back."""
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return int(first.split()[1]), headers, body[: int(headers.get("content-length", "0"))]


async def test_selector_of_sixty_kilobytes_is_read() -> None:
    values = ",".join(f"pod-{n:055}" for n in range(1_000))
    async with serving(reads()) as server:
        reply = await server.get(f"{PATH}?labelSelector=app+in+({values},infer)")
        assert (reply.code, len(reply.json["items"])) == (200, 2)


async def test_nine_hundred_groups_are_read() -> None:
    lines = "".join(f"X-Remote-Group: group-{n}\r\n" for n in range(900))
    async with serving(reads()) as server:
        sent = f"GET {PATH} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{lines}\r\n"
        assert parsed(await exchange(server.port, sent.encode(), trusting()))[0] == 200


@pytest.mark.parametrize(
    ("request_text", "code"),
    [
        pytest.param(f"GET /{'x' * MAX_URL} HTTP/1.1\r\n\r\n", 414, id="URL"),
        pytest.param(f"GET / HTTP/1.1\r\nX-Remote-User: {'x' * MAX_HEADER}y\r\n\r\n", 431, id="header"),
        pytest.param(
            "GET / HTTP/1.1\r\nHost: a\r\n" + "X-Remote-Group: g\r\n" * (MAX_HEADERS + 1) + "\r\n", 431, id="headers"
        ),
        pytest.param("nonsense\r\n\r\n", 400, id="no HTTP"),
        pytest.param("GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\nno colon\r\n\r\n", 400, id="no header"),
        pytest.param("GET / HTTP/1.1\r\n\r\n", 400, id="no host"),
        pytest.param("GET http://[ HTTP/1.1\r\nHost: a\r\n\r\n", 400, id="no URL"),
    ],
)
async def test_what_cannot_be_read_is_refused_with_a_status(request_text: str, code: int) -> None:
    async with serving(reads()) as server:
        answered, headers, body = parsed(await exchange(server.port, request_text.encode(), trusting()))
        assert (answered, headers["content-type"]) == (code, "application/json")
        assert (json.loads(body)["kind"], json.loads(body)["code"]) == ("Status", code)
        assert (await server.get("/healthz")).code == 200


async def test_body_is_thrown_away_unread() -> None:
    async with serving(reads()) as server:
        gzip = "Content-Encoding: gzip\r\n"
        sent = f"GET {PATH} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n{gzip}\r\nhello"
        assert parsed(await exchange(server.port, sent.encode(), trusting()))[0] == 200


@pytest.mark.parametrize("expected", ["100-continue", "nonsense"])
async def test_client_that_announces_a_body_is_answered_at_once(expected: str) -> None:
    async with serving(reads()) as server:
        sent = f"GET {PATH} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: {expected}\r\n\r\n"
        assert parsed(await exchange(server.port, sent.encode(), trusting()))[0] == 200


async def test_request_in_flight_is_answered_at_shutdown() -> None:
    arrived, released = asyncio.Event(), asyncio.Event()

    @web.middleware
    async def hold(request: web.Request, handler: Handler) -> web.StreamResponse:
        arrived.set()
        await released.wait()
        return await handler(request)

    async with serving(reads(), middleware=hold) as server:
        asked = asyncio.create_task(server.get(PATH))
        await arrived.wait()
        ending = asyncio.create_task(server.running.cleanup())
        await asyncio.sleep(0)  # it begins: the port is closed
        with pytest.raises(aiohttp.ClientConnectorError):
            await server.get("/healthz")
        released.set()
        assert (await asked).code == 200
        await ending


def write_pair(root: Path, pem: bytes) -> Files:
    """A certificate and its key, each put in place at once."""
    at = pem.index(b"-----BEGIN PRIVATE")
    for name, content in (("tls.crt", pem[:at]), ("tls.key", pem[at:])):
        (root / f"{name}.new").write_bytes(content)
        (root / f"{name}.new").replace(root / name)
    return Files(str(root / "tls.crt"), str(root / "tls.key"))


async def shown(port: int) -> str:
    """The certificate that a new connection sees, and that it works."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert b"200 OK" in await reader.read()
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return ssl.DER_cert_to_PEM_cert(shown)


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_renewed_certificate_is_used_without_losing_a_connection(
    loop_factory: Callable[[], asyncio.AbstractEventLoop], tmp_path: Path
) -> None:
    async def scenario() -> None:
        first, second = self_signed([], WALL), self_signed([], WALL)
        certificates = Certificates(write_pair(tmp_path, first), lambda: None)
        async with serving(reads(), secure=certificates.context) as server:
            assert (await server.get("/healthz")).code == 200
            assert first.decode().startswith(await shown(server.port))
            write_pair(tmp_path, second)
            assert second.decode().startswith(await shown(server.port))
            assert (await server.get("/healthz")).code == 200  # on the connection of before

    with asyncio.Runner(loop_factory=loop_factory) as loop:
        loop.run(scenario())


TEXT = st.text(st.characters(exclude_characters="\r\n", exclude_categories=()), max_size=40)
TARGETS = st.one_of(TEXT, TEXT.map(lambda text: PATH + text), TEXT.map(lambda text: f"{PATH}?labelSelector={text}"))
METHODS = st.sampled_from(["GET", "GET", "GET", "HEAD", "POST", "OPTIONS", "CONNECT", "TRACE", "BREW"])
NAMES = st.sampled_from(["Accept", "Audit-Id", "If-None-Match", "Expect", "Host", "Upgrade", "X-Remote-User"])


def test_any_request_gets_an_answer_and_every_failure_is_a_status() -> None:
    with asyncio.Runner() as loop:
        manager = serving(reads())
        server = loop.run(manager.__aenter__())
        seen: set[int] = set()

        @settings(max_examples=150)
        @example("OPTIONS", "*", [("Expect", "x")])
        @example("GET", "//healthz", [])
        @example("GET", "http://elsewhere/healthz", [])
        @example("GET", PATH, [])
        @example("POST", PATH, [])
        @example("GET", f"{PATH}?labelSelector=((", [])
        @example("GET", PATH, [("Audit-Id", "\udcff"), ("Expect", "\u2603")])
        @given(METHODS, TARGETS, st.lists(st.tuples(NAMES, TEXT), max_size=3))
        def holds(method: str, path: str, headers: list[tuple[str, str]]) -> None:
            lines = "".join(
                f"{name}: {value}\r\n" for name, value in [("Host", "a"), ("Connection", "close"), *headers]
            )
            sent = f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("utf-8", "surrogatepass")
            code, answered, body = parsed(loop.run(exchange(server.port, sent, trusting())))
            seen.add(code)
            assert code < 500
            if code >= 400 and method != "HEAD":
                assert answered["content-type"] == "application/json"
                assert (json.loads(body)["kind"], json.loads(body)["code"]) == ("Status", code)

        try:
            holds()
        finally:
            loop.run(manager.__aexit__(None, None, None))
        assert {200, 400, 404, 405} <= seen
