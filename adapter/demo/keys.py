"""Single keys from a terminal, without waiting for Enter; the terminal is put back however this ends."""

import asyncio
import os
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

HUNG_UP = "q"  # what a terminal that is gone is taken to press


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
        for key in typed or HUNG_UP:
            pressed(key)

    try:
        tty.setcbreak(fd)  # Ctrl-C goes on to be a signal
        loop.add_reader(fd, read)
        yield True
    finally:
        loop.remove_reader(fd)
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
