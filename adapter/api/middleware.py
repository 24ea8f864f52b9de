"""What holds for every response: JSON for every failure, no caching, counted and timed."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Middleware

from adapter.api import status
from adapter.api.handlers import HEADERS, fail, no_such_path
from adapter.telemetry import OTHER, Telemetry

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

KIND: Final = web.RequestKey("kind", str)  # the API group, "discovery" or "health": what telemetry counts by
_log = logging.getLogger(__name__)


def recorded(telemetry: Telemetry, clock: Callable[[], float]) -> Middleware:
    """Outermost: every response passes here, also those of `failures`."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        began = clock()
        response = await handler(request)
        response.headers.update(HEADERS)
        audit = request.headers.get("Audit-Id", "")
        if 0 < len(audit) <= 128 and audit.isprintable():
            response.headers["Audit-Id"] = audit
        telemetry.request(request.get(KIND, OTHER), request.method, response.status, clock() - began)
        return response

    return middleware


@web.middleware
async def failures(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Whatever goes wrong becomes a Status, here and nowhere else."""
    try:
        return await handler(request)
    except web.HTTPException:  # only the router's own: the request's target is no path at all
        return no_such_path()
    except Exception as error:  # noqa: BLE001 - the rim: a bug costs its own request and nothing else
        _log.exception("request_failed", extra={"fields": {"path": request.rel_url.raw_path}})
        return fail(status.failure(error))
