"""The script strikes and heals by itself; a key takes over, and space gives back."""

from collections.abc import AsyncIterator

import pytest

from adapter.demo.director import KEYS, Director, ailments
from adapter.demo.faults import Fault
from adapter.demo.fleet import NODES
from adapter.demo.script import Scene, Script
from adapter.demo.server import RunningFleet, running_fleet
from tests.demo.telling import FLEET

SCRIPT = Script((Scene(2.0, 2.0, "node-b", Fault.NAN), Scene(5.0, 2.0, "node-c", Fault.HANG)), 8.0)
HEALTHY = dict.fromkeys(NODES)


class Played:
    """A director on a clock that is turned by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.running: RunningFleet
        self.director: Director

    async def to(self, now: float) -> dict[str, Fault | None]:
        """What ails once the script has been played on to `now`, in steps."""
        while self.now < now - 1e-9:
            self.now = round(self.now + 0.5, 3)
            await self.director.advance()
        return self.ailing

    @property
    def ailing(self) -> dict[str, Fault | None]:
        return dict(ailments(self.running.fleet, self.now))


@pytest.fixture
async def played() -> AsyncIterator[Played]:
    state = Played()
    async with running_fleet(FLEET, lambda: state.now) as running:
        state.running = running
        state.director = Director(running, SCRIPT, lambda: state.now, step=1.0)
        yield state


async def test_script_strikes_and_heals_in_time_and_begins_anew(played: Played) -> None:
    assert await played.to(1.5) == HEALTHY
    assert await played.to(2.0) == HEALTHY | {"node-b": Fault.NAN}
    assert await played.to(4.0) == HEALTHY
    assert await played.to(6.5) == HEALTHY | {"node-c": Fault.HANG}
    over = [played.director.over]
    assert await played.to(8.0) == HEALTHY
    assert [*over, played.director.over] == [False, True]
    assert await played.to(10.0) == HEALTHY | {"node-b": Fault.NAN}


async def test_machine_that_stalls_stretches_a_scene_and_skips_none(played: Played) -> None:
    await played.to(2.0)
    played.now = 50.0
    await played.director.advance()
    assert played.ailing == HEALTHY | {"node-b": Fault.NAN}
    assert played.director.left == pytest.approx(1.0)


async def test_space_holds_the_script_and_lets_it_go_on(played: Played) -> None:
    await played.to(3.0)
    await played.director.press(" ")
    assert await played.to(20.0) == HEALTHY | {"node-b": Fault.NAN}
    await played.director.press(" ")
    assert await played.to(20.5) == HEALTHY | {"node-b": Fault.NAN}
    assert await played.to(21.0) == HEALTHY


@pytest.mark.parametrize(("key", "fault"), KEYS.items())
async def test_key_ends_the_scene_and_strikes_the_first_healthy_node(played: Played, key: str, fault: Fault) -> None:
    await played.to(3.0)
    await played.director.press(key)
    assert not played.director.playing
    assert await played.to(20.0) == HEALTHY | {"node-a": fault}


async def test_keys_strike_one_node_after_the_other_until_none_is_left(played: Played) -> None:
    for key in "fkzn":
        await played.director.press(key)
    assert played.ailing == {"node-a": Fault.FREEZE, "node-b": Fault.KILLED, "node-c": Fault.FALSE_ZERO}


async def test_recovery_heals_all_and_the_script_goes_on_with_its_next_scene(played: Played) -> None:
    await played.to(3.0)
    for key in "fk":
        await played.director.press(key)
    await played.director.press("r")
    assert await played.to(10.0) == HEALTHY
    await played.director.press(" ")
    assert await played.to(10.5) == HEALTHY
    assert await played.to(11.0) == HEALTHY | {"node-c": Fault.HANG}


async def test_script_that_goes_on_heals_what_keys_have_struck(played: Played) -> None:
    await played.director.press("f")
    await played.director.press(" ")
    assert played.ailing == HEALTHY


async def test_other_keys_do_nothing(played: Played) -> None:
    await played.to(3.0)
    await played.director.press("x")
    assert played.director.playing
    assert played.ailing == HEALTHY | {"node-b": Fault.NAN}
