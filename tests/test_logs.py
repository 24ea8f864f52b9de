"""What the log says, how often, and what it never says."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from adapter.core.points import ObjectKey, Reason, Withheld
from adapter.logs import Changes, Format, configure, event

PODS = [ObjectKey("pods", "ml-a", f"infer-{n}") for n in range(5)]


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    """A logger that hands everything to the root, which is put back as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield logging.getLogger("tests.logs")
    root.handlers[:] = handlers
    root.setLevel(level)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def stale(reason: Reason = Reason.STALE) -> Withheld:
    return Withheld(reason, "80s old, limit 20s", "exporters")


def test_json_line_is_an_event_with_its_fields(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure("info", "json", stream)
    event(log, logging.WARNING, "look_failed", source="dcgm", seconds=1.5, name="n")
    (line,) = written(stream)
    assert line.pop("time").endswith("Z")
    assert line == {"level": "warning", "event": "look_failed", "source": "dcgm", "seconds": 1.5, "name": "n"}


def test_text_line_is_logfmt(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure("info", "text", stream)
    event(log, logging.INFO, "started", why="two words", url="https://a/b?c=d", empty="", line="a\nb")
    _, rest = stream.getvalue().split(" ", 1)
    assert rest == 'level=info event=started why="two words" url="https://a/b?c=d" empty="" line="a\\nb"\n'


@pytest.mark.parametrize(
    ("fmt", "stream", "is_json"),
    [
        pytest.param("auto", Terminal(), False, id="a person at a terminal"),
        pytest.param("auto", io.StringIO(), True, id="a machine"),
        pytest.param("json", Terminal(), True, id="json asked for"),
        pytest.param("text", io.StringIO(), False, id="text asked for"),
    ],
)
def test_format_suits_the_reader(log: logging.Logger, fmt: Format, stream: io.StringIO, *, is_json: bool) -> None:
    configure("info", fmt, stream)
    event(log, logging.INFO, "started")
    assert stream.getvalue().startswith("{") is is_json


def test_lower_levels_are_left_out(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure("warning", "json", stream)
    event(log, logging.INFO, "started")
    assert stream.getvalue() == ""


def test_unknown_level_is_refused(log: logging.Logger) -> None:
    with pytest.raises(ValueError, match="LOUD"):
        configure("loud", "json", io.StringIO())


@pytest.mark.parametrize("fmt", ["json", "text"])
@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"bearer_token": "hunter2"}, id="by its name"),
        pytest.param({"url": "https://me:hunter2@prometheus/api"}, id="in a URL"),
        pytest.param({"why": "sent Authorization: Basic hunter2=="}, id="in a header"),
        pytest.param({"why": "refused Bearer eyJhbGciOiJ.hunter2"}, id="a bearer token"),
    ],
)
def test_secret_is_hidden(log: logging.Logger, fmt: Format, fields: dict[str, str]) -> None:
    stream = io.StringIO()
    configure("info", fmt, stream)
    event(log, logging.INFO, "look_failed", **fields)
    assert "hunter2" not in stream.getvalue()
    assert "[hidden]" in stream.getvalue()


@pytest.mark.parametrize("fmt", ["json", "text"])
def test_secret_in_a_traceback_is_hidden(log: logging.Logger, fmt: Format) -> None:
    stream = io.StringIO()
    configure("info", fmt, stream)
    log.error("request_failed", exc_info=RuntimeError("https://me:hunter2@host"))
    assert "RuntimeError" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()


def test_field_cannot_pose_as_the_event(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure("info", "json", stream)
    event(log, logging.INFO, "started", event="other", time=3)
    (line,) = written(stream)
    assert (line["event"], line["event_"], line["time_"]) == ("started", "other", 3)


def test_number_that_json_lacks_is_text(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure("info", "json", stream)
    event(log, logging.INFO, "read", value=float("nan"))
    assert written(stream)[0]["value"] == "nan"


def events(caplog: pytest.LogCaptureFixture) -> list[tuple[str, Any]]:
    fields = [getattr(record, "fields", {}) for record in caplog.records]
    return [(r.getMessage(), f.get("reason", f.get("count"))) for r, f in zip(caplog.records, fields, strict=True)]


@pytest.fixture
def changes(caplog: pytest.LogCaptureFixture, log: logging.Logger) -> Changes:
    caplog.set_level(logging.INFO)
    return Changes(log, memory=3, per_minute=4)


def test_withheld_value_is_told_when_it_changes_and_when_it_recovers(
    changes: Changes, caplog: pytest.LogCaptureFixture
) -> None:
    for now in range(3):
        changes.answered("m", [PODS[1]], [(PODS[0], stale())], now)
    changes.answered("m", [PODS[1]], [(PODS[0], stale(Reason.MISSING))], 3)
    for now in range(4, 6):
        changes.answered("m", PODS[:2], [], now)
    assert events(caplog) == [("withheld", "stale"), ("withheld", "missing"), ("recovered", "missing")]


def test_change_names_metric_object_and_cause(changes: Changes, caplog: pytest.LogCaptureFixture) -> None:
    changes.answered("m", [], [(PODS[0], stale())], 0)
    assert vars(caplog.records[0])["fields"] == {
        "metric": "m",
        "resource": "pods",
        "namespace": "ml-a",
        "object": "infer-0",
        "reason": Reason.STALE,
        "detail": "80s old, limit 20s",
        "source": "exporters",
    }


def test_metrics_of_one_object_are_apart(changes: Changes, caplog: pytest.LogCaptureFixture) -> None:
    changes.answered("a", [], [(PODS[0], stale())], 0)
    changes.answered("b", [PODS[0]], [], 1)
    assert events(caplog) == [("withheld", "stale")]


def test_flood_is_cut_off_and_counted(changes: Changes, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(4):
        changes.answered("m", [], [(PODS[0], stale())], 0)
        changes.answered("m", [PODS[0]], [], 0)
    assert [name for name, _ in events(caplog)] == ["withheld", "recovered"] * 2 + ["changes_suppressing"]
    caplog.clear()
    changes.answered("m", [], [(PODS[0], stale())], 60)
    assert events(caplog) == [("changes_suppressed", 4), ("withheld", "stale")]


def test_memory_is_bounded_and_forgets_whom_nobody_asks_for(changes: Changes, caplog: pytest.LogCaptureFixture) -> None:
    changes.answered("m", [], [(key, stale()) for key in PODS[:3]], 0)
    changes.answered("m", [], [(PODS[0], stale())], 1)
    changes.answered("m", [], [(PODS[3], stale())], 60)  # the second is the one that was not asked for longest
    caplog.clear()
    changes.answered("m", PODS, [], 61)
    recovered = [vars(record)["fields"]["object"] for record in caplog.records]
    assert recovered == ["infer-0", "infer-2", "infer-3"]
