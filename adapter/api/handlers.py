"""One answer to one request. Everything comes from memory; one `now` decides all of it."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from adapter.api import request as parsing
from adapter.api import status, wire
from adapter.api.discovery import Document, Documents, documents
from adapter.api.health import ENDPOINTS, Check, Checks, Report, report, single
from adapter.api.negotiation import AGGREGATED, JSON, negotiate, not_acceptable
from adapter.api.request import NO_SUCH_PATH, Rejected, Target
from adapter.api.resources import GROUP
from adapter.core.answer import Answer, Catalog, Items, Refusal, answer
from adapter.core.ask import Ask
from adapter.core.pods import PodIndex
from adapter.core.snapshot import Snapshot
from adapter.logs import Changes, event
from adapter.telemetry import Telemetry

ALLOW: Final = "GET, HEAD"
HEADERS: Final = {"Cache-Control": "no-cache, private", "Server": "fresh-metrics-adapter"}  # of every response
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reads:
    """Where answers look. clock: ours, seconds; wall: Unix time, seconds, only to write timestamps.

    wake: says which feeds an answer will look at; waits, briefly, for those that slept.
    """

    catalog: Callable[[], Catalog]
    feeds: Callable[[], Mapping[str, Snapshot]]
    pods: Callable[[], PodIndex]
    clock: Callable[[], float]
    wall: Callable[[], float]
    wake: Callable[[Iterable[str]], Awaitable[None]]


def accepted(request: web.Request) -> str:
    return ",".join(request.headers.getall("Accept", ()))


def fail(reply: status.Reply) -> web.Response:
    """A Status as a response; a method that is not allowed says which are."""
    response = web.Response(status=reply.code, body=reply.body, content_type=JSON)
    if reply.code == status.FAILURES["method_not_allowed"].code:
        response.headers["Allow"] = ALLOW
    return response


def no_such_path() -> web.Response:
    return fail(status.status("not_found", NO_SUCH_PATH))


class Values:
    """`/apis/GROUP/VERSION/…`: the values themselves."""

    def __init__(self, reads: Reads, telemetry: Telemetry, changes: Changes) -> None:
        self._reads = reads
        self._telemetry = telemetry
        self._changes = changes

    async def respond(self, request: web.Request, target: Target) -> web.Response:
        if negotiate(accepted(request)) is None:
            return fail(status.status("not_acceptable", not_acceptable()))
        ask = parsing.ask(target, request.rel_url.raw_query_string)
        if isinstance(ask, Rejected):
            return fail(status.rejection(ask))
        reads = self._reads
        if served := reads.catalog().get((ask.resource, ask.metric)):
            await reads.wake(served.feeds)
        moment = wire.Moment(reads.clock(), reads.wall())
        result = answer(ask, reads.catalog(), reads.feeds(), reads.pods(), moment.now)
        self._record(ask, result, moment.now)
        if isinstance(result, Refusal):
            return fail(status.refusal(result, target))
        return web.Response(body=wire.render(target.version, ask, result.items, moment), content_type=JSON)

    def _record(self, ask: Ask, result: Answer, now: float) -> None:
        items = result.items if isinstance(result, Items) else ()
        self._telemetry.withheld(ask.metric, result.withheld)
        self._telemetry.served(GROUP, [now - item.point.born for item in items])
        self._changes.answered(ask.metric, [item.key for item in items], result.withheld, now)


class Discovery:
    """Static documents; written anew only when the catalog is another one."""

    def __init__(self, catalog: Callable[[], Catalog], release: str) -> None:
        self._catalog = catalog
        self._release = release
        self._of = catalog()
        self._documents = documents(self._of, release)

    def find(self, path: str, accept: str) -> Document | str | None:
        """The document at a path; None: there is none; else why its only forms do not suit the client."""
        written = self._current()
        document = written.by_path.get(path)
        if document is None or path.startswith("/openapi"):
            return document
        offers = (AGGREGATED, JSON) if path == "/apis" else (JSON,)
        chosen = negotiate(accept, offers)
        if chosen is None:
            return not_acceptable(offers)
        return written.aggregated if chosen == AGGREGATED else document

    async def respond(self, request: web.Request, found: Document | str) -> web.Response:
        if isinstance(found, str):
            return fail(status.status("not_acceptable", found))
        headers = {"ETag": found.etag, "Vary": "Accept", "Content-Type": found.content_type}
        if found.known_to(request.headers.get("If-None-Match", "")):
            return web.Response(status=304, headers=headers)
        return web.Response(body=found.body, headers=headers)

    def _current(self) -> Documents:
        if (catalog := self._catalog()) is not self._of:
            self._of, self._documents = catalog, documents(catalog, self._release)
        return self._documents


class Health:
    """`/healthz`, `/livez`, `/readyz`, and each check by itself below them."""

    def __init__(self, checks: Checks) -> None:
        self._checks = {endpoint: checks.of(endpoint) for endpoint in ENDPOINTS}
        self._failing: dict[str, tuple[str, ...]] = {}

    def find(self, endpoint: str, name: str | None) -> tuple[Check, ...]:
        """The checks meant: all of an endpoint, or the one with this name; none if there is no such thing."""
        checks = self._checks.get(endpoint, ())
        return checks if name is None else tuple(check for check in checks if check.name == name)

    async def respond(self, request: web.Request, endpoint: str, name: str | None) -> web.Response:
        checks, query = self.find(endpoint, name), parsing.parameters(request.rel_url.raw_query_string)
        excluded = frozenset(query.get("exclude", ()))
        if name is not None:
            result = single(checks[0])
        else:
            result = report(endpoint, checks, excluded, verbose="verbose" in query)
            if not excluded:
                self._log_change(endpoint, result)
        return web.Response(status=500 if result.failing else 200, text=result.text)

    def _log_change(self, endpoint: str, result: Report) -> None:
        """A probe shows nobody its body, so the log says why it failed; once, since probes never stop."""
        if result.failing != self._failing.get(endpoint, ()):
            level, name = (logging.WARNING, "health_failing") if result.failing else (logging.INFO, "health_recovered")
            event(_log, level, name, endpoint=endpoint, report=result.text)
        self._failing[endpoint] = result.failing
