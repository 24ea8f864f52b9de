"""A DCGM exporter's page, read by ourselves.

A good look is a complete 200 with at least one GPU row; anything else is a failed look, and shows as age. The look is
dated by its start, since the page can have been made at any moment after.
"""

from collections.abc import Callable, Mapping

import aiohttp

from adapter.core.errors import SourceError
from adapter.core.gpu import device_of
from adapter.core.samples import Look
from adapter.settings.groups import Dcgm
from adapter.sources.connection import Credentials, Request, fetch
from adapter.sources.exposition import Page, Wanted, complete, scan

ACCEPT = "text/plain;version=0.0.4"  # keeps Prometheus libraries from answering in another grammar


class Exporter:
    """One exporter. Not to be looked at twice at once: each look uses what the last one learnt of the page's labels.

    skipped: rows of the last good look that could not be read.
    """

    def __init__(self, source: str, url: str, dcgm: Dcgm, wanted: Wanted, http: aiohttp.ClientSession) -> None:
        self.url = url
        self._source = source
        self._request = Request(url, dcgm.deadline, dcgm.max_page_bytes, ACCEPT)
        self._credentials = Credentials(dcgm.connection)
        self._wanted = wanted
        self._http = http
        self._blocks: Mapping[bytes, Mapping[str, str]] = {}
        self.skipped = 0

    async def look(self, clock: Callable[[], float], wall: Callable[[], float]) -> Look:
        """One good look. Raises SourceError for everything else."""
        began_wall = wall()
        body = await fetch(self._http, self._request, self._credentials, clock)
        if body.status != 200:
            raise SourceError("status", f"answered {body.status}")
        if not complete(body.content):
            raise SourceError("malformed" if body.content else "empty", "its page is cut off or empty")
        page = scan(body.content, self._wanted, self._blocks)
        self._blocks = page.blocks
        self.skipped = page.skipped
        if not _shows_a_gpu(page):
            raise SourceError("empty", "its page has no GPU row")
        return Look(self._source, self.url, body.sent, body.sent, began_wall, page.rows)


def _shows_a_gpu(page: Page) -> bool:
    return any(device_of(row.labels, "") for row in page.rows)
