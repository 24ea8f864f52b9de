"""What a server tells of itself, asked once in a while for all who need it; what it told stays when asking fails."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from adapter.core.errors import SourceError

T = TypeVar("T")

AGAIN = 60.0  # seconds between questions
SOON = 5.0  # seconds after the first answer that failed or is empty, as of a server that just started
SLOWER = 1.25  # times as long after each further one, up to AGAIN


class Kept(Generic[T]):
    """One answer, shared. ask: raises SourceError; clock: seconds."""

    def __init__(self, ask: Callable[[], Awaitable[T]], clock: Callable[[], float]) -> None:
        self._ask = ask
        self._clock = clock
        self._told: list[T] = []
        self._error: SourceError | None = None
        self._due = float("-inf")
        self._wait = SOON
        self._asking = asyncio.Lock()

    async def get(self) -> T:
        """The last answer; raises SourceError only where there never was one."""
        async with self._asking:
            if self._clock() >= self._due:
                await self._renew()
        if self._error is not None and not self._told:
            raise SourceError(self._error.kind, str(self._error))
        return self._told[0]

    async def _renew(self) -> None:
        full = False
        try:
            self._told = [await self._ask()]
            full = bool(self._told[0])
        except SourceError as error:
            self._error = error
        self._due = self._clock() + (AGAIN if full else self._wait)
        self._wait = SOON if full else min(self._wait * SLOWER, AGAIN)
