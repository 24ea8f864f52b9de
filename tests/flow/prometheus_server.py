"""A real Prometheus from PATH, on a free loopback port, for as long as a test needs it."""

import http.client
import json
import shutil
import socket
import subprocess
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

READY_WITHIN = 30.0  # seconds; it takes one or two


@contextmanager
def running_prometheus(directory: Path, config: str, port: int | None = None) -> Iterator[str]:
    """Yields the server's URL once it is ready, and ends it afterwards. `config` is prometheus.yml as text.

    The same directory and `port` again continue an earlier server's data.

    Skips the test where no `prometheus` is on PATH; raises RuntimeError with the end of its log where it fails.
    """
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("no `prometheus` on PATH: nothing was checked against a real server")
    file = directory / "prometheus.yml"
    file.write_text(config)
    port = port or free_port()
    flags = [
        f"--config.file={file}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (directory / "prometheus.log").open("w+") as log, subprocess.Popen([program, *flags], stderr=log) as server:
        try:
            _wait_until_ready(server, port, directory / "prometheus.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()  # nothing it holds is wanted, and an orderly end takes seconds


def ask(url: str, query: str, **form: str) -> dict[str, Any]:
    """The whole answer of an instant query, errors too; no `time` is sent unless given."""
    status, body = _request(url, "POST", "/api/v1/query", urllib.parse.urlencode({"query": query, **form}))
    answer: dict[str, Any] = json.loads(body)
    return {**answer, "code": status}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _wait_until_ready(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline:
        try:
            if _request(f"http://127.0.0.1:{port}", "GET", "/-/ready")[0] == http.client.OK:
                return
        except OSError:  # not listening yet
            pass
        try:
            server.wait(timeout=0.1)
            break
        except subprocess.TimeoutExpired:
            pass
    raise RuntimeError(f"Prometheus did not get ready:\n{log.read_text()[-2000:]}")


def _request(url: str, method: str, path: str, form: str | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=10)
    try:
        connection.request(method, path, form, {"Content-Type": "application/x-www-form-urlencoded"} if form else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
