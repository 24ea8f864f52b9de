"""An event loop whose time passes only when nothing is left to do: hours of waiting take no time, and come out the same
every time. For code that waits on nothing but the loop's clock.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

START = 1000.0  # seconds on the loop's clock

T = TypeVar("T")


class _Leaps(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = START

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everything waits, and nothing is due")
        self.now += max(timeout, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._leaps = _Leaps()
        super().__init__(self._leaps)

    def time(self) -> float:
        return self._leaps.now


def now() -> float:
    """Seconds on the running loop's clock."""
    return asyncio.get_running_loop().time()


def run(main: Coroutine[Any, Any, T]) -> T:
    """What `main` returns; its waiting takes no time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
