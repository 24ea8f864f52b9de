"""Which handler answers a path. The path is decoded and split once; nothing is ever redirected."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from aiohttp import web

from adapter import __version__
from adapter.api import request as parsing
from adapter.api import status
from adapter.api.handlers import Discovery, Health, Reads, Values, fail, no_such_path
from adapter.api.health import Checks
from adapter.api.middleware import KIND, failures, recorded
from adapter.api.resources import GROUP
from adapter.logs import Changes
from adapter.telemetry import Telemetry

METHODS: Final = frozenset({"GET", "HEAD"})
Respond = Callable[[], Awaitable[web.Response]]


class Routes:
    """The whole API surface behind one entrance."""

    def __init__(self, values: Values, discovery: Discovery, health: Health) -> None:
        self._values = values
        self._discovery = discovery
        self._health = health

    async def dispatch(self, request: web.Request) -> web.Response:
        found = self._find(request)
        if found is None:
            return no_such_path()
        request[KIND], respond = found
        if request.method not in METHODS:
            return fail(status.status("method_not_allowed", f"{request.method} is not supported: values are only read"))
        return await respond()

    def _find(self, request: web.Request) -> tuple[str, Respond] | None:
        """What a request is counted as, and what answers it; None: there is nothing at its path."""
        parts = parsing.segments(request.rel_url.raw_path)
        if parts is None:
            return None
        if parsing.is_group(parts):
            return GROUP, partial(self._group, request, parts)
        endpoint, name = parts[0], parts[1] if len(parts) > 1 else None
        if len(parts) <= 2 and self._health.find(endpoint, name):
            return "health", partial(self._health.respond, request, endpoint, name)
        document = self._discovery.find("/" + "/".join(parts), ",".join(request.headers.getall("Accept", ())))
        return ("discovery", partial(self._discovery.respond, request, document)) if document else None

    async def _group(self, request: web.Request, parts: tuple[str, ...]) -> web.Response:
        named = parsing.target(parts)
        if isinstance(named, parsing.Rejected):
            return fail(status.rejection(named))
        return await self._values.respond(request, named)


async def _expected(_request: web.Request) -> None:
    """`Expect: 100-continue` announces a body, and none is ever read: the answer comes at once."""


def make_app(reads: Reads, checks: Checks, telemetry: Telemetry, changes: Changes | None = None) -> web.Application:
    """The API as an application; it owns nothing that would have to be closed."""
    values = Values(reads, telemetry, changes or Changes(logging.getLogger("adapter.answers")))
    routes = Routes(values, Discovery(reads.catalog, __version__), Health(checks))
    app = web.Application(middlewares=[recorded(telemetry, reads.clock), failures])
    app.router.add_route("*", "/{path:.*}", routes.dispatch, expect_handler=_expected)
    return app
