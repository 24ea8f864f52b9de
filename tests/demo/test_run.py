"""The whole demo, once: the real adapter keeps every promise, and one that serves frozen values is caught."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from adapter.app import Addresses, Clocks, Listen, boottime, run
from adapter.core.pods import PodIndex
from adapter.demo.faults import Fault
from adapter.demo.run import BROKEN, INTERRUPTED, Serve, demo
from adapter.demo.script import TOLD, Scene, Script
from adapter.settings.groups import Settings

FREEZE = Script((Scene(2.5, 3.0, "node-a", Fault.FREEZE),), 8.0)
Started = Callable[[Addresses], None]
Clock = Callable[[], float]


async def serve(
    settings: Settings, pods: Callable[[], PodIndex], stop: asyncio.Event, started: Started, now: Clock
) -> None:
    await run(settings, Listen(port=0, metrics_port=0), pods, stop, started, Clocks(now))


async def serve_frozen(
    settings: Settings, pods: Callable[[], PodIndex], stop: asyncio.Event, started: Started, now: Clock
) -> None:
    """An adapter that takes a page that arrives for a page that is true."""
    assert settings.dcgm is not None
    blind = replace(settings, dcgm=replace(settings.dcgm, heartbeat="none"))
    await serve(blind, pods, stop, started, now)


async def serve_until(
    number: signal.Signals,
    settings: Settings,
    pods: Callable[[], PodIndex],
    stop: asyncio.Event,
    started: Started,
    now: Clock,
) -> None:
    """The adapter, and a person or a system that has had enough after its first second."""
    asyncio.get_running_loop().call_later(1.0, os.kill, os.getpid(), number)
    await serve(settings, pods, stop, started, now)


def played(adapter: Serve, *, once: bool = True, script: Script | None = None) -> int:
    return demo(once=once, serve=adapter, now=boottime, wall=time.time, played=script)


def test_real_adapter_keeps_every_promise_through_every_fault(capsys: pytest.CaptureFixture[str]) -> None:
    code = played(serve)
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "9 promises kept, 0 broken"
    assert code == 0
    assert err == ""
    for told in TOLD.values():
        (line,) = [line for line in out.splitlines() if f"  {told.title} on node" in line]
        assert told.reason in line
        assert "not yet" not in line


def test_adapter_that_serves_frozen_values_is_caught(capsys: pytest.CaptureFixture[str]) -> None:
    assert played(serve_frozen, script=FREEZE) == BROKEN
    out = capsys.readouterr().out
    assert any(line.startswith("broken    no value is served beyond its limit") for line in out.splitlines())
    assert any(line.startswith("broken    every fault is told by its own reason") for line in out.splitlines())
    assert "infer-0, freeze" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_ends_cleanly_when_it_is_told_to(number: signal.Signals, capsys: pytest.CaptureFixture[str]) -> None:
    assert played(partial(serve_until, number), once=False) == 0
    out, err = capsys.readouterr()
    assert "promises kept, 0 broken" in out
    assert err == ""


def test_check_that_was_not_finished_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert played(partial(serve_until, signal.SIGINT)) == INTERRUPTED
    assert "stopped before the script was over" in capsys.readouterr().out
