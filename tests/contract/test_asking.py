"""How sources are asked: with credentials as they are now, told to nobody else, and never for another time."""

import base64
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from adapter.core.answer import Items
from adapter.settings.groups import Connection, Dialect, Prometheus
from adapter.sources.connection import session
from adapter.sources.prometheus import PrometheusServer
from tests.contract.origin import JSON, Fault, Origin, answers, running_origin
from tests.contract.sources import DEADLINE, Source, page_source, profile_source, query_source, server

QUERY = "/api/v1/query"
Http = aiohttp.ClientSession
Build = Callable[[Origin, Http, Connection], Source]
SOURCES: dict[str, Build] = {"page": page_source, "profile": profile_source, "query": query_source}
BUILD = pytest.mark.parametrize("build", SOURCES.values(), ids=SOURCES.keys())
AT_PROMETHEUS = pytest.mark.parametrize("build", [profile_source, query_source], ids=["profile", "query"])
NO_CREDENTIALS = Connection()


@pytest.fixture
async def origin() -> AsyncIterator[Origin]:
    async with running_origin() as running:
        yield running


@pytest.fixture
async def http() -> AsyncIterator[Http]:
    async with session() as opened:
        yield opened


def queries(origin: Origin) -> list[str]:
    """The methods of all queries so far."""
    return [asked.method for asked in origin.asked if asked.path == QUERY]


def sent(origin: Origin, header: str) -> str | None:
    """What the newest request said there."""
    return origin.asked[-1].headers.get(header)


# --- queries


@AT_PROMETHEUS
async def test_query_is_posted_and_never_asks_for_another_time(origin: Origin, http: Http, build: Build) -> None:
    await build(origin, http, NO_CREDENTIALS).serve()
    assert set(queries(origin)) == {"POST"}
    assert [asked.form for asked in origin.asked if "time" in asked.form] == []
    assert all(asked.form["timeout"] == f"{DEADLINE:g}s" for asked in origin.asked if asked.path == QUERY)


@pytest.mark.parametrize("status", [403, 405])
@AT_PROMETHEUS
async def test_where_post_is_refused_queries_are_got_from_then_on(
    origin: Origin, http: Http, build: Build, status: int
) -> None:
    origin.fault, origin.where, origin.methods = answers(b"read only", "text/plain", status), QUERY, ("POST",)
    source = build(origin, http, NO_CREDENTIALS)
    await source.serve()
    assert isinstance(source.answer("p-0"), Items)
    assert queries(origin)[:2] == ["POST", "GET"]
    assert set(queries(origin)[2:]) == {"GET"}
    assert [asked.form for asked in origin.asked if "time" in asked.form] == []


@AT_PROMETHEUS
async def test_who_is_refused_altogether_tries_both_again(origin: Origin, http: Http, build: Build) -> None:
    origin.fault, origin.where = answers(b"no", "text/plain", 403), QUERY
    source = build(origin, http, NO_CREDENTIALS)
    assert "answered 403: check its credentials" in (await source.read()).trouble
    origin.fault = None
    await source.serve()
    assert isinstance(source.answer("p-0"), Items)
    assert queries(origin)[-1] == "POST"


@AT_PROMETHEUS
async def test_victoriametrics_is_asked_for_the_present_once_it_shows_itself(
    origin: Origin, http: Http, build: Build
) -> None:
    origin.headers, origin.behind = {"X-Server-Hostname": "vm-0"}, 30.0
    source = build(origin, http, NO_CREDENTIALS)
    await source.serve()
    assert isinstance(source.answer("p-0"), Items)
    born = source.said("p-0").born
    assert born is not None
    assert origin.clock.now - born < 30.0
    evaluations = [asked.form for asked in origin.asked if "time()" in asked.form.get("query", "")]
    assert ["nocache" in form for form in evaluations] == [False] + [True] * (len(evaluations) - 1)


@pytest.mark.parametrize(
    ("dialect", "parameter"),
    [
        pytest.param("victoriametrics", ("nocache", "1"), id="VictoriaMetrics"),
        pytest.param("thanos", ("partial_response", "false"), id="Thanos"),
    ],
)
async def test_dialect_that_is_configured_is_spoken_at_once(
    origin: Origin, http: Http, dialect: Dialect, parameter: tuple[str, str]
) -> None:
    prometheus = PrometheusServer(Prometheus("prom", origin.url, dialect=dialect), http, origin.clock)
    await prometheus.rows("up")
    assert parameter in origin.asked[0].form.items()


async def test_prometheus_is_asked_nothing_that_it_does_not_know(origin: Origin, http: Http) -> None:
    await server(origin, http).rows("up")
    assert set(origin.asked[0].form) == {"query", "timeout"}


# --- credentials


