"""Keys arrive one by one, and the terminal is as before whatever happens."""

import asyncio
import os
import termios
from collections.abc import Iterator
from typing import TextIO

import pytest

from adapter.demo.keys import Wishes, keys


@pytest.fixture
def terminal() -> Iterator[tuple[int, TextIO]]:
    """A terminal's far end, and the end that a program has."""
    far, near = os.openpty()
    with os.fdopen(near, encoding="utf-8") as stream:
        yield far, stream
    os.close(far)


async def typed(wishes: Wishes) -> list[str]:
    """What has arrived once anything has."""
    await wishes.wait(5.0)
    return wishes.granted()


async def test_key_needs_no_enter(terminal: tuple[int, TextIO]) -> None:
    far, stream = terminal
    wishes = Wishes()
    with keys(stream, wishes.pressed) as heard:
        os.write(far, b"f")
        assert await typed(wishes) == ["f"]
        os.write(far, b"k ")
        assert await typed(wishes) == ["k", " "]
    assert heard
    assert not wishes.ended


async def test_terminal_is_put_back_also_when_all_goes_wrong(terminal: tuple[int, TextIO]) -> None:
    _, stream = terminal
    before = termios.tcgetattr(stream)
    inside: list[object] = []

    def fail() -> None:
        with keys(stream, lambda _: None):
            inside.append(termios.tcgetattr(stream))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert inside != [before]
    assert termios.tcgetattr(stream) == before


async def test_what_is_no_terminal_gives_no_keys() -> None:
    read, write = os.pipe()
    with os.fdopen(read, encoding="utf-8") as stream, keys(stream, lambda _: None) as heard:
        assert not heard
    os.close(write)


async def test_q_ends_and_waiting_ends_with_any_key() -> None:
    wishes = Wishes()
    asyncio.get_running_loop().call_soon(wishes.pressed, "q")
    async with asyncio.timeout(5.0):
        await wishes.wait(60.0)
    assert wishes.ended
    assert wishes.granted() == ["q"]
    assert wishes.granted() == []


async def test_patience_ends_without_a_key() -> None:
    wishes = Wishes()
    await wishes.wait(0.0)
    assert not wishes.ended
