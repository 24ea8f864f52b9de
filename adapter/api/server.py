"""How the API stands on a socket: limits that fit an aggregator, and a Status also where no request could be read.

The aggregator sends one header per group of a user, and selectors of any length; it keeps idle connections for 90 s, so
ours live longer. Measured: aiohttp's defaults refuse 129 headers and URLs of 8,190 bytes.
"""

import asyncio
import logging
from typing import Any, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong

from adapter.api import status
from adapter.api.handlers import HEADERS, fail, no_such_path
from adapter.logs import event

MAX_URL: Final = 65_536  # bytes
MAX_HEADER: Final = 32_768  # bytes
MAX_HEADERS: Final = 1_024
DRAIN: Final = 10.0  # seconds that requests in flight are given at shutdown

_LIMITS: Final[dict[str, Any]] = {
    "max_line_size": MAX_URL,
    "max_field_size": MAX_HEADER,
    "max_headers": MAX_HEADERS,
    "keepalive_timeout": 120.0,
    "access_log": None,
    "auto_decompress": False,  # bodies are thrown away unread
    "lingering_time": 1.0,
}
_log = logging.getLogger(__name__)


def runner(app: web.Application, shutdown_timeout: float = DRAIN) -> web.AppRunner:
    """Runs the application on sites that the caller adds; its `cleanup()` answers what is in flight."""
    return _Runner(app, shutdown_timeout=shutdown_timeout, **_LIMITS)


class _Runner(web.AppRunner):
    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        loop = asyncio.get_running_loop()

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            try:
                return await made.request_handler(request)
            except web.HTTPException:  # aiohttp's own, raised before any middleware: an Expect on what is no path
                return no_such_path()

        return _Server(handle, request_factory=made.request_factory, loop=loop, **_LIMITS)


class _Server(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=asyncio.get_running_loop(), **self._kwargs)


class _Connection(web.RequestHandler):
    """aiohttp answers what it cannot read as text or HTML; here it is a Status like everything else."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,  # noqa: ARG002 - decided by `exc`
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - repeats the client's bytes
    ) -> web.StreamResponse:
        if request.writer.output_size > 0:
            raise ConnectionError("the response is half sent: nothing can be said any more")
        response = fail(_unreadable(exc))
        response.headers.update(HEADERS)
        response.force_close()
        return response


def _unreadable(error: BaseException | None) -> status.Reply:
    if not isinstance(error, HttpProcessingError):
        _log.error("response_failed", exc_info=error)
        return status.status("internal", status.INTERNAL)
    event(_log, logging.DEBUG, "request_unreadable", kind=type(error).__name__)
    if isinstance(error, LineTooLong) and error.args[1] == MAX_URL:
        return status.status("url_too_long", f"the URL is longer than {MAX_URL} bytes")
    if isinstance(error, LineTooLong) or "Too many headers" in str(error):
        limits = f"at most {MAX_HEADERS} headers of {MAX_HEADER} bytes are read"
        return status.status("header_too_large", limits)
    return status.status("bad_request", "this is not an HTTP request that can be read")
