"""One Prometheus, or a server that speaks its API: queries out, rows and their evaluation's time in.

The server's clock is only ever compared with itself. POST, since selectors outgrow URLs; GET where POST is refused.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple
from uuid import uuid4

import aiohttp

from adapter.core.errors import SourceError
from adapter.core.lag import Heard, Lag, ServerClock, hear
from adapter.promql.rows import numbered
from adapter.settings.groups import Dialect, Prometheus
from adapter.sources.connection import Body, Credentials, Request, fetch
from adapter.sources.dated import server_time
from adapter.sources.kept import Kept
from adapter.sources.promapi import (
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
    """The rows of one combined query, and what dates them."""

    samples: list[Sample]
    heard: Heard
    lag: Lag


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
        self._mark = uuid4().hex[:8]  # another replica's answers are not ours either
        self._numbers = count()
        self._intervals = Kept(self._targets, clock)
        self._rules = Kept(self._recording_rules, clock)

    async def evaluate(self, query: str) -> Evaluation:
        """One combined query (it must carry the row with the server's time). Raises SourceError."""
        number = f"{self._mark}{next(self._numbers)}"
        query = numbered(query, number)
        body = await self._query(query)
        if body.victoria and self._dialect == "auto":
            # Its default evaluates 30 s in the past: ask again, as it is to be asked.
            self._dialect = "victoriametrics"
            body = await self._query(query)
        with self._discreet():
            samples = vector(body.content, body.content_type)
        if body.status != 200:
            raise SourceError("status", f"answered {body.status}, whatever its body says")
        heard = Heard(body.sent, body.received, server_time(samples, number), body.date)
        self._server, lag = hear(self._server, heard)
        return Evaluation(samples, heard, lag)

    async def rows(self, query: str) -> list[Sample]:
        """One instant query whose age does not matter. Raises SourceError."""
        body = await self._query(query)
        with self._discreet():
            return vector(body.content, body.content_type)

    async def raw(self, selector: str) -> list[Series]:
        """The sample times of a range selector. Raises SourceError."""
        body = await self._query(selector)
        with self._discreet():
            return matrix(body.content, body.content_type)

    async def scrape_intervals(self) -> dict[tuple[str, str], float]:
        """Seconds by (job, instance), as told within the minute or last. Raises SourceError, also where the server has
        no such API."""
        return await self._intervals.get()

    async def recording_rules(self) -> list[Rule]:
        """As told within the minute or last. Raises SourceError, also where the server has no such API."""
        return await self._rules.get()

    async def _targets(self) -> dict[tuple[str, str], float]:
        body = await self._get("/api/v1/targets", {"state": "active"})
        return scrape_intervals(body.content)

    async def _recording_rules(self) -> list[Rule]:
        body = await self._get("/api/v1/rules", {"type": "record"})
        return recording_rules(body.content)

    @contextmanager
    def _discreet(self) -> Iterator[None]:
        """A server's own words may repeat what we sent it; our secrets do not go on from there."""
        try:
            yield
        except SourceError as error:
            raise SourceError(error.kind, self._credentials.hide(str(error))) from None

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
