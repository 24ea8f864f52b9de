"""One Prometheus, or a server that speaks its API: queries out, rows and their evaluation's time in.

The server's clock is only ever compared with itself. POST, since selectors outgrow URLs; GET where POST is refused.
"""

from collections.abc import Callable
from typing import NamedTuple

import aiohttp

from adapter.core.errors import SourceError
from adapter.core.lag import Heard, ServerClock, hear
from adapter.settings.groups import Prometheus
from adapter.sources.connection import Body, Credentials, Request, fetch
from adapter.sources.dated import server_time
from adapter.sources.promapi import (
    Dialect,
    Rule,
    Sample,
    Series,
    form,
    matrix,
    recording_rules,
    scrape_intervals,
    vector,
)

JSON = "application/json"
REFUSES_POST = (403, 405)


class Evaluation(NamedTuple):
    """The rows of one combined query, and what dates them; lag in seconds."""

    samples: list[Sample]
    heard: Heard
    lag: float


class PrometheusServer:
    """Remembers what earlier answers taught: whether POST works, which dialect, and how its clock stands to ours."""

    def __init__(self, settings: Prometheus, http: aiohttp.ClientSession, clock: Callable[[], float]) -> None:
        self.name = settings.name
        self._settings = settings
        self._credentials = Credentials(settings.connection)
        self._http = http
        self._clock = clock
        self._post = True
        self._dialect: Dialect = settings.dialect
        self._server: ServerClock | None = None

    async def evaluate(self, query: str) -> Evaluation:
        """One combined query (it must carry the row with the server's time). Raises SourceError."""
        body = await self._query(query)
        if body.victoria and self._dialect == "auto":
            # Its default evaluates 30 s in the past: ask again, as it is to be asked.
            self._dialect = "victoriametrics"
            body = await self._query(query)
        samples = vector(body.content, body.content_type)
        heard = Heard(body.sent, body.received, server_time(samples), body.date)
        self._server, lag = hear(self._server, heard)
        return Evaluation(samples, heard, lag)

    async def rows(self, query: str) -> list[Sample]:
        """One instant query whose age does not matter. Raises SourceError."""
        body = await self._query(query)
        return vector(body.content, body.content_type)

    async def raw(self, selector: str) -> list[Series]:
        """The sample times of a range selector. Raises SourceError."""
        body = await self._query(selector)
        return matrix(body.content, body.content_type)

    async def scrape_intervals(self) -> dict[tuple[str, str], float]:
        """Seconds by (job, instance). Raises SourceError, also where the server has no such API."""
        body = await self._get("/api/v1/targets", {"state": "active"})
        return scrape_intervals(body.content)

    async def recording_rules(self) -> list[Rule]:
        """Raises SourceError, also where the server has no such API."""
        body = await self._get("/api/v1/rules", {"type": "record"})
        return recording_rules(body.content)

    async def _query(self, query: str) -> Body:
        parameters = form(query, self._settings.deadline, self._dialect)
        if self._post:
            body = await self._send("/api/v1/query", parameters, post=True)
            if body.status not in REFUSES_POST:
                return _answered(body)
        body = await self._send("/api/v1/query", parameters, post=False)
        if body.status == 200:
            self._post = False
        return _answered(body)

    async def _get(self, path: str, parameters: dict[str, str]) -> Body:
        body = await self._send(path, parameters, post=False)
        if body.status != 200:
            raise SourceError("status", f"answered {body.status} to {path}")
        return body

    async def _send(self, path: str, parameters: dict[str, str], *, post: bool) -> Body:
        settings = self._settings
        url = settings.url.rstrip("/") + path
        request = Request(url, settings.deadline, settings.max_answer_bytes, JSON, parameters, post)
        return await fetch(self._http, request, self._credentials, self._clock)


def _answered(body: Body) -> Body:
    """A refusal in JSON says why itself; anything else only its status."""
    if body.status != 200 and "json" not in body.content_type:
        hint = {401: ": check its credentials", 403: ": check its credentials", 404: ": check its URL"}
        raise SourceError("status", f"answered {body.status}{hint.get(body.status, '')}")
    return body