@BUILD
async def test_token_is_read_again_when_its_file_changes(
    origin: Origin, http: Http, build: Build, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    source = build(origin, http, Connection(bearer_token_file=str(token)))
    await source.read()
    assert sent(origin, "Authorization") == "Bearer first"
    token.write_text("a second one")
    await source.read()
    assert sent(origin, "Authorization") == "Bearer a second one"


@BUILD
async def test_mounted_secret_is_read_again_when_it_is_swapped(
    origin: Origin, http: Http, build: Build, tmp_path: Path
) -> None:
    """As the kubelet does it: the file is a link through a link to a directory, which is replaced."""
    for version in ("old", "new"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "token").write_text(f"{version}")
    data, token = tmp_path / "..data", tmp_path / "token"
    data.symlink_to("old")
    token.symlink_to("..data/token")
    source = build(origin, http, Connection(bearer_token_file=str(token)))
    await source.read()
    assert sent(origin, "Authorization") == "Bearer old"
    (tmp_path / "next").symlink_to("new")
    (tmp_path / "next").rename(data)
    await source.read()
    assert sent(origin, "Authorization") == "Bearer new"


@BUILD
async def test_basic_auth_and_headers_go_with_every_request(
    origin: Origin, http: Http, build: Build, tmp_path: Path
) -> None:
    password, key = tmp_path / "password", tmp_path / "key"
    password.write_text("pässword\n")
    key.write_text("key-1")
    connection = Connection(
        username="scraper",
        password_file=str(password),
        headers={"X-Scope-OrgID": "team-a"},
        header_files={"X-Api-Key": str(key)},
    )
    source = build(origin, http, connection)
    await source.read()
    key.write_text("key-2, longer")
    await source.read()
    basic = "Basic " + base64.b64encode("scraper:pässword".encode()).decode()
    assert {asked.headers["Authorization"] for asked in origin.asked} == {basic}
    assert {asked.headers["X-Scope-OrgID"] for asked in origin.asked} == {"team-a"}
    assert origin.asked[0].headers["X-Api-Key"] == "key-1"
    assert sent(origin, "X-Api-Key") == "key-2, longer"


@BUILD
async def test_no_request_is_sent_without_its_credentials(
    origin: Origin, http: Http, build: Build, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    source = build(origin, http, Connection(bearer_token_file=str(token)))
    trouble = (await source.read()).trouble
    assert f"cannot read {token}" in trouble
    assert origin.asked == []
    token.write_text("here")
    await source.serve()
    assert isinstance(source.answer("p-0"), Items)


@BUILD
async def test_redirect_is_not_followed(origin: Origin, http: Http, build: Build) -> None:
    async with running_origin() as elsewhere:
        for status in (301, 302, 303, 307, 308):
            origin.fault = answers(b"", status=status, headers={"Location": f"{elsewhere.url}/metrics"})
            assert "redirects are not followed" in (await build(origin, http, NO_CREDENTIALS).read()).trouble
        assert elsewhere.asked == []


@BUILD
async def test_nothing_is_asked_that_could_hide_a_bomb_or_follow_us(origin: Origin, http: Http, build: Build) -> None:
    origin.headers = {"Set-Cookie": "follow=me"}
    await build(origin, http, NO_CREDENTIALS).serve()
    assert {asked.headers["Accept-Encoding"] for asked in origin.asked} == {"identity"}
    assert [asked for asked in origin.asked if "Cookie" in asked.headers] == []


SECRETS = {"token": "tok3n-of-ours", "password": "pa55word-of-ours", "key": "k3y-of-ours"}


def repeats(status: int, content_type: str, body: str) -> Fault:
    """Tells everybody with which headers it was asked."""

    async def fault(request: web.Request) -> web.StreamResponse:
        text = body % " ".join(f"{name}: {value}" for name, value in request.headers.items())
        return web.Response(text=text, status=status, content_type=content_type)

    return fault


TELLTALES = {
    "401": repeats(401, "text/plain", "who is %s?"),
    "500": repeats(500, "text/html", "<html>%s</html>"),
    "a page": repeats(200, "text/plain", "%s"),
    "a redirect": answers(b"", status=302, headers={"Location": "http://127.0.0.1:1/?tok3n-of-ours"}),
    "an error": repeats(400, JSON, '{"status":"error","errorType":"bad_data","error":"who is %s?"}'),
    "a warning": repeats(
        200, JSON, '{"status":"success","warnings":["%s"],"data":{"resultType":"vector","result":[]}}'
    ),
    "a type": repeats(200, JSON, '{"status":"success","data":{"resultType":"%s","result":[]}}'),
}


@pytest.mark.parametrize("telltale", [None, *TELLTALES], ids=lambda name: name or "port closed")
@pytest.mark.parametrize("basic", [True, False], ids=["basic", "bearer"])
@BUILD
async def test_no_trouble_tells_a_secret(
    origin: Origin, http: Http, build: Build, basic: bool, telltale: str | None, tmp_path: Path
) -> None:
    files = {name: tmp_path / name for name in SECRETS}
    for name, secret in SECRETS.items():
        files[name].write_text(secret)
    connection = Connection(
        bearer_token_file=None if basic else str(files["token"]),
        username="scraper" if basic else None,
        password_file=str(files["password"]) if basic else None,
        header_files={"X-Api-Key": str(files["key"])},
    )
    origin.fault = TELLTALES[telltale] if telltale else None
    if telltale is None:
        await origin.close()
    trouble = (await build(origin, http, connection).read()).trouble
    assert trouble
    encoded = base64.b64encode(f"scraper:{SECRETS['password']}".encode()).decode()
    assert [secret for secret in (*SECRETS.values(), encoded) if secret in trouble] == []


@BUILD
async def test_token_that_is_no_header_is_not_sent_and_not_told(
    origin: Origin, http: Http, build: Build, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("tok3n\nX-Other: header")
    snapshot = await build(origin, http, Connection(bearer_token_file=str(token))).read()
    assert snapshot.trouble
    assert "tok3n" not in snapshot.trouble
    assert origin.asked == []
