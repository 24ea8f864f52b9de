"""What a server tells of itself is asked once for all, and stays when asking fails."""

import asyncio
from dataclasses import dataclass
from itertools import pairwise

import pytest

from adapter.core.errors import SourceError
from adapter.sources.kept import Kept


@dataclass
class Told:
    """A server's answer, and how often it was asked. fails: whether it does."""

    now: float = 0.0
    fails: bool = False
    answer: str | None = None
    asked: int = 0

    async def ask(self) -> str:
        self.asked += 1
        await asyncio.sleep(0)
        if self.fails:
            raise SourceError("timeout", "took too long")
        return f"at {self.now:g}" if self.answer is None else self.answer

    def kept(self) -> Kept[str]:
        return Kept(self.ask, lambda: self.now)


async def test_one_answer_is_shared_for_a_minute() -> None:
    told = Told()
    kept = told.kept()
    assert list(await asyncio.gather(kept.get(), kept.get(), kept.get())) == ["at 0"] * 3
    told.now = 59.9
    assert (await kept.get(), told.asked) == ("at 0", 1)
    told.now = 60.0
    assert (await kept.get(), told.asked) == ("at 60", 2)


async def test_what_was_told_stays_when_asking_fails() -> None:
    told = Told()
    kept = told.kept()
    await kept.get()
    told.now, told.fails = 60.0, True
    assert await kept.get() == "at 0"
    told.now, told.fails = 65.0, False
    assert await kept.get() == "at 65"


async def test_failing_server_is_asked_ever_less_often() -> None:
    told = Told(fails=True)
    kept = told.kept()
    asked = []
    for second in range(600):
        told.now = float(second)
        with pytest.raises(SourceError, match="too long"):
            await kept.get()
        asked.append(told.asked)
    times = [second for second in range(1, 600) if asked[second] > asked[second - 1]]
    steps = [after - before for before, after in pairwise([0, *times])]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (5, 60)


async def test_server_that_just_started_and_tells_nothing_is_asked_again_soon() -> None:
    told = Told(answer="")
    kept = told.kept()
    assert await kept.get() == ""
    told.now, told.answer = 5.0, "all"
    assert await kept.get() == "all"
    told.now, told.answer = 64.0, ""
    assert await kept.get() == "all"
