"""What a person wants: keys, without waiting for Enter, and signals; the terminal is put back however this ends."""

import asyncio
import os
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TextIO

from adapter.demo.director import QUIT

ENDING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def keys(stream: TextIO, pressed: Callable[[str], None]) -> Iterator[bool]:
    """Calls `pressed` with each key while the context lasts. Gives False, and does nothing, where it is no terminal."""
    if not stream.isatty():
        yield False
        return
    fd, loop = stream.fileno(), asyncio.get_running_loop()
    before = termios.tcgetattr(fd)

    def read() -> None:
        try:
            typed = os.read(fd, 64).decode(errors="ignore")
        except OSError:
            typed = ""
        if not typed:
            loop.remove_reader(fd)
        for key in typed or QUIT:  # a terminal that is gone wants nothing more
            pressed(key)

    try:
        tty.setcbreak(fd)  # Ctrl-C goes on to be a signal
        loop.add_reader(fd, read)
        yield True
    finally:
        loop.remove_reader(fd)
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


class Wishes:
    """Keys in their order, and whether to end."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._any = asyncio.Event()
        self.ended = False

    def pressed(self, key: str) -> None:
        self._keys.append(key)
        self.ended = self.ended or key == QUIT
        self._any.set()

    def granted(self) -> list[str]:
        """The keys since the last time."""
        keys, self._keys = self._keys, []
        self._any.clear()
        return keys

    async def wait(self, patience: float) -> None:
        """Until something is wished, at most `patience` seconds."""
        try:
            await asyncio.wait_for(self._any.wait(), patience)
        except TimeoutError:
            return

    @contextmanager
    def heeded(self, *, keyed: bool) -> Iterator[None]:
        """Listens to signals and, `keyed`, to the keyboard while the context lasts."""
        loop = asyncio.get_running_loop()
        for number in ENDING:
            loop.add_signal_handler(number, self.pressed, QUIT)
        try:
            with keys(sys.stdin, self.pressed) if keyed else nullcontext():
                yield
        finally:
            for number in ENDING:
                loop.remove_signal_handler(number)
