"""The demo put together: a simulated fleet, the real adapter over it, a client that asks, and a book of promises.

Everything runs in one process on free ports of the loopback interface, on a clock that begins at 0 with the demo, so
that every run plays alike.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import uvloop
from rich.console import Console

from adapter.core.pods import PodIndex
from adapter.demo.answers import MEMORY, UTILIZATION
from adapter.demo.client import Client
from adapter.demo.director import Director, ailments
from adapter.demo.fleet import WORKLOADS, Fleet
from adapter.demo.keys import Wishes
from adapter.demo.lines import Changes, Report
from adapter.demo.moment import Moment, Opening, Show, state
from adapter.demo.promises import Promise, Promises
from adapter.demo.script import Script, script
from adapter.demo.server import RunningFleet, running_fleet
from adapter.demo.stage import FAST, SLOW, Rhythm, staged
from adapter.demo.table import Table
from adapter.demo.tail import tailed
from adapter.demo.view import view
from adapter.settings.groups import Dcgm, Metric, Settings, StaticTarget
from adapter.sources.connection import session

Clock = Callable[[], float]
Started = Callable[[tuple[str, str]], None]  # with the URLs of the API and of the telemetry
Serve = Callable[[Settings, Callable[[], PodIndex], asyncio.Event, Started, Clock], Coroutine[Any, Any, None]]

ASKED = WORKLOADS[0].name  # the workload of the printed curl line
INTERRUPTED = 130
BROKEN = 1


@dataclass(frozen=True, slots=True)
class Run:
    """clock: seconds since the start; wall: Unix time; loop: the script begins anew when it is over."""

    serve: Serve
    clock: Clock
    wall: Clock
    rhythm: Rhythm
    script: Script
    show: Show
    loop: bool


def demo(*, once: bool, serve: Serve, now: Clock, wall: Clock, played: Script | None = None) -> int:
    """Runs until it is ended by q, Ctrl-C or SIGTERM, or once through the script; gives the exit code.

    serve: the adapter, on free ports, on the clock that it is given. now: any clock that never steps back, seconds.
    """
    began = now()
    rhythm = FAST if once else SLOW
    show = shown(once=once)
    run = Run(serve, lambda: now() - began, wall, rhythm, played or script(rhythm), show, loop=not once)
    return uvloop.run(perform(run))


def shown(*, once: bool) -> Show:
    console = Console()
    if once:
        return Report(sys.stdout)
    return Table(console) if console.is_terminal and not console.is_dumb_terminal else Changes(sys.stdout)


async def perform(run: Run) -> int:
    """Fleet, adapter and client, from the first look to the last port closed."""
    fleet = staged(run.rhythm, run.wall() - run.clock(), run.script.scenes[0].start)
    wish, done = Wishes(), asyncio.Event()
    index = fleet.pods(run.clock())
    with tailed(run.show.log), wish.heeded(keyed=run.loop), run.show:
        async with running_fleet(fleet, run.clock) as running, session() as http:
            serving: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()
            async with asyncio.TaskGroup() as group:
                adapter = settings(run.rhythm, running)
                group.create_task(run.serve(adapter, lambda: index, done, serving.set_result, run.clock))
                try:
                    api, telemetry = await serving
                    client = Client(api, http, run.clock, run.wall)
                    return await play(run, running, client, wish, f"{telemetry}/metrics")
                except BrokenPipeError:  # nobody reads any more, and the interpreter would try once more at its end
                    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                    return BROKEN
                finally:
                    done.set()


def settings(rhythm: Rhythm, running: RunningFleet) -> Settings:
    """The adapter's configuration, all else at its defaults."""
    dcgm = Dcgm(
        collect_interval=rhythm.collect,
        poll=rhythm.poll,
        pages="live",
        deadline=rhythm.deadline,
        static=tuple(StaticTarget(url) for url in running.urls.values()),
    )
    utilization = Metric(UTILIZATION, ("dcgm",), series="gpu_utilization")
    memory = Metric(MEMORY, ("dcgm",), series="gpu_memory_used_bytes")
    return Settings(dcgm=dcgm, metrics=(utilization, memory))


async def play(run: Run, running: RunningFleet, client: Client, wish: Wishes, telemetry: str) -> int:
    """The script, or whatever a person wishes, observed until its end."""
    promises = Promises(run.rhythm)
    director = Director(running, run.script, run.clock, 2 * run.rhythm.observe)
    pods = sum(workload.replicas for workload in WORKLOADS)
    run.show.open(Opening(client.curl(ASKED), telemetry, run.rhythm, len(running.urls), pods))
    while not wish.ended and (run.loop or not director.over):
        for key in wish.granted():
            await director.press(key)
        await director.advance()
        moment = await watched(running.fleet, client, promises, director)
        run.show.seen(moment)
        if not promises.kept[Promise.REACHABLE] and state(moment) == "healthy":
            promises.reached(await client.ask(client.url(UTILIZATION, workload=ASKED)))
        await wish.wait(run.rhythm.observe)
    complete = run.loop or director.over
    run.show.close(promises, complete=complete)
    if run.loop:
        return 0
    return BROKEN if promises.broken else 0 if complete else INTERRUPTED


async def watched(fleet: Fleet, client: Client, promises: Promises, director: Director) -> Moment:
    """One observation, entered into the book."""
    observation = await client.observe(fleet)
    promises.watch(fleet, observation)
    ailing = tuple((node, fault) for node, fault in ailments(fleet, observation.ended) if fault)
    views = view(fleet, observation)
    return Moment(observation.ended, director.scene, director.left, director.playing, ailing, views, promises)
