"""What a person did wrong is one line on standard error and an exit code, never a traceback."""

import json
import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapter.cli import main

CONFIG = (
    "sources: {dcgm: {static: ['http://127.0.0.1:1/metrics']}}\nmetrics: [{from: [dcgm], series: gpu_utilization}]\n"
)


@pytest.fixture(autouse=True)
def _own_log() -> Iterator[None]:
    """The command line sets the process' log up; the next test has its own."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "config.yaml").write_text(CONFIG)
    return str(tmp_path / "config.yaml")


def test_port_in_use_is_one_line(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--config-file", config, "--secure-port", port, "--metrics-port", "0"]) == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("{")]
    assert len(lines) == 1
    assert lines[0].startswith(f"cannot listen on 127.0.0.1:{port}: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["check", "/no/such/file"], "cannot read /no/such/file", id="no file"),
        pytest.param(["serve", "--config-file", "/no/such/file"], "cannot read /no/such/file", id="no configuration"),
        pytest.param(["serve", "--bind-address", "0.0.0.0"], "loopback", id="exposed"),  # noqa: S104 - it is refused
        pytest.param(["serve", "--tls-cert-file", "a"], "belong together", id="half a pair"),
        pytest.param(
            [
                "serve",
                "--secure-port",
                "0",
                "--metrics-port",
                "0",
                "--tls-cert-file",
                "/no/a",
                "--tls-private-key-file",
                "/no/b",
            ],
            "cannot be used",
            id="no certificate",
        ),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said


def test_pods_file_that_is_no_pod_list_is_named(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pods.json").write_text(json.dumps({"items": 3}))
    assert main(["serve", "--config-file", config, "--pods", str(tmp_path / "pods.json")]) == 1
    assert f"{tmp_path}/pods.json: no pod list" in capsys.readouterr().err


def test_valid_file_is_explained(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", config]) == 0
    assert "nvidia_gpu_utilization" in capsys.readouterr().out
