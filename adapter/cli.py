"""From arguments to a command and an exit code: 0 done, 1 refused or failed, 2 not understood, 130 interrupted."""

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import uvloop

from adapter import __version__
from adapter.app import Addresses, Clocks, Listen, run
from adapter.core.errors import AdapterError, ConfigError, Fault
from adapter.core.podlist import decode
from adapter.core.pods import PodIndex
from adapter.doctor.check import check
from adapter.logs import configure, event
from adapter.settings import default_settings, parse
from adapter.settings.groups import Settings

log = logging.getLogger("adapter")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; what it says of a fault goes to standard error."""
    arguments = parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except AdapterError as error:
        print(error, file=sys.stderr)
        return 1
    except BaseExceptionGroup as group:  # a task group wraps what went wrong inside it
        foreseen, bugs = group.split(AdapterError)
        if bugs is not None or foreseen is None:
            raise
        for leaf in leaves(foreseen):
            print(leaf, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    """The exceptions in a group, and in the groups in it."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from leaves(error)
        else:
            yield error


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="fresh-metrics-adapter",
        description="Metrics for the HorizontalPodAutoscaler that are true and young, or withheld with a reason.",
    )
    top.add_argument("--version", action="version", version=f"fresh-metrics-adapter {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    _serve(commands.add_parser("serve", help="serve the metrics API"))
    _check(commands.add_parser("check", help="say what a configuration file would serve, or all that is wrong with it"))
    _demo(commands.add_parser("demo", help="a simulated fleet, faults, and what is answered; needs nothing else"))
    return top


def _serve(command: argparse.ArgumentParser) -> None:
    command.add_argument("--config-file", type=Path, metavar="FILE", help="what to serve; without it, the GPU presets")
    command.add_argument(
        "--pods",
        type=Path,
        metavar="FILE",
        help="the pods that exist, as `kubectl get pods -A -o json` prints them; read again when it changes",
    )
    command.add_argument("--bind-address", default="127.0.0.1", metavar="ADDRESS", help="default: %(default)s")
    command.add_argument("--secure-port", type=int, default=6443, metavar="PORT", help="default: %(default)s")
    command.add_argument("--metrics-port", type=int, default=9443, metavar="PORT", help="default: %(default)s")
    command.add_argument("--tls-cert-file", metavar="FILE", help="without it, a certificate is made at start")
    command.add_argument("--tls-private-key-file", metavar="FILE")
    command.add_argument("--log-format", choices=("auto", "text", "json"), default="auto")
    command.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    command.set_defaults(command=serve)


def _check(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=Path)
    command.set_defaults(command=check_file)


def _demo(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--once", action="store_true", help="run the script of faults quickly, check every promise, end"
    )
    command.set_defaults(command=demo)


def serve(arguments: argparse.Namespace) -> int:
    configure(arguments.log_level, arguments.log_format, sys.stderr)
    settings = default_settings() if arguments.config_file is None else parse(read(arguments.config_file))
    if (arguments.tls_cert_file is None) != (arguments.tls_private_key_file is None):
        raise ConfigError(
            [Fault(0, "", "--tls-cert-file and --tls-private-key-file belong together: give both or none")]
        )
    listen = Listen(
        host=arguments.bind_address,
        port=arguments.secure_port,
        metrics_port=arguments.metrics_port,
        cert_file=arguments.tls_cert_file,
        key_file=arguments.tls_private_key_file,
    )
    clocks = Clocks()
    if arguments.pods is None:
        why = "no pod is known, so nothing can be served; give --pods FILE (kubectl get pods -A -o json)"
        event(log, logging.WARNING, "no_pods", why=why)
    pods = PodFile(arguments.pods, clocks) if arguments.pods else PodIndex
    uvloop.run(_until_signalled(settings, listen, pods, clocks))
    return 0


async def _until_signalled(settings: Settings, listen: Listen, pods: Callable[[], PodIndex], clocks: Clocks) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    event(
        log,
        logging.WARNING,
        "no_authentication",
        why="serving on the loopback interface only; nobody is asked who they are",
    )
    await run(settings, listen, pods, stop, lambda _: None, clocks)


class PodFile:
    """The pods that a file lists, read again when it changes; one that turns bad leaves the last good list."""

    def __init__(self, path: Path, clocks: Clocks) -> None:
        """Raises ConfigError: the file is no pod list."""
        self._path = path
        self._clocks = clocks
        self._seen = path.stat().st_mtime_ns if path.exists() else 0
        self._index = self._read()

    def __call__(self) -> PodIndex:
        try:
            changed = self._path.stat().st_mtime_ns
        except OSError:
            return self._index
        if changed != self._seen:
            self._seen = changed
            try:
                self._index = self._read()
            except ConfigError as error:
                event(log, logging.ERROR, "pods_unusable", why=str(error), kept=len(self._index))
            else:
                event(log, logging.INFO, "pods_reloaded", file=str(self._path), pods=len(self._index))
        return self._index

    def _read(self) -> PodIndex:
        try:
            return PodIndex(decode(read(self._path), self._clocks.now(), self._clocks.wall()))
        except ConfigError as error:
            raise ConfigError([Fault(fault.line, str(self._path), fault.text) for fault in error.faults]) from None


def check_file(arguments: argparse.Namespace) -> int:
    code, text = check(str(arguments.file), read(arguments.file))
    print(text, file=sys.stderr if code else sys.stdout)
    return code


def demo(arguments: argparse.Namespace) -> int:
    from adapter.demo.run import demo as show  # noqa: PLC0415 - a terminal's libraries are no part of a server

    clocks = Clocks()
    return show(once=arguments.once, serve=on_free_ports, now=clocks.now, wall=clocks.wall)


async def on_free_ports(
    settings: Settings,
    pods: Callable[[], PodIndex],
    stop: asyncio.Event,
    started: Callable[[Addresses], None],
    now: Callable[[], float],
) -> None:
    """The adapter as the demo runs it: on its clock, on any ports of the loopback interface."""
    await run(settings, Listen(port=0, metrics_port=0), pods, stop, started, Clocks(now))


def read(path: Path) -> bytes:
    """A file's content. Raises ConfigError where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError([Fault(0, "", f"cannot read {path}: {error.strerror}")]) from None
